from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_audiobench.errors import FatalError
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.lines import LINE_FILES
from pytest_audiobench.records.run import VerdictRecord
from pytest_audiobench.report import run_writer

RIGHT, WRONG, FAILED = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False), ("no audio", "error", False)
SCHEMA = Path(__file__).parents[2] / "docs" / "run.schema.json"


def evals_in(path: Path) -> list[str]:
    return list(dict.fromkeys(json.loads(line)["eval"] for line in path.read_text().splitlines()))


def test_parts_are_merged_in_the_order_of_the_collection(runs: Any) -> None:
    items = [runs.item(index, name, [RIGHT, WRONG]) for index, name in ((11, "late"), (2, "early"), (5, "middle"))]
    folder, record = runs.collected(*items)
    for name in LINE_FILES.values():
        assert evals_in(folder / name) == ["early", "middle", "late"]
    assert [item.eval for item in record.items] == ["early", "middle", "late"]


def test_files_do_not_depend_on_the_order_in_which_items_finished(runs: Any) -> None:
    items = [runs.item(index, name, [RIGHT, WRONG]) for index, name in enumerate("abc")]
    forth, _ = runs.collected(*items, name="forth")
    back, _ = runs.collected(*reversed(items), name="back")
    for name in (*LINE_FILES.values(), "run.json"):
        assert (forth / name).read_bytes() == (back / name).read_bytes()


def test_answers_are_in_the_predictions_only(runs: Any) -> None:
    folder, _ = runs.collected(runs.item(0, "a", [("a very unlikely answer", "unparsed", False)]))
    holders = [name for name in LINE_FILES.values() if "very unlikely" in (folder / name).read_text()]
    assert holders == ["predictions.jsonl"]


def test_a_finished_run_has_its_record_and_no_parts(runs: Any) -> None:
    folder, record = runs.collected(runs.item(0, "a", [RIGHT]))
    assert json.loads((folder / "run.json").read_bytes()) == plain(record)
    assert sorted(path.name for path in folder.iterdir()) == sorted(["run.json", *LINE_FILES.values()])


def test_a_run_is_not_marked_as_finished_before_its_end(runs: Any) -> None:
    folder = runs.begun(runs.item(0, "a", [RIGHT]))
    record = run_writer.collect(folder, runs.heading())
    assert not (folder / "run.json").exists()
    run_writer.finish(folder, record)
    assert (folder / "run.json").exists()


def test_what_a_crashed_run_left_is_never_merged_into_another(runs: Any) -> None:
    crashed = runs.begun(runs.item(0, "old", [RIGHT]), name="crashed")
    folder, record = runs.collected(runs.item(1, "new", [WRONG]), name="next")
    assert [item.eval for item in record.items] == ["new"]
    assert evals_in(folder / "predictions.jsonl") == ["new"]
    assert (crashed / "parts").is_dir()


def test_a_finished_run_is_never_written_again(runs: Any) -> None:
    folder, _ = runs.collected(runs.item(0, "a", [RIGHT]))
    with pytest.raises(FatalError, match="already holds a finished run"):
        run_writer.collect(folder, runs.heading())


def test_an_item_killed_between_its_lines_and_its_record_is_left_out_and_noted(runs: Any) -> None:
    folder = runs.begun(runs.item(0, "whole", [RIGHT]), runs.item(1, "killed", [RIGHT]))
    next((folder / "parts").glob("000001-*.item.json")).unlink()
    record = run_writer.collect(folder, runs.heading())
    assert evals_in(folder / "predictions.jsonl") == ["whole"]
    assert any("started and not finished" in note for note in record.notes)


def test_lines_that_vanished_are_noted_and_cost_no_other_item(runs: Any) -> None:
    folder = runs.begun(runs.item(0, "a", [RIGHT]), runs.item(1, "b", [RIGHT]))
    next((folder / "parts").glob("000000-*.predictions.jsonl")).unlink()
    record = run_writer.collect(folder, runs.heading())
    assert evals_in(folder / "predictions.jsonl") == ["b"]
    assert any("lines are missing" in note for note in record.notes)


def test_a_damaged_part_is_named(runs: Any) -> None:
    folder = runs.begun(runs.item(0, "a", [RIGHT]))
    part = next((folder / "parts").glob("*.item.json"))
    part.write_text("{")
    with pytest.raises(FatalError, match=part.name):
        run_writer.collect(folder, runs.heading())


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, Path("/x"), "half \ud800"])
def test_a_hook_that_adds_what_json_does_not_have_is_told_where(runs: Any, value: Any) -> None:
    folder = runs.begun(runs.item(0, "a", [RIGHT]))
    record = run_writer.collect(folder, runs.heading())
    record.extra["gpu"] = {"names": [value]}
    with pytest.raises(FatalError, match=r"run\.extra\.gpu\.names\[0\]"):
        run_writer.finish(folder, record)
    assert not (folder / "run.json").exists()
    assert (folder / "parts").exists()


def test_records_are_as_the_schema_says(runs: Any) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    verdict = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "50.0 % is below 90.0 %")
    items = [
        runs.item(0, "single", [RIGHT, WRONG, FAILED], groups={"hop": "single"}, verdicts=[verdict], outcome="failed"),
        runs.item(1, "multi", [RIGHT] * 4, groups={"hop": "multi"}, epochs=2, limited=True),
        runs.item(2, "broken", [FAILED], model="other"),
    ]
    folder, _ = runs.collected(*items, limit=2, epochs=2, exit_status=1, notes=["a note"])
    jsonschema.validate(json.loads((folder / "run.json").read_bytes()), schema, jsonschema.Draft202012Validator)
    lines = jsonschema.Draft202012Validator(json.loads(SCHEMA.with_name("lines.schema.json").read_text()))
    for name in LINE_FILES.values():
        for line in (folder / name).read_text().splitlines():
            lines.validate(json.loads(line))
    empty, _ = runs.collected(name="empty", exit_status=5)
    jsonschema.validate(json.loads((empty / "run.json").read_bytes()), schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record.pop("hashes"),
        lambda record: record.update(schema="audiobench.run/1"),
        lambda record: record["items"][0]["metrics"][0].update(value="0.5"),
        lambda record: record["items"][0]["metrics"][0].pop("n"),
        lambda record: record["items"][0].update(outcome="fine"),
        lambda record: record.update(started="yesterday"),
    ],
)
def test_the_schema_refuses_what_is_no_record(runs: Any, spoil: Callable[[dict[str, Any]], object]) -> None:
    folder, _ = runs.collected(runs.item(0, "a", [RIGHT]))
    record = json.loads((folder / "run.json").read_text())
    spoil(record)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
