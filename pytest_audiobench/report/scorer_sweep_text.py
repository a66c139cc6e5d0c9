"""The table of protocols as lines of text and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_audiobench.report.escapes import escaped
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.scorer_sweep import Sweep, SweepRow

HEAD = ("protocol", "value", "interval", "n", "skipped", "unanswered")
_RIGHT = (1, 2, 3, 4)

Marks = Mapping[str, str]
"""By protocol, what is to be said behind its row."""


def title(name: str, sweep: Sweep) -> str:
    """Whose answers they are, the metric, and how far the protocols lie apart."""
    count = len(sweep.rows)
    spread = f", spread {sweep.spread_text}" if sweep.spread_text else ""
    return printable(f"{name}: {sweep.metric} by {count} protocol{'' if count == 1 else 's'}{spread}")


def table(sweep: Sweep, marks: Marks | None = None) -> list[str]:
    """A line for each protocol below a head, in columns."""
    rows = [HEAD, *(cells(row) for row in sweep.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    behind = ["", *((marks or {}).get(row.protocol, "") for row in sweep.rows)]
    return [f"  {_line(row, widths)}  {printable(mark)}".rstrip() for row, mark in zip(rows, behind, strict=True)]


def cells(row: SweepRow) -> tuple[str, ...]:
    """A row's texts under :data:`HEAD`."""
    unanswered = row.why if row.unanswered or row.failed else "0"
    texts = (row.protocol, row.value_text, row.interval_text, str(row.n), str(row.skipped), unanswered)
    return tuple(map(printable, texts))


def markdown(sweep: Sweep, marks: Marks | None = None) -> list[str]:
    """The same as a Markdown table, with everything that came from outside escaped."""
    lines = [f"| {' | '.join(HEAD)} |", "| :-- | --: | --: | --: | --: | :-- |"]
    for row in sweep.rows:
        mark = (marks or {}).get(row.protocol, "")
        shown = [escaped(text) for text in cells(row)]
        shown[0] += f" **{escaped(mark)}**" if mark else ""
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    columns = zip(row, widths, strict=True)
    return "  ".join(
        text.rjust(width) if column in _RIGHT else text.ljust(width) for column, (text, width) in enumerate(columns)
    )
