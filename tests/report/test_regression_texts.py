"""Regression lines in the terminal, in the summary of a CI job and as JUnit properties; the verdict of a whole run."""

import math
import re
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from pytest_audiobench.records.run import MetricRecord, VerdictRecord
from pytest_audiobench.report.junit import properties
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.terminal import summary_lines, verdict_lines
from pytest_audiobench.report.verdict import run_verdict

RIGHT, WRONG, LOST = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False), ("no audio", "error", False)
LONG = "an-eval-with-a-name-that-somebody-thought-about-for-too-long-and-then-parametrised[first-second-third-fourth]"
SENTENCE = (
    "up to 12.0 pp worse is possible (one-sided 95 % bound), and p = 0.12 for a drop of at most 1.0 pp is not below "
    "0.05 / 7; a drop of 9.0 pp would be seen four times in five (by the flips measured between the two runs)"
)
STATUSES = ("pass", "inconclusive", "not_comparable", "regressed")
FAIL = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "0.5 is not >= 0.9")


def held(runs, statuses=STATUSES, names=("digits", "emotion", "sounds", "mixtures"), **changes):
    failing = {"regressed", "not_comparable"}
    items = [
        runs.item(
            number,
            name,
            [RIGHT, WRONG],
            regressions=[runs.dropped(status, detail=SENTENCE)],
            outcome="failed" if status in failing else "passed",
        )
        for number, (name, status) in enumerate(zip(names, statuses, strict=True))
    ]
    return runs.gated(*items, **{"exit_status": int(bool(failing & set(statuses)))} | changes)[1]


def lines_of(record, width, verbosity=0):
    return [*summary_lines(record, width, verbosity), *verdict_lines(record, width)]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("long", [False, True])
def test_no_line_is_wider_than_the_terminal_and_no_verdict_is_cut(runs, width, long):
    names = [f"{LONG}{n}" if long else f"e{n}" for n in range(4)]
    record = held(runs, names=names, notes=["a note of many words " * 12 + "/and/a/path/without/any/space" * 9])
    lines = [text for text, _ in lines_of(record, width)]
    assert max(map(len, lines)) <= width
    for verdict in ("pass", "inconclusive", "not comparable", "regressed"):
        assert any(line.startswith(f"{verdict} ") for line in lines)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_without_a_baseline_the_table_fits_too_and_nothing_is_said_of_one(runs, width):
    items = [runs.item(n, f"{LONG}{n}", [RIGHT, WRONG, LOST], suite="s", verdicts=[FAIL]) for n in range(12)]
    _, record = runs.collected(*items, exit_status=1)
    lines = [text for text, _ in lines_of(record, width, verbosity=1)]
    assert max(map(len, lines)) <= width
    assert not any("held against" in line for line in lines)
    assert sum(line.rstrip().endswith("FAIL") for line in lines) == 12


def test_long_names_keep_both_their_ends(runs):
    lines = [text for text, _ in lines_of(held(runs, ["pass"], [LONG]), 60)]
    cut = next(line for line in lines if "drop <=" in line)
    assert cut.startswith("an-eval-with")
    assert "…" in cut
    assert cut.endswith(": accuracy.drop <= 1pp")


def test_a_row_too_wide_for_the_terminal_moves_no_other_out_of_its_column(runs):
    took = {"metric": "token_time", "unit": "s per token", "direction": "lower", "baseline": 0.1153, "value": 0.07809}
    lines = [runs.dropped("inconclusive"), runs.dropped("pass"), runs.dropped("pass", **took)]
    _, record = runs.gated(runs.item(0, "digits", [RIGHT, WRONG], regressions=lines))
    shown = [text for text, _ in lines_of(record, 80)]
    at = next(text for text in shown if text.startswith("verdict ")).index("now") + len("now")
    rows = [text for text in shown if text.startswith(("inconclusive  ", "pass  ")) and "/token" not in text]
    assert [text[:at].split()[-4:] for text in rows] == [["98.8", "%", "12.5", "%"]] * 2, shown
    assert any("0.1153 s/token  0.07809 s/token" in text for text in shown)


def test_whatever_is_no_pass_has_its_sentence_and_its_colour(runs):
    shown = lines_of(held(runs), 80)
    styles = {text.split("  ")[0]: style for text, style in shown}
    assert (styles["pass"], styles["inconclusive"], styles["regressed"]) == ("green", "yellow", "red")
    assert "\n".join(text.strip() for text, _ in shown).replace("\n", " ").count(SENTENCE) == 3


def test_the_worst_is_read_last_and_the_last_line_says_what_to_do(runs):
    lines = [text for text, _ in lines_of(held(runs), 200)]
    order = [line.split("  ")[0] for line in lines if re.match("(pass|inconclusive|not comparable|regressed)  ", line)]
    assert order == ["pass", "inconclusive", "not comparable", "regressed"]
    assert lines[-1].startswith(
        "regressed (1 of 4 comparisons regressed, 1 not comparable, 1 inconclusive, 1 pass). Hear "
    )


def test_what_was_not_compared_claims_no_flips(runs):
    record = runs.with_items(
        held(runs, ["not_comparable"], ["a"]), regressions=[runs.dropped("not_comparable", pairs=70)]
    )
    row = next(text for text, _ in lines_of(record, 200) if text.startswith("not comparable  "))
    assert row.endswith(" 70")
    assert "+0" not in row
    assert "| – | – | – |" in summary(record)


def test_models_are_named_where_there_are_several(runs):
    items = [runs.item(n, "digits", [RIGHT], model=m, regressions=[runs.dropped("pass")]) for n, m in enumerate("xy")]
    _, record = runs.gated(*items)
    assert any("digits · y: accuracy.drop <= 1pp" in text for text, _ in lines_of(record, 200))


@pytest.mark.parametrize(
    ("statuses", "changes", "word"),
    [
        (STATUSES, {}, "regressed"),
        (["pass", "inconclusive"], {"exit_status": 0}, "inconclusive"),
        (["pass", "not_comparable"], {"exit_status": 6}, "not comparable"),
        (["pass"], {}, "passed"),
        (["pass"], {"exit_status": 1}, "failed"),
        (["pass"], {"exit_status": 2}, "interrupted"),
    ],
)
def test_the_verdict_of_a_run_is_its_worst_line(runs, statuses, changes, word):
    names = ["a", "b", "c", "d"][: len(statuses)]
    assert run_verdict(held(runs, statuses, names, **changes)).word == word


def test_few_clusters_are_not_called_few_samples(runs):
    untested = {"p": None, "bound": None, "lower": None, "upper": None, "clusters": 6}
    item = runs.item(0, "a", [RIGHT], regressions=[runs.dropped("inconclusive", **untested)])
    _, record = runs.gated(item, exit_status=0)
    record = replace(record, items=[replace(item, cluster="speaker") for item in record.items])
    assert run_verdict(record).advice.startswith("Too few clusters for a test (6 of speaker): add clips of others")
    decided = runs.dropped("inconclusive", p=0.2, clusters=30)
    record = replace(record, items=[replace(record.items[0], regressions=[decided])])
    assert run_verdict(record).advice.startswith("Too few samples to decide that one")


@pytest.mark.parametrize(
    ("source", "alias", "shown"),
    [
        ("baselines/main.json", "listener", "baselines/main.json"),
        ("origin/main:my base.json (0123456789ab)", "listener", "'origin/main:my base.json'"),
        ("the run before", "listener", "before"),
        ("the run before (listener)", "listener", "'before#listener'"),
    ],
)
def test_an_undecided_run_names_the_command_that_counts_its_flips(runs, source, alias, shown):
    baseline = replace(runs.baseline, source=source, model=alias, run="before")
    item = runs.item(0, "a", [RIGHT], regressions=[runs.regression("inconclusive", 0.0)])
    advice = run_verdict(replace(runs.gated(item)[1], baseline=baseline)).advice
    command = f"audiobench power 2026-11-20-nightly --against {shown}"
    assert advice == f"Too few samples to decide that one: {command} says how many are needed."


def test_a_run_of_two_models_holds_both_sides_of_its_flips(runs):
    baseline = replace(runs.baseline, source="the model base", run="2026-11-20-nightly")
    item = runs.item(0, "a", [RIGHT], regressions=[runs.regression("inconclusive", 0.0)])
    advice = run_verdict(replace(runs.gated(item)[1], baseline=baseline)).advice
    assert "one: audiobench power 2026-11-20-nightly says" in advice


def test_a_failed_threshold_fails_a_run_that_did_not_regress(runs):
    item = runs.item(0, "a", [WRONG], verdicts=[FAIL], regressions=[runs.dropped("pass")], outcome="failed")
    verdict = run_verdict(runs.gated(item, exit_status=1)[1])
    assert (verdict.word, verdict.counts) == ("failed", "1 of 1 comparison pass; 1 threshold failed")


def test_a_run_that_was_held_to_nothing_says_so(runs):
    _, record = runs.collected(runs.item(0, "a", [RIGHT]))
    assert lines_of(record, 80)[-2][0].startswith("measured. Not gated: no threshold")


def test_the_summary_of_a_job_begins_with_verdicts(runs):
    text = summary(held(runs)).replace("\\", "").replace("&nbsp;", " ").replace("<br>", " ")
    lines = text.splitlines()
    assert lines[0] == (
        "## ✗ 2026-11-20-nightly: regressed – 1 of 4 comparisons regressed, 1 not comparable, 1 inconclusive, 1 pass"
    )
    assert text.index("**regressed** | mixtures") < text.index("**pass** | digits") < text.index("| Eval | Model |")
    assert "98.8 % → 12.5 % | −86.2 pp (−93.0 to −78.0) | 69 worse 2 better of 80 | 5.0 pp" in text
    assert text.count(SENTENCE.replace("<", "&#60;")) == 3


def test_a_job_without_a_baseline_has_no_table_of_regressions(runs):
    _, record = runs.collected(runs.item(0, "a", [RIGHT]))
    assert "Baseline →" not in summary(record)


def test_a_regression_line_is_a_handful_of_junit_properties(runs):
    item = runs.item(0, "a", [RIGHT], regressions=[runs.dropped(group={"hop": "multi"}, margin=0.02)]).record
    found = dict(properties(item))
    name = "eval.accuracy[hop=multi]"
    assert found[f"{name}.regression"] == "accuracy[hop=multi].drop <= 2pp"
    assert found[f"{name}.verdict"] == "regressed"
    numbers = ("baseline", "drop", "drop.bound", "margin", "p", "pairs", "worse", "better")
    assert [found[f"{name}.{one}"] for one in numbers] == ["0.9875", "0.8625", "0.92", "0.02", "1e-09", "80", "69", "2"]


def test_a_number_that_does_not_exist_has_no_property_and_numpy_leaves_no_trace(runs):
    numpy = pytest.importorskip("numpy")
    line = runs.dropped("not_comparable")
    line = replace(line, drop=numpy.float64(0.25), pairs=numpy.int64(3))
    found = dict(properties(runs.item(0, "a", [RIGHT], regressions=[line]).record))
    assert found["eval.accuracy.drop"] == "0.25"
    assert not {"eval.accuracy.p", "eval.accuracy.drop.bound"} & set(found)
    assert all(type(value) is str for value in found.values())


@pytest.mark.parametrize("text", ["\x00\x0b\x1b[2J", "\ud800", "\ufffe", "<&>\"'", "]]>", "\u2028", "x" * 100_000])
def test_properties_make_valid_xml_whatever_the_texts(runs, text):
    line = runs.dropped(group={text: text}, detail=text)
    verdict = VerdictRecord("fail", f"accuracy[{text}] >= 1", 0.5, text)
    item = replace(runs.item(0, "a", [RIGHT], regressions=[line], verdicts=[verdict]).record, eval=text)
    root = ElementTree.Element("properties")
    for name, value in properties(item):
        assert len(name) <= 500
        assert len(value) <= 500
        ElementTree.SubElement(root, "property", name=name, value=value)
    assert len(ElementTree.fromstring(ElementTree.tostring(root, encoding="utf-8"))) == len(root)


def test_the_number_of_properties_does_not_grow_without_end(runs):
    item = runs.item(0, "a", [RIGHT], regressions=[runs.dropped(group={"g": str(n)}) for n in range(500)]).record
    metrics = [MetricRecord(f"m{n}", math.pi, None, None, 1, "", "higher", "") for n in range(500)]
    found = properties(replace(item, metrics=metrics))
    assert len(found) == 400
    assert found[-1][0] == "eval.properties_left_out"
    assert {"eval.name", "eval.input_hash", "eval.accuracy[g=0].verdict"} <= dict(found).keys()


def test_a_limited_run_says_that_the_baseline_is_held_on_its_samples_alone(runs):
    text = "\n".join(text for text, _ in lines_of(held(runs, ["pass"], ["a"], limit=2), 200))
    assert "Limited: only part of the samples was asked. The baseline is compared on these alone." in text
