"""What perturbations do to one contender and to another: the differences of slopes, areas and means, on shared samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_audiobench.comparison.rows import Planned
from pytest_audiobench.evaluation.comparable import ComparableEval, ComparableSample, statistics_of
from pytest_audiobench.evaluation.curves import series, step, unperturbed
from pytest_audiobench.evaluation.perturbation_sums import Asked, Samples
from pytest_audiobench.gate.pairing import paired
from pytest_audiobench.metrics.metric import MetricKind, span
from pytest_audiobench.stats.drops import Drop
from pytest_audiobench.stats.weighted_sums import Points, area_weights, contrast, slope_weights

Json = Mapping[str, Any]


@dataclass(frozen=True)
class CurveLine:
    """A figure over perturbations: each contender's value, and how much more it is than the first's, on shared samples.

    ``values`` are over each one's own samples, None where it lacks an eval; ``differences`` are None there and for the
    first, ``pairs`` how many answers they rest on. A slope's are in the metric's unit per step of dose, as
    ``figure`` has it.
    """

    suite: str
    dataset: str
    series: str
    figure: str
    kind: MetricKind
    scorer: str
    values: Sequence[float | None]
    differences: Sequence[Drop | None]
    pairs: Sequence[int]


class _Figure(NamedTuple):
    """The evals that a figure is over, by their places among the lines of a data set, and the weight of each."""

    name: str
    places: Sequence[int]
    weights: Sequence[float]


def curve_lines(lines: Sequence[Planned]) -> list[CurveLine]:
    """The figures over perturbations of all that is compared eval by eval, where a data set is under two or more."""
    together: dict[tuple[str, str, str], list[Planned]] = {}
    for line in lines:
        if not line.is_pooled and not line.group and line.kind.parts is not None:
            together.setdefault((line.suite, line.kind.name, line.scorer), []).append(line)
    return [found for own in together.values() for found in _of_metric(own)]


def _of_metric(lines: Sequence[Planned]) -> Iterator[CurveLine]:
    items = [_item(line) for line in lines]
    for name, places in series(items):
        if len(places) < 2:
            continue
        own, told = [lines[place] for place in places], [items[place] for place in places]
        for figure in _figures([one["perturbation"] for one in told]):
            chosen = [own[place] for place in figure.places]
            sides = [[line.sides[at] for line in chosen] for at in range(len(own[0].sides))]
            held = [_held(sides[0], others, chosen[0], figure) if at else None for at, others in enumerate(sides)]
            yield CurveLine(
                suite=own[0].suite,
                dataset=unperturbed(told[0]["dataset"], told[0]["perturbation"]),
                series=name,
                figure=figure.name,
                kind=own[0].kind,
                scorer=own[0].scorer,
                values=[_value(side, own[0], figure) for side in sides],
                differences=[one and one[0] for one in held],
                pairs=[one[1] if one else 0 for one in held],
            )


def _item(line: Planned) -> Json:
    """What tells a data set and its perturbation; a baseline's file does not say it of itself."""
    known = [side for side in line.sides if side is not None]
    side = next((one for one in known if one.perturbation), known[0])
    return {"dataset": side.dataset, "perturbation": side.perturbation, "eval": line.name}


def _figures(perturbations: Sequence[Json]) -> Iterator[_Figure]:
    families: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(perturbations):
        if one["dose"] is not None:
            families.setdefault((one["family"], one["unit"]), []).append(place)
    for (family, unit), places in families.items():
        doses = [float(perturbations[place]["dose"]) for place in places]
        if len(set(doses)) > 1:
            per = step(doses)
            slope = [per * weight for weight in slope_weights(doses)]
            yield _Figure(f"{family}: slope per {per:g} {unit}".rstrip(), places, slope)
            yield _Figure(
                f"{family}: area from {min(doses):g} to {max(doses):g} {unit}".rstrip(), places, area_weights(doses)
            )
    count = len(perturbations)
    yield _Figure(f"mean of {count} perturbations", range(count), [1.0 / count] * count)


def _value(sides: Sequence[ComparableEval | None], line: Planned, figure: _Figure) -> float | None:
    rows = [[] if side is None else side.rows for side in sides]
    points = _points(rows, line)
    if points is None or None in sides:
        return None
    value = points.value(figure.weights)
    return value if math.isfinite(value) else None


def _held(
    first: Sequence[ComparableEval | None], others: Sequence[ComparableEval | None], line: Planned, figure: _Figure
) -> tuple[Drop, int] | None:
    """By how much the figure of ``others`` is more than that of ``first``, on the answers that both scored."""
    pairs = [
        paired(one, other, line.scorer).rows
        for one, other in zip(first, others, strict=True)
        if one is not None and other is not None
    ]
    if len(pairs) < len(first):
        return None
    rows = [[pair[at] for pair in own] for at in (0, 1) for own in pairs]
    points = _points(rows, line)
    if points is None:
        return None
    weights = [sign * weight for sign in (-1.0, 1.0) for weight in figure.weights]
    return contrast(points, weights, span(line.kind.unit)), sum(map(len, pairs))


def _points(rows: Sequence[Sequence[ComparableSample]], line: Planned) -> Points | None:
    """The samples of several lists of rows, a column for each; None where a sample lacks a statistic."""

    def asked(row: ComparableSample) -> Asked:
        return Asked(row.identity, statistics_of(row, line.scorer, line.kind.name), row.cluster or row.sample_id)

    sums = Samples([map(asked, own) for own in rows]).sums(line.kind)
    return None if isinstance(sums, str) else sums.points(range(len(rows)))
