"""A file of recorded answers that says its own figure is verified at once, by the first scorer that gives it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.cli import main
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.rescoring.layouts import Source, source_of
from pytest_audiobench.rescoring.recorded_answers import RecordedRow
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

SHARED = Path(__file__).parents[3] / "shared" / "data"
RECORDED, RUNS, OUTPUTS = SHARED / "recorded", SHARED / "audiobench-runs", SHARED / "outputs"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the recorded answers are not at {SHARED}")


def found_in(rows, *scorers):
    return rescore(Source("recorded", (), lambda: iter(rows)), ScoringOptions(scorers)).notes


def transcripts(*pairs, **figures):
    return [
        RecordedRow(
            sample=Sample(f"{place}", (), "", reference=reference),
            responses={"answer": Response.of(text)},
            eval="talk",
            dataset="talk",
            model="ear",
            family="transcription",
            figures=figures,
        )
        for place, (reference, text) in enumerate(pairs)
    ]


def choices(*answers, **more):
    """Questions whose true option is B, with what the file says of each answer."""
    return [
        RecordedRow(
            sample=Sample(f"{place}", (), "Which?", ("dog", "hen"), "hen"),
            responses={} if stored is None else {"answer": Response.of(text)},
            error="it crashed" if stored is None else None,
            eval="animals",
            dataset="animals",
            model="ear",
            family="multiple_choice",
            stored={} if stored is None else {"accuracy": stored},
            **more,
        )
        for place, (text, stored) in enumerate(answers)
    ]


def test_the_first_scorer_that_gives_the_figure_is_named():
    rows = transcripts(("A dog.", "a dog"), ("It rains", "it rains today"), wer=0.25)
    assert found_in(rows, "raw", "wer-basic", "lower-nopunct") == [
        "talk · ear: the file's own wer 0.25: equal by `wer-basic` (2 of 3 scorers give it)"
    ]


def test_of_several_that_give_it_the_tools_own_rule_is_named():
    rows = transcripts(("A dog.", "a dog"), wer=0.0)
    named = [RecordedRow(**{**{name: getattr(row, name) for name in row.__slots__}, "scorer": "nota"}) for row in rows]
    assert "equal by `nota` (3 of 3 scorers" in found_in(named, "wer-basic", "lower-nopunct", "nota")[0]


def test_a_figure_that_no_scorer_gives_is_told_with_the_five_closest_the_nearest_first():
    rows = transcripts(("A dog.", "a dog"), ("red blue pink grey", "red blue pink"), wer=0.45)
    head, *lines = found_in(rows, "raw", "wer-basic", "lower-nopunct", "nota", "gigaspeech", "whisper-en", "firered")
    assert head == "talk · ear: the file's own wer 0.45 comes out by none of 7 scorers; the closest:"
    assert lines[0] == "`raw` gives 0.5, off by +0.05"
    assert len(lines) == 5
    assert "`wer-basic` gives 0.166667, off by -0.283" in lines


def test_a_rounded_figure_is_equal_to_its_last_digit():
    pairs = [("one two three", "one two"), ("four", "four")]
    assert "0.25: equal by `raw` (1 of" in found_in(transcripts(*pairs, wer=0.25), "raw")[0]
    pairs = [("one two three", "one two")]
    assert "0.3333: equal by `raw`, to its last digit (1 of" in found_in(transcripts(*pairs, wer=0.3333), "raw")[0]
    assert "comes out by none" in found_in(transcripts(*pairs, wer=0.3334), "raw")[0]
    assert "comes out by none" in found_in(transcripts(*pairs, wer=0.3), "raw")[0], "one digit is not a rounding"


@given(st.integers(1, 999), st.integers(3, 12))
def test_a_share_is_equal_to_what_any_number_of_its_digits_says(hits, decimals):
    from pytest_audiobench.rescoring.own_figures import _Candidate, _equal

    share = hits / 1000
    assert _equal([_Candidate("a", share, 0)], round(share, decimals))
    assert not _equal([_Candidate("a", share, 0)], share + 0.0011)


def test_what_a_file_says_of_its_rows_is_verified_row_by_row():
    rows = choices(("(A)", 0.0), ("(B)", 1.0), ("it is a hen", 1.0), ("", None))
    assert found_in(rows, "letters") == [
        "animals · ear: its rows' own mean accuracy 0.6666666666666666: equal by `letters`, and so is every row "
        "(1 of 1 scorers give it)"
    ]
    swapped = choices(("(A)", 1.0), ("(B)", 0.0))
    assert "0.5: equal by `letters`, though 2 of its rows differ" in found_in(swapped, "letters")[0]


def test_of_scorers_that_give_the_figure_the_one_that_agrees_with_every_row_is_named():
    texts = [("It is not (A). It is (B)", 1.0), ("(B), or rather (A)", 0.0)]
    notes = found_in(choices(*texts), "faithfulness-runtime-af3-direct", "faithfulness-recovered")
    assert "0.5: equal by `faithfulness-recovered`, and so is every row (2 of 2" in notes[0]


@pytest.mark.parametrize("figures", [{}, {"wer": None}])
def test_a_file_without_a_figure_is_scored_in_silence(figures):
    assert found_in(transcripts(("a", "a"), **figures), "raw") == []


def test_a_log_of_audiobench_is_verified_by_the_command(tmp_path, capsys):
    file = tmp_path / "SALMONN_7B" / "thai_wer_score.json"
    file.parent.mkdir()
    rows = [{"reference": "ก็ A เข้าใจ ว่า", "prediction": "ก็ a เข้าใจ ว่า ?", "wer": 0.5}]
    file.write_text(json.dumps({"wer": 0.5, "sample_wer": rows}))
    assert main(["score", str(file)]) == 0
    out = capsys.readouterr().out
    assert "note: thai · SALMONN_7B: the file's own wer 0.5: equal by `raw`" in out


@needs_data
@pytest.mark.parametrize(
    ("file", "scorer"),
    [
        (RECORDED / "af3" / "baseline_mmau_test_No_REAS.jsonl", "faithfulness-runtime-af3-direct-mmau"),
        (RECORDED / "af3" / "baseline_gender_REAS.jsonl", "faithfulness-runtime-af3"),
        (RECORDED / "qwen2.5-omni" / "baseline_animal_No_REAS.jsonl", "faithfulness-runtime-qwen"),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else None,
)
def test_the_studys_files_are_equal_in_every_row_by_the_parser_that_wrote_them(file, scorer):
    (note,) = rescore(source_of(file), ScoringOptions(("letters", scorer))).notes
    assert f"equal by `{scorer}`, and so is every row" in note


@needs_data
def test_an_accuracy_that_an_older_parser_wrote_is_told_from_all_others():
    file = RECORDED / "af3" / "baseline_mmau_REAS.jsonl"
    notes = rescore(source_of(file), ScoringOptions(("letters", "faithfulness-runtime-af3"))).notes
    assert notes == [
        "mmau[reas] · af3: its rows' own mean accuracy 0.616 comes out by none of 2 scorers; the closest:",
        "`letters` gives 0.663, off by +0.047",
        "`faithfulness-runtime-af3` gives 0.677, off by +0.061",
    ]


@needs_data
@pytest.mark.parametrize(
    "file", sorted((OUTPUTS / "audiobench").glob("*/*_wer_score.json")), ids=lambda file: file.stem
)
def test_the_logs_of_audiobench_are_equal_by_their_words_as_they_are(file):
    (note,) = rescore(source_of(file), ScoringOptions(("raw",))).notes
    assert ": equal by `raw` (" in note


@needs_data
@pytest.mark.parametrize("name", ["run-10d037b0", "demo-heuristic", "qwen2-modal-smoke"])
def test_a_run_of_thenirocks_tool_is_equal_in_each_of_its_conditions(name):
    found = rescore(source_of(RUNS / f"{name}.json"), ScoringOptions())
    assert len(found.notes) == len(found.items)
    assert all(": equal by `" in note for note in found.notes)


def test_a_figure_that_is_no_number_is_told_and_never_compared():
    rows = transcripts(("a b", "a b"), ("c d", "c"), wer=float("nan"), cer="0.25")
    assert "talk · ear: the file's own wer is not a number, and was not checked" in found_in(rows, "wer-basic")
    rows = choices(("B", 1.0), ("A", float("nan")))
    assert [note for note in found_in(rows, "letters") if "own" in note] == [
        "animals · ear: its rows' own mean accuracy was not checked: 1 of 2 rows have no number there"
    ]


def test_a_cell_of_a_table_is_a_number(tmp_path, capsys):
    table = tmp_path / "talk.csv"
    table.write_text("id,hypothesis,reference,wer\nu1,a b,a b,0.0\nu2,a,a b,0.5\n")
    assert main(["score", str(table), "--columns=own=wer", "--family=transcription", "--scorers=wer-basic"]) == 0
    assert "its rows' own mean wer_mean 0.25: equal by `wer-basic`" in capsys.readouterr().out


def test_a_figure_that_none_of_the_scorers_gives_is_told():
    notes = found_in(transcripts(("a b", "a b"), wer=0.0, per=0.2), "wer-basic")
    assert "talk · ear: the file's own per 0.2 was not checked: no scorer that was used gives it" in notes
