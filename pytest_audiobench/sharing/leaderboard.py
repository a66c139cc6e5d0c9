"""A table of what models did on the same data, from verified submissions.

The numbers are computed anew from the samples' statistics in each submission; what it states itself was compared with
them when it was verified. Models stand in one table where everything that was asked is the same: the evals' data,
audio, prompts, settings and epochs, and the protocol by its signature.

The rule of ranks: the best value opens the first group, and every model whose difference to it is not shown stands in
that group too; the best of the rest opens the next group, and so on. A difference is shown where the paired test of
"it is not worse" gives p <= alpha / (k (k - 1)), k being the models of the table: each of them may be held against
each other, in either direction, so that any false difference in a table has at most the probability alpha.

A model that has no value, or of which more than ``MOST_UNASKED`` of the samples could not be asked, has no rank: it
could lead by what it was spared, and nobody could be held against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pytest_audiobench.comparison.pooling import pooled
from pytest_audiobench.comparison.rows import answered, estimate
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable import ComparableEval
from pytest_audiobench.evaluation.record import RegressionRecord
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.gate.regression import Line, Terms, regression_of
from pytest_audiobench.gate.thresholds import ALPHA, MOST_UNMATCHED
from pytest_audiobench.identity import digest
from pytest_audiobench.metrics.metric import Estimate, MetricKind
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.sharing.collection import Collected, Refused
from pytest_audiobench.sharing.evidence import sides_read
from pytest_audiobench.sharing.submission_checks import Report

MOST_UNASKED = MOST_UNMATCHED / 2
"""Of two models that are ranked no more samples are in no pair than a paired test allows."""

_ASKED = ("data", "audio", "prompts", "settings", "seeds")


class Measured(NamedTuple):
    """A submission as far as one table asks: the side that is compared, and its value on its own samples."""

    report: Report
    side: ComparableEval
    kind: MetricKind
    estimate: Estimate
    answered: float | None


@dataclass(frozen=True)
class Row:
    """A model. ``rank`` is None where it has none, and ``unranked`` says why; ``behind`` is the best held against it,
    None for the best itself; ``also`` are other signers of the same answers, ``superseded`` its earlier submissions
    with other answers.
    """

    rank: int | None
    own: Measured
    behind: RegressionRecord | None
    unranked: str
    also: Sequence[str]
    superseded: Sequence[Measured]


@dataclass(frozen=True)
class Table:
    """The models of one task: ``suite`` on the data of ``task``, by one metric and one scorer.

    ``limit`` is that of limited runs, None for whole ones; ``comparisons`` among how many alpha is divided.
    """

    suite: str
    task: str
    kind: MetricKind
    scorer: str
    signature: str
    evals: Sequence[str]
    limit: int | None
    comparisons: int
    rows: Sequence[Row]


@dataclass(frozen=True)
class Leaderboard:
    """All tables of ``source``, of so many ``submissions``, and what is in none, by reason."""

    source: str
    submissions: int
    tables: Sequence[Table]
    refused: Sequence[Refused]
    alpha: float = ALPHA


def leaderboard(found: Collected, metric: str = "") -> Leaderboard:
    """A table for each task, by ``metric`` (empty: each suite's first).

    Raises UsageError where no submission is verified, and where none measures that metric.
    """
    if not found.verified:
        why = "".join(f"\n  {one.name}: {one.why}" for one in found.refused[:10])
        suites = f"; it has submissions of {', '.join(found.suites)}" if found.suites else ""
        raise UsageError(f"{found.source} has no verified submission of what was asked for{suites}{why}")
    refused = list(found.refused)
    tasks: dict[tuple[str, ...], list[Measured]] = {}
    for report in found.verified:
        try:
            own = _measured(report, metric)
        except UsageError as error:
            refused.append(Refused(report.name, str(error)))
            continue
        tasks.setdefault(_task(own), []).append(own)
    if not tasks:
        raise UsageError(f"no verified submission of {found.source} has that: {refused[-1].why}")
    counted = sum(map(len, tasks.values()))
    return Leaderboard(found.source, counted, [_table(key, tasks[key]) for key in sorted(tasks)], refused)


def _measured(report: Report, metric: str) -> Measured:
    """The suite by its headline's scorer, or by the first that has ``metric``. Raises UsageError where none has."""
    assert report.evidence is not None
    headline = report.submission.payload["headline"]
    name = metric or (headline["metric"] if headline else "")
    sides = list(report.evidence.sides.values())
    scorers = [
        one for side in sides for one in side.scorers.items() if name in (*side.metrics.get(one[0], ()), *SHARES)
    ]
    first = (headline["scorer"], headline["signature"]) if headline else None
    if not is_known(name) or not scorers:
        raise UsageError(f"it does not measure {name or 'anything over all its samples'}")
    scorer, signature = first if first in scorers else scorers[0]
    read = sides_read(report.submission.payload["items"], report.evidence, scorer, signature)
    if not read:
        raise UsageError(f"its evidence lacks the statistics of {scorer}, which is not the first scorer of each eval")
    kind = metric_kind(name)
    if len(read) > 1 and not kind.poolable:
        raise UsageError(f"{name} has no value over several evals: its scores depend on the set they were scored in")
    # In the order of their names: that of a run is its own, and none of the task.
    side = pooled(sorted(read, key=lambda one: one.eval), scorer) if len(read) > 1 else read[0]
    own = replace(side, scorers={scorer: signature})
    return Measured(report, own, kind, estimate(own, kind, scorer, {}), answered(own, scorer, {}))


def _task(own: Measured) -> tuple[str, ...]:
    """What must agree for two submissions to stand in one table."""
    payload = own.report.submission.payload
    asked = sorted(
        [one["eval"], one["dataset"], *[one["hashes"].get(name, "") for name in _ASKED]] for one in payload["items"]
    )
    return payload["suite"], digest(asked), own.kind.name, own.side.headline, own.side.scorers[own.side.headline]


def _table(task: tuple[str, ...], found: Sequence[Measured]) -> Table:
    suite, asked, _, scorer, signature = task
    models: dict[str, list[Measured]] = {}
    for one in sorted(found, key=lambda one: (one.report.submission.payload["submitted_at"], one.report.name)):
        models.setdefault(one.report.submission.payload["model"]["digest"], []).append(one)
    newest = sorted((own[-1] for own in models.values()), key=_worth)
    fit = [one for one in newest if not _unranked(one)]
    terms = Terms(ALPHA, max(1, len(fit) * (len(fit) - 1)))
    newest = [*fit, *(one for one in newest if _unranked(one))]
    placed = [*zip(*_ranked(fit, terms), strict=True), *[(None, None)] * (len(newest) - len(fit))]
    rows = [
        _row(one, models[one.report.submission.payload["model"]["digest"]], *place)
        for one, place in zip(newest, placed, strict=True)
    ]
    any_ = newest[0].report.submission.payload
    evals = [one["eval"] for one in any_["items"]]
    limit = any_["limit"] if any_["limited"] else None
    return Table(suite, asked, newest[0].kind, scorer, signature, evals, limit, terms.lines, rows)


def _unranked(one: Measured) -> str:
    """Why a model has no rank; empty where it has one."""
    rows, scorer = one.side.rows, one.side.headline
    failed = sum(row.statuses[scorer] == "error" for row in rows)
    if failed > MOST_UNASKED * len(rows):
        return (
            f"{failed} of {len(rows)} samples could not be asked, more than {100.0 * MOST_UNASKED:g} %: run it again, "
            "which asks only these"
        )
    return "it has no value" if math.isnan(one.estimate.value) else ""


def _worth(one: Measured) -> tuple[bool, float, str]:
    """What sorts the best first, and what has no value last."""
    value = one.estimate.value
    if math.isnan(value):
        return True, 0.0, one.report.name
    return False, -value if one.kind.direction == "higher" else value, one.report.name


def _ranked(found: Sequence[Measured], terms: Terms) -> tuple[list[int], list[RegressionRecord | None]]:
    """The rank of each of ``found``, which come best first, and the best held against each (module docstring)."""
    ranks = [0] * len(found)
    behind: list[RegressionRecord | None] = [None] * len(found)
    rest, rank = list(range(len(found))), 1
    while rest:
        leader, worse = rest[0], []
        for at in rest[1:]:
            held = _held(found[leader], found[at], terms)
            behind[at] = behind[at] or held
            if held.status == "regressed":
                worse.append(at)
        tied = [at for at in rest if at not in worse]
        for at in tied:
            ranks[at] = rank
        rest, rank = worse, rank + len(tied)
    return ranks, behind


def _held(best: Measured, other: Measured, terms: Terms) -> RegressionRecord:
    line = Line(other.kind.name, (("protocol", other.side.headline),), "0")
    return regression_of(best.side, other.side, line, terms)


def _row(own: Measured, all_: Sequence[Measured], rank: int | None, behind: RegressionRecord | None) -> Row:
    # Equal hashes are a signer's word; that the samples' statistics are equal too is seen.
    seen = _answers(own)
    same: list[Measured] = []
    other: list[Measured] = []
    for one in all_:
        (same if _answers(one) == seen else other).append(one)
    also = dict.fromkeys(str(one.report.signer) for one in same)
    return Row(rank, own, behind, _unranked(own), [signer for signer in also if signer != own.report.signer], other)


def _answers(one: Measured) -> tuple[str, list[object]]:
    scorer = one.side.headline
    rows: list[object] = [(row.identity, row.statuses[scorer], row.scores[scorer]) for row in one.side.rows]
    return str(one.report.submission.payload["hashes"]["run_hash"]), rows
