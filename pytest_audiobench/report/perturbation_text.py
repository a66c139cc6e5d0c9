"""Curves and other perturbations as tables for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_audiobench.report import perturbation_comparison, perturbations, view_model
from pytest_audiobench.report.escapes import escaped
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.perturbation_comparison import Owner, PerturbationComparison, owner
from pytest_audiobench.report.perturbations import Curve, Line, Row, Summary
from pytest_audiobench.report.tabular import bar

_BAR = 12
"""Columns of the bar that draws a percentage, in signs that every terminal has."""

_FEWER = "!"
"""Stands where clearly fewer samples were answered than under the clean perturbation."""

Json = Mapping[str, Any]


def lines(record: Json, width: int) -> Iterator[tuple[str, bool]]:
    """A table for each family's curve of a leading metric, one for the perturbations on no curve, and the mean over all;
    or one for all perturbations of a data set, where its answers are held against clean ones.

    With each line whether it is a head.
    """
    several = len(view_model.aliases(record)) > 1
    for one in _leading(record):
        yield "", False
        dropped = f"; {perturbations.against(one.rows)}" + " in points" * (one.unit == "%") if one.rows else ""
        yield printable(_title(one, several) + dropped), True
        if one.rows:
            made = _compared_table(one) if isinstance(one, PerturbationComparison) else _table(one, width)
            yield from ((text, False) for text in made)
            if told := perturbations.fewer(one.rows):
                yield f"  {_FEWER} {printable(told)}", False
        yield from ((f"  {printable(_told(line))}", False) for line in one.lines)


def markdown(record: Json) -> Iterator[tuple[str, list[str]]]:
    """The same as Markdown: a title and the lines of each table; what came from outside is escaped."""
    several = len(view_model.aliases(record)) > 1
    for one in _leading(record):
        same = ["Same answer"] if isinstance(one, PerturbationComparison) else []
        against = escaped(perturbations.against(one.rows))
        head = (_first(one), "Value", "Interval", "n", "Answered", *same, against, "Interval", "p (Holm)")
        rows = [bar(head), bar((":--", *("--:",) * (len(head) - 1)))] if one.rows else []
        for row in _shown(one):
            answered = f"{row.answered}, answers fewer" if row.fewer else row.answered
            stayed = [one.same.get(row.perturbation, "")] if isinstance(one, PerturbationComparison) else []
            cells = (row.label, row.value, row.interval, str(row.n), answered, *stayed)
            rows.append(bar(map(escaped, (*cells, row.drop, row.drop_interval, row.p))))
        told = [f"- {escaped(_told(line))}" for line in one.lines]
        yield _title(one, several), [*rows, "", *told] if rows else told


def _title(one: PerturbationComparison | Curve | Summary, several: bool) -> str:
    return (
        perturbation_comparison.title(one, several)
        if isinstance(one, PerturbationComparison)
        else perturbations.title(one, several)
    )


def _leading(record: Json) -> Iterator[PerturbationComparison | Curve | Summary]:
    """By suite, model and data set: the curves, then what is said of all perturbations; or one table of them all."""
    all_curves, all_summaries = perturbations.curves(record), perturbations.summaries(record)
    whole = perturbation_comparison.perturbation_comparisons(all_curves, all_summaries)
    curves = [one for one in all_curves if one.leading]
    told: set[Owner] = set()
    for summary in (one for one in all_summaries if one.leading):
        own = owner(summary)
        if own not in told:
            yield from [whole[own]] if own in whole else [curve for curve in curves if owner(curve) == own]
        if own not in whole:
            yield summary
        told.add(own)


def _first(one: PerturbationComparison | Curve | Summary) -> str:
    return escaped(one.dose_unit or "dose") if isinstance(one, Curve) else "Perturbation"


def _shown(one: PerturbationComparison | Curve | Summary) -> Sequence[Row]:
    """A curve's rows, below the clean one, which they are held against."""
    return (one.clean, *one.rows) if isinstance(one, Curve) and one.clean is not None else one.rows


def _told(line: Line) -> str:
    interval = f" [{line.interval}]" if line.interval else f", {line.method}"
    trend = f", trend p (Holm) {line.p}" if line.p else ""
    return f"{line.name}: {line.value}{interval}{trend}"


def _table(one: Curve | Summary, width: int) -> list[str]:
    first = (one.dose_unit or "dose") if isinstance(one, Curve) else "perturbation"
    drawn = one.unit == "%" and any(row.at is not None for row in one.rows)
    head = (first, one.metric, "answered", "", "drop", "interval", "p")
    rows = [head, *(_cells(row, drawn) for row in _shown(one))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # Two spaces stand before each cell.
    if 2 * len(widths) + sum(widths) > width:
        widths[3] = 0
    return [_line(tuple(map(printable, row)), widths) for row in rows]


def _compared_table(one: PerturbationComparison) -> list[str]:
    head = ("perturbation", one.metric, "answered", perturbation_comparison.SAME, "drop", "p")
    rows = [head]
    for row in one.rows:
        _, value, answered, _, drop, _, p = _cells(row, False)
        rows.append((row.label, value, answered, one.same.get(row.perturbation, ""), drop, p))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [_line(tuple(map(printable, row)), widths) for row in rows]


def _cells(row: Row, drawn: bool) -> tuple[str, ...]:
    share = min(max(row.at or 0.0, 0.0), 100.0) / 100.0
    filled = round(share * _BAR)
    drawing = f"|{'#' * filled}{' ' * (_BAR - filled)}|" if drawn and row.at is not None else ""
    points = row.drop.removesuffix(" points")
    answered = f"{_FEWER} {row.answered:>{len('100.0 %')}}" if row.fewer else row.answered
    return row.label, row.value, answered, drawing, points, row.drop_interval, row.p


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [text.rjust(room) for text, room in zip(row[1:], widths[1:], strict=True) if room]
    return "  ".join(["  " + row[0].ljust(widths[0]), *cells]).rstrip()
