from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_audiobench.errors import FatalError
from pytest_audiobench.records.lines import AudioRow, EarlierAnswer, OutputRow, PredictionRow, ScoredRow
from pytest_audiobench.records.reading import LONGEST_LINE, read_lines
from pytest_audiobench.report.json_lines import encode_line, write_lines

PREDICTION = PredictionRow(
    eval="animals",
    model="listener",
    dataset="sakura-animals",
    sample_id="s1",
    epoch=0,
    question="Which animal is heard?",
    choices=["cat", "dog"],
    reference="cat",
    references=[],
    metadata={},
    stage="answer",
    key=None,
    prompt=[("user", [1, "Which animal is heard?"])],
    outputs=[OutputRow("(a) cat", "stop")],
    usage={"text": 3},
    error=None,
    audio=[AudioRow("sakura:data/1.wav", None, 1.25, 0.0)],
)
SCORED = ScoredRow(
    eval="animals",
    model="listener",
    dataset="sakura-animals",
    sample_id="s1",
    epoch=0,
    scorer="letters",
    status="parsed",
    scores={"correct": 1.0},
    failures=[],
    groups={"hop": "single"},
    cluster=None,
)
LINE = encode_line(SCORED)

texts = st.text(max_size=50)
fields = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts
)


@given(question=texts, references=st.lists(texts, max_size=3), metadata=st.dictionaries(texts, fields, max_size=4))
def test_any_row_is_one_line_and_reads_back_the_same(
    question: str, references: list[str], metadata: dict[str, Any]
) -> None:
    row = replace(PREDICTION, question=question, references=references, metadata=metadata)
    line = encode_line(row)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert msgspec.json.decode(line, type=PredictionRow) == row


def test_rows_with_line_separators_and_lone_surrogates_are_read_back_in_order(tmp_path: Path) -> None:
    questions = ("a\u2028b\u2029c\x85d\r\n", "\x00\x1b[31m", "half \ud800 pair", "größer 🎧", "")
    rows = [replace(PREDICTION, question=question) for question in questions]
    write_lines(tmp_path / "rows.jsonl", rows)
    assert list(read_lines(tmp_path / "rows.jsonl", PredictionRow)) == rows


def test_lines_are_compact_and_their_keys_sorted() -> None:
    assert encode_line(EarlierAnswer("parsed", None)) == b'{"status":"parsed","value":null}\n'
    assert b'{"cluster":null,"dataset":"sakura-animals","epoch":0,' in LINE
    assert list(json.loads(LINE)) == sorted(json.loads(LINE))


def test_what_a_row_does_not_have_takes_no_room_in_its_line(tmp_path: Path) -> None:
    members = json.loads(encode_line(PREDICTION))
    assert not {"role", "recipes", "recording", "unchanged"} & set(members)
    assert members["outputs"] == [{"text": "(a) cat", "finish": "stop"}]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_statistic_that_is_no_number_is_refused_with_its_sample(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match=rf"letters gives wer = {value} for 's1', which is not a number"):
        write_lines(tmp_path / "rows.jsonl", [replace(SCORED, scores={"wer": value})])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (LINE[:-20], "it is not one JSON object"),
        (LINE.strip() + LINE, "it is not one JSON object"),
        (b"[" * 100_000, "it is not one JSON object"),
        (b"[1]\n", "it must be an object, not a list"),
        (LINE.replace(b'"epoch":0', b'"epoch":"0"'), "epoch must be a whole number, not '0'"),
        (LINE.replace(b'"epoch":0', b'"epoch":-1'), "epoch must be a whole number of at least 0, not -1"),
        (LINE.replace(b'"epoch":0,', b""), "it has no 'epoch'"),
        (LINE.replace(b"cluster", b"clutser"), "it has the unknown 'clutser' .is it 'cluster'"),
        (LINE.replace(b'"parsed"', b'"fine"'), "status must be one of 'parsed', 'unparsed', .*, not 'fine'"),
        (LINE.replace(b":1.0", b":NaN"), "scores, 'correct' must be a finite number"),
        (LINE.replace(b":1.0", b":1e999"), "scores, 'correct' must be a finite number"),
    ],
)
def test_a_damaged_line_is_named_by_its_number_and_its_mistake(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(LINE + line)
    rows = read_lines(path, ScoredRow)
    assert next(rows) == SCORED
    with pytest.raises(FatalError, match=rf"rows.jsonl, line 2: {reason}.*: the file was cut or edited"):
        next(rows)


def test_bytes_that_are_not_utf_8_come_through_to_be_repaired(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(encode_line(PREDICTION).replace(b"(a) cat", b"(a) \xff"))
    (row,) = read_lines(path, PredictionRow)
    assert row.outputs[0].text == "(a) \udcff"


def test_blank_lines_between_rows_are_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(LINE + b"\n  \n" + LINE)
    assert list(read_lines(path, ScoredRow)) == [SCORED, SCORED]


def test_a_line_beyond_the_bound_is_refused_without_reading_on(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(LINE)
        file.truncate(LONGEST_LINE + 1000)
    with pytest.raises(FatalError, match=r"line 2 is longer than 64 MB"):
        list(read_lines(path, ScoredRow))
