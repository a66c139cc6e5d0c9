"""What a suite's record holds of its perturbations, as plain values; ``evaluation/curves.py`` makes them."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_audiobench.datasets.perturbations.perturbation import Harder
from pytest_audiobench.metrics.metric import Direction


@dataclass(frozen=True)
class FigureRecord:
    """A figure over perturbations with its 95 % interval; ``method`` says how, or why there is none."""

    value: float | None
    lower: float | None
    upper: float | None
    method: str


@dataclass(frozen=True)
class SlopeRecord(FigureRecord):
    """Least squares' slope of the points on the dose, all alike: the change of the metric per ``per`` units of dose.

    ``p`` is that of "no trend", as ``method`` says: of "no worse where the dose is harder" where it is known which way
    that is, else two-sided. ``p_holm`` is adjusted over the curves of one metric, scorer and series of evals.
    """

    per: float = 1.0
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class PointRecord:
    """One perturbation: the metric as its ``eval`` measured it over ``n`` samples, and the share of these ``answered``."""

    perturbation: str
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
    """A metric over the doses of one family of perturbations, easiest dose first where it is known which way is harder.

    ``area`` is the trapezoid's over the range of doses divided by the range: the metric's mean value over it, in its
    own unit. ``clean`` is the perturbation of that name, which is at no dose. ``series`` tells its evals from others of
    the data set under the same perturbations: it is their names without the perturbation, empty where there are no others.
    """

    dataset: str
    series: str
    family: str
    metric: str
    scorer: str
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
    """How much worse a metric is under ``perturbation`` than under ``reference``, on the ``pairs`` scored under both.

    ``p`` is that of "it is no worse"; ``p_holm`` is adjusted over the differences of one metric, scorer and data set.
    ``worse`` and ``better`` count the pairs whose own score moved.
    """

    perturbation: str
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
class PerturbationsRecord:
    """A metric over all perturbations of one data set: its mean by ``weights``, which add up to 1, and the differences.

    ``series`` is as in :class:`CurveRecord`.
    """

    dataset: str
    series: str
    metric: str
    scorer: str
    signature: str
    unit: str
    direction: Direction
    points: list[PointRecord]
    weights: dict[str, float]
    mean: FigureRecord
    differences: list[DifferenceRecord]
