"""The tables that a failing eval prints: every number, what it was measured under, and what was required of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.regression_text import line_text, margin_text, p_text, subject_text
from pytest_audiobench.gate.threshold_syntax import ParsedDrop, group_text, parse
from pytest_audiobench.gate.thresholds import Verdict
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.value import interval_text, value_text
from pytest_audiobench.records.run import MetricRecord, RegressionRecord, ScorerRecord, VerdictRecord

WIDTH = 110


class _Key(NamedTuple):
    """Which number: the scorer (None for one that a test recorded), the metric's name and the group."""

    scorer: str | None
    name: str
    group: frozenset[tuple[str, str]]


class _Row(NamedTuple):
    metric: str
    value: str
    interval: str
    threshold: str
    n: str
    coverage: str
    verdict: str


class _RegressionRow(NamedTuple):
    metric: str
    change: str
    drop: str
    interval: str
    bound: str
    margin: str
    p: str
    n: str
    verdict: str


class _Numbers(NamedTuple):
    """An item's numbers, and how many answers each scorer left out of its scores."""

    metrics: Mapping[_Key, MetricRecord]
    skipped: Mapping[str | None, int]


_MANY = 3
"""Scorers that a table of one eval has room for."""
_MANY_METRICS = 16
"""Rows without a verdict beyond which a table no longer shows what failed."""
_HEAD = _Row(*_Row._fields)
_REGRESSION_HEAD = _RegressionRow(*_RegressionRow._fields)._replace(change="baseline → here")
_RIGHT = {"value", "n", "coverage", "drop", "bound", "margin"}
_WIDEST = {"threshold": 24, "interval": 24, "change": 24}


def failure_table(
    metrics: Sequence[MetricRecord], verdicts: Sequence[VerdictRecord | Verdict], scorers: Sequence[ScorerRecord] = ()
) -> str:
    """Aligned plain text of at most 110 columns: a row per verdict, then the overall metrics that have none.

    Of more than three scorers only the headline's metrics are shown, and of many metrics the first. Below the table
    is a line for each verdict but a pass, with its detail. ``metrics``, ``verdicts`` and ``scorers`` are those
    of an item's record; a threshold whose group is not among ``metrics`` shows its value alone.
    """
    headline = next((metric.scorer for metric in metrics if metric.scorer is not None), None)
    numbers = _Numbers(
        {_key(metric): metric for metric in metrics}, {scorer.name: scorer.coverage.skipped for scorer in scorers}
    )
    scorers_shown = {metric.scorer for metric in metrics}
    if len(scorers_shown - {None}) > _MANY:
        scorers_shown = {headline, None}
    rows = [_verdict_row(verdict, headline, numbers) for verdict in verdicts]
    listed = {row.metric for row in rows}
    others = [
        _metric_row(name, metric, numbers)
        for metric in metrics
        if metric.scorer in scorers_shown
        and not metric.group
        and metric.name != "coverage"
        and (name := _name(metric, headline)) not in listed
    ]
    rows += others[:_MANY_METRICS]
    more = [f"… and {len(others) - _MANY_METRICS} more metrics"] if len(others) > _MANY_METRICS else []
    details = [(verdict.threshold, verdict.detail) for verdict in verdicts if verdict.status != "pass"]
    return "\n".join([*_aligned_rows([_HEAD, *rows]), *more, *_wrapped_lines(details)])


def regression_table(regressions: Sequence[RegressionRecord], scorers: Sequence[ScorerRecord] = ()) -> str:
    """Aligned plain text of at most 110 columns: a row per line that was compared with the baseline.

    Drops, their intervals, bounds and margins are in points of a hundred (pp) or in the metric's unit; ``n`` counts the
    pairs, and the clusters where several are of one. Below stands a line for each verdict that is not a pass.
    """
    headline = scorers[0].name if scorers else None
    rows = [_regression_row(record, headline) for record in regressions]
    details = [(line_text(record, headline), record.detail) for record in regressions if record.status != "pass"]
    return "\n".join([*_aligned_rows([_REGRESSION_HEAD, *rows]), *_wrapped_lines(details)])


def _regression_row(record: RegressionRecord, headline: str | None) -> _RegressionRow:
    percent = 100.0 if record.relative or record.unit in FRACTIONS else 1.0
    sign = "%" if record.relative else "pp"
    drop, lower, upper, bound = (
        "" if value is None else f"{percent * value:.1f}" if percent > 1.0 else value_text(value)
        for value in (record.drop, record.lower, record.upper, record.bound)
    )
    both = record.baseline is not None and record.value is not None
    return _RegressionRow(
        metric=_clean(subject_text(record, headline)),
        change=f"{value_text(record.baseline)} → {value_text(record.value)}" if both else "–",
        drop=drop + sign * (percent > 1.0 and bool(drop)),
        interval=f"[{lower}, {upper}]" if lower and upper else "",
        bound=bound + sign * (percent > 1.0 and bool(bound)),
        margin=margin_text(record),
        p=p_text(record.p).removeprefix("= ") if record.p is not None else "",
        n=f"{record.pairs}{f' in {record.clusters}' if record.clusters is not None else ''}",
        verdict=record.status.replace("_", " "),
    )


def _verdict_row(verdict: VerdictRecord | Verdict, headline: str | None, numbers: _Numbers) -> _Row:
    status = verdict.status.replace("_", " ")
    try:
        parts = parse(verdict.threshold)
        if isinstance(parts, ParsedDrop):
            raise UsageError("a regression line has no row here")
    except UsageError:
        # A record from another version may hold a threshold that this one cannot read.
        return _Row(_clean(verdict.threshold), value_text(verdict.value), "", "", "", "", status)
    group = dict(parts.group)
    scorer = group.pop("scorer", headline)
    key = _Key(scorer, parts.metric, frozenset(group.items()))
    required = f"{'' if parts.bound == 'value' else f'{parts.bound} '}{parts.operator} {parts.limit:g}"
    metric = numbers.metrics.get(key) or numbers.metrics.get(key._replace(scorer=None))
    name = _clean(parts.metric + group_text(parts.group))
    if metric is None:
        value = value_text(verdict.value) if parts.bound == "value" else "–"
        return _Row(name, value, "", required, "", "", status)
    return _metric_row(name, metric, numbers)._replace(threshold=required, verdict=status)


def _metric_row(name: str, metric: MetricRecord, numbers: _Numbers) -> _Row:
    covered = numbers.metrics.get(_key(metric)._replace(name="coverage"))
    share = "" if covered is None or covered.value is None else f"{100.0 * covered.value:.1f} %"
    if share and (skipped := numbers.skipped.get(metric.scorer)):
        share += f", {skipped} skipped"
    interval = interval_text(metric.lower, metric.upper)
    return _Row(name, value_text(metric.value), interval, "", str(metric.n), share, "")


def _key(metric: MetricRecord) -> _Key:
    return _Key(metric.scorer, metric.name, frozenset(metric.group.items()))


def _name(metric: MetricRecord, headline: str | None) -> str:
    scorer = {} if metric.scorer in (None, headline) else {"scorer": str(metric.scorer)}
    return _clean(metric.name + group_text(tuple({**scorer, **metric.group}.items())))


def _aligned_rows(rows: Sequence[_Row] | Sequence[_RegressionRow]) -> list[str]:
    widths = {
        field: min(max(len(cell) for cell in column), _WIDEST.get(field, WIDTH))
        for field, column in zip(rows[0]._fields, zip(*rows, strict=True), strict=True)
    }
    gaps = 2 * (len(widths) - 1)
    widths["metric"] = min(widths["metric"], WIDTH - gaps - sum(widths.values()) + widths["metric"])
    return [
        "  ".join(_cell(cell, *field) for cell, field in zip(row, widths.items(), strict=True)).rstrip() for row in rows
    ]


def _cell(text: str, field: str, width: int) -> str:
    text = text if len(text) <= width else f"{text[: width - 1]}…"
    return text.rjust(width) if field in _RIGHT else text.ljust(width)


def _wrapped_lines(details: Iterable[tuple[str, str]]) -> Iterable[str]:
    for subject, detail in details:
        line = f"{_clean(subject)}: {_clean(detail)}"
        yield from textwrap.wrap(line, WIDTH, subsequent_indent="  ", max_lines=6, placeholder=" …")


def _clean(text: str) -> str:
    """Groups' names come from data: nothing in them may move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)
