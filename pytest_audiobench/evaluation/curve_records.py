"""What a suite's record holds of its conditions, as plain values; ``evaluation/curves.py`` makes them."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_audiobench.datasets.perturbations.dose import Harder
from pytest_audiobench.metrics.metric import Direction


@dataclass(frozen=True)
class FigureRecord:
    """A figure over conditions with its 95 % interval; ``method`` says how, or why there is none."""

    value: float | None
    lower: float | None
    upper: float | None
    method: str


@dataclass(frozen=True)
class SlopeRecord(FigureRecord):
    """Least squares' slope of the points on the dose, all alike: the change of the metric per ``per`` units of dose.

    ``p`` is that of "no trend", as ``method`` says: of "no worse where the dose is harder" where it is known which way
    that is, else two-sided. ``p_holm`` is adjusted over the curves of one metric, reading and series of evals.
    """

    per: float = 1.0
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class PointRecord:
    """One condition: the metric as its ``eval`` measured it over ``n`` samples, and the share of these ``answered``."""

    condition: str
    family: str
    dose: float | None
    eval: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    answered: float | None
    method: str


@dataclass(frozen=True)
class CurveRecord:
    """A metric over the doses of one family of conditions, easiest dose first where it is known which way is harder.

    ``area`` is the trapezoid's over the range of doses divided by the range: the metric's mean value over it, in its
    own unit. ``clean`` is the condition of that name, which is at no dose. ``series`` tells its evals from others of
    the data set under the same conditions: it is their names without the condition, empty where there are no others.
    """

    dataset: str
    series: str
    family: str
    metric: str
    reading: str
    signature: str
    unit: str
    direction: Direction
    dose_unit: str
    harder: Harder
    points: list[PointRecord]
    clean: PointRecord | None
    slope: SlopeRecord
    area: FigureRecord


@dataclass(frozen=True)
class DifferenceRecord:
    """How much worse a metric is under ``condition`` than under ``reference``, on the ``pairs`` scored under both.

    ``p`` is that of "it is no worse"; ``p_holm`` is adjusted over the differences of one metric, reading and data set.
    ``worse`` and ``better`` count the pairs whose own score moved.
    """

    condition: str
    reference: str
    drop: float | None
    lower: float | None
    upper: float | None
    p: float | None
    p_holm: float | None
    pairs: int
    worse: int
    better: int
    method: str


@dataclass(frozen=True)
class ConditionsRecord:
    """A metric over all conditions of one data set: its mean by ``weights``, which add up to 1, and the differences.

    ``series`` is as in :class:`CurveRecord`.
    """

    dataset: str
    series: str
    metric: str
    reading: str
    signature: str
    unit: str
    direction: Direction
    points: list[PointRecord]
    weights: dict[str, float]
    mean: FigureRecord
    differences: list[DifferenceRecord]
