"""Published values compared with what was measured: by the published rule if the run has it, else by its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_audiobench.evaluation.wording_figures import votes
from pytest_audiobench.records.run import ItemRecord, MetricRecord, PublishedRecord, RunRecord
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
    """By which the value here is: the published rule, or another, for lack of it."""
    conditions: str
    source: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (f"{self.metric} of {self.system}", self.value, self.rule, self.here, self.interval, self.scorer)


def published_values(run: RunRecord) -> list[PublishedValue]:
    """Those of all evals that were measured, each with what is here by its own rule, or by another."""
    suites = {(suite.name, suite.model): suite.metrics for suite in run.suites}
    measured = [item for item in run.items if item.published and item.metrics]
    averages = (value for item in measured for value in _of_averages(item, suites.get((item.suite, item.model), ())))
    return [*averages, *(value for item in measured for value in _of_item(item))]


def lines(run: RunRecord, several: bool) -> Iterator[tuple[str, bool]]:
    """The terminal's, each with whether it is a head: rows of a few evals, and how to ask by the published rule."""
    by_metric: dict[tuple[str, str, str], list[PublishedValue]] = {}
    for value in published_values(run):
        by_metric.setdefault((value.eval, value.model, value.metric), []).append(value)
    for (eval_, model, metric), values in list(by_metric.items())[:_EVALS]:
        yield "", False
        here = values[0].here if values[0].here != _NO_VALUE else "no value"
        here += f" by {values[0].scorer}" if values[0].scorer else ""
        yield f"published {metric} of {eval_name(eval_, model, several)} (here {here})", True
        rows = [
            (row.system, row.value, row.rule, _by_rule(row), _own_condition(row, values)) for row in values[:_SHOWN]
        ]
        yield from ((line, False) for line in aligned(rows, (0, 2, 3, 4)))
        if len(values) > _SHOWN:
            yield f"  and {len(values) - _SHOWN} more: report.html", False
        if others := sorted(
            {value.rule for value in values if value.rule not in (value.scorer.partition(",")[0], _UNKNOWN)}
        ):
            yield f"  by the same rule: {' '.join(f'--ab-scorer={name}' for name in others)}", False
    if len(by_metric) > _EVALS:
        yield f"published values of {counted(len(by_metric) - _EVALS, 'more metric')}: report.html", False


def _by_rule(value: PublishedValue) -> str:
    return f"here {value.here}" if value.rule == value.scorer and value.here != _NO_VALUE else ""


def _own_condition(value: PublishedValue, values: Sequence[PublishedValue]) -> str:
    """What alone tells a row from others of its system and rule: the first condition, or else the source, that these
    lack; nothing where there are none.
    """
    others = [each for each in values if (each.system, each.rule) == (value.system, value.rule) and each is not value]
    of_others = {part for each in others for part in (*each.conditions.split("; "), each.source)}
    own = (part for part in (*value.conditions.split("; "), value.source) if part not in of_others)
    return next(own, "") if others else ""


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
_NO_VALUE = "–"
_VOTE = ", the vote of {} wordings"
"""Behind the rule of a value that is not answer's to one prompt, as every publisher's is."""


def _of_averages(item: ItemRecord, metrics: Sequence[MetricRecord]) -> Iterator[PublishedValue]:
    """What was published of the averages that the item is the first of, where all of their parts were measured."""
    for name in dict.fromkeys(row.average for row in reversed(item.published) if row.average):
        of_average = [metric for metric in metrics if metric.group == {"average": name}]
        rows = [row for row in item.published if row.average == name]
        yield from _beside(rows, of_average, f"{item.suite}, {name}", item) if of_average else ()


def _of_item(item: ItemRecord) -> Iterator[PublishedValue]:
    metrics = [metric for metric in item.metrics if not metric.group]
    yield from _beside([row for row in item.published if not row.average], metrics, item.eval, item)


def _beside(
    published: Sequence[PublishedRecord], metrics: Sequence[MetricRecord], eval_: str, item: ItemRecord
) -> Iterator[PublishedValue]:
    """Each published row with the value of one scorer of the item, which may have none."""
    figures: dict[tuple[str, str], MetricRecord] = {}
    for metric in metrics:
        figures.setdefault((metric.name, metric.scorer or ""), metric)
    for row in published:
        scorers = [metric.scorer or "" for metric in item.metrics if metric.name == row.metric and not metric.group]
        scorer = row.scorer if row.scorer in scorers else next(iter(scorers), "")
        here = figures.get((row.metric, scorer or ""))
        wordings = votes((here.signature if here else None) or "")
        unit = here.unit if here else next((metric.unit for metric in item.metrics if metric.name == row.metric), "")
        yield PublishedValue(
            eval=eval_,
            model=item.model,
            metric=row.metric,
            system=row.model,
            value=value_text(row.value, unit),
            rule=row.scorer or _UNKNOWN,
            here=value_text(here.value, unit) if here else _NO_VALUE,
            interval=interval_text(here, unit) if here else "",
            scorer=f"{scorer}{_VOTE.format(wordings)}" if wordings else scorer or "",
            conditions=row.conditions,
            source=row.source,
        )
