"""What the wording of a question makes of a score: its mean over the wordings, the worst of them, and how far apart."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.metrics.definitions.agreement import DEVIATION, MEAN, SPREAD, WORST
from pytest_audiobench.metrics.estimates import quotient
from pytest_audiobench.metrics.metric import FRACTIONS, POINTS, RANGES, MetricKind, Statistics, span
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.run import MetricRecord
from pytest_audiobench.stats.bootstrap import Rows, Sums
from pytest_audiobench.stats.intervals import Interval, none

if TYPE_CHECKING:
    from pytest_audiobench.stats.extremes import Extremes

_WORDING = re.compile(r"\|wording:(\d+)/(\d+)")
_UNREAD = "no answer could be read in any wording"
_VOTE = re.compile(r"\|vote:(\d+)")
_NO_SAMPLE_OF_ALL = "the wordings are no sample of all there could be"


class WordedScore(NamedTuple):
    """One sample's scores in one wording; None where its asking failed or the scorer leaves the answer out."""

    statistics: Statistics | None
    cluster: Hashable
    is_read: bool = True
    """Whether the scorer could read the answer."""


Group: TypeAlias = Mapping[str, str]
Scores: TypeAlias = Callable[[str, str, Group], Sequence[WordedScore]]
"""The scores by a scorer's name and signature of all samples of a group, in one order."""


def wording_number(signature: str) -> int:
    """Of which wording of several a scorer is, from 1; 0 for none of them."""
    match = _WORDING.search(signature)
    return int(match[1]) if match else 0


def votes(signature: str) -> int:
    """Over how many wordings a scorer takes the vote; 0 where it takes none."""
    match = _VOTE.search(signature)
    return int(match[1]) if match else 0


def wording_figures(metrics: Sequence[MetricRecord], scores: Scores) -> Iterator[MetricRecord]:
    """The figures of each scorer asked in several wordings, by group, from all its ``metrics`` (its headline's first).

    They are without a value where any wording has none; what is known of it is paired by sample.
    """
    headline: dict[str | None, MetricRecord] = {}
    wordings: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[MetricRecord]] = {}
    for metric in metrics:
        first = headline.setdefault(metric.scorer, metric)
        match = _WORDING.search(metric.signature or "")
        if match and metric.name == first.name:
            base = str(metric.scorer).partition("@")[0]
            wordings.setdefault((base, match[2], tuple(sorted(metric.group.items()))), []).append(metric)
    for (base, count, _), members in wordings.items():
        if len(members) == int(count) and base in headline:
            yield from _figures(headline[base], members, scores)


def _figures(headline: MetricRecord, wordings: Sequence[MetricRecord], scores: Scores) -> Iterator[MetricRecord]:
    first, what = wordings[0], f"{wordings[0].name} over {len(wordings)} wordings"
    values = [metric.value for metric in wordings if metric.value is not None]
    higher = first.direction == "higher"
    points = POINTS if first.unit in FRACTIONS else first.unit
    units = {SPREAD: points, DEVIATION: points}
    figures: dict[str, tuple[float | None, Interval]]
    if len(values) < len(wordings):
        figures = dict.fromkeys((SPREAD, DEVIATION, MEAN, WORST), (None, Interval(None, None, "")))
    else:
        by_wording = [scores(str(metric.scorer), str(metric.signature), first.group) for metric in wordings]
        rows = [row for of_wording in by_wording for row in of_wording]
        known = _extremes(wordings, by_wording)
        # Scores of answers of which none could be read are level whatever the wordings do.
        unread = Interval(None, None, _UNREAD) if rows and not any(row.is_read for row in rows) else None
        figures = {
            SPREAD: (None, unread) if unread else (max(values) - min(values), known.range),
            DEVIATION: (None, unread) if unread else (statistics.stdev(values), none(_NO_SAMPLE_OF_ALL)),
            MEAN: (statistics.fmean(values), known.mean),
            WORST: (min(values), known.least) if higher else (max(values), known.greatest),
        }
    for name, (value, (lower, upper, method)) in figures.items():
        yield MetricRecord(
            name=name,
            value=value,
            lower=lower,
            upper=upper,
            n=first.n,
            unit=units.get(name, first.unit),
            direction="lower" if name in units else first.direction,
            method=f"{method}; {what}" if method else f"{what}, one of which has no value",
            scorer=headline.scorer,
            signature=headline.signature,
            group=dict(first.group),
        )


def _extremes(wordings: Sequence[MetricRecord], by_wording: Sequence[Sequence[WordedScore]]) -> Extremes:
    # Most evals are asked in one wording, and need none of this arithmetic.
    from pytest_audiobench.stats.extremes import Extremes, extremes
    from pytest_audiobench.stats.weighted_sums import Points, mean_interval

    first = wordings[0]
    kind = metric_kind(first.name) if is_known(first.name) else None
    if kind is None or len({len(rows) for rows in by_wording}) > 1:
        return Extremes.unknown("the wordings' samples are not the same")
    # What no wording was asked, or has a score of, is not a sample; what one of them lacks adds nothing to its sums.
    samples = [rows for rows in zip(*by_wording, strict=True) if any(row.statistics is not None for row in rows)]
    sums = [_sums(kind, [row.statistics for row in rows]) for rows in zip(*samples, strict=True)]
    whole = [each for each in sums if not isinstance(each, str)]
    if len(whole) < len(sums) or not sums:
        return Extremes.unknown(next((each for each in sums if isinstance(each, str)), "no score of a sample"))
    clusters = [rows[0].cluster for rows in samples]
    least, most = RANGES.get(kind.unit, (0.0 if kind.parts else -math.inf, math.inf))
    known = extremes(whole, clusters, span(kind.unit), (least, most))
    if kind.parts is None:
        return known
    tops, wholes = (np.stack([np.asarray(each.units)[:, column] for each in whole], axis=1) for column in (0, 1))
    likely = 1.0 if kind.unit in FRACTIONS else None
    shares = [1.0 / len(whole)] * len(whole)
    return known._replace(mean=mean_interval(Points(tops, wholes, clusters), shares, most, likely, least))


def _sums(kind: MetricKind, scores: Sequence[Statistics | None]) -> Sums | str:
    """The metric as a function of sums, a sample without a score being a row of nothing; or why it is none."""
    there = [score for score in scores if score is not None]
    if kind.parts is not None:
        parts = [(0.0, 0.0) if score is None else kind.parts(score) for score in scores]
        return Sums(np.array(parts, dtype=np.float64), lambda sums: quotient(sums[:, 0], sums[:, 1]))
    if kind.summed is None or not there:
        return "only the whole set gives it"
    form = kind.summed(there)
    if isinstance(form, str) or len(there) == len(scores):
        return form
    if isinstance(form.units, Rows):
        rows = iter(form.units.rows)
        return form._replace(units=Rows([() if score is None else next(rows) for score in scores], form.units.width))
    units = np.zeros((len(scores), form.units.shape[1]))
    units[[score is not None for score in scores]] = form.units
    return form._replace(units=units)
