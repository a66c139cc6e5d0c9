"""What a determinism eval saw under each condition, as one table: for the page, a terminal and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_audiobench.metrics.metric import POINTS
from pytest_audiobench.records.run import MetricRecord, RunRecord
from pytest_audiobench.report.formatting import aligned, eval_name
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.report.view_model import CONDITION, SAME_ANSWERS, aliases

HEAD = ("condition", "text", "interval", "outcome", "interval", "score", "interval")
_MEASURED = (SAME_ANSWERS, "same_outcomes", "score_shift")


@dataclass(frozen=True)
class ConditionTable:
    """The conditions of one eval, in the order in which they were asked: each its name, then the share of texts and of
    outcomes that changed, in per cent, and the score's shift, in points or in its own unit, with their intervals.
    """

    eval: str
    model: str
    metric: str
    n: int
    rows: list[tuple[str, ...]]


def noise_tables(run: RunRecord) -> list[ConditionTable]:
    """A table for each eval that asked again under conditions."""
    tables = []
    for item in run.items:
        by_condition: dict[str, dict[str, MetricRecord]] = {}
        for metric in item.metrics:
            if metric.scorer is None and [*metric.group] == [CONDITION]:
                by_condition.setdefault(metric.group[CONDITION], {})[metric.name] = metric
        rows = [_row(name, metrics) for name, metrics in by_condition.items() if {*_MEASURED} <= {*metrics}]
        if rows:
            headline = next((metric.name for metric in item.metrics if metric.scorer is not None), "the score")
            tables.append(ConditionTable(item.eval, item.model, headline, item.n, rows))
    return tables


def lines(run: RunRecord) -> Iterator[tuple[str, bool]]:
    """The terminal's, each with whether it is a head."""
    for table in noise_tables(run):
        yield "", False
        yield _title(table, run), True
        yield from ((line, False) for line in aligned([HEAD, *table.rows]))
        yield "", False


def markdown(run: RunRecord) -> Iterator[tuple[str, list[str]]]:
    """A title and the lines of each eval's table; what came from outside is escaped."""
    for table in noise_tables(run):
        rows = [table_row(HEAD), table_row((":--", *("--:",) * (len(HEAD) - 1)))]
        rows += [table_row(map(escaped, row)) for row in table.rows]
        yield _title(table, run), rows


def _title(table: ConditionTable, run: RunRecord) -> str:
    name = eval_name(table.eval, table.model, len(aliases(run)) > 1)
    return f"{name} asked again (n={table.n}): % of answers changed, and by how much {table.metric} moves"


def _row(name: str, metrics: Mapping[str, MetricRecord]) -> tuple[str, ...]:
    texts, outcomes, shift = (metrics[measured] for measured in _MEASURED)
    scale = 100.0 if shift.unit == POINTS else 1.0
    return (
        name,
        *_changed(texts),
        *_changed(outcomes),
        *_texts(*(None if size is None else scale * size for size in (shift.value, shift.lower, shift.upper))),
    )


def _changed(same: MetricRecord) -> tuple[str, str]:
    """The share that is not the same."""
    shares = (same.value, same.upper, same.lower)
    return _texts(*(None if share is None else 100.0 * (1.0 - share) for share in shares))


def _texts(value: float | None, lower: float | None, upper: float | None) -> tuple[str, str]:
    """A number and its interval."""
    interval = "" if lower is None or upper is None else f"{lower:.1f}–{upper:.1f}"
    return "–" if value is None else f"{round(value, 9):.1f}", interval
