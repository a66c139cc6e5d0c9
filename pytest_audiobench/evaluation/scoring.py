"""Answers read and scored: one row per sample, epoch and scorer, and the numbers drawn from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pytest_audiobench.evaluation.record import MetricRecord
from pytest_audiobench.evaluation.stage_execution import SampleAnswers
from pytest_audiobench.metrics.metric import Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.failures import FAILURES, WORDINGS
from pytest_audiobench.protocols.protocol import Answer, Scorer

STATUSES = ("parsed", "unparsed", "refused", "empty", "out_of_range", "truncated")
SHARES = ("coverage", *STATUSES[1:], "errors", "skipped", *WORDINGS)
"""Metrics that every scorer has: which share of the samples was answered, and how the rest was not."""

WITHOUT = "without"
"""The group that leaves out the answers of one class of failures: ``wer[without=loop]``."""


class ScoredSample(NamedTuple):
    """A sample as one scorer saw it.

    ``answer`` is None when its asking failed; ``scores`` is None then, and where the protocol leaves the answer out.
    ``wording`` holds the classes of failures that the text shows.
    """

    answered: SampleAnswers
    answer: Answer | None
    scores: Statistics | None
    cluster: Hashable
    wording: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, int]:
        """The sample's id and the epoch: equal for one question asked under two perturbations."""
        return self.answered.sample_id, self.answered.epoch

    @property
    def failures(self) -> tuple[str, ...]:
        """The classes of failures that the answer falls into: by its text, and by what the scorer made of it."""
        return _classes(self.wording, "errors" if self.answer is None else self.answer.status)

    @property
    def is_skipped(self) -> bool:
        """Whether the protocol leaves the answer out of its score."""
        return self.answer is not None and self.scores is None


def score(
    scorer: Scorer,
    answered: Sequence[SampleAnswers],
    clusters: Sequence[Hashable],
    wordings: Sequence[tuple[str, ...]] | None = None,
) -> list[ScoredSample]:
    """Parse and score every answer; ``clusters`` gives each row's, ``wordings`` the failures that its text shows."""
    rows = []
    for one, cluster, wording in zip(answered, clusters, wordings or [()] * len(answered), strict=True):
        if one.failure(scorer.judge) is not None:
            rows.append(ScoredSample(one, None, None, cluster))
            continue
        answer = scorer.parse(one.taken.sample, one.told)
        rows.append(ScoredSample(one, answer, scorer.score(one.taken.sample, answer), cluster, wording))
    return rows if scorer.together is None else _together(scorer, rows)


def _together(scorer: Scorer, rows: Sequence[ScoredSample]) -> list[ScoredSample]:
    """The rows with what only the set of all scored samples can tell of each."""
    scored = [row for row in rows if row.answer is not None and row.scores is not None]
    assert scorer.together is not None
    found = scorer.together([(row.answered.taken.sample, row.answer) for row in scored if row.answer is not None])
    further = iter(zip(scored, found, strict=True))
    return [row if row.scores is None else row._replace(scores={**row.scores, **next(further)[1]}) for row in rows]


def coverage(rows: Sequence[ScoredSample]) -> dict[str, int]:
    """How many of the rows were answered, and why the others were not."""
    statuses = Counter("errors" if row.answer is None else row.answer.status for row in rows)
    skipped = sum(row.is_skipped for row in rows)
    return {
        "n": len(rows),
        **{status: statuses[status] for status in STATUSES},
        "errors": statuses["errors"],
        "skipped": skipped,
    }


def estimate(
    name: str, scorer: Scorer, rows: Sequence[ScoredSample], clustered: bool, group: Mapping[str, str] | None = None
) -> MetricRecord:
    """Metric ``name`` over ``rows``.

    Samples whose asking failed are left out of scores, and counted by "errors"; those that the protocol leaves out by
    "skipped".
    """
    kind = metric_kind(name)
    if name in SHARES:
        kept: Sequence[ScoredSample] = rows
        statistics: list[Statistics] = [
            share_statistics("errors" if row.answer is None else row.answer.status, row.is_skipped, row.wording)
            for row in rows
        ]
    else:
        kept = [row for row in rows if row.scores is not None]
        statistics = [row.scores for row in kept if row.scores is not None]
    clusters = [row.cluster for row in kept] if clustered else None
    found = kind.estimate(statistics, clusters)
    return recorded(kind, found, scorer.name, scorer.signature, group)


def recorded(
    kind: MetricKind, found: Estimate, scorer: str, signature: str, group: Mapping[str, str] | None
) -> MetricRecord:
    """An estimate as a record holds it: what is no number is None there."""
    return MetricRecord(
        name=kind.name,
        value=finite(found.value),
        lower=finite(found.lower),
        upper=finite(found.upper),
        n=found.n,
        unit=kind.unit,
        direction=kind.direction,
        method=found.method,
        scorer=scorer,
        signature=signature,
        group=dict(group or {}),
    )


# Few combinations occur, and each row is asked for its own once for every class of failures.
@lru_cache(maxsize=4096)
def _classes(wording: tuple[str, ...], status: str) -> tuple[str, ...]:
    found = {*wording, status}
    return tuple(name for name in FAILURES if name in found)


@lru_cache(maxsize=4096)
def share_statistics(status: str, is_skipped: bool, wording: tuple[str, ...]) -> Statistics:
    """What the metrics of :data:`SHARES` are made of in a sample; its ``status`` is "errors" where asking failed."""
    return {status: 1.0, "skipped": float(is_skipped), **dict.fromkeys(wording, 1.0)}


def finite(value: float | None) -> float | None:
    """``value`` as a record holds it: None for what is no finite number."""
    return value if value is not None and math.isfinite(value) else None
