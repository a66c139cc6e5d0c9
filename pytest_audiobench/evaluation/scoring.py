"""From answers to numbers: each answer parsed and scored by each scorer, then the estimates over them.

No model is asked here: a run and the rescoring of recorded answers both pass :func:`scored_rows` and
:func:`scores_from_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from pytest_audiobench.datasets.spool import LazySequence
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.sample_answers import SampleAnswers
from pytest_audiobench.evaluation.score_columns import ColumnRows, Kind, ScoreColumns
from pytest_audiobench.evaluation.selection import Selection, cluster_name
from pytest_audiobench.evaluation.wording_figures import WordedScore, wording_figures
from pytest_audiobench.metrics.definitions.agreement import across_epochs
from pytest_audiobench.metrics.definitions.words import TRIMMABLE, trimmed
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


_SCORED_AGAIN = 128
"""Rows that are scored again at once."""


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
    columns: Mapping[str, ScoreColumns]
    """The same in columns."""
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


class ScoreSheet:
    """The scores of an eval's answers as they come: epoch by epoch, each in the order of the selection's samples."""

    def __init__(self, protocol: Protocol, selection: Selection, epochs: int) -> None:
        self._protocol, self._selection, self._epochs = protocol, selection, epochs
        self._columns = {scorer.name: ScoreColumns() for scorer in protocol.scorers}
        self._added, self._rows = 0, dict[str, list[ScoredSample]]()

    def add(self, answers: Sequence[SampleAnswers]) -> dict[str, list[ScoredSample]]:
        """The rows of some answers by scorer."""
        rows = self._scored(answers)
        for name, own in rows.items():
            add_rows(self._columns[name], own, self._selection.groups)
        # All rows of a longer eval would fill the memory.
        self._rows = {} if self._added else rows
        self._added += len(answers)
        return rows

    def _scored(self, answers: Sequence[SampleAnswers]) -> dict[str, list[ScoredSample]]:
        dataset = self._selection.dataset
        if self._selection.clustered:
            names = [cluster_name(dataset, sample.selected) for sample in answers]
        else:
            names = [sample.sample_id for sample in answers]
        return scored_rows(self._protocol, answers, names)

    def scores(self, answers: Sequence[SampleAnswers]) -> EvalScores:
        """The numbers of all ``answers``, which were added."""
        rows: Mapping[str, Sequence[ScoredSample]] = self._rows
        if not rows:

            @lru_cache(maxsize=2)
            def scored(number: int) -> dict[str, list[ScoredSample]]:
                return self._scored(answers[number * _SCORED_AGAIN : (number + 1) * _SCORED_AGAIN])

            rows = {name: _ScoredAgain(name, scored, self._added) for name in self._columns}
        clustered = self._selection.clustered or self._epochs > 1
        groups = self._selection.groups
        return scores_from_rows(self._protocol.scorers, rows, groups, clustered, self._epochs, self._columns)


class _ScoredAgain(LazySequence[ScoredSample]):
    """A scorer's rows, each scored again with its neighbours when it is asked for."""

    def __init__(self, scorer: str, scored: Callable[[int], Mapping[str, Sequence[ScoredSample]]], count: int) -> None:
        self._scorer, self._scored, self._count = scorer, scored, count

    def __len__(self) -> int:
        return self._count

    def element(self, place: int) -> ScoredSample:
        number, position = divmod(place, _SCORED_AGAIN)
        return self._scored(number)[self._scorer][position]


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


def add_rows(columns: ScoreColumns, rows: Sequence[ScoredSample], groups: Sequence[str]) -> None:
    """Add ``rows`` to a scorer's columns, with these metadata fields."""
    for row in rows:
        metadata = row.answers.selected.sample.metadata
        columns.add(
            _kind(row.status, row.is_skipped, row.wording),
            row.scores,
            row.cluster,
            tuple([(name, str(metadata[name])) for name in groups if name in metadata]),
            row.answers.epoch,
            None if row.answer is None else row.answer.value,
        )


def in_columns(rows: Sequence[ScoredSample], groups: Sequence[str] = ()) -> ScoreColumns:
    """``rows`` of one scorer in columns, with these metadata fields."""
    columns = ScoreColumns()
    add_rows(columns, rows, groups)
    return columns


def scores_from_rows(
    scorers: Sequence[Scorer],
    rows: Mapping[str, Sequence[ScoredSample]],
    groups: Sequence[str],
    clustered: bool,
    epochs: int,
    columns: Mapping[str, ScoreColumns] | None = None,
) -> EvalScores:
    """The numbers drawn from scored ``rows``, by scorer; ``clustered`` where one cluster holds several of them.
    ``columns`` are the same rows, where they are in columns already.
    """
    columns = columns or {name: in_columns(own, groups) for name, own in rows.items()}
    whole = {name: own.rows for name, own in columns.items()}
    metrics = [metric for scorer in scorers for metric in _metrics(scorer, whole[scorer.name], groups, clustered)]
    worded = wording_figures(
        [metric for metric in metrics if WITHOUT not in metric.group],
        lambda scorer, _, group: _worded(whole[scorer].of_group(group)),
    )
    return EvalScores(
        rows=rows,
        columns=columns,
        scorers=[
            ScorerRecord(scorer.name, scorer.signature, coverage_counts(whole[scorer.name])) for scorer in scorers
        ],
        metrics=[*metrics, *worded],
        agreement=_agreement(scorers[0], whole[scorers[0].name], epochs),
        clustered=clustered,
    )


def _worded(rows: ColumnRows) -> list[WordedScore]:
    parsed = rows.of_each_kind(lambda kind: kind.status == "parsed")
    return list(map(WordedScore, rows.scores(), rows.clusters(), parsed))


def coverage_counts(rows: Sequence[ScoredSample] | ColumnRows) -> CoverageRecord:
    """How many of the rows were parsed, and what became of the others."""
    kinds = _columns(rows).kinds()
    counts = {status: sum(n for kind, n in kinds.items() if kind.status == status) for status in (*STATUSES, "errors")}
    return CoverageRecord(n=len(rows), **counts, skipped=sum(n for kind, n in kinds.items() if kind.is_skipped))


def _columns(rows: Sequence[ScoredSample] | ColumnRows) -> ColumnRows:
    return rows if isinstance(rows, ColumnRows) else in_columns(rows).rows


def are_unreadable(readable: int, answers: int) -> bool:
    """Whether fewer than the least share of ``answers`` are ``readable``."""
    return readable < LEAST_READABLE * answers


def _metrics(scorer: Scorer, rows: ColumnRows, groups: Sequence[str], clustered: bool) -> Iterator[MetricRecord]:
    """Each metric over all rows, without each class of failures that occurs, and by each group of several."""
    scored = rows.scored.statistics() if TRIMMABLE.keys() & set(scorer.metrics) else []
    # Where answers run away the figure without their tails is next to the one that they decide.
    beside = [name for metric in scorer.metrics if (name := trimmed(metric, scored))]
    names = dict.fromkeys((*scorer.metrics, *beside, "coverage"))
    yield from (estimate_metric(name, scorer, rows, clustered) for name in names)
    present = {name for kind in rows.kinds() for name in kind.failures}
    for failure in (name for name in FAILURES if name in present):
        others = rows.without(failure)
        yield estimate_metric(failure, scorer, rows, clustered)
        yield from (estimate_metric(name, scorer, others, clustered, {WITHOUT: failure}) for name in scorer.metrics)
    present_values = rows.values()
    for field in groups:
        values = present_values.get(field, [])
        members = {value: rows.of_group({field: value}) for value in values} if len(values) > 1 else {}
        for name in scorer.metrics:
            for value, own in members.items():
                yield estimate_metric(name, scorer, own, clustered, {field: value})
    yield from _metrics_of_parts(scorer, rows.scored, clustered)


def _metrics_of_parts(scorer: Scorer, scored: ColumnRows, clustered: bool) -> Iterator[MetricRecord]:
    """The ratios that can be made of what is counted of parts of samples, such as their events of one type."""
    names = sorted(name for name in scored.names if "@" in name)
    for part, of_part in groupby(sorted(names, key=_part), _part):
        wanted = {name: name.partition("@")[0] for name in of_part}
        first = next(iter(wanted))
        members = [
            ({plain: statistics[name] for name, plain in wanted.items()}, cluster)
            for statistics, cluster in zip(scored.statistics(), scored.clusters(), strict=True)
            if first in statistics
        ]
        statistics, clusters = [own for own, _ in members], [cluster for _, cluster in members]
        field, _, value = part.partition("=")
        for metric in scorer.metrics:
            kind = metric_kind(metric)
            if (count := _count_of(kind, statistics)) is not None:
                estimate = kind.estimate(statistics, clusters if clustered else None)
                record = metric_record(kind, estimate, scorer.name, scorer.signature, {field: value})
                yield replace(record, n=round(count), method=f"{record.method}; n counts what the ratio is over")


def _part(name: str) -> str:
    return name.partition("@")[2]


def _count_of(kind: MetricKind, statistics: Sequence[Statistics]) -> float | None:
    """How many there are of what the metric is a ratio of; None where it cannot be made of these samples."""
    if kind.parts is None:
        return None
    try:
        return math.fsum(kind.parts(own)[1] for own in statistics)
    except KeyError:
        return None


def estimate_metric(
    name: str,
    scorer: Scorer,
    rows: Sequence[ScoredSample] | ColumnRows,
    clustered: bool,
    group: Mapping[str, str] | None = None,
) -> MetricRecord:
    """Metric ``name`` over ``rows``; scores leave out failed askings ("errors") and what is "skipped"."""
    kind = metric_kind(name)
    statistics, taken = statistics_for(name, _columns(rows))
    estimate = kind.estimate(statistics, taken.clusters() if clustered else None)
    return metric_record(kind, estimate, scorer.name, scorer.signature, group)


def statistics_for(name: str, rows: ColumnRows) -> tuple[list[Statistics], ColumnRows]:
    """What metric ``name`` is made of, and of which of ``rows``."""
    if name in SHARES:
        return rows.of_each_kind(lambda kind: share_statistics(kind.status, kind.is_skipped, kind.wording)), rows
    scored = rows.scored
    return scored.statistics(), scored


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


def _agreement(scorer: Scorer, rows: ColumnRows, epochs: int) -> AgreementRecord | None:
    if epochs == 1:
        return None
    by_epoch = [rows.of_parts(epoch) for epoch in range(epochs)]
    values = [estimate_metric(scorer.metrics[0], scorer, part, False).value for part in by_epoch]
    return AgreementRecord(scorer.metrics[0], **across_epochs(values, [part.answers() for part in by_epoch]))


# Few combinations occur, and each row is asked for its own once for every class of failures.
@lru_cache(maxsize=4096)
def _classes(wording: tuple[str, ...], status: str) -> tuple[str, ...]:
    return tuple(name for name in FAILURES if name in wording or name == status)


@lru_cache(maxsize=4096)
def _kind(status: str, is_skipped: bool, wording: tuple[str, ...]) -> Kind:
    return Kind(status, is_skipped, wording, _classes(wording, status))


@lru_cache(maxsize=4096)
def share_statistics(status: str, is_skipped: bool, wording: tuple[str, ...]) -> Statistics:
    """What the metrics of :data:`SHARES` are made of in a sample; its ``status`` is "errors" where asking failed."""
    return {status: 1.0, "skipped": float(is_skipped), **dict.fromkeys(wording, 1.0)}


def finite(value: float | None) -> float | None:
    """``value`` as a record holds it: None for what is no finite number."""
    return float(value) if value is not None and math.isfinite(value) else None
