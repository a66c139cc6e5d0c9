"""Answers read and scored: one row per sample, epoch and scorer, and the numbers drawn from them."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pytest_audiobench.evaluation.record import MetricRecord, ScorerRecord
from pytest_audiobench.evaluation.stage_execution import SampleAnswers
from pytest_audiobench.metrics.agreement import across_epochs
from pytest_audiobench.metrics.kinds.wordings import DEVIATION, SPREAD
from pytest_audiobench.metrics.metric import Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.units import FRACTIONS, POINTS
from pytest_audiobench.protocols.failures import FAILURES, WORDINGS, failures
from pytest_audiobench.protocols.protocol import Answer, Protocol, Scorer

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


@dataclass(frozen=True)
class EvalScores:
    """The answers of one eval as each scorer saw them, and the numbers drawn from them.

    ``clustered`` says whether one cluster holds several rows.
    """

    rows: Mapping[str, Sequence[ScoredSample]]
    scorers: list[ScorerRecord]
    metrics: list[MetricRecord]
    agreement: dict[str, object] | None
    clustered: bool


def score_answers(
    protocol: Protocol,
    answered: Sequence[SampleAnswers],
    clusters: Sequence[str] | None,
    groups: Sequence[str],
    epochs: int,
) -> EvalScores:
    """Read and score ``answered`` (epoch by epoch, each in one order of samples) by every scorer of ``protocol``.

    ``clusters`` names each sample's cluster, None where no clip repeats; ``groups`` the metadata fields to report on.
    """
    each = (list(clusters) * epochs) if clusters is not None else [one.sample_id for one in answered]
    rows = scored_rows(protocol, answered, each)
    return scores_from_rows(protocol.scorers, rows, groups, clusters is not None or epochs > 1, epochs)


def scored_rows(
    protocol: Protocol, answered: Sequence[SampleAnswers], clusters: Sequence[Hashable]
) -> dict[str, list[ScoredSample]]:
    """``answered`` read and scored by each scorer of ``protocol``; ``clusters`` gives each one's."""
    told: dict[str | None, list[tuple[str, ...]]] = {None: [()] * len(answered)}
    found = {}
    for scorer in protocol.scorers:
        stage = protocol.answering.name if scorer.stage == "" else scorer.stage
        if stage is not None and stage not in told:
            told[stage] = [
                failures(one.taken.sample, one.responses[stage], protocol.expects) if stage in one.responses else ()
                for one in answered
            ]
        found[scorer.name] = score(scorer, answered, clusters, told[stage])
    return found


def scores_from_rows(
    scorers: Sequence[Scorer],
    rows: Mapping[str, Sequence[ScoredSample]],
    groups: Sequence[str],
    clustered: bool,
    epochs: int,
) -> EvalScores:
    """The numbers drawn from scored ``rows``, by scorer; ``clustered`` where one cluster holds several of them."""
    metrics = [m for scorer in scorers for m in _metrics(scorer, rows[scorer.name], groups, clustered)]
    return EvalScores(
        rows=rows,
        scorers=[ScorerRecord(r.name, r.signature, coverage(rows[r.name])) for r in scorers],
        metrics=[*metrics, *spreads(metrics)],
        agreement=_agreement(scorers[0], rows, epochs),
        clustered=clustered,
    )


def _metrics(
    scorer: Scorer, rows: Sequence[ScoredSample], groups: Sequence[str], clustered: bool
) -> list[MetricRecord]:
    found = [estimate(name, scorer, rows, clustered) for name in (*scorer.metrics, "coverage")]
    each = [row.failures for row in rows]
    there = set().union(*each)
    for failure in (name for name in FAILURES if name in there):
        others = [row for row, own in zip(rows, each, strict=True) if failure not in own]
        found.append(estimate(failure, scorer, rows, clustered))
        found += [estimate(name, scorer, others, clustered, {WITHOUT: failure}) for name in scorer.metrics]
    for field_ in groups:
        values: dict[str, list[ScoredSample]] = {}
        for row in rows:
            metadata = row.answered.taken.sample.metadata
            if field_ in metadata:
                values.setdefault(str(metadata[field_]), []).append(row)
        if len(values) > 1:
            found += [
                estimate(name, scorer, values[value], clustered, {field_: value})
                for name in scorer.metrics
                for value in sorted(values)
            ]
    return found


def _agreement(scorer: Scorer, rows: Mapping[str, Sequence[ScoredSample]], epochs: int) -> dict[str, object] | None:
    if epochs == 1:
        return None
    by_epoch: list[list[ScoredSample]] = [[] for _ in range(epochs)]
    for row in rows[scorer.name]:
        by_epoch[row.answered.epoch].append(row)
    values = [estimate(scorer.metrics[0], scorer, part, False).value for part in by_epoch]
    answers = [[row.answer.value if row.answer else None for row in part] for part in by_epoch]
    return {"metric": scorer.metrics[0], **dict(across_epochs(values, answers))}


SPREADS = (SPREAD, DEVIATION)
_WORDING = re.compile(r"\|wording:(\d+)/(\d+)")
_NO_INTERVAL = {
    SPREAD: "no interval: the range of several noisy values is too large in resamples",
    DEVIATION: "no interval: the wordings are no sample of all there could be",
}
_HOW: dict[str, Callable[[Sequence[float]], float]] = {
    SPREAD: lambda values: max(values) - min(values),
    DEVIATION: statistics.stdev,
}


def of_wording(signature: str) -> bool:
    """Whether a scorer is of one wording of several."""
    return _WORDING.search(signature) is not None


def spreads(metrics: Sequence[MetricRecord]) -> Iterator[MetricRecord]:
    """``wording_spread`` and ``wording_sd`` of each scorer that was asked in several wordings, by each group.

    ``metrics`` are those of all its scorers, a scorer's headline metric its first. Without a value where any wording
    has none.
    """
    headline: dict[str | None, MetricRecord] = {}
    values: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[MetricRecord]] = {}
    for metric in metrics:
        first = headline.setdefault(metric.scorer, metric)
        found = _WORDING.search(metric.signature or "")
        if found and metric.name == first.name and WITHOUT not in metric.group:
            base = str(metric.scorer).partition("@")[0]
            values.setdefault((base, found[2], tuple(sorted(metric.group.items()))), []).append(metric)
    for (base, count, group), own in values.items():
        if len(own) == int(count) and base in headline:
            yield from (_spread(name, headline[base], own, dict(group)) for name in SPREADS)


def _spread(name: str, headline: MetricRecord, own: Sequence[MetricRecord], group: dict[str, str]) -> MetricRecord:
    known = [one.value for one in own if one.value is not None]
    whole = len(known) == len(own)
    what = f"{own[0].name} over {len(own)} wordings"
    return MetricRecord(
        name=name,
        value=_HOW[name](known) if whole else None,
        lower=None,
        upper=None,
        n=own[0].n,
        unit=POINTS if own[0].unit in FRACTIONS else own[0].unit,
        direction="lower",
        method=f"{_NO_INTERVAL[name]}; {what}" if whole else f"{what}, one of which has no value",
        scorer=headline.scorer,
        signature=headline.signature,
        group=group,
    )
