"""All that is drawn from answers without asking: read, scored, estimated. Asking and scoring again both end here."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from pytest_audiobench.evaluation.prompt_variants import spreads
from pytest_audiobench.evaluation.record import MetricRecord, ScorerRecord
from pytest_audiobench.evaluation.scoring import WITHOUT, ScoredSample, coverage, estimate, score
from pytest_audiobench.evaluation.stage_execution import SampleAnswers
from pytest_audiobench.metrics.kinds.agreement import across_epochs
from pytest_audiobench.protocols.failures import FAILURES, failures
from pytest_audiobench.protocols.protocol import Protocol, Scorer


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
