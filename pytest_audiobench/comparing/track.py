"""``audiobench track``: one model's runs in order, a curve for each line, and where it dropped.

Each run is held against the one before it, and the last against the best. The best was chosen by looking at all of
them, so the level is divided as if the last had been held against each: a curve of k runs counts k - 1 and k - 2 tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from pytest_audiobench.comparing.alike import alike
from pytest_audiobench.comparing.contenders import Contender
from pytest_audiobench.comparing.lines import Chosen, Planned, chosen_readings, estimate, held, planned
from pytest_audiobench.comparing.mismatches import mismatches
from pytest_audiobench.comparing.runs_of import Point, contender
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.regression import Terms
from pytest_audiobench.metrics.metric import Direction, Estimate
from pytest_audiobench.runs.record import RegressionRecord


class Key(NamedTuple):
    """Whose curve it is: an eval's, or a suite's pooled over its evals."""

    suite: str
    name: str
    metric: str
    reading: str
    is_pooled: bool


@dataclass
class Curve:
    """A number over a track. ``values`` and ``drops`` are by point, None where a run lacks it; a drop is that against
    the run before. ``best`` and ``last`` are places in the track; ``since_best`` is what became of the last held
    against the best, None where these are one.
    """

    key: Key
    unit: str
    direction: Direction
    values: list[Estimate | None]
    drops: list[RegressionRecord | None]
    best: int = 0
    last: int = 0
    since_best: RegressionRecord | None = None


@dataclass(frozen=True)
class Track:
    """``model`` is what the runs' model is called whatever its step; ``comparisons`` how many tests alpha is divided
    among.
    """

    model: str
    points: Sequence[Point]
    curves: Sequence[Curve]
    alpha: float
    max_drop: str
    comparisons: int
    notes: Sequence[str] = field(default_factory=tuple)


class Wanted(NamedTuple):
    """What is followed, and how strict the tests are."""

    chosen: Chosen
    evals: str
    alpha: float
    max_drop: str


def track(model: str, points: Sequence[Point], wanted: Wanted, notes: Sequence[str] = ()) -> Track:
    """The curves of ``points``, which are in order.

    Raises UsageError where two neighbours were not asked the same, and for choices that fit nothing.
    """
    listed = [_plan(point, wanted) for point in points]
    changing = _changing(listed)
    told = [*notes, *(f"{suite} is not pooled: its evals are not the same in all runs" for suite in sorted(changing))]
    keys = [{key for key in own if not (key.is_pooled and key.suite in changing)} for own in listed]
    in_order = [key for key in dict.fromkeys(key for own in listed for key in own) if any(key in one for one in keys)]
    terms = Terms(wanted.alpha, max(1, sum(_tests([key in own for own in keys]) for key in in_order)))
    curves = {key: Curve(key, "", "higher", [None] * len(points), [None] * len(points)) for key in in_order}
    for at in range(len(points)):
        _add(curves, at, points, wanted, terms)
    for curve in curves.values():
        _mark(curve)
    _hold_last(list(curves.values()), points, wanted, terms)
    return Track(model, points, list(curves.values()), wanted.alpha, wanted.max_drop, terms.lines, told)


def _plan(point: Point, wanted: Wanted) -> dict[Key, tuple[str, ...]]:
    """The curves that a run adds to, each with the evals of its suite."""
    one = contender(point, wanted.evals)
    if not one.sides:
        raise UsageError(f"no eval of {point.folder} matches {wanted.evals!r}")
    lines, _ = planned([one], wanted.chosen)
    evals = {
        side.suite: tuple(sorted(s.eval for s in one.sides.values() if s.suite == side.suite))
        for side in one.sides.values()
    }
    return {_key(line): evals[line.suite] for line in lines}


def _key(line: Planned) -> Key:
    return Key(line.suite, line.name, line.kind.name, line.reading, line.is_pooled)


def _changing(listed: Sequence[dict[Key, tuple[str, ...]]]) -> set[str]:
    """Suites that would be pooled over other evals in one run than in another."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for own in listed:
        for key, evals in own.items():
            found.setdefault(key.suite, set()).add(evals)
    pooled = {key.suite for own in listed for key in own if key.is_pooled}
    return {suite for suite, sets in found.items() if len(sets) > 1 and suite in pooled}


def _tests(there: Sequence[bool]) -> int:
    neighbours = sum(one and other for one, other in pairwise(there))
    return neighbours + max(0, sum(there) - 2)


def _add(curves: dict[Key, Curve], at: int, points: Sequence[Point], wanted: Wanted, terms: Terms) -> None:
    """The values of the run at ``at``, and its drops against the one before."""
    here = contender(points[at], wanted.evals)
    for line in planned([here], wanted.chosen)[0]:
        if (curve := curves.get(_key(line))) is not None and (side := line.sides[0]) is not None:
            curve.unit, curve.direction = line.kind.unit, line.kind.direction
            curve.values[at] = estimate(side, line.kind, line.reading, line.group)
    if at:
        for line in _pairs(contender(points[at - 1], wanted.evals), here, wanted):
            if (curve := curves.get(_key(line))) is not None:
                curve.drops[at] = held(line, 1, terms, wanted.max_drop)


def _pairs(before: Contender, after: Contender, wanted: Wanted) -> list[Planned]:
    readings = {name: chosen_readings(side, wanted.chosen.protocols) for name, side in before.sides.items()}
    if found := mismatches(before, after, readings):
        raise UsageError(
            f"{before.source} and {after.source} were not asked the same, so they are on no one track: "
            f"{found[0].says('the one', 'the other')}; name the runs that were"
        )
    common = before.sides.keys() & after.sides.keys()
    limited = {name for name in common if before.sides[name].limited or after.sides[name].limited}
    return planned(alike([before, after], limited, {}), wanted.chosen)[0] if common else []


def _mark(curve: Curve) -> None:
    """Find the best and the last of a curve; of equals the earliest is the best, since nothing was gained after it."""
    known = {at: one.value for at, one in enumerate(curve.values) if one is not None and one.value == one.value}
    sign = 1.0 if curve.direction == "higher" else -1.0
    if known:
        curve.best, curve.last = max(known, key=lambda at: (sign * known[at], -at)), max(known)


def _hold_last(curves: Sequence[Curve], points: Sequence[Point], wanted: Wanted, terms: Terms) -> None:
    """Hold the last of each curve against its best; neighbours have been held against each other already."""
    apart: dict[tuple[int, int], dict[Key, Curve]] = {}
    for curve in curves:
        if curve.best == curve.last - 1:
            curve.since_best = curve.drops[curve.last]
        elif curve.best != curve.last:
            apart.setdefault((curve.best, curve.last), {})[curve.key] = curve
    for (best, last), own in apart.items():
        for line in _pairs(contender(points[best], wanted.evals), contender(points[last], wanted.evals), wanted):
            if (found := own.get(_key(line))) is not None:
                found.since_best = held(line, 1, terms, wanted.max_drop)
