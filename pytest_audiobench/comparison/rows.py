"""What is compared: a line for each eval or suite, metric, protocol and group, with every contender's number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.comparison.pooling import pooled
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable import ComparableEval, ComparableSample, statistics_of
from pytest_audiobench.evaluation.record import RegressionRecord
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.gate.grammar import point
from pytest_audiobench.gate.pairing import ERRORS
from pytest_audiobench.gate.regression import Line, Terms, regression_of
from pytest_audiobench.metrics.metric import Estimate, MetricKind
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.stats.multiple_testing import holm

ALL, HEADLINE, NONE = "all", "headline", "none"
_SHARES = tuple(name for name in SHARES if name != ERRORS)
"""Shares of answers, which every run has; no pair holds a sample that could not be asked."""


class Chosen(NamedTuple):
    """Which lines there are: names of metrics, protocols and fields of groups, or the words all, headline and none."""

    metrics: Sequence[str] = (HEADLINE,)
    scorers: Sequence[str] = (HEADLINE,)
    groups: Sequence[str] = ()


@dataclass(frozen=True)
class Planned:
    """A line before it is computed: ``sides`` are the contenders', None where one has no such eval."""

    suite: str
    name: str
    is_pooled: bool
    kind: MetricKind
    scorer: str
    group: Mapping[str, str]
    sides: Sequence[ComparableEval | None]

    @property
    def signature(self) -> str:
        """What the protocol's name stands for."""
        return next(side.scorers[self.scorer] for side in self.sides if side is not None)

    @property
    def comparisons(self) -> int:
        return sum(side is not None for side in self.sides[1:]) if self.sides[0] is not None else 0


@dataclass(frozen=True)
class Compared:
    """A line with its numbers: ``estimates`` of each contender over its own samples, the share of these that was
    ``answered``, and what became of each held against the first, None for the first itself and where either has no
    such eval.
    """

    plan: Planned
    estimates: Sequence[Estimate | None]
    answered: Sequence[float | None]
    held: Sequence[RegressionRecord | None]


def planned(found: Sequence[Contender], chosen: Chosen) -> tuple[list[Planned], list[str]]:
    """All lines, each suite's pooled ones after its evals', and what there is to say of those that there are not.

    Raises UsageError for a metric, a protocol or a group that no eval has.
    """
    notes: dict[str, None] = {}
    lines: list[Planned] = []
    suites: dict[str, list[str]] = {}
    for eval_, suite in {side.eval: side.suite for one in found for side in one.sides.values()}.items():
        suites.setdefault(suite, []).append(eval_)
    for suite, evals in suites.items():
        for eval_ in evals:
            lines += _of_eval(suite, [one.sides.get(eval_) for one in found], chosen, notes)
        lines += _of_suite(suite, evals, found, chosen, notes)
    _check(chosen, found)
    if not lines:
        raise UsageError("; ".join(notes) or "no eval has what was chosen: choose other metrics or protocols, or all")
    return lines, list(notes)


def compared(lines: Sequence[Planned], alpha: float, max_drop: str) -> list[Compared]:
    """The lines with their numbers; alpha is divided by the number of comparisons among them.

    A metric whose scale has no hundredth cannot have a margin in points: it is held to none.
    Raises UsageError for a margin that is none.
    """
    terms = Terms(alpha, max(1, sum(line.comparisons for line in lines)))
    return _adjusted([_compared(line, terms, max_drop) for line in lines])


def margin(kind: MetricKind, max_drop: str) -> str:
    """``max_drop`` where the metric can have it, else no margin at all."""
    return max_drop if point(kind) is not None or not max_drop.strip().endswith("pp") else "0"


def held(line: Planned, at: int, terms: Terms, max_drop: str) -> RegressionRecord | None:
    """What became of the contender ``at`` held against the first; None where either has no such line."""
    first, side = line.sides[0], line.sides[at]
    if first is None or side is None:
        return None
    group = (("scorer", line.scorer), *line.group.items())
    return regression_of(first, side, Line(line.kind.name, group, margin(line.kind, max_drop)), terms)


def _compared(line: Planned, terms: Terms, max_drop: str) -> Compared:
    tests = [held(line, at, terms, max_drop) if at else None for at in range(len(line.sides))]
    estimates = [None if side is None else estimate(side, line.kind, line.scorer, line.group) for side in line.sides]
    shares = [None if side is None else answered(side, line.scorer, line.group) for side in line.sides]
    return Compared(line, estimates, shares, tests)


def _adjusted(lines: Sequence[Compared]) -> list[Compared]:
    """The lines with p values adjusted over all of them by Holm's method, which changes no status."""
    tests = [one for line in lines for one in line.held if one is not None]
    # A line that no test could be made for counts as one that showed nothing.
    p_values = iter(holm([1.0 if one.p is None else one.p for one in tests]).tolist())
    return [replace(line, held=[one and _with_holm(one, next(p_values)) for one in line.held]) for line in lines]


def _with_holm(one: RegressionRecord, p_holm: float) -> RegressionRecord:
    return one if one.p is None else replace(one, p_holm=p_holm)


def estimate(side: ComparableEval, kind: MetricKind, scorer: str, group: Mapping[str, str]) -> Estimate:
    """A metric over a side's own samples of ``group``, clustered where clusters repeat."""
    rows = _within(side, group)
    kept = [(row, found) for row in rows if (found := statistics_of(row, scorer, kind.name)) is not None]
    clusters = [row.cluster or row.sample_id for row, _ in kept]
    return kind.estimate([found for _, found in kept], clusters if len(set(clusters)) < len(clusters) else None)


def answered(side: ComparableEval, scorer: str, group: Mapping[str, str]) -> float | None:
    """The share of a side's samples of ``group`` that ``scorer`` read an answer from; None where there are none."""
    statuses = [row.statuses.get(scorer) for row in _within(side, group)]
    return statuses.count("parsed") / len(statuses) if statuses else None


def _within(side: ComparableEval, group: Mapping[str, str]) -> list[ComparableSample]:
    return [row for row in side.rows if all(row.groups.get(name) == value for name, value in group.items())]


def _of_eval(
    suite: str, sides: Sequence[ComparableEval | None], chosen: Chosen, notes: dict[str, None]
) -> Iterator[Planned]:
    first = next(side for side in sides if side is not None)
    for scorer in chosen_scorers(first, chosen.scorers):
        have = [side if side is not None and scorer in side.scorers else None for side in sides]
        yield from _lines(suite, first.eval, False, scorer, have, chosen, notes)


def _of_suite(
    suite: str, evals: Sequence[str], found: Sequence[Contender], chosen: Chosen, notes: dict[str, None]
) -> Iterator[Planned]:
    """Pooled over the evals that all contenders have, by each scorer that reads several of them."""
    common = [eval_ for eval_ in evals if all(eval_ in one.sides for one in found)]
    read: dict[tuple[str, str], list[str]] = {}
    for eval_ in common:
        side = found[0].sides[eval_]
        for scorer in chosen_scorers(side, chosen.scorers):
            if all(scorer in one.sides[eval_].scorers for one in found):
                read.setdefault((scorer, side.scorers[scorer]), []).append(eval_)
    for (scorer, _), own in read.items():
        if len(own) > 1:
            sides = [pooled([one.sides[eval_] for eval_ in own], scorer) for one in found]
            if len(common) < len(evals):
                notes[f"{suite} is pooled over the {len(own)} evals that all have"] = None
            for name in dict.fromkeys(name for eval_ in own for name in found[0].sides[eval_].metrics.get(scorer, ())):
                if is_known(name) and not metric_kind(name).poolable and HEADLINE not in chosen.metrics:
                    notes[f"{name} of {suite} is not pooled: its scores depend on the set they were scored in"] = None
            yield from _lines(suite, sides[0].eval, True, scorer, sides, chosen, notes)


def _lines(
    suite: str,
    name: str,
    is_pooled: bool,
    scorer: str,
    sides: Sequence[ComparableEval | None],
    chosen: Chosen,
    notes: dict[str, None],
) -> Iterator[Planned]:
    for metric in _metrics([side for side in sides if side is not None], scorer, chosen.metrics):
        if not is_known(metric):
            notes[f"{metric} of {name} is not compared: it is registered by a conftest.py that is not read here"] = None
            continue
        # A share of answers is written into a run only where it is not 0, and each run has it.
        have = [
            side if side is not None and (metric in SHARES or metric in side.metrics.get(scorer, ())) else None
            for side in sides
        ]
        for group in ({}, *_groups([side for side in have if side is not None], chosen.groups)):
            if not group or metric not in SHARES:
                yield Planned(suite, name, is_pooled, metric_kind(metric), scorer, group, have)


def chosen_scorers(side: ComparableEval, wanted: Sequence[str]) -> list[str]:
    """The protocols of a side whose numbers are wanted."""
    if HEADLINE in wanted:
        return [side.headline]
    return [name for name in side.scorers if ALL in wanted or name in wanted]


def _metrics(sides: Sequence[ComparableEval], scorer: str, wanted: Sequence[str]) -> list[str]:
    own = list(dict.fromkeys(name for side in sides for name in side.metrics.get(scorer, ())))
    if HEADLINE in wanted:
        return own[:1]
    return list(dict.fromkeys(name for name in (*own, *_SHARES) if name in wanted or (ALL in wanted and name in own)))


def _groups(sides: Sequence[ComparableEval], wanted: Sequence[str]) -> Iterator[dict[str, str]]:
    values: dict[str, set[str]] = {}
    for side in sides:
        for row in side.rows:
            for name, value in row.groups.items():
                values.setdefault(name, set()).add(value)
    for name in sorted(values):
        if (ALL in wanted or name in wanted) and len(values[name]) > 1:
            yield from ({name: value} for value in sorted(values[name]))


def fields(found: Sequence[Contender]) -> list[str]:
    """The metadata fields by which samples are grouped."""
    return sorted({name for one in found for side in one.sides.values() for row in side.rows for name in row.groups})


def _check(chosen: Chosen, found: Sequence[Contender]) -> None:
    scorers = {name for one in found for side in one.sides.values() for name in side.scorers}
    metrics = {name for one in found for side in one.sides.values() for own in side.metrics.values() for name in own}
    metrics |= set(_SHARES)
    for what, wanted, known in (
        ("scorer", chosen.scorers, scorers),
        ("metric", chosen.metrics, metrics),
        ("group", chosen.groups, set(fields(found)) if chosen.groups else set()),
    ):
        for name in wanted:
            if name not in known and name not in (ALL, HEADLINE, NONE):
                raise UsageError(f"no eval has the {what} {name!r}; there is {', '.join(sorted(known)) or 'none'}")
