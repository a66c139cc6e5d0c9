"""``audiobench track``: one model's runs in order, a curve for each line, and where it dropped.

Each run of a curve is compared with the one before it, and the last with the best. The best was chosen by looking at
all of them, so the level is divided as if the last had been compared with each: a curve of k runs counts k - 1 and
k - 2 tests. A run that lacks the eval is not a run of its curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_audiobench.comparison import comparison_lines
from pytest_audiobench.comparison.alignment import aligned
from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.comparison.mismatches import mismatches
from pytest_audiobench.comparison.run_series import Point, reader
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.config import Patterns, chosen
from pytest_audiobench.gate.regression import Terms
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.records.fields import Direction
from pytest_audiobench.records.run import RegressionRecord

_NAMED = 5


class Key(NamedTuple):
    """Whose curve it is: an eval's, or a suite's pooled over its evals."""

    suite: str
    name: str
    metric: str
    scorer: str
    is_pooled: bool


@dataclass
class Curve:
    """A metric over a track."""

    key: Key
    unit: str
    direction: Direction
    values: list[Estimate | None]
    """By point; None where a run lacks it."""
    drops: list[RegressionRecord | None]
    """By point: the comparison with the run before it that has a value."""
    best: int = 0
    last: int = 0
    since_best: RegressionRecord | None = None
    """The comparison of the last with the best; None where these are one."""
    parse_rates: dict[int, float | None] = field(default_factory=dict)
    signature: str = ""

    def before(self, at: int) -> int | None:
        """The place of the run that the one at ``at`` is compared with; None for the first of the curve."""
        return next((place for place in reversed(range(at)) if self.values[place] is not None), None)


@dataclass(frozen=True)
class Track:
    """One model's curves over its runs; alpha is divided among ``comparisons`` tests."""

    model: str
    """The model's name, whatever its step."""
    points: Sequence[Point]
    curves: Sequence[Curve]
    alpha: float
    max_drop: str
    comparisons: int
    notes: Sequence[str] = field(default_factory=tuple)


class TrackOptions(NamedTuple):
    """What is followed, and how strict the tests are."""

    chosen: comparison_lines.Selection
    evals: Patterns
    alpha: float
    max_drop: str


def track(model: str, points: Sequence[Point], wanted: TrackOptions, notes: Sequence[str] = ()) -> Track:
    """The curves of ``points``, which are in order.

    Raises UsageError where two runs that are compared were not asked the same, and for choices that fit
    nothing.
    """
    read = reader(chosen(wanted.evals, (name for point in points for name in point.evals), "eval of these runs"))
    listed = [_plan(read(point), wanted) for point in points]
    changing = _changing(listed)
    unpooled = [f"{suite} is not pooled: its evals are not the same in all runs" for suite in sorted(changing)]
    all_notes = [*notes, *unpooled, *_without(points, listed)]
    keys = [{key for key in keys_of_run if not (key.is_pooled and key.suite in changing)} for keys_of_run in listed]
    every = dict.fromkeys(key for keys_of_run in listed for key in keys_of_run)
    in_order = [key for key in every if any(key in run_keys for run_keys in keys)]
    runs = [sum(key in keys_of_run for keys_of_run in keys) for key in in_order]
    terms = Terms(wanted.alpha, max(1, sum(max(0, count - 1) + max(0, count - 2) for count in runs)))
    curves = {key: Curve(key, "", "higher", [None] * len(points), [None] * len(points)) for key in in_order}
    before: dict[Key, int] = {}
    for at, here in enumerate(map(read, points)):
        _add(curves, at, here, wanted)
        own_keys = [key for key in in_order if key in keys[at]]
        for place in sorted({before[key] for key in own_keys if key in before}, reverse=True):
            regressions = _regressions(wanted, terms, read(points[place]), here)
            for key in own_keys:
                if before.get(key) == place:
                    curves[key].drops[at] = regressions.get(key)
        before |= dict.fromkeys(own_keys, at)
    for (best, last), keys_of_run in _apart(list(curves.values())).items():
        regressions = _regressions(wanted, terms, read(points[best]), read(points[last]))
        for key, curve in keys_of_run.items():
            curve.since_best = regressions.get(key)
    return Track(model, points, list(curves.values()), wanted.alpha, wanted.max_drop, terms.lines, all_notes)


def _plan(contender: Contender, wanted: TrackOptions) -> dict[Key, tuple[str, ...]]:
    if not contender.sides:
        raise UsageError(f"{contender.source} measured none of the evals that --eval chooses: leave it out")
    lines, _ = comparison_lines.planned_lines([contender], wanted.chosen)
    evals: dict[str, tuple[str, ...]] = {}
    for side in contender.sides.values():
        evals[side.suite] = (*evals.get(side.suite, ()), side.eval)
    return {_key(line): tuple(sorted(evals[line.suite])) for line in lines}


def _key(line: comparison_lines.PlannedLine) -> Key:
    return Key(line.suite, line.name, line.kind.name, line.scorer, line.is_pooled)


def _changing(listed: Sequence[dict[Key, tuple[str, ...]]]) -> set[str]:
    pools: dict[str, set[tuple[str, ...]]] = {}
    for keys in listed:
        for key, evals in keys.items():
            pools.setdefault(key.suite, set()).add(evals)
    pooled = {key.suite for keys in listed for key in keys if key.is_pooled}
    return {suite for suite, sets in pools.items() if len(sets) > 1 and suite in pooled}


def _without(points: Sequence[Point], listed: Sequence[dict[Key, tuple[str, ...]]]) -> list[str]:
    evals = [{key.name: None for key in keys if not key.is_pooled} for keys in listed]
    all_ = dict.fromkeys(name for keys in evals for name in keys)
    lacking = [(point, [name for name in all_ if name not in keys]) for point, keys in zip(points, evals, strict=True)]
    return [
        f"{point.label} has no {', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)}"
        for point, names in lacking
        if names
    ]


def _regressions(
    wanted: TrackOptions, terms: Terms, before: Contender, after: Contender
) -> dict[Key, RegressionRecord | None]:
    scorers = {
        name: comparison_lines.selected_scorers(side, wanted.chosen.scorers) for name, side in before.sides.items()
    }
    if differing := mismatches(before, after, scorers):
        raise UsageError(
            f"{before.source} and {after.source} were not asked the same, so they are on no one track: "
            f"{differing[0].says('the one', 'the other')}; name the runs that were"
        )
    common = before.sides.keys() & after.sides.keys()
    limited = {name for name in common if before.sides[name].limited or after.sides[name].limited}
    lines = comparison_lines.planned_lines(aligned([before, after], limited, {}), wanted.chosen)[0] if common else []
    return {_key(line): comparison_lines.regression(line, 1, terms, wanted.max_drop) for line in lines}


def _add(curves: dict[Key, Curve], at: int, here: Contender, wanted: TrackOptions) -> None:
    for line in comparison_lines.planned_lines([here], wanted.chosen)[0]:
        if (curve := curves.get(_key(line))) is not None and (side := line.sides[0]) is not None:
            curve.unit, curve.direction = line.kind.unit, line.kind.direction
            curve.values[at] = comparison_lines.estimate(side, line.kind, line.scorer, line.group)
            curve.parse_rates[at], curve.signature = (
                comparison_lines.parse_rate(side, line.scorer, line.group),
                line.signature,
            )


def _apart(curves: Sequence[Curve]) -> dict[tuple[int, int], dict[Key, Curve]]:
    """Mark the best and the last of each curve; those in which they are not neighbours, by where these stand."""
    apart: dict[tuple[int, int], dict[Key, Curve]] = {}
    for curve in curves:
        values = {at: estimate.value for at, estimate in enumerate(curve.values) if estimate is not None}
        known = {at: value for at, value in values.items() if value == value}
        sign = 1.0 if curve.direction == "higher" else -1.0
        if known:
            # Of equals the earliest is the best: nothing was gained after it.
            curve.best, curve.last = max(known, key=lambda at: (sign * known[at], -at)), max(known)
        if curve.best == curve.before(curve.last):
            curve.since_best = curve.drops[curve.last]
        elif curve.best != curve.last:
            apart.setdefault((curve.best, curve.last), {})[curve.key] = curve
    return apart
