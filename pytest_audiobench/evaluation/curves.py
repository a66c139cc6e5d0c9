"""What perturbations do to a suite's numbers: curves over doses, the mean over perturbations, differences from the clean one.

Evals of one data set under several perturbations ask about the same samples, so that every figure here is a sum of ratios
over the same samples (``stats/weighted_sums.py``), and a difference is one of pairs (``metrics/drops.py``). Only metrics
that are ratios of sums have such figures; the others have their points, and the reason why no more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast

from pytest_audiobench.datasets.perturbations.perturbation import Harder
from pytest_audiobench.evaluation.curve_records import (
    CurveRecord,
    DifferenceRecord,
    FigureRecord,
    PerturbationsRecord,
    PointRecord,
    SlopeRecord,
)
from pytest_audiobench.evaluation.perturbation_sums import Asked, Samples
from pytest_audiobench.evaluation.scoring import SHARES, finite
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.metrics.units import FRACTIONS, RANGES, span
from pytest_audiobench.stats.multiple_testing import holm_of_known
from pytest_audiobench.stats.weighted_sums import area_weights, contrast, mean_interval, slope_weights, trend_p

CLEAN = "clean"
"""The perturbation that others are held against, by its name."""

TREND = "; p: trend test on each one's own slope (summary measures: Matthews et al. 1990, BMJ 300:230)"
"""Begins what a slope's method says of its p."""

Json: TypeAlias = Mapping[str, Any]


Rows: TypeAlias = Mapping[int, Sequence[Asked]]
"""What one scorer made of the samples of each item, by the item's place."""


class Figures(NamedTuple):
    curves: list[CurveRecord]
    perturbations: list[PerturbationsRecord]


class Series(NamedTuple):
    """The places of evals that are one data set under several perturbations.

    ``name`` tells them from another series of the data set; it is empty where there is no other.
    """

    name: str
    places: list[int]


def unperturbed(dataset: str, perturbation: Json | None) -> str:
    """The name of the data set that a perturbation was put upon."""
    return dataset if perturbation is None else dataset.removesuffix(f"+{perturbation['name']}")


def figures(items: Sequence[Json], rows: Mapping[tuple[str, str], Rows]) -> Figures:
    """The curves and the summaries of one suite's ``items`` by one model; ``rows`` are by scorer and signature."""
    found = Figures([], [])
    for name, places in series(items):
        for (scorer, signature), own in rows.items():
            having = [place for place in places if _coverage(items[place], scorer, signature) is not None]
            kept: dict[tuple[int, ...], Samples] = {}
            for metric, measured in _measured(items, having, scorer, signature).items():
                samples = kept.setdefault(tuple(measured), Samples([own.get(place, ()) for place in measured]))
                of = _Metric(items, Series(name, measured), metric, scorer, signature, samples)
                if len(of.points) > 1:
                    found.curves.extend(_held_together(list(of.curves())))
                    found.perturbations.append(of.summary())
    return found


def step(doses: Sequence[float]) -> float:
    """The power of ten that a slope over ``doses`` is given per: 10 for 20 to -20 dB, 0.1 for shares of a half."""
    # 0.5 less 0.4 is a little below 0.1 in floats.
    width = float(f"{max(doses) - min(doses):.12g}")
    return float(10.0 ** math.floor(math.log10(width)))


def series(items: Sequence[Json]) -> list[Series]:
    """The items that belong together; of each ``eval``, ``dataset`` and ``perturbation`` are looked at.

    Where a perturbation occurs twice, evals are told apart by what is left of their names without it.
    """
    found: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if item.get("perturbation"):
            found.setdefault(unperturbed(item["dataset"], item["perturbation"]), []).append(place)
    told_apart: list[Series] = []
    for places in found.values():
        names = [items[place]["perturbation"]["name"] for place in places]
        if len(set(names)) == len(names):
            told_apart.append(Series("", places))
            continue
        apart: dict[str, list[int]] = {}
        for place, name in zip(places, names, strict=True):
            apart.setdefault(_without(items[place]["eval"], name), []).append(place)
        told_apart.extend(Series(*one) for one in apart.items())
    return [
        one
        for one in told_apart
        if len({items[place]["perturbation"]["name"] for place in one.places}) == len(one.places)
    ]


def _without(eval_: str, perturbation: str) -> str:
    """``clean_speech[a]`` for ``clean_speech[clean-a]``: the last place is that among the parameters."""
    found = [*re.finditer(rf"(?<![^\W_]){re.escape(perturbation)}(?![^\W_])", eval_)]
    if not found:
        return eval_
    left, right = eval_[: found[-1].start()], eval_[found[-1].end() :]
    if right[:1] in ("-", "_"):
        right = right[1:]
    elif left[-1:] in ("-", "_"):
        left = left[:-1]
    return f"{left}{right}".removesuffix("[]")


def _coverage(item: Json, scorer: str, signature: str) -> Json | None:
    return next((r["coverage"] for r in item["scorers"] if (r["name"], r["signature"]) == (scorer, signature)), None)


def _measured(items: Sequence[Json], places: Sequence[int], scorer: str, signature: str) -> dict[str, list[int]]:
    """What the scorer measured, each with the items that it measured it of; shares of answers are each point's own."""
    found: dict[str, list[int]] = {}
    for place in places:
        for m in items[place]["metrics"]:
            if (m["scorer"], m["signature"]) == (scorer, signature) and not m["group"] and m["name"] not in SHARES:
                found.setdefault(m["name"], []).append(place)
    return found


class _Metric:
    """One metric by one scorer over the perturbations of one data set."""

    def __init__(
        self, items: Sequence[Json], own: Series, metric: str, scorer: str, signature: str, samples: Samples
    ) -> None:
        self._about = (metric, scorer, signature)
        self._series, places = own
        self.points: list[PointRecord] = []
        self._columns: dict[str, int] = {}
        for column, place in enumerate(places):
            item = items[place]
            measured = [m for m in item["metrics"] if (m["name"], m["scorer"], m["signature"]) == self._about]
            if one := next((m for m in measured if not m["group"]), None):
                self.points.append(_point(item, one, _coverage(item, scorer, signature) or {}))
                self._columns[item["perturbation"]["name"]] = column
                self._unit, self._direction = one["unit"], one["direction"]
                self._dataset = unperturbed(item["dataset"], item["perturbation"])
        self._told = {items[place]["perturbation"]["name"]: items[place]["perturbation"] for place in places}
        # A metric that a conftest.py of the workers registered is not known to the process that puts a run together.
        is_ratio = is_known(metric) and metric_kind(metric).parts is not None
        self._sums = samples.sums(metric_kind(metric)) if is_ratio else f"{metric} is no ratio of sums over samples"

    def curves(self) -> Iterator[CurveRecord]:
        """A curve for each family with two doses or more in one unit."""
        families: dict[tuple[str, str], list[PointRecord]] = {}
        for point in self.points:
            if point.dose is not None:
                families.setdefault((point.family, self._told[point.perturbation]["unit"]), []).append(point)
        for (family, unit), points in families.items():
            if len({point.dose for point in points}) > 1:
                yield self._curve(family, unit, points)

    def _curve(self, family: str, unit: str, points: Sequence[PointRecord]) -> CurveRecord:
        metric, scorer, signature = self._about
        sides = {self._told[point.perturbation]["harder"] for point in points}
        harder = sides.pop() if len(sides) == 1 else ""
        ordered = sorted(points, key=lambda point: point.dose or 0.0, reverse=harder == "lower")
        return CurveRecord(
            dataset=self._dataset,
            series=self._series,
            family=family,
            metric=metric,
            scorer=scorer,
            signature=signature,
            unit=self._unit,
            direction=self._direction,
            dose_unit=unit,
            harder=cast(Harder, harder),
            points=ordered,
            clean=next((point for point in self.points if point.perturbation == CLEAN and point.dose is None), None),
            slope=self._slope(ordered, cast(Harder, harder)),
            area=self._mean(ordered, area_weights([_dose(point) for point in ordered]), "trapezoid rule over"),
        )

    def _slope(self, points: Sequence[PointRecord], harder: Harder) -> SlopeRecord:
        doses = [_dose(point) for point in points]
        per = step(doses)
        how = f"least squares over {len(points)} perturbations, all alike"
        if isinstance(self._sums, str):
            return SlopeRecord(None, None, None, f"no slope: {self._sums}", per)
        own, weights = self._sums.points(self._of(points)), [per * weight for weight in slope_weights(doses)]
        most = span(self._unit)
        drop = contrast(own, weights, most)
        method = f"{how}; {drop.method.replace('no test', 'no interval').replace('paired t', 't on paired samples')}"
        numbers = (finite(own.value(weights)), finite(drop.lower), finite(drop.upper))
        p = finite(trend_p(own, weights, most, self._worse(harder)))
        told = f"{TREND}, {'one-sided: worse where harder' if harder else 'two-sided'}" if p is not None else ""
        return SlopeRecord(*numbers, f"{method}{told}", per, p)

    def _worse(self, harder: Harder) -> int:
        """The sign of a slope along which the metric becomes worse towards the harder dose; 0 where none is known."""
        if not harder:
            return 0
        return 1 if (self._direction == "higher") == (harder == "lower") else -1

    def summary(self) -> PerturbationsRecord:
        """The mean over all perturbations, each weighing alike, and the differences."""
        metric, scorer, signature = self._about
        weights = [1.0 / len(self.points)] * len(self.points)
        return PerturbationsRecord(
            dataset=self._dataset,
            series=self._series,
            metric=metric,
            scorer=scorer,
            signature=signature,
            unit=self._unit,
            direction=self._direction,
            points=self.points,
            weights={point.perturbation: weight for point, weight in zip(self.points, weights, strict=True)},
            mean=self._mean(self.points, weights, "mean of"),
            differences=_adjusted(list(self._differences())),
        )

    def _mean(self, points: Sequence[PointRecord], weights: Sequence[float], how: str) -> FigureRecord:
        if isinstance(self._sums, str):
            return FigureRecord(None, None, None, f"no mean: {self._sums}")
        own = self._sums.points(self._of(points))
        least, most = RANGES.get(self._unit, (0.0, math.inf))
        found = mean_interval(own, weights, most, likely=1.0 if self._unit in FRACTIONS else None, least=least)
        method = f"{how} {len(points)} perturbations; {found.method}"
        return FigureRecord(finite(own.value(weights)), finite(found.lower), finite(found.upper), method)

    def _of(self, points: Sequence[PointRecord]) -> list[int]:
        return [self._columns[point.perturbation] for point in points]

    def _differences(self) -> Iterator[DifferenceRecord]:
        if isinstance(self._sums, str):
            return
        for point in self.points:
            reference = self._reference(point)
            if reference is not None and reference != point.perturbation:
                yield self._difference(point.perturbation, reference)

    def _reference(self, point: PointRecord) -> str | None:
        """The perturbation named clean; else the easiest dose of the point's family, where it is known which that is."""
        if any(one.perturbation == CLEAN for one in self.points):
            return CLEAN
        told = self._told[point.perturbation]
        own = [one for one in self.points if one.family == point.family and one.dose is not None]
        if point.dose is None or not told["harder"] or len(own) < 2:
            return None
        return min(own, key=lambda one: _dose(one) if told["harder"] == "higher" else -_dose(one)).perturbation

    def _difference(self, perturbation: str, reference: str) -> DifferenceRecord:
        assert not isinstance(self._sums, str)
        found = self._sums.difference(self._columns[reference], self._columns[perturbation])
        return DifferenceRecord(
            perturbation=perturbation,
            reference=reference,
            drop=finite(found.drop.value),
            lower=finite(found.drop.lower),
            upper=finite(found.drop.upper),
            p=finite(found.drop.p),
            p_holm=None,
            pairs=found.pairs,
            worse=found.worse,
            better=found.better,
            method=found.drop.method,
        )


def _point(item: Json, metric: Json, coverage: Json) -> PointRecord:
    perturbation, n = item["perturbation"], coverage.get("n", 0)
    return PointRecord(
        perturbation=perturbation["name"],
        family=perturbation["family"],
        dose=perturbation["dose"],
        eval=item["eval"],
        value=metric["value"],
        lower=metric["lower"],
        upper=metric["upper"],
        n=metric["n"],
        answered=coverage.get("parsed", 0) / n if n else None,
        method=metric["method"],
    )


def _dose(point: PointRecord) -> float:
    assert point.dose is not None
    return float(point.dose)


def _adjusted(differences: Sequence[DifferenceRecord]) -> list[DifferenceRecord]:
    """With p values adjusted by Holm's method."""
    adjusted = holm_of_known([one.p for one in differences])
    return [replace(one, p_holm=p) for one, p in zip(differences, adjusted, strict=True)]


def _held_together(curves: Sequence[CurveRecord]) -> list[CurveRecord]:
    """With the p values of their slopes adjusted by Holm's method."""
    adjusted = holm_of_known([one.slope.p for one in curves])
    return [replace(one, slope=replace(one.slope, p_holm=p)) for one, p in zip(curves, adjusted, strict=True)]
