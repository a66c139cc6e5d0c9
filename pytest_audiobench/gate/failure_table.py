"""The tables that a failing eval prints: every number, what it was measured under, and what was required of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.regression_text import change_texts, line_text, subject_text
from pytest_audiobench.gate.threshold_syntax import ParsedDrop, group_text, parse
from pytest_audiobench.gate.thresholds import Verdict
from pytest_audiobench.metrics.value import bounds_text, figure_text, value_text
from pytest_audiobench.records.run import MetricRecord, RegressionRecord, ScorerRecord, VerdictRecord

WIDTH = 80


class _Key(NamedTuple):
    """Which number: the scorer (None for one that a test recorded), the metric's name and the group."""

    scorer: str | None
    name: str
    group: frozenset[tuple[str, str]]


class _Row(NamedTuple):
    metric: str
    value: str
    interval: str = ""
    n: str = ""
    parse_rate: str = ""
    threshold: str = ""
    verdict: str = ""


class _RegressionRow(NamedTuple):
    metric: str
    before: str
    now: str
    change: str
    interval: str
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
_HEAD = _Row(*_Row._fields)._replace(parse_rate="parse rate")
_REGRESSION_HEAD = _RegressionRow(*_RegressionRow._fields)
_RIGHT = {"value", "interval", "n", "parse_rate", "before", "now", "change"}
_WIDEST = {"threshold": 16, "interval": 22, "value": 16, "before": 14, "now": 14, "change": 16}


def failure_table(
    metrics: Sequence[MetricRecord], verdicts: Sequence[VerdictRecord | Verdict], scorers: Sequence[ScorerRecord] = ()
) -> str:
    """Aligned plain text of at most :data:`WIDTH` columns: a row per verdict, then the overall metrics that have none.

    Of more than three scorers only the headline's metrics are shown, and of many metrics the first. A line for each
    verdict that is not a pass follows, with its detail, unless a row says it of an unmet threshold. ``metrics``,
    ``verdicts`` and ``scorers`` are those of an item's record; a threshold whose group is not among ``metrics`` shows
    its value alone.
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
    details = [
        (verdict.threshold, verdict.detail)
        for verdict, row in zip(verdicts, rows, strict=False)
        if verdict.status != "pass" and not (verdict.status == "fail" and verdict.value is not None and row.threshold)
    ]
    return "\n".join([*_aligned_rows([_HEAD, *rows]), *more, *_wrapped_lines(details)])


def regression_table(regressions: Sequence[RegressionRecord], scorers: Sequence[ScorerRecord] = ()) -> str:
    """Aligned plain text of at most :data:`WIDTH` columns: a row per line that was compared with the baseline.

    ``n`` counts the pairs, and the clusters where several are of one. A line follows for each verdict that is not a
    pass: its margin, p and bound.
    """
    headline = scorers[0].name if scorers else None
    rows = [_regression_row(record, headline) for record in regressions]
    details = [(line_text(record, headline), record.detail) for record in regressions if record.status != "pass"]
    return "\n".join([*_aligned_rows([_REGRESSION_HEAD, *rows]), *_wrapped_lines(details)])


def _regression_row(record: RegressionRecord, headline: str | None) -> _RegressionRow:
    change, interval = change_texts(record)
    return _RegressionRow(
        metric=_clean(subject_text(record, headline)),
        before=figure_text(record.baseline, record.unit),
        now=figure_text(record.value, record.unit),
        change=change if record.drop is not None else "",
        interval=f"[{interval}]" if interval else "",
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
        return _Row(_clean(verdict.threshold), value_text(verdict.value), verdict=status)
    group = dict(parts.group)
    scorer = group.pop("scorer", headline)
    key = _Key(scorer, parts.metric, frozenset(group.items()))
    required = f"{'' if parts.bound == 'value' else f'{parts.bound} '}{parts.operator} {parts.limit:g}"
    metric = numbers.metrics.get(key) or numbers.metrics.get(key._replace(scorer=None))
    name = _clean(parts.metric + group_text(parts.group))
    if metric is None:
        value = value_text(verdict.value) if parts.bound == "value" else "–"
        return _Row(name, value, threshold=required, verdict=status)
    return _metric_row(name, metric, numbers)._replace(threshold=required, verdict=status)


def _metric_row(name: str, metric: MetricRecord, numbers: _Numbers) -> _Row:
    covered = numbers.metrics.get(_key(metric)._replace(name="coverage"))
    share = "" if covered is None or covered.value is None else f"{100.0 * covered.value:.1f} %"
    if share and (skipped := numbers.skipped.get(metric.scorer)):
        share += f", {skipped} skipped"
    interval = bounds_text(metric.lower, metric.upper, metric.unit)
    value = figure_text(metric.value, metric.unit)
    return _Row(name, value, f"[{interval}]" if interval else "", str(metric.n), share)


def _key(metric: MetricRecord) -> _Key:
    return _Key(metric.scorer, metric.name, frozenset(metric.group.items()))


def _name(metric: MetricRecord, headline: str | None) -> str:
    scorer = {} if metric.scorer in (None, headline) else {"scorer": str(metric.scorer)}
    return _clean(metric.name + group_text(tuple({**scorer, **metric.group}.items())))


def _aligned_rows(rows: Sequence[_Row] | Sequence[_RegressionRow]) -> Iterator[str]:
    """The rows in columns, without those that are empty; a metric's name that is too long stands above its numbers."""
    widths = {
        field: min(max(len(cell) for cell in column), _WIDEST.get(field, WIDTH))
        for field, column in zip(rows[0]._fields, zip(*rows, strict=True), strict=True)
        if any(column[1:])
    }
    room = WIDTH - sum(2 + width for field, width in widths.items() if field != "metric")
    widths["metric"] = max((len(row.metric) for row in rows if len(row.metric) <= room), default=0)
    for row in rows:
        if len(row.metric) > room:
            yield _cell(row.metric, "metric", WIDTH).rstrip()
            row = row._replace(metric="")
        line = "  ".join(_cell(getattr(row, field), field, width) for field, width in widths.items()).rstrip()
        yield from [line] if len(line) <= WIDTH else textwrap.wrap(line.strip(), WIDTH, subsequent_indent="    ")


def _cell(text: str, field: str, width: int) -> str:
    text = text if len(text) <= width else f"{text[: width - 1]}…"
    return text.rjust(width) if field in _RIGHT else text.ljust(width)


def _wrapped_lines(details: Iterable[tuple[str, str]]) -> Iterable[str]:
    for subject, detail in details:
        line = f"{_clean(subject)}: {_clean(detail)}"
        yield from textwrap.wrap(
            line, WIDTH, subsequent_indent="  ", max_lines=8, placeholder=" …", break_on_hyphens=False
        )


def _clean(text: str) -> str:
    """Groups' names come from data: nothing in them may move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)
