from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import FatalError
from pytest_audiobench.report.json_lines import LONGEST_LINE, encode_line, read_lines, write_lines

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_any_row_is_one_line_and_reads_back_the_same(row: dict[str, object]) -> None:
    line = encode_line(row)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == row


def test_rows_with_line_separators_and_lone_surrogates_are_read_back_in_order(tmp_path: Path) -> None:
    rows = [
        {"text": text} for text in ("a\u2028b\u2029c\x85d\r\n", "\x00\x1b[31m", "half \ud800 pair", "größer 🎧", "")
    ]
    write_lines(tmp_path / "rows.jsonl", rows)
    assert list(read_lines(tmp_path / "rows.jsonl")) == rows


def test_lines_are_compact_and_their_keys_sorted() -> None:
    assert encode_line({"b": 1, "a": [1.0, None]}) == b'{"a":[1.0,null],"b":1}\n'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_have_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_lines(tmp_path / "rows.jsonl", [{"score": value}])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "reason"), [(b'{"a":1', "line 2 is no row"), (b"[1]\n", "not one JSON object"), (b"{} {}\n", "line 2")]
)
def test_a_damaged_line_is_named_by_its_number(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a":1}\n' + line)
    with pytest.raises(FatalError, match=reason):
        list(read_lines(path))


def test_a_line_beyond_the_bound_is_refused_without_scorer_on(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a":1}\n')
        file.truncate(LONGEST_LINE + 100)
    with pytest.raises(FatalError, match="line 2 is longer than 64 MB"):
        list(read_lines(path))
