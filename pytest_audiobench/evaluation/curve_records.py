"""What a suite's record holds of its perturbations, as plain values, and which evals are a series of them.

``evaluation/curves.py`` makes the records.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.datasets.perturbations.perturbation import Harder
from pytest_audiobench.metrics.metric import Direction, Statistics


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
    """One perturbation: the metric as its ``eval`` measured it over ``n`` samples."""

    perturbation: str
    family: str
    dose: float | None
    eval: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    answered: float | None
    """The parse rate."""
    method: str


@dataclass(frozen=True)
class CurveRecord:
    """A metric over the doses of one family of perturbations, easiest first where it is known which way is harder."""

    dataset: str
    series: str
    """The evals' names without the perturbation, where the data set has others under the same perturbations."""
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
    """The perturbation of that name, which is at no dose."""
    slope: SlopeRecord
    area: FigureRecord
    """The trapezoid's over the range of doses divided by the range: the metric's mean value over it."""


@dataclass(frozen=True)
class DifferenceRecord:
    """How much worse a metric is under ``perturbation`` than ``reference``, on the ``pairs`` scored under both."""

    perturbation: str
    reference: str
    drop: float | None
    lower: float | None
    upper: float | None
    p: float | None
    """Of "it is no worse"."""
    p_holm: float | None
    """Adjusted over the differences of one metric, scorer and data set."""
    pairs: int
    worse: int
    """Pairs whose own score became worse."""
    better: int
    method: str


@dataclass(frozen=True)
class PerturbationsRecord:
    """A metric over all perturbations of one data set: its mean by ``weights`` (adding up to 1), the differences."""

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


Json: TypeAlias = Mapping[str, Any]

CLEAN = "clean"
"""The name of the perturbation that others are compared with."""

Identity: TypeAlias = tuple[str, int]
"""A sample's id and the epoch."""


class SampleScore(NamedTuple):
    """One sample as one scorer scored it."""

    identity: Identity
    statistics: Statistics | None
    """None where it has no score."""
    cluster: Hashable


Rows: TypeAlias = Mapping[int, Sequence[SampleScore]]
"""What one scorer made of the samples of each item, by the item's place."""


class Series(NamedTuple):
    """The places of evals that are one data set under several perturbations."""

    name: str
    """Separates it from another series of the data set; empty where there is no other."""
    places: list[int]


def unperturbed(dataset: str, perturbation: Json | None) -> str:
    """The name of the data set that a perturbation was put upon."""
    return dataset if perturbation is None else dataset.removesuffix(f"+{perturbation['name']}")


def series(items: Sequence[Json]) -> list[Series]:
    """The items that belong together, by their ``eval``, ``dataset`` and ``perturbation``; where a perturbation occurs
    twice, the names of the evals without it separate one series from another.
    """
    by_dataset: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if item.get("perturbation"):
            by_dataset.setdefault(unperturbed(item["dataset"], item["perturbation"]), []).append(place)
    candidates: list[Series] = []
    for places in by_dataset.values():
        if _is_unique(items, places):
            candidates.append(Series("", places))
            continue
        by_name: dict[str, list[int]] = {}
        for place in places:
            item = items[place]
            by_name.setdefault(_without(item["eval"], item["perturbation"]["name"]), []).append(place)
        candidates.extend(Series(*entry) for entry in by_name.items())
    return [candidate for candidate in candidates if _is_unique(items, candidate.places)]


def _is_unique(items: Sequence[Json], places: Sequence[int]) -> bool:
    return len({items[place]["perturbation"]["name"] for place in places}) == len(places)


def _without(eval_: str, perturbation: str) -> str:
    """``clean_speech[a]`` for ``clean_speech[clean-a]``: the last place is that among the parameters."""
    matches = [*re.finditer(rf"(?<![^\W_]){re.escape(perturbation)}(?![^\W_])", eval_)]
    if not matches:
        return eval_
    left, right = eval_[: matches[-1].start()], eval_[matches[-1].end() :]
    if right[:1] in ("-", "_"):
        right = right[1:]
    elif left[-1:] in ("-", "_"):
        left = left[:-1]
    return f"{left}{right}".removesuffix("[]")
