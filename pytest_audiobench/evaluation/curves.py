"""The figures over a suite's perturbations: curves over doses, means, differences from the clean one.

Evals of one data set under several perturbations ask about the same samples, so that every figure here is a sum of
ratios over the same samples (``stats/weighted_sums.py``), a difference one of pairs (``metrics/metric_drops.py``). Only
metrics that are ratios of sums have such figures; the others have their points, and the reason why no more.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.perturbation_series import (
    CLEAN,
    Identity,
    Rows,
    SampleScore,
    Series,
    series,
    unperturbed,
)
from pytest_audiobench.evaluation.scoring import SHARES, finite
from pytest_audiobench.metrics.metric import FRACTIONS, RANGES, MetricKind, Statistics, span
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.fields import Harder
from pytest_audiobench.records.run import (
    CoverageRecord,
    CurveRecord,
    DifferenceRecord,
    FigureRecord,
    ItemRecord,
    MetricRecord,
    PerturbationRecord,
    PerturbationsRecord,
    PointRecord,
    SlopeRecord,
)
from pytest_audiobench.stats.drops import Drop, Question
from pytest_audiobench.stats.intervals import Floats
from pytest_audiobench.stats.multiple_testing import holm_of_known
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.weighted_sums import Points, area_weights, contrast, mean_interval, slope_weights, trend_p

TREND = "; p: trend test on each one's own slope (summary measures: Matthews et al. 1990, BMJ 300:230)"
"""Begins what a slope's method says of its p."""


class Figures(NamedTuple):
    curves: list[CurveRecord]
    perturbations: list[PerturbationsRecord]


def figures(items: Sequence[ItemRecord], rows: Mapping[tuple[str, str], Rows]) -> Figures:
    """The curves and the summaries of one suite's ``items`` by one model; ``rows`` are by scorer and signature."""
    figures_ = Figures([], [])
    for name, places in series(items):
        for (scorer, signature), scores in rows.items():
            covered = [place for place in places if _coverage(items[place], scorer, signature) is not None]
            samples_of: dict[tuple[int, ...], Samples] = {}
            for metric, measured in _places_by_metric(items, covered, scorer, signature).items():
                samples = samples_of.setdefault(tuple(measured), Samples([scores.get(place, ()) for place in measured]))
                metric_series = _MetricSeries(items, Series(name, measured), metric, scorer, signature, samples)
                if len(metric_series.points) > 1:
                    curves = list(metric_series.curves())
                    adjusted = holm_of_known([curve.slope.p for curve in curves])
                    for curve, p in zip(curves, adjusted, strict=True):
                        figures_.curves.append(replace(curve, slope=replace(curve.slope, p_holm=p)))
                    figures_.perturbations.append(metric_series.summary())
    return figures_


def step(doses: Sequence[float]) -> float:
    """The power of ten that a slope over ``doses`` is given per: 10 for 20 to -20 dB, 0.1 for shares of a half."""
    # 0.5 less 0.4 is a little below 0.1 in floats.
    width = float(f"{max(doses) - min(doses):.12g}")
    return float(10.0 ** math.floor(math.log10(width)))


def _coverage(item: ItemRecord, scorer: str, signature: str) -> CoverageRecord | None:
    return next((r.coverage for r in item.scorers if (r.name, r.signature) == (scorer, signature)), None)


def _places_by_metric(
    items: Sequence[ItemRecord], places: Sequence[int], scorer: str, signature: str
) -> dict[str, list[int]]:
    """What the scorer measured, each with the items that it measured it of; shares of answers are each point's own."""
    by_metric: dict[str, list[int]] = {}
    for place in places:
        for entry in items[place].metrics:
            of_scorer = (entry.scorer, entry.signature) == (scorer, signature)
            if of_scorer and not entry.group and entry.name not in SHARES:
                by_metric.setdefault(entry.name, []).append(place)
    return by_metric


class _MetricSeries:
    """One metric by one scorer over the perturbations of one data set."""

    def __init__(
        self, items: Sequence[ItemRecord], series: Series, metric: str, scorer: str, signature: str, samples: Samples
    ) -> None:
        self._about = (metric, scorer, signature)
        self._series, places = series
        self.points: list[PointRecord] = []
        self._columns: dict[str, int] = {}
        self._perturbations: dict[str, PerturbationRecord] = {}
        for column, place in enumerate(places):
            item = items[place]
            perturbation = item.perturbation
            assert perturbation is not None
            self._perturbations[perturbation.name] = perturbation
            entries = [m for m in item.metrics if (m.name, m.scorer, m.signature) == self._about]
            if entry := next((m for m in entries if not m.group), None):
                self.points.append(_point(item, perturbation, entry, _coverage(item, scorer, signature)))
                self._columns[perturbation.name] = column
                self._unit, self._direction = entry.unit, entry.direction
                self._dataset = unperturbed(item.dataset, perturbation)
        # A metric that a conftest.py of the workers registered is not known to the process that puts a run together.
        is_ratio = is_known(metric) and metric_kind(metric).parts is not None
        self._sums = samples.sums(metric_kind(metric)) if is_ratio else f"{metric} is not a ratio of sums over samples"

    @property
    def _facts(self) -> dict[str, Any]:
        facts = (self._dataset, self._series, *self._about, self._unit, self._direction)
        return dict(
            zip(("dataset", "series", "metric", "scorer", "signature", "unit", "direction"), facts, strict=True)
        )

    def curves(self) -> Iterator[CurveRecord]:
        """A curve for each family with two doses or more in one unit."""
        families: dict[tuple[str, str], list[PointRecord]] = {}
        for point in self.points:
            if point.dose is not None:
                families.setdefault((point.family, self._perturbations[point.perturbation].unit), []).append(point)
        for (family, unit), points in families.items():
            if len({point.dose for point in points}) > 1:
                yield self._curve(family, unit, points)

    def _curve(self, family: str, unit: str, points: Sequence[PointRecord]) -> CurveRecord:
        sides = {self._perturbations[point.perturbation].harder for point in points}
        harder: Harder = sides.pop() if len(sides) == 1 else ""
        ordered = sorted(points, key=lambda point: point.dose or 0.0, reverse=harder == "lower")
        return CurveRecord(
            **self._facts,
            family=family,
            dose_unit=unit,
            harder=harder,
            points=ordered,
            clean=next((point for point in self.points if point.perturbation == CLEAN and point.dose is None), None),
            slope=self._slope(ordered, harder),
            area=self._mean(ordered, area_weights([_dose(point) for point in ordered]), "trapezoid rule over"),
        )

    def _slope(self, points: Sequence[PointRecord], harder: Harder) -> SlopeRecord:
        doses = [_dose(point) for point in points]
        per = step(doses)
        if isinstance(self._sums, str):
            return SlopeRecord(None, None, None, f"no slope: {self._sums}", per)
        scored, weights = self._sums.points(self._of(points)), [per * weight for weight in slope_weights(doses)]
        most = span(self._unit)
        drop = contrast(scored, weights, most)
        how = drop.method.replace("no test", "no interval").replace("paired t", "t on paired samples")
        method = f"least squares over {len(points)} perturbations, all alike; {how}"
        numbers = (finite(scored.value(weights)), finite(drop.lower), finite(drop.upper))
        # The sign of a slope along which the metric becomes worse towards the harder dose; 0 where none is known.
        worse = 0 if not harder else 1 if (self._direction == "higher") == (harder == "lower") else -1
        p = finite(trend_p(scored, weights, most, worse))
        test = f"{TREND}, {'one-sided: worse where harder' if harder else 'two-sided'}" if p is not None else ""
        return SlopeRecord(*numbers, f"{method}{test}", per, p)

    def summary(self) -> PerturbationsRecord:
        """The mean over all perturbations, each weighing alike, and the differences."""
        weights = [1.0 / len(self.points)] * len(self.points)
        differences = list(self._differences())
        adjusted = holm_of_known([difference.p for difference in differences])
        return PerturbationsRecord(
            **self._facts,
            points=self.points,
            weights={point.perturbation: weight for point, weight in zip(self.points, weights, strict=True)},
            mean=self._mean(self.points, weights, "mean of"),
            differences=[replace(difference, p_holm=p) for difference, p in zip(differences, adjusted, strict=True)],
        )

    def _mean(self, points: Sequence[PointRecord], weights: Sequence[float], how: str) -> FigureRecord:
        if isinstance(self._sums, str):
            return FigureRecord(None, None, None, f"no mean: {self._sums}")
        scored = self._sums.points(self._of(points))
        least, most = RANGES.get(self._unit, (0.0, math.inf))
        interval = mean_interval(scored, weights, most, likely=1.0 if self._unit in FRACTIONS else None, least=least)
        method = f"{how} {len(points)} perturbations; {interval.method}"
        return FigureRecord(finite(scored.value(weights)), finite(interval.lower), finite(interval.upper), method)

    def _of(self, points: Sequence[PointRecord]) -> list[int]:
        return [self._columns[point.perturbation] for point in points]

    def _differences(self) -> Iterator[DifferenceRecord]:
        if isinstance(self._sums, str):
            return
        for point in self.points:
            reference = self._reference(point)
            if reference is not None and reference != point.perturbation:
                drop, pairs, worse, better = self._sums.difference(
                    self._columns[reference], self._columns[point.perturbation]
                )
                yield DifferenceRecord(
                    perturbation=point.perturbation,
                    reference=reference,
                    drop=finite(drop.value),
                    **{name: finite(getattr(drop, name)) for name in ("lower", "upper", "p")},
                    p_holm=None,
                    pairs=pairs,
                    worse=worse,
                    better=better,
                    method=drop.method,
                )

    def _reference(self, point: PointRecord) -> str | None:
        """The perturbation named clean; else the easiest dose of the point's family, where that is known."""
        if any(other.perturbation == CLEAN for other in self.points):
            return CLEAN
        perturbation = self._perturbations[point.perturbation]
        family = [other for other in self.points if other.family == point.family and other.dose is not None]
        if point.dose is None or not perturbation.harder or len(family) < 2:
            return None
        return min(
            family, key=lambda other: _dose(other) if perturbation.harder == "higher" else -_dose(other)
        ).perturbation


def _point(
    item: ItemRecord, perturbation: PerturbationRecord, metric: MetricRecord, coverage: CoverageRecord | None
) -> PointRecord:
    return PointRecord(
        perturbation=perturbation.name,
        family=perturbation.family,
        dose=perturbation.dose,
        eval=item.eval,
        value=metric.value,
        lower=metric.lower,
        upper=metric.upper,
        n=metric.n,
        answered=coverage.parsed / coverage.n if coverage and coverage.n else None,
        method=metric.method,
    )


def _dose(point: PointRecord) -> float:
    assert point.dose is not None
    return float(point.dose)


class Difference(NamedTuple):
    """A paired drop, how many samples are in a pair, and of how many the own score became worse or better."""

    drop: Drop
    pairs: int
    worse: int
    better: int


class Samples:
    """Every sample that has a score under any perturbation; ``columns`` hold what was asked under each."""

    def __init__(self, columns: Sequence[Iterable[SampleScore]]) -> None:
        clusters: dict[Identity, Hashable] = {}
        scored: list[dict[Identity, Statistics]] = []
        for scores in columns:
            scored.append(by_identity := {})
            for sample in scores:
                if sample.statistics is not None:
                    by_identity[sample.identity] = sample.statistics
                    clusters.setdefault(sample.identity, sample.cluster)
        self.clusters = list(clusters.values())
        self._columns = [[by_identity.get(identity) for identity in clusters] for by_identity in scored]

    def sums(self, kind: MetricKind) -> Sums | str:
        """Numerators and denominators by sample and perturbation; or why there are none."""
        if kind.parts is None:
            return f"{kind.name} is not a ratio of sums over samples"
        # Few different statistics occur, and a pool keeps each once.
        parts_of: dict[int, tuple[float, float]] = {}
        parts = np.zeros((len(self._columns), len(self.clusters), 2))
        try:
            for column, row in zip(self._columns, parts, strict=True):
                for place, statistics in enumerate(column):
                    if statistics is not None:
                        if id(statistics) not in parts_of:
                            parts_of[id(statistics)] = kind.parts(statistics)
                        row[place] = parts_of[id(statistics)]
        except KeyError as error:
            return f"a sample lacks the statistic {error}"
        except (ArithmeticError, ValueError, UsageError) as error:
            return str(error)
        scored = np.array([[statistics is not None for statistics in column] for column in self._columns], dtype=bool)
        return Sums(kind, parts[:, :, 0].T, parts[:, :, 1].T, scored.reshape(len(parts), -1).T, self.clusters)


@dataclass(frozen=True)
class Sums:
    """What a metric is made of, shape (samples, perturbations) each; ``scored`` says which samples have a score."""

    kind: MetricKind
    tops: Floats
    wholes: Floats
    scored: npt.NDArray[np.bool_]
    clusters: Sequence[Hashable]

    def points(self, columns: Sequence[int]) -> Points:
        """The samples that have a score under any of ``columns``."""
        places = list(columns)
        scored = self.scored[:, places].any(axis=1)
        clusters = [self.clusters[place] for place in np.flatnonzero(scored)]
        return Points(self.tops[scored][:, places], self.wholes[scored][:, places], clusters)

    def difference(self, before: int, after: int) -> Difference:
        """How much worse the column ``after`` is than ``before``, on the samples scored in both."""
        in_both = self.scored[:, before] & self.scored[:, after]
        sides = [np.stack([self.tops[in_both, at], self.wholes[in_both, at]], axis=1) for at in (before, after)]
        clusters = [self.clusters[place] for place in np.flatnonzero(in_both)]
        higher = self.kind.direction == "higher"
        drop = ratio_drop(sides[0], sides[1], clusters, Question(margin=0.0), higher, span(self.kind.unit))
        values = [side[:, 0] / np.maximum(side[:, 1], 1.0) for side in sides]
        losses = (values[0] - values[1]) * (1.0 if higher else -1.0)
        return Difference(drop, int(in_both.sum()), int((losses > 0.0).sum()), int((losses < 0.0).sum()))
