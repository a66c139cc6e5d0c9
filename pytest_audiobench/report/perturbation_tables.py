"""Curves and other perturbations as tables for a terminal and as Markdown.

Where each sample says whether its answer stayed the same as to the clean clip, tables by family would say half of what
the perturbations do: so these data sets have one table, a row for each perturbation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pytest_audiobench.records.run import RunRecord, SuiteRecord
from pytest_audiobench.report import perturbation_view
from pytest_audiobench.report.formatting import aligned, printable
from pytest_audiobench.report.perturbation_view import Curve, Line, Row, Summary
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.report.view_model import SAME, aliases

Owner: TypeAlias = tuple[str, str, str, str]
"""Suite, model, data set and series of evals."""

_BAR = 12
"""Columns of the bar that draws a percentage, in signs that every terminal has."""

_FEWER = "!"
"""Stands where clearly fewer answers were parsed than under the clean perturbation."""


@dataclass(frozen=True)
class PerturbationComparison:
    """The leading metric under all perturbations of a data set."""

    suite: str
    model: str
    dataset: str
    series: str
    metric: str
    unit: str
    rows: tuple[Row, ...]
    same: Mapping[str, str]
    """By perturbation, the share of answers that are those to the clean clips."""
    lines: tuple[Line, ...]


_Table: TypeAlias = PerturbationComparison | Curve | Summary


def lines(record: RunRecord, width: int, most: int | None = None) -> Iterator[tuple[str, bool]]:
    """A table for each family's curve of a leading metric, one for the perturbations on no curve, and the mean over
    all; or one for all perturbations of a data set, where its answers are compared with those to clean clips.

    With each line whether it is a head. Of the perturbations of a data set no more than ``most``.
    """
    return suite_lines(record.suites, len(aliases(record)) > 1, width, most)


def suite_lines(
    suites: Sequence[SuiteRecord], several: bool, width: int, most: int | None = None
) -> Iterator[tuple[str, bool]]:
    """The lines of some suites alone; the model is named where there are ``several``."""
    for table in _leading(suites):
        yield "", False
        dropped = f"; {perturbation_view.against(table.rows)}" + " in pp" * (table.unit == "%") if table.rows else ""
        yield printable(_title(table, several) + dropped), True
        if table.rows:
            texts = _table_lines(table, width) if isinstance(table, Curve | Summary) else _comparison_lines(table, most)
            yield from ((text, False) for text in texts)
            if fewer := perturbation_view.fewer(table.rows):
                yield f"  {_FEWER} {printable(fewer)}", False
        yield from ((f"  {printable(_line_text(line))}", False) for line in table.lines)


def markdown(record: RunRecord) -> Iterator[tuple[str, list[str]]]:
    """The same as Markdown: a title and the lines of each table; what came from outside is escaped."""
    return suite_markdown(record.suites, len(aliases(record)) > 1)


def suite_markdown(suites: Sequence[SuiteRecord], several: bool) -> Iterator[tuple[str, list[str]]]:
    """The Markdown of some suites alone; the model is named where there are ``several``."""
    for table in _leading(suites):
        same = ["Same answer"] if isinstance(table, PerturbationComparison) else []
        against = escaped(perturbation_view.against(table.rows))
        first = escaped(table.dose_unit or "dose") if isinstance(table, Curve) else "Perturbation"
        head = (first, "Value", "Interval", "n", "Parse rate", *same, against, "Interval", "p (Holm)")
        rows = [table_row(head), table_row((":--", *("--:",) * (len(head) - 1)))] if table.rows else []
        for row in _rows(table):
            parse_rate = f"{row.parse_rate}, fewer parsed" if row.fewer else row.parse_rate
            share = [table.same.get(row.perturbation, "")] if isinstance(table, PerturbationComparison) else []
            cells = (row.label, row.value, row.interval, str(row.n), parse_rate, *share)
            rows.append(table_row(map(escaped, (*cells, row.drop, row.drop_interval, row.p))))
        texts = [f"- {escaped(_line_text(line))}" for line in table.lines]
        yield _title(table, several), [*rows, "", *texts] if rows else texts


def _comparisons(curves: Sequence[Curve], summaries: Sequence[Summary]) -> dict[Owner, PerturbationComparison]:
    headline = {_owner(summary): summary for summary in reversed(summaries) if summary.leading}
    same: dict[Owner, dict[str, str]] = {}
    figures: list[Curve | Summary] = [*curves, *summaries]
    for figure in figures:
        first = headline.get(_owner(figure))
        if figure.metric == SAME and first is not None and figure.scorer == first.scorer:
            same.setdefault(_owner(figure), {}).update({row.perturbation: row.value for row in figure.rows})
    return {owner: _comparison(owner, headline[owner], shares, curves, summaries) for owner, shares in same.items()}


def _comparison(
    owner: Owner, first: Summary, same: Mapping[str, str], curves: Sequence[Curve], summaries: Sequence[Summary]
) -> PerturbationComparison:
    leading = [curve for curve in curves if curve.leading and _owner(curve) == owner and curve.metric == first.metric]
    others = [each for each in summaries if each.leading and _owner(each) == owner and each.metric == first.metric]
    rows = [
        *(curve.clean for curve in leading if curve.clean is not None),
        *(row for curve in leading for row in curve.rows),
        *(row for summary in others for row in summary.rows),
    ]
    by_family = [replace(line, name=f"{curve.family}, {line.name}") for curve in leading for line in curve.lines]
    return PerturbationComparison(
        *owner,
        metric=first.metric,
        unit=first.unit,
        rows=tuple({row.perturbation: replace(row, label=row.perturbation) for row in rows}.values()),
        same=same,
        lines=(*by_family, *(line for summary in others for line in summary.lines)),
    )


def _owner(table: _Table) -> Owner:
    return table.suite, table.model, table.dataset, table.series


def _title(table: _Table, several: bool) -> str:
    """``faithfulness, digits: accuracy under 20 perturbations``; the model is named where there are ``several``."""
    if not isinstance(table, PerturbationComparison):
        return perturbation_view.title(table, several)
    subject = perturbation_view.subject_name(table.suite, table.dataset, table.series)
    model = f", {table.model}" if several else ""
    return f"{subject}{model}: {table.metric} under {len(table.rows)} perturbations"


def _leading(suites: Sequence[SuiteRecord]) -> Iterator[_Table]:
    """By suite, model and data set: the curves, then what is said of all perturbations; or one table of them all."""
    all_curves, all_summaries = perturbation_view.curves(suites), perturbation_view.summaries(suites)
    comparisons = _comparisons(all_curves, all_summaries)
    curves = [curve for curve in all_curves if curve.leading]
    seen: set[Owner] = set()
    for summary in (each for each in all_summaries if each.leading):
        owner = _owner(summary)
        if owner not in seen:
            yield from [comparisons[owner]] if owner in comparisons else [c for c in curves if _owner(c) == owner]
        if owner not in comparisons:
            yield summary
        seen.add(owner)


def _rows(table: _Table) -> Sequence[Row]:
    return (table.clean, *table.rows) if isinstance(table, Curve) and table.clean is not None else table.rows


def _line_text(line: Line) -> str:
    interval = f" [{line.interval}]" if line.interval else f", {line.method}"
    trend = f", trend p (Holm) {line.p}" if line.p else ""
    return f"{line.name}: {line.value}{interval}{trend}"


def _table_lines(table: Curve | Summary, width: int) -> list[str]:
    first = (table.dose_unit or "dose") if isinstance(table, Curve) else "perturbation"
    has_bars = table.unit == "%" and any(row.at is not None for row in table.rows)
    head = (first, table.metric, "parse rate", "", "drop", "interval", "p")
    rows = [head, *(_cells(row, has_bars) for row in _rows(table))]
    if max(map(len, lines := aligned(rows))) > width:
        lines = aligned([(*row[:3], "", *row[4:]) for row in rows])
    return lines


def _comparison_lines(table: PerturbationComparison, most: int | None) -> list[str]:
    """The first row and those that differ most from it, in the table's order."""
    first, shown = table.rows[0].at or 0.0, list(table.rows)
    if most is not None and len(shown) > most:
        shown = sorted(shown, key=lambda row: -abs((row.at or 0.0) - first))[: most - 1]
    rows = [("perturbation", table.metric, "parse rate", SAME, "drop", "p")]
    for row in (row for row in table.rows if row is table.rows[0] or row in shown):
        _, value, parse_rate, _, drop, _, p = _cells(row, False)
        rows.append((row.label, value, parse_rate, table.same.get(row.perturbation, ""), drop, p))
    left = len(table.rows) - len(rows) + 1
    return [*aligned(rows), *([f"  and {left} that differ no more: pytest -v, or report.html"] if left else [])]


def _cells(row: Row, has_bars: bool) -> tuple[str, ...]:
    share = min(max(row.at or 0.0, 0.0), 100.0) / 100.0
    filled = round(share * _BAR)
    bar = f"|{'#' * filled}{' ' * (_BAR - filled)}|" if has_bars and row.at is not None else ""
    drop = row.drop.removesuffix(" pp")
    parse_rate = f"{_FEWER} {row.parse_rate:>{len('100.0 %')}}" if row.fewer else row.parse_rate
    return row.label, row.value, parse_rate, bar, drop, row.drop_interval, row.p
