"""The hashes of lines, made of what lies in the file: reading loses nothing that they cover."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_audiobench.datasets.sample import Field, Sample
from pytest_audiobench.evaluation.hashes import sample_payload
from pytest_audiobench.identity import digest_of_trusted
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.lines import OutputRow, PredictionRow
from pytest_audiobench.records.reading import read_lines
from pytest_audiobench.report.json_lines import write_lines
from pytest_audiobench.verifier.prediction_rows import ItemLines, Requests

HUGE = 2**70 + 1


def row(value: Field = None, epoch: int = 0, outputs: tuple[OutputRow, ...] = ()) -> PredictionRow:
    """A row of a sample whose metadata hold ``value``."""
    return PredictionRow(
        eval="e",
        model="m",
        dataset="d",
        sample_id="s",
        epoch=epoch,
        question="Which?",
        choices=("a", "b"),
        reference="a",
        references=(),
        metadata={"take": value},
        stage="answer",
        key=None,
        prompt=[("user", [0, "Which?"])],
        outputs=outputs,
        usage={},
        error=None,
        audio=(),
    )


def read_again(path: Path, *rows: PredictionRow) -> ItemLines:
    """What the lines give once they were written into a file and read."""
    write_lines(path, rows)
    return read_lines_of(path)


def read_lines_of(path: Path) -> ItemLines:
    lines = ItemLines("d", Requests({}, {}, lambda row: row.choices))
    for read in read_lines(path, PredictionRow):
        lines.add([read])
    return lines


NUMBERS = (1, 1.0, 0, -0.0, 0.1, 0.1 + 0.2, 1e16, 1e23, 5e-324, 1.7976931348623157e308, float(HUGE))
BEYOND = (2**53 + 1, 2**63, -(2**63) - 1, 2**64, HUGE, -HUGE)
"""Whole numbers that are not floats, or no machine's integers."""


@pytest.mark.parametrize("value", [*NUMBERS, *BEYOND, True, False, None, "", "1", "\u00e9\U0001f600\x00"])
def test_a_value_of_the_metadata_has_the_hash_that_its_run_gave_it(tmp_path: Path, value: Field) -> None:
    sample = Sample("s", (), "Which?", ("a", "b"), "a", {"take": value})
    hashes = read_again(tmp_path / "predictions.jsonl", row(value)).hashes
    assert hashes["data"] == digest_of_trusted([sample_payload(sample)])


@pytest.mark.parametrize(
    ("value", "other"),
    [(1, 1.0), (1, True), (0, False), (0.0, -0.0), (0.3, 0.1 + 0.2), (HUGE, HUGE - 1), (HUGE, float(HUGE))],
)
def test_values_that_only_their_kind_or_last_digit_tells_apart_have_two_hashes(
    tmp_path: Path, value: Field, other: Field
) -> None:
    first, second = (read_again(tmp_path / "predictions.jsonl", row(each)) for each in (value, other))
    assert first.hashes["data"] != second.hashes["data"]
    lines = read_again(tmp_path / "predictions.jsonl", row(value), row(other, epoch=1))
    assert "another question or truth" in lines.trouble["data"]


def edited(path: Path, number: str) -> ItemLines:
    path.write_text(json.dumps(plain(row("HERE"))).replace('"HERE"', number) + "\n")
    return read_lines_of(path)


@pytest.mark.parametrize("number", ["1E2", "0.10", "-0", "0.1000000000000000055511151231257827"])
def test_a_number_that_someone_wrote_otherwise_is_the_number_that_json_has(tmp_path: Path, number: str) -> None:
    sample = Sample("s", (), "Which?", ("a", "b"), "a", {"take": json.loads(number)})
    assert edited(tmp_path / "predictions.jsonl", number).hashes["data"] == digest_of_trusted([sample_payload(sample)])


@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity"])
def test_what_is_no_number_has_no_hash(tmp_path: Path, number: str) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        edited(tmp_path / "predictions.jsonl", number)


@pytest.mark.parametrize("text", ["1 ", " 1", "1\n", "1\x00", "e\u0301", "\u00e9", "1\u200b"])
def test_no_character_of_an_answer_is_lost(tmp_path: Path, text: str) -> None:
    hashes = read_again(tmp_path / "predictions.jsonl", row(outputs=(OutputRow(text, "stop"),))).hashes
    assert hashes["answers"] == digest_of_trusted(
        [["s", 0, None, [["answer", [[[["text", text]], "stop"]]]]]],
    )


def test_a_text_that_is_not_that_of_its_parts_is_no_line_of_a_run(tmp_path: Path) -> None:
    output = OutputRow("yes", "stop", [("text", "no"), ("audio", "0" * 64)])
    with pytest.raises(ValueError, match="is not that of its parts"):
        read_again(tmp_path / "predictions.jsonl", row(outputs=(output,)))
