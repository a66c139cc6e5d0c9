"""From answers to numbers: each answer parsed and scored by each scorer, then the estimates over them.

No model is asked here: a run and the rescoring of recorded answers both pass :func:`scored_rows` and
:func:`scores_from_rows`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.wording_figures import WordedScore, wording_figures
from pytest_audiobench.metrics.definitions.agreement import across_epochs
from pytest_audiobench.metrics.definitions.words import trimmed
from pytest_audiobench.metrics.metric import Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.answer_failures import FAILURES, WORDINGS, failures
from pytest_audiobench.protocols.protocol import Answer, Protocol, Scorer
from pytest_audiobench.records.run import AgreementRecord, CoverageRecord, MetricRecord, ScorerRecord

STATUSES = ("parsed", "unparsed", "refused", "empty", "out_of_range", "truncated")
SHARES = ("coverage", *STATUSES[1:], "errors", "skipped", *WORDINGS)
"""Metrics that every scorer has: which share of the samples was parsed, and what became of the rest."""

WITHOUT = "without"
"""The group that leaves out the answers of one class of failures: ``wer[without=loop]``."""

_ANSWER = f"a status is one of {', '.join(STATUSES)}, and the value a text or None"

LEAST_READABLE = 0.5
"""The share of answers below which an eval raises the alarm, and ``baseline update`` refuses its run."""


class ScoredSample(NamedTuple):
    """A sample as one scorer saw it."""

    answers: SampleAnswers
    answer: Answer | None
    """None when the sample's asking failed."""
    scores: Statistics | None
    """None when the asking failed, and where the protocol leaves the answer out."""
    cluster: Hashable
    wording: tuple[str, ...] = ()
    """The classes of failures that the text shows."""

    @property
    def identity(self) -> tuple[str, int]:
        """The sample's id and the epoch: equal for one question asked under two perturbations."""
        return self.answers.sample_id, self.answers.epoch

    @property
    def status(self) -> str:
        """What the scorer made of the answer; "errors" when the asking failed."""
        return "errors" if self.answer is None else self.answer.status

    @property
    def failures(self) -> tuple[str, ...]:
        """The classes of failures that the answer falls into: by its text, and by what the scorer made of it."""
        return _classes(self.wording, self.status)

    @property
    def is_skipped(self) -> bool:
        """Whether the protocol leaves the answer out of its score."""
        return self.answer is not None and self.scores is None


@dataclass(frozen=True)
class EvalScores:
    """The answers of one eval as each scorer saw them, and the numbers drawn from them."""

    rows: Mapping[str, Sequence[ScoredSample]]
    """By scorer."""
    scorers: list[ScorerRecord]
    metrics: list[MetricRecord]
    agreement: AgreementRecord | None
    """How far epochs agree, where there are several."""
    clustered: bool
    """Whether one cluster holds several rows."""


def score_answers(
    protocol: Protocol,
    answers: Sequence[SampleAnswers],
    clusters: Sequence[str] | None,
    groups: Sequence[str],
    epochs: int,
) -> EvalScores:
    """The scores of ``answers`` (epoch by epoch, each in one order of samples) by every scorer of ``protocol``.

    ``clusters`` names each sample's cluster, None where no clip repeats; ``groups`` the metadata fields to report on.
    """
    each = (list(clusters) * epochs) if clusters is not None else [sample.sample_id for sample in answers]
    rows = scored_rows(protocol, answers, each)
    return scores_from_rows(protocol.scorers, rows, groups, clusters is not None or epochs > 1, epochs)


def scored_rows(
    protocol: Protocol, answers: Sequence[SampleAnswers], clusters: Sequence[Hashable]
) -> dict[str, list[ScoredSample]]:
    """``answers`` parsed and scored by each scorer of ``protocol``; ``clusters`` gives each one's."""
    wordings: dict[str | None, list[tuple[str, ...]]] = {None: [()] * len(answers)}
    rows = {}
    for scorer in protocol.scorers:
        stage = protocol.answering.name if scorer.stage == "" else scorer.stage
        if stage is not None and stage not in wordings:
            wordings[stage] = [
                failures(sample.selected.sample, sample.responses[stage], protocol.expects)
                if stage in sample.responses
                else ()
                for sample in answers
            ]
        rows[scorer.name] = score_samples(scorer, answers, clusters, wordings[stage])
    return rows


def score_samples(
    scorer: Scorer,
    answers: Sequence[SampleAnswers],
    clusters: Sequence[Hashable],
    wordings: Sequence[tuple[str, ...]] | None = None,
) -> list[ScoredSample]:
    """A row for each sample; ``clusters`` gives each one's, ``wordings`` the failures that its text shows."""
    rows = []
    for sample, cluster, wording in zip(answers, clusters, wordings or [()] * len(answers), strict=True):
        if any(sample.failure(judge) is not None for judge in (scorer.judge, *scorer.further_judges)):
            rows.append(ScoredSample(sample, None, None, cluster))
            continue
        answer = scorer.parse(sample.selected.sample, sample.all_responses)
        if answer.status not in STATUSES or not isinstance(answer.value, str | None):
            raise UsageError(f"{scorer.name} read an answer as {answer}: {_ANSWER}")
        rows.append(ScoredSample(sample, answer, scorer.score(sample.selected.sample, answer), cluster, wording))
    if scorer.together is None:
        return rows
    scored = [
        (row.answers.selected.sample, row.answer) for row in rows if row.answer is not None and row.scores is not None
    ]
    further = iter(scorer.together(scored))
    return [row if row.scores is None else row._replace(scores={**row.scores, **next(further)}) for row in rows]


def scores_from_rows(
    scorers: Sequence[Scorer],
    rows: Mapping[str, Sequence[ScoredSample]],
    groups: Sequence[str],
    clustered: bool,
    epochs: int,
) -> EvalScores:
    """The numbers drawn from scored ``rows``, by scorer; ``clustered`` where one cluster holds several of them."""
    metrics = [metric for scorer in scorers for metric in _metrics(scorer, rows[scorer.name], groups, clustered)]
    worded = wording_figures(
        [metric for metric in metrics if WITHOUT not in metric.group],
        lambda scorer, _, group: _worded(rows[scorer], group),
    )
    return EvalScores(
        rows=rows,
        scorers=[ScorerRecord(scorer.name, scorer.signature, coverage_counts(rows[scorer.name])) for scorer in scorers],
        metrics=[*metrics, *worded],
        agreement=_agreement(scorers[0], rows[scorers[0].name], epochs),
        clustered=clustered,
    )


def _worded(rows: Sequence[ScoredSample], group: Mapping[str, str]) -> list[WordedScore]:
    return [
        WordedScore(row.scores, row.cluster, row.status == "parsed")
        for row in rows
        if all(str(row.answers.selected.sample.metadata.get(name)) == value for name, value in group.items())
    ]


def coverage_counts(rows: Sequence[ScoredSample]) -> CoverageRecord:
    """How many of the rows were parsed, and what became of the others."""
    statuses = Counter(row.status for row in rows)
    counts = {status: statuses[status] for status in (*STATUSES, "errors")}
    return CoverageRecord(n=len(rows), **counts, skipped=sum(row.is_skipped for row in rows))


def are_unreadable(readable: int, answers: int) -> bool:
    """Whether fewer than the least share of ``answers`` are ``readable``."""
    return readable < LEAST_READABLE * answers


def _metrics(
    scorer: Scorer, rows: Sequence[ScoredSample], groups: Sequence[str], clustered: bool
) -> Iterator[MetricRecord]:
    """Each metric over all rows, without each class of failures that occurs, and by each group of several."""
    scored = [row.scores for row in rows if row.scores is not None]
    # Where answers run away the figure without their tails stands beside the one that they decide.
    beside = [name for metric in scorer.metrics if (name := trimmed(metric, scored))]
    names = dict.fromkeys((*scorer.metrics, *beside, "coverage"))
    yield from (estimate_metric(name, scorer, rows, clustered) for name in names)
    each = [row.failures for row in rows]
    present = set().union(*each)
    for failure in (name for name in FAILURES if name in present):
        others = [row for row, classes in zip(rows, each, strict=True) if failure not in classes]
        yield estimate_metric(failure, scorer, rows, clustered)
        yield from (estimate_metric(name, scorer, others, clustered, {WITHOUT: failure}) for name in scorer.metrics)
    for field in groups:
        values: dict[str, list[ScoredSample]] = {}
        for row in rows:
            metadata = row.answers.selected.sample.metadata
            if field in metadata:
                values.setdefault(str(metadata[field]), []).append(row)
        if len(values) > 1:
            yield from (
                estimate_metric(name, scorer, values[value], clustered, {field: value})
                for name in scorer.metrics
                for value in sorted(values)
            )
    yield from _metrics_of_parts(scorer, rows, clustered)


def _metrics_of_parts(scorer: Scorer, rows: Sequence[ScoredSample], clustered: bool) -> Iterator[MetricRecord]:
    """The ratios that can be made of what is counted of parts of samples, such as their events of one type."""
    names = sorted(name for name in set().union(*(row.scores or () for row in rows)) if "@" in name)
    parts: dict[str, list[ScoredSample]] = {}
    for part, of_part in groupby(sorted(names, key=_part), _part):
        statistics = list(of_part)
        parts[part] = [
            row._replace(scores={name.partition("@")[0]: row.scores[name] for name in statistics})
            for row in rows
            if row.scores is not None and statistics[0] in row.scores
        ]
    for part, members in parts.items():
        field, _, value = part.partition("=")
        for metric in scorer.metrics:
            if (count := _count_of(metric_kind(metric), members)) is not None:
                record = estimate_metric(metric, scorer, members, clustered, {field: value})
                yield replace(record, n=round(count), method=f"{record.method}; n counts what the ratio is over")


def _part(name: str) -> str:
    return name.partition("@")[2]


def _count_of(kind: MetricKind, rows: Sequence[ScoredSample]) -> float | None:
    """How many there are of what the metric is a ratio of; None where it cannot be made of these rows."""
    if kind.parts is None:
        return None
    try:
        return math.fsum(kind.parts(row.scores or {})[1] for row in rows)
    except KeyError:
        return None


def estimate_metric(
    name: str, scorer: Scorer, rows: Sequence[ScoredSample], clustered: bool, group: Mapping[str, str] | None = None
) -> MetricRecord:
    """Metric ``name`` over ``rows``; scores leave out failed askings ("errors") and what is "skipped"."""
    kind = metric_kind(name)
    scored = rows if name in SHARES else [row for row in rows if row.scores is not None]
    values: list[Statistics] = [
        share_statistics(row.status, row.is_skipped, row.wording) if name in SHARES else row.scores or {}
        for row in scored
    ]
    clusters = [row.cluster for row in scored] if clustered else None
    return metric_record(kind, kind.estimate(values, clusters), scorer.name, scorer.signature, group)


def metric_record(
    kind: MetricKind, estimate: Estimate, scorer: str, signature: str, group: Mapping[str, str] | None
) -> MetricRecord:
    """An estimate as a record holds it: what is no number is None there."""
    return MetricRecord(
        name=kind.name,
        value=finite(estimate.value),
        lower=finite(estimate.lower),
        upper=finite(estimate.upper),
        n=int(estimate.n),
        unit=kind.unit,
        direction=kind.direction,
        method=estimate.method,
        scorer=scorer,
        signature=signature,
        group=dict(group or {}),
    )


def _agreement(scorer: Scorer, rows: Sequence[ScoredSample], epochs: int) -> AgreementRecord | None:
    if epochs == 1:
        return None
    by_epoch: list[list[ScoredSample]] = [[] for _ in range(epochs)]
    for row in rows:
        by_epoch[row.answers.epoch].append(row)
    values = [estimate_metric(scorer.metrics[0], scorer, part, False).value for part in by_epoch]
    answers = [[row.answer.value if row.answer else None for row in part] for part in by_epoch]
    return AgreementRecord(scorer.metrics[0], **across_epochs(values, answers))


# Few combinations occur, and each row is asked for its own once for every class of failures.
@lru_cache(maxsize=4096)
def _classes(wording: tuple[str, ...], status: str) -> tuple[str, ...]:
    return tuple(name for name in FAILURES if name in wording or name == status)


@lru_cache(maxsize=4096)
def share_statistics(status: str, is_skipped: bool, wording: tuple[str, ...]) -> Statistics:
    """What the metrics of :data:`SHARES` are made of in a sample; its ``status`` is "errors" where asking failed."""
    return {status: 1.0, "skipped": float(is_skipped), **dict.fromkeys(wording, 1.0)}


def finite(value: float | None) -> float | None:
    """``value`` as a record holds it: None for what is no finite number."""
    return float(value) if value is not None and math.isfinite(value) else None
