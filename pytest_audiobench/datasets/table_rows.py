"""The rows of JSONL and CSV files, with their line numbers."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.bounded_lines import bounded_lines
from pytest_audiobench.io.mistakes import Mistakes

Row: TypeAlias = Mapping[str, Any]

FIELDS = frozenset({"id", "audio", "question", "choices", "answer", "metadata"})
"""Those of a manifest."""

LONGEST_LINE_BYTES = 10_000_000
_REQUIRED = ("id", "audio", "answer")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _raise(sentence: str) -> None:
    raise UsageError(sentence)


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def jsonl_rows(path: Path, refuse: Callable[[str], None] = _raise) -> Iterator[tuple[int, Row]]:
    """One JSON object a line. Any other line is passed over after ``refuse``, which raises UsageError unless given.

    Raises UsageError, with the line, for one after which nothing can be read: too long, or in another encoding.
    """
    for number, text in texts(path):
        if text.isspace() or not text:
            continue
        try:
            row = _decode(text)
            # A text with half a pair cannot be written to any file or hash: it is refused where it enters.
            if "\\u" in text:
                json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            refuse(
                f"{path}, line {number} holds half of a surrogate pair (\\ud800 to \\udfff), which is no character; "
                "write the text as UTF-8"
            )
        except RecursionError:
            refuse(f"{path}, line {number} is nested too deeply; write one flat JSON object a line")
        except ValueError as error:
            refuse(f"{path}, line {number} is not JSON ({error}); write one JSON object a line")
        else:
            if isinstance(row, dict):
                yield number, row
            else:
                refuse(f"{path}, line {number} is JSON but no object; write one JSON object a line")


def csv_rows(path: Path, refuse: Callable[[str], None]) -> Iterator[tuple[int, Row]]:
    """Comma-separated values under a header; every column that is no field of a manifest is metadata.

    A broken row is passed over after ``refuse``. A record may span lines inside quotes. Raises UsageError, with the
    line, where nothing can be read: without a fit header, after a line too long or in another encoding.
    """
    numbered = _Numbered(path)
    records = _records(path, numbered, refuse)
    header = [column.strip() for column in next(records, [])]
    _check_header(path, header)
    for cells in filter(None, records):
        if len(cells) == len(header):
            yield numbered.last, _row_of(header, cells)
        else:
            refuse(
                f"{path}, line {numbered.last} has {len(cells)} cells under a header of {len(header)}; "
                "put cells that hold commas in quotes"
            )


def _records(path: Path, numbered: _Numbered, refuse: Callable[[str], None]) -> Iterator[list[str]]:
    reader = csv.reader(numbered, strict=True)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            refuse(f"{path}, line {numbered.last} is not CSV ({error}); correct its quotes")


def _row_of(header: list[str], cells: list[str]) -> Row:
    row: dict[str, object] = {}
    metadata: dict[str, str | None] = {}
    for column, cell in zip(header, cells, strict=True):
        if column not in FIELDS:
            metadata[column] = cell or None
        elif column == "audio":
            row[column] = [path.strip() for path in cell.split(";") if path.strip()]
        elif column == "choices":
            row[column] = cell.split("|") if cell.strip() else None
        elif column == "question":
            row[column] = cell if cell.strip() else None
        else:
            row[column] = cell
    row["metadata"] = metadata
    return row


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise UsageError(f"{path} is empty; begin it with a header: id,audio,question,choices,answer")
    mistakes = Mistakes()
    for column in _REQUIRED:
        if column not in header:
            mistakes.add(f"{path}, line 1 has no column {column!r} (it has {', '.join(map(repr, header))}); add it")
    if "metadata" in header:
        mistakes.add(f"{path}, line 1 has a column 'metadata'; in CSV each metadata field is a column of its own")
    for column, count in Counter(header).items():
        if count > 1:
            mistakes.add(f"{path}, line 1 has the column {column!r} {_times(count)}; make column names differ")
    mistakes.check()


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of ``path`` with their numbers. Raises UsageError, with the line, for one too long or not UTF-8."""
    for number, line in bounded_lines(path, LONGEST_LINE_BYTES):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{path}, line {number} is not UTF-8 (byte 0x{line[error.start]:02x}); save the file as UTF-8"
            ) from None


class _Numbered:
    """The lines of a file as the csv module wants them; ``last`` is the number of the line it was given last."""

    def __init__(self, path: Path) -> None:
        self._lines, self.last = texts(path), 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.last, text = next(self._lines)
        return text + "\n"
