"""The rows of JSONL, CSV and TSV files, with their line numbers."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.bounded_lines import bounded_lines
from pytest_audiobench.io.mistakes import Mistakes

Row: TypeAlias = Mapping[str, Any]

FIELDS = frozenset({"id", "audio", "question", "choices", "answer", "metadata"})
"""Those of a manifest."""

LONGEST_LINE_BYTES = 10_000_000


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _raise(sentence: str) -> None:
    raise UsageError(sentence)


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def jsonl_rows(path: Path, refuse: Callable[[str], None] = _raise) -> Iterator[tuple[int, Row]]:
    """One JSON object a line. Any other line is skipped after ``refuse``, which raises UsageError unless given.

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
                f"{path}, line {number} holds half of a surrogate pair (\\ud800 to \\udfff), which is not a character; "
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


Fields: TypeAlias = Callable[[str, Sequence[str], str, Mistakes], Mapping[str, str]]
"""The columns that hold a manifest's fields: of the place and the names of a header. It adds what is wrong."""


def csv_rows(
    path: Path, refuse: Callable[[str], None], fields: Fields, *, tabs: bool = False
) -> Iterator[tuple[int, Row]]:
    """Comma-separated values under a header; every column that is not a field of a manifest is metadata.

    A broken row is skipped after ``refuse``. A record may span lines inside quotes; with ``tabs`` between cells,
    quotes are characters as any other. Raises UsageError, with the line, where nothing can be read: without a fit
    header, after a line too long or in another encoding.
    """
    numbered = _Numbered(path)
    records = _records(path, numbered, refuse, tabs)
    header = [column.strip() for column in next(records, [])]
    columns = _checked_header(path, header, fields)
    advice = "write each tab inside a cell as a space" if tabs else "put cells that hold commas in quotes"
    for cells in filter(None, records):
        if len(cells) == len(header):
            yield numbered.last, _row_of(header, cells, columns)
        else:
            refuse(f"{path}, line {numbered.last} has {len(cells)} cells under a header of {len(header)}; {advice}")


def _records(path: Path, numbered: _Numbered, refuse: Callable[[str], None], tabs: bool) -> Iterator[list[str]]:
    style: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {}
    reader = csv.reader(numbered, strict=True, **style)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            refuse(f"{path}, line {numbered.last} is not CSV ({error}); correct its quotes")


def _row_of(header: list[str], cells: list[str], columns: Mapping[str, str]) -> Row:
    texts = dict(zip(header, cells, strict=True))
    row: dict[str, object] = {}
    for field, column in columns.items():
        cell = texts.get(column)
        if cell is None:
            continue
        if field == "audio":
            row[field] = [path.strip() for path in cell.split(";") if path.strip()]
        elif field in {"choices", "references"}:
            row[field] = cell.split("|") if cell.strip() else None
        elif field == "question":
            row[field] = cell if cell.strip() else None
        else:
            row[field] = cell
    used = set(columns.values())
    row["metadata"] = {column: cell or None for column, cell in texts.items() if column not in used}
    return row


def _checked_header(path: Path, header: list[str], fields: Fields) -> Mapping[str, str]:
    if not header:
        raise UsageError(f"{path} is empty; begin it with a header: id,audio,question,choices,answer")
    mistakes = Mistakes()
    columns = fields(f"{path}, line 1", header, "column", mistakes)
    if "metadata" in header:
        mistakes.add(f"{path}, line 1 has a column 'metadata'; in CSV each metadata field is its own column")
    for column, count in Counter(header).items():
        if count > 1:
            mistakes.add(f"{path}, line 1 has the column {column!r} {_times(count)}; make column names differ")
    mistakes.check()
    return columns


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
