from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.records.lines import ScoredAnswer
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.run_reader import load_run

RIGHT, WRONG, FAILED = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False), ("no audio", "error", False)


@pytest.fixture
def folder(runs: Any) -> Path:
    items = [
        runs.item(0, "single", [RIGHT, WRONG, FAILED], groups={"hop": "single"}),
        runs.item(1, "multi", [RIGHT, RIGHT], groups={"hop": "multi"}),
    ]
    return runs.collected(*items)[0]


def test_last_is_the_run_that_was_written_last(folder: Path) -> None:
    earlier = folder.parent / "earlier"
    shutil.copytree(folder, earlier)
    os.utime(earlier / "run.json", (1, 1))
    assert load_run("last", folder.parent).folder == folder
    with pytest.raises(UsageError, match="there is no run 'last'"):
        load_run("last", folder)


def test_rows_join_question_answer_scorer_and_score(folder: Path) -> None:
    rows = list(load_run(folder).rows())
    assert [row.sample_id for row in rows] == ["s00000", "s00001", "s00002", "s00000", "s00001"]
    first = rows[0]
    assert (first.eval, first.question, first.text) == ("single", "Which animal is heard?", "(a) cat")
    assert first.scorers == {"letters": ScoredAnswer("parsed", "A", {"correct": 1.0})}
    assert first.groups == {"hop": "single"}
    assert (rows[2].error, rows[2].text) == ("no audio", None)
    assert rows[2].scorers["letters"].status == "error"


def test_a_run_is_found_by_its_name_under_the_reports(folder: Path) -> None:
    assert load_run(folder.name, reports=folder.parent).folder == folder
    assert load_run(str(folder)).record.schema == "audiobench.run/2"


def edit(folder: Path, change: Callable[[Any], object]) -> None:
    """Edit the run's record as somebody might by hand."""
    record = json.loads((folder / "run.json").read_text())
    change(record)
    (folder / "run.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda record: record["items"][1]["scorers"][0].update(signature="letters|v:2"),
            "items 'multi', metrics 'accuracy' is by letters (letters|v:1|skip:no), which is not one of the item's",
        ),
        (
            lambda record: record["items"][1].update(regressions=[{"status": "regressed"}]),
            "items 'multi', regressions 1 has no 'metric'",
        ),
        (
            lambda record: record["items"][0]["metrics"][0].update(value="0.5"),
            "items 'single', metrics 'accuracy', value must be a number or null, not '0.5'",
        ),
        (
            lambda record: record["items"][0].update(outcome="fine"),
            "items 'single', outcome must be one of 'passed', 'failed', 'skipped', 'lost', not 'fine'",
        ),
        (lambda record: record.update(modles=[]), "it has the unknown 'modles' (is it 'models'?)"),
        (lambda record: record.update(started="yesterday"), "started must be a time such as 2026-11-21T19:06:00Z, not"),
        (lambda record: record.update(limit=0), "limit must be a whole number of at least 1, not 0"),
    ],
)
def test_a_run_that_was_edited_is_refused_in_a_sentence_with_the_place(
    folder: Path, change: Callable[[Any], object], says: str
) -> None:
    edit(folder, change)
    with pytest.raises(UsageError) as refused:
        load_run(folder)
    assert f"{folder / 'run.json'}: {says}" in str(refused.value)
    assert str(refused.value).endswith(
        "it was edited, cut, or written by another version: run again, which asks no model"
    )


def test_frames_hold_one_row_per_item_number_and_scorer(folder: Path) -> None:
    pytest.importorskip("pandas", reason="frames need pandas")
    run = load_run(folder)
    assert list(run.items["eval"]) == ["single", "multi"]
    assert run.items["coverage.errors"].tolist() == [1, 0]
    assert run.items["hashes.run_hash"].str.len().tolist() == [64, 64]
    accuracy = run.metrics[(run.metrics["name"] == "accuracy") & (run.metrics["group"] == "")]
    assert accuracy["value"].tolist() == [0.5, 1.0, 0.75]
    assert accuracy["eval"].tolist()[:2] == ["single", "multi"]
    assert accuracy["eval"].isna().tolist() == [False, False, True]
    samples = run.samples
    assert samples.groupby("group.hop")["score.correct"].mean().to_dict() == {"multi": 1.0, "single": 0.5}
    assert samples[samples["status"] == "error"]["sample_id"].tolist() == ["s00002"]


def test_a_run_without_record_says_what_can_be_read(runs: Any) -> None:
    crashed = runs.begun(runs.item(0, "a", [RIGHT]))
    with pytest.raises(UsageError, match=r"crashed or is still going; 1 finished evals can be read under .*parts"):
        load_run(crashed)


def test_a_run_cut_after_merging_is_no_finished_run_either(runs: Any) -> None:
    crashed = runs.begun(runs.item(0, "a", [RIGHT]))
    run_writer.collect(crashed, runs.heading())
    with pytest.raises(UsageError, match="crashed or is still going"):
        load_run(crashed)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("{", "line 1 is not JSON .it ends too early: the file was cut"),
        ("[]", "is not a run's record: it has no schema where 'audiobench.run/2' is expected"),
        ('{"schema":"audiobench.baseline/2"}', "is not a run's record: it has the schema 'audiobench.baseline/2'"),
        (
            '{"schema":"audiobench.run/1","items":[{"eval":5}]}',
            "has the schema 'audiobench.run/1', which another version of pytest-audiobench wrote, and this one reads "
            "'audiobench.run/2': write it again with pytest",
        ),
        ('{"schema":"audiobench.run/2","run":"a","run":"b"}', "has 'run' twice"),
        ('{"schema":"audiobench.run/2","epochs":NaN}', "line 1 holds NaN, which is not a number"),
        ('{"schema":' * 100_000, "nested too deep"),
    ],
)
def test_a_record_of_another_version_or_none_is_refused(folder: Path, content: str, reason: str) -> None:
    (folder / "run.json").write_text(content)
    with pytest.raises(UsageError, match=f"run.json.*{reason}"):
        load_run(folder)


def test_a_folder_that_is_no_run_or_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not the folder of a run"):
        load_run(tmp_path)
    with pytest.raises(UsageError, match="there is no run 'nightly'"):
        load_run("nightly", reports=tmp_path)


def test_files_that_do_not_belong_together_are_an_error_not_a_wrong_join(folder: Path) -> None:
    path = folder / "scored_predictions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(reversed(lines)))
    with pytest.raises(FatalError, match="not of one run, or were sorted"):
        list(load_run(folder).rows())


def test_scorer_rows_imports_no_pandas_and_frames_without_it_say_what_to_install(folder: Path) -> None:
    script = """
        import sys
        sys.modules["pandas"] = None  # as on a machine without it
        from pytest_audiobench.report.run_reader import load_run
        run = load_run(sys.argv[1])
        print(sum(1 for _ in run.rows()))
        try:
            run.samples
        except Exception as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] == "5"
    assert "pip install 'pytest-audiobench[frames]'" in done.stdout


def test_stages_and_several_outputs_are_kept_apart(folder: Path) -> None:
    path = folder / "predictions.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    staged = []
    for row in rows:
        reasoning = row | {"stage": "reasoning", "outputs": [{"text": "I hear purring.", "finish": "length"}]}
        staged += [reasoning, row]
    path.write_text("".join(json.dumps(row) + "\n" for row in staged))
    first = next(load_run(folder).rows())
    assert first.stages == {"reasoning": ["I hear purring."], "answer": ["(a) cat"]}
    assert first.text == "(a) cat"


@pytest.mark.parametrize("name", ["samples", "metrics", "items", "regressions"])
def test_each_frame_is_written_to_parquet_in_one_line_and_comes_back(runs: Any, tmp_path: Path, name: str) -> None:
    pandas = pytest.importorskip("pandas", reason="frames need pandas")
    pytest.importorskip("pyarrow", reason="pandas writes Parquet by pyarrow, which is not installed")
    items = [
        runs.item(0, "single", [RIGHT, FAILED], question="half a pair: \ud83c", regressions=[runs.dropped()]),
        runs.item(1, "multi", [RIGHT, WRONG], groups={"hop": "multi"}, verdict="yes"),
    ]
    frame = getattr(load_run(runs.gated(*items)[0]), name)
    frame.to_parquet(tmp_path / "frame.parquet")
    back = pandas.read_parquet(tmp_path / "frame.parquet")
    assert list(back.columns) == list(frame.columns)
    assert len(back) == len(frame)
    if name == "samples":
        assert list(back["choices"][0]) == ["cat", "dog", "cow", "hen"]
        assert back["audio"][0][0]["source"] == "sakura:data/0.wav"
        assert list(back["stage.answer"][0]) == ["(a) cat"]
        assert back["question"][0] == "half a pair: \ufffd"


def test_a_column_of_a_frame_holds_values_of_one_kind(runs: Any) -> None:
    pytest.importorskip("pandas", reason="frames need pandas")
    made = runs.item(0, "a", [RIGHT, FAILED]), runs.item(1, "b", [WRONG])
    folder, _ = runs.collected(*made)
    options = {"prompt": "Choose.", "labels": ["x"]}, {"labels": None}
    edit(
        folder, lambda record: [item.update(options=each) for item, each in zip(record["items"], options, strict=True)]
    )
    run = load_run(folder)
    assert run.items["options.labels"].tolist() == ['["x"]', "null"]
    for frame in (run.items, run.metrics, run.samples):
        for column in frame:
            kinds = {type(value) for value in frame[column] if value is not None and value == value}
            assert len(kinds) <= 1, column
            assert dict not in kinds, column
