"""Published values beside what was measured: by the published rule where the run has it, else by its own, said so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_audiobench.records.run import ItemRecord, MetricRecord, RunRecord
from pytest_audiobench.report.formatting import aligned, counted, eval_name, interval_text, value_text
from pytest_audiobench.report.safe_text import escaped, table_row

_SHOWN = 5
"""Published rows of an eval in the terminal; the page has all."""
_EVALS = 3
"""Evals of which the terminal shows them."""
_HEAD = ("published", "value", "rule", "here", "interval", "by")


@dataclass(frozen=True)
class PublishedValue:
    """A published value of an eval, and the same metric as this run has it."""

    eval: str
    model: str
    metric: str
    system: str
    value: str
    rule: str
    """The scorer that is the publisher's rule; "unknown" where it is not known."""
    here: str
    interval: str
    scorer: str
    """By which the value here is: the published rule, or another, for want of it."""
    conditions: str
    source: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (f"{self.metric} of {self.system}", self.value, self.rule, self.here, self.interval, self.scorer)


def published_values(run: RunRecord) -> list[PublishedValue]:
    """Those of all evals that were measured, each with what is here by its own rule, or by another."""
    return [value for item in run.items if item.published and item.metrics for value in _of_item(item)]


def lines(run: RunRecord, several: bool) -> Iterator[tuple[str, bool]]:
    """The terminal's, each with whether it is a head: rows of a few evals, and how to ask by the published rule."""
    by_metric: dict[tuple[str, str, str], list[PublishedValue]] = {}
    for value in published_values(run):
        by_metric.setdefault((value.eval, value.model, value.metric), []).append(value)
    for (eval_, model, metric), values in list(by_metric.items())[:_EVALS]:
        yield "", False
        here = f"{values[0].here} by {values[0].scorer}" if values[0].scorer else "no value"
        yield f"published {metric} of {eval_name(eval_, model, several)} (here {here})", True
        rows = [(row.system, row.value, row.rule, _by_rule(row)) for row in values[:_SHOWN]]
        yield from ((line, False) for line in aligned(rows, (0, 2, 3)))
        if len(values) > _SHOWN:
            yield f"  and {len(values) - _SHOWN} more: report.html", False
        if others := sorted({value.rule for value in values if value.rule not in (value.scorer, _UNKNOWN)}):
            yield f"  by the same rule: {' '.join(f'--ab-scorer={name}' for name in others)}", False
    if len(by_metric) > _EVALS:
        yield f"published values of {counted(len(by_metric) - _EVALS, 'more metric')}: report.html", False


def _by_rule(value: PublishedValue) -> str:
    return f"here {value.here}" if value.rule == value.scorer else ""


def markdown(run: RunRecord, several: bool) -> Iterator[tuple[str, list[str]]]:
    """A title and the lines of each eval's table; what came from outside is escaped."""
    by_eval: dict[tuple[str, str], list[str]] = {}
    for value in published_values(run):
        head = [table_row(_HEAD), table_row((":--", "--:", ":--", "--:", "--:", ":--"))]
        rows = by_eval.setdefault((value.eval, value.model), head)
        rows.append(table_row(tuple(map(escaped, value.cells))))
    for (eval_, model), rows in by_eval.items():
        yield f"published of {eval_name(eval_, model, several)}", rows


_UNKNOWN = "unknown"


def _of_item(item: ItemRecord) -> Iterator[PublishedValue]:
    figures: dict[tuple[str, str], MetricRecord] = {}
    for metric in item.metrics:
        if not metric.group:
            figures.setdefault((metric.name, metric.scorer or ""), metric)
    for row in item.published:
        own = [metric for (name, _), metric in figures.items() if name == row.metric]
        here = figures.get((row.metric, row.scorer or "")) or next(iter(own), None)
        unit = here.unit if here else ""
        yield PublishedValue(
            eval=item.eval,
            model=item.model,
            metric=row.metric,
            system=row.model,
            value=value_text(row.value, unit),
            rule=row.scorer or _UNKNOWN,
            here=value_text(here.value, unit) if here else "–",
            interval=interval_text(here, unit) if here else "",
            scorer=(here.scorer or "") if here else "",
            conditions=row.conditions,
            source=row.source,
        )
