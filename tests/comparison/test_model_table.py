"""Models by benchmarks: what is bold, what is marked, and files that others read."""

import csv
import io
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from pytest_audiobench import transcription
from pytest_audiobench.comparison.model_table_text import latex

HOSTILE = "50%_of_{all} & $more$ #1 ~^\\<|>"
SVG = "{http://www.w3.org/2000/svg}"


def every(number):
    """Right but for every ``number``-th sample."""
    return lambda sample_id: int(sample_id[-3:]) % number > 0


def cells(audiobench, *arguments):
    """The cells by eval and model."""
    code, out, _ = audiobench("table", *arguments, "--format", "csv")
    assert code == 0
    return {(row["eval"], row["model"]): row for row in csv.DictReader(io.StringIO(out))}


def test_the_best_is_bold_where_the_difference_is_shown(lab, audiobench):
    lab.run("good")
    lab.run("poor", says=every(3))
    code, out, err = audiobench("table", "good", "poor")
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if line.startswith("| good")]
    assert re.search(r"\| \*\*100\.0\*\* \(9\d\.\d to 100\.0\) +\|$", line)
    assert "**" not in out.replace("**100.0**", "")
    assert "animals/all: accuracy (%) ↑, n = 40" in out
    assert "by the paired test of audiobench compare, at 0.025 (0.05 shared by 2 comparisons: of the table);" in out
    assert "- letters: mcq:letters" in out


def test_nothing_is_bold_where_two_cannot_be_told_apart(lab, audiobench):
    lab.run("a", says=every(20))
    lab.run("b", says=every(10))
    lab.run("c", says=every(2))
    found = cells(audiobench, "a", "b", "c")
    assert [row["best"] for row in found.values()] == ["False"] * 3
    # The worst of the three is shown to be worse; it is the second that is not.
    assert [row["best"] for row in cells(audiobench, "a", "c").values()] == ["True", "False"]


def test_the_best_has_the_lowest_of_what_is_better_low(lab, audiobench):
    lab.run("hears", says=lambda sample_id: "cat", protocol=transcription())
    lab.run("deaf", says=lambda sample_id: "a dog", protocol=transcription())
    _, out, _ = audiobench("table", "deaf", "hears", "--rows", "benchmarks")
    assert re.search(r"\| animals/all: wer \(%\) ↓, n = 40 +\| 200\.0 .*\| \*\*0\.0\*\* ", out)


def test_what_is_not_comparable_is_marked_and_takes_no_part(lab, audiobench):
    lab.run("whole", says=every(4))
    lab.run("part", limit=10)
    lab.run("other", says=every(3))
    found = cells(audiobench, "whole", "part", "other")
    assert found["animals/all", "part"]["not_comparable"] == "30 samples were asked of only one of the two"
    assert found["animals/all", "other"]["not_comparable"] == ""
    _, out, _ = audiobench("table", "whole", "part", "other", "--rows", "benchmarks")
    assert re.search(r"\| 100\.0 \([\d.]+ to 100\.0\), n = \d+<sup>a</sup> \|", out)
    assert re.search(r"^- a: not comparable with the first of its benchmark: 30 samples", out, re.MULTILINE)
    assert "0.025 (0.05 shared by 2 comparisons: of the table)" in out


def test_another_question_is_not_put_beside_the_first(lab, audiobench):
    lab.run("asked", says=every(3))
    lab.run("worded", {"animals/all": lab.samples(40, question="Which of them?")})
    found = cells(audiobench, "asked", "worded")
    assert "100.0 % of the samples are in no pair" in found["animals/all", "worded"]["not_comparable"]
    assert [row["best"] for row in found.values()] == ["False", "False"]


def test_a_benchmark_that_a_model_was_not_asked_is_a_dash(lab, audiobench):
    lab.run("both", {"animals/all": lab.samples(40), "birds/all": lab.samples(30)})
    lab.run("one")
    _, out, _ = audiobench("table", "both", "one", "--rows", "benchmarks")
    (line,) = [line for line in out.splitlines() if line.startswith("| birds/all")]
    assert line.rstrip(" |").endswith("–")
    assert "A dash: not measured." in out


def test_models_of_one_name_are_told_apart_by_their_runs(lab, audiobench):
    lab.run("monday", model="mine")
    lab.run("tuesday", model="mine")
    assert {model for _, model in cells(audiobench, "monday", "tuesday")} == {"mine (monday)", "mine (tuesday)"}


def test_a_wide_table_is_cut_into_several(lab, audiobench):
    evals = {f"animals/{name}": lab.samples(8, prefix=name) for name in "abc"}
    lab.run("one", evals)
    _, out, _ = audiobench("table", "one", "--rows", "models", "--columns", "2")
    heads = [line for line in out.splitlines() if "accuracy" in line]
    assert [head.count("accuracy") for head in heads] == [2, 2]
    assert audiobench("table", "one", "--columns", "0")[0] == 4


def test_latex_is_balanced_and_its_names_are_escaped(lab, audiobench, tmp_path):
    lab.run("good", {"a_b/50%": lab.samples(40), "a_b/c&d": lab.samples(40, prefix="t")}, model="x_1")
    lab.run("poor", {"a_b/50%": lab.samples(40)}, says=every(2), model="y")
    for rows in ("models", "benchmarks"):
        code, out, _ = audiobench("table", "good", "poor", "--format", "latex", "--rows", rows)
        assert code == 0
        check_latex(out)
        assert r"a\_b/50\%" in out
        assert r"a\_b/c\&d" in out
        assert "x\\_1" in out
        assert "\\textbf{100.0}" in out
        assert "\\toprule" in out
        if shutil.which("pdflatex"):
            document = (
                f"\\documentclass{{article}}\\usepackage{{booktabs,graphicx}}\\begin{{document}}{out}\\end{{document}}"
            )
            (tmp_path / "page.tex").write_text(document)
            subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True)
            assert "Overfull" not in (tmp_path / "page.log").read_text(errors="replace")


def test_latex_shows_what_it_would_read():
    check_latex(latex(HOSTILE))
    assert latex(HOSTILE) == (
        r"50\%\_of\_\{all\} \& \$more\$ \#1 \textasciitilde{}\textasciicircum{}\textbackslash{}\textless{}"
        r"\textbar{}\allowbreak{}\textgreater{}"
    )
    assert latex("[x]*") == "{[}x]{*}"
    assert latex("a\nb\x00") == "a b\N{REPLACEMENT CHARACTER}"


def check_latex(text):
    """Braces and environments are closed; in each tabular a row has as many cells as there are columns."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    bare = re.sub(r"\\[\\&%$#_{}]", "", "\n".join(lines).replace("\\\\\n", "\n"))
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert re.findall(r"\\begin\{(\w+)", text)[::-1][:1] == re.findall(r"\\end\{(\w+)", text)[:1]
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in body.splitlines() if line.endswith("\\\\")]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns)}


def test_bars_are_drawn_with_their_intervals_and_told_in_words(lab, audiobench, tmp_path):
    lab.run("good", {"a/<b>": lab.samples(40)}, model="good")
    lab.run("poor", {"a/<b>": lab.samples(40)}, says=every(3), model="poor")
    lab.run("part", {"a/<b>": lab.samples(40)}, limit=10, model="part")
    code, _, err = audiobench("table", "good", "poor", "part", "--svg", "plot.svg", "--out", "table.md")
    assert (code, err) == (0, "written to plot.svg\nwritten to table.md\n")
    root = ET.fromstring((tmp_path / "plot.svg").read_text(encoding="utf-8"))
    assert root.find(f"{SVG}title").text == "good, poor, part in a/<b>"
    assert "good 100.0 (9" in root.find(f"{SVG}desc").text
    bars = list(root.iter(f"{SVG}rect"))
    assert [float(bar.get("width")) for bar in bars] == pytest.approx([370.0, 370 * 26 / 40, 370.0], abs=0.1)
    assert [bar.get("fill") == "none" for bar in bars] == [False, False, True]
    texts = {"".join(text.itertext()) for text in root.iter(f"{SVG}text")}
    assert any(text.startswith("65.0 (4") for text in texts)
    assert not list(root.iter(f"{SVG}script"))


def test_a_radar_has_an_axis_for_each_share_and_needs_three(lab, audiobench, tmp_path):
    evals = {f"{name}/all": lab.samples(20, prefix=name) for name in "abc"}
    lab.run("good", evals, model="good")
    lab.run("poor", {"a/all": evals["a/all"], "b/all": evals["b/all"]}, says=every(2), model="poor")
    assert audiobench("table", "good", "poor", "--svg", "plot.svg", "--plot", "radar")[0] == 0
    root = ET.fromstring((tmp_path / "plot.svg").read_text(encoding="utf-8"))
    assert len(list(root.iter(f"{SVG}circle"))) == 5
    code, _, err = audiobench("table", "poor", "--svg", "plot.svg", "--plot", "radar")
    assert code == 4
    assert "a radar needs 3 benchmarks whose metric is a share, and here are 2" in err


@pytest.mark.parametrize("format_", ["markdown", "latex", "csv"])
def test_the_change_from_the_first_stands_beside_each_further_model(lab, audiobench, format_):
    lab.run("a", says=every(2))
    lab.run("b", says=every(10))
    code, out, _ = audiobench("table", "a", "b", "--change", "--format", format_)
    assert code == 0
    if format_ == "csv":
        first, second = csv.DictReader(io.StringIO(out))
        assert first["change"] == ""
        assert float(second["change"]) == pytest.approx(float(second["value"]) - float(first["value"]))
        assert float(second["change_lower"]) < float(second["change"]) < float(second["change_upper"])
    else:
        assert "+40.0 pp" in out
        assert "benchmark" in out.replace("&", "|").split("|")[0 if format_ == "latex" else 1]
        assert re.search(r"animals/all +[|&] accuracy .* [|&] 40 +[|&] 50\.0", out)
    if format_ == "latex":
        check_latex(out)


def test_a_score_of_which_few_answers_were_parsed_has_a_dagger(lab, audiobench):
    lab.run("a", says=lambda sample_id: True if int(sample_id[-3:]) % 2 else "no idea")
    lab.run("b")
    _, out, _ = audiobench("table", "a", "b", "--change")
    (line,) = [line for line in out.splitlines() if line.startswith("| animals/all")]
    assert line.count("†") == 1
    assert "- †: fewer than 80 % of the answers could be parsed" in out
    assert audiobench("table", "a", "--change")[0] == 4
