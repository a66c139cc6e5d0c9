"""What is held against what, as tables for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_audiobench.report import view_model
from pytest_audiobench.report.answer_comparison import COLUMNS, AnswerComparison, Asked, Block, Cell, answer_comparisons
from pytest_audiobench.report.escapes import escaped
from pytest_audiobench.report.formatting import called, printable
from pytest_audiobench.report.tabular import bar

Json: TypeAlias = Mapping[str, Any]

_SPARED = ("beyond", "same", "missed", "flips", "nulls")
"""Columns that a narrow terminal goes without, the first of them first; the page and Markdown have them."""


def lines(record: Json, width: int) -> Iterator[tuple[str, bool]]:
    """A title for each model and data set, and its blocks; with each line whether it is a head."""
    for one in answer_comparisons(record):
        yield "", False
        yield printable(f"{_title(one, record)}; shares in %, differences in points"), True
        for block in one.blocks:
            yield f"  {printable(block.about)}", False
            yield from ((f"  {line}", False) for line in _table(one, block, width - 2))


def markdown(record: Json) -> Iterator[tuple[str, list[str]]]:
    """The same as Markdown: a title and one table for each model and data set; what came from outside is escaped."""
    for one in answer_comparisons(record):
        columns = [name for name in COLUMNS if any(name in block.columns for block in one.blocks)]
        rows = [bar(map(escaped, ("Asked", *(_head(name, one) for name in columns))))]
        rows.append(bar((":--", *("--:",) * len(columns))))
        for block in one.blocks:
            rows.append(bar((f"**{escaped(block.about)}**", *("",) * len(columns))))
            for asked in block.rows:
                cells = (asked.cells.get(name, Cell()) for name in columns)
                rows.append(bar(map(escaped, (_name(asked, block), *map(_with_interval, cells)))))
        yield f"{_title(one, record)}; shares in %, differences in points", rows


def _with_interval(cell: Cell) -> str:
    return f"{cell.value} ({cell.interval})" if cell.interval else cell.value


def _title(one: AnswerComparison, record: Json) -> str:
    return called(one.of, one.model, len(view_model.aliases(record)) > 1)


def _head(name: str, one: AnswerComparison) -> str:
    return one.metric if name == "score" else name


def _name(asked: Asked, block: Block) -> str:
    several = len({one.scorer for one in block.rows}) > 1
    return f"{asked.label} by {asked.scorer}" if several else asked.label


def _table(one: AnswerComparison, block: Block, width: int) -> list[str]:
    columns = list(block.columns)
    made = _rows(one, block, columns)
    for spared in _SPARED:
        if len(made[0]) <= width:
            break
        columns = [name for name in columns if name != spared]
        made = _rows(one, block, columns)
    return made


def _rows(one: AnswerComparison, block: Block, columns: Sequence[str]) -> list[str]:
    """A scorer beside the first stands below it, indented, so that its name does not take the room of the numbers."""
    rows = [["", *(printable(_head(name, one)) for name in columns)]]
    for asked in block.rows:
        first = next(other.scorer for other in block.rows if other.label == asked.label) == asked.scorer
        name = asked.label if first else f"  {asked.scorer}"
        rows.append([printable(name), *(asked.cells[c].value if c in asked.cells else "" for c in columns)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [text.rjust(room) for text, room in zip(row[1:], widths[1:], strict=True)]
    return "  ".join(["  " + row[0].ljust(widths[0]), *cells]).rstrip()
