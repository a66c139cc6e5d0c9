"""The faithfulness study's table: the page holds what its recorded outputs give now."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.compat.faithfulness_study.published_table import table
from pytest_audiobench.errors import UsageError

ROOT = Path(__file__).parents[2]
RECORDED = ROOT.parent / "shared" / "data" / "recorded"
PAGE = ROOT / "docs" / "faithfulness.md"

needs_recorded = pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the study's recorded outputs are not on this machine"
)


@pytest.fixture(scope="module")
def printed():
    return table(RECORDED)


def cells(text, *begin):
    """The cells of the one row that begins so, in the order of its section's columns."""
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {' | '.join(begin)} |")]
    return [cell.strip() for cell in row.strip("|").split("|")]


@needs_recorded
@pytest.mark.slow
def test_the_page_holds_the_table_that_the_outputs_give(printed):
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- audiobench study table: begin -->\n", "<!-- audiobench study table: end -->"
    assert page.partition(begin)[2].partition(end)[0] == printed


@needs_recorded
def test_every_published_figure_whose_outputs_are_here_is_given_again_but_the_disputed(printed):
    sections = printed.split("### ")
    for title in ("With reasoning", "Without reasoning", "Two-step"):
        (section,) = [one for one in sections if one.startswith(title)]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()[4:] if line]
        recomputed = section.splitlines()[2].strip("|").split("|").index(" recomputed ")
        told = [(row[3], row[recomputed]) for row in rows if row[3] != "–" and row[recomputed] != "outputs not here"]
        assert told
        assert all(published == ours for published, ours in told if "†" not in published)


@needs_recorded
def test_the_counts_of_the_table_are_given_again(printed):
    sections = dict(one.split("\n", 1) for one in printed.split("### ") if one)
    # n, published with its nulls and missed reasoning, recomputed with the same
    assert cells(sections["With reasoning"], "Audio-Flamingo-3", "emotion")[2:9] == [
        *("1000", "45.70", "34", "18"),
        *("45.70", "34", "18"),
    ]
    assert cells(sections["Two-step sanity check"], "Audio-Flamingo-3")[2:7] == ["977", "75.54", "110", "75.54", "110"]
    assert cells(sections["By hop"], "Audio-Flamingo-3", "animal")[2:4] == ["85.40", "77.20"]
    masked = [cells(sections["Masked audio"], "Qwen2.5-Omni-7B", "animal", f"{p} %")[4] for p in (20, 40, 60, 80, 100)]
    assert masked == ["82.10", "79.20", "69.30", "50.70", "20.50"]
    assert cells(sections["Injected speech"], "Audio-Flamingo-3", "gender, wrong option")[2:8] == [
        *("–", "26.70", "-30.5", "-30.50", "6"),
        "outputs not here",
    ]


def test_an_answer_that_stands_twice_in_a_file_is_named(tmp_path):
    question = {"id": "one", "question": "Which?", "choices": "(A) cat (B) dog", "audio_path": "cat.wav"}
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "animal_manifest.jsonl").write_text(json.dumps({**question, "answer": "(A) cat"}))
    (tmp_path / "af3").mkdir()
    answer = json.dumps({"id": "one", "raw_model_outputs": ["(A) cat"]}) + "\n"
    (tmp_path / "af3" / "baseline_animal_REAS.jsonl").write_text(answer * 2)
    with pytest.raises(UsageError, match=r"REAS\.jsonl, line 2: 'one' is answered in line 1 already"):
        table(tmp_path)


def test_a_folder_without_outputs_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holds no outputs of the study"):
        table(tmp_path)
    assert main(["study", "table", str(tmp_path)]) == 4
