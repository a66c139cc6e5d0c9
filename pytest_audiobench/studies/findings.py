"""Which domains a model fails in more often than in all others, whether that holds up, and what it said there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.evaluation.scoring import ScoredSample, finite
from pytest_audiobench.identity import digest
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.protocols.transcription.non_speech import content_of, hallucination
from pytest_audiobench.protocols.transcription.texts import basic_text
from pytest_audiobench.records.run import (
    ALARM,
    FindingMethodsRecord,
    FindingRecord,
    FindingSideRecord,
    FindingsRecord,
    HoldoutRecord,
    PhraseRecord,
    SplitRecord,
)
from pytest_audiobench.stats import finding_tests as stats
from pytest_audiobench.stats.intervals import CONFIDENCE
from pytest_audiobench.studies.evaluate import Evaluate, evaluator_of

METRIC, STATISTIC = "hallucination_rate", "hallucinated"
MOST_MADE_UP = 0.5
"""A rate of which it is shown that it lies above this raises the alarm, whether or not any domain differs."""
MOST_PHRASES, LONGEST_PHRASE = 10, 160
MOST_NAMES = 50
"""Clips or clusters that a record names; of more it has the digest, and the files of the run have the names."""
_LOOKED_AT = 2_000
"""Characters of an answer that a phrase is drawn from."""


class Trial(NamedTuple):
    """What is tested of a sample in one epoch: in which ``part`` (domain) it lies, and whether the model failed; None
    where its asking did: then it has its place in the split, which depends on no answer, and counts nowhere else.
    """

    sample_id: str
    cluster: str
    part: str
    failed: bool | None


def findings(
    evaluate: Evaluate, dataset: Dataset, protocol: Protocol | None = None, *, by: str = "domain", seed: int = 0
) -> FindingsRecord:
    """Ask about ``dataset`` and put on record in which of its domains the model makes words up more often.

    ``by`` is the metadata field that names a sample's domain. ``seed`` is that of the split into discovery and holdout,
    which depends on it and on the clusters' names only; another seed is another split of the same answers. The
    protocol is ``hallucination()`` unless given. Nothing is required: thresholds may be. A rate of all clips, or of a
    domain that could not be tested, that is shown to lie above one half raises an alarm. Where the scorers that the run
    was asked for count no made-up words, the record has no findings and says why. Raises UsageError for a sample
    without the field, and for a cluster that lies in two domains.
    """
    evaluator_of(evaluate).asked_whole = "its findings are of all samples"
    result = evaluate(dataset, hallucination() if protocol is None else protocol)
    rows = result.rows_for(METRIC)
    if all(row.scores is None for row in rows):
        result.warn(f"no findings: no scorer measured {METRIC}")
        return FindingsRecord((), None, dict.fromkeys(stats.STATUSES, 0), None)
    record = found_of(rows, by, seed)
    result.amend(findings=record)
    if most := _mostly_made_up(result, record, by):
        result.warn(f"{ALARM} words were made up on most clips in which nobody speaks ({METRIC}): {', '.join(most)}")
    return record


def _mostly_made_up(result: Result, record: FindingsRecord, by: str) -> list[str]:
    """All clips, or else the untested domains, of which it is shown that the model fails on more than half.

    Of a domain that was tested its finding tells.
    """
    untested = [{by: finding.slice[by]} for finding in record.findings if finding.status == "untested"]
    scorer = next(str(metric.scorer) for metric in result.record.metrics if metric.name == METRIC)
    texts: dict[str, str] = {}
    for group in ({}, *untested):
        rate = result.find(METRIC, {**group, "scorer": scorer})
        if rate is not None and rate.lower is not None and rate.upper is not None and rate.lower > MOST_MADE_UP:
            interval = f"{100 * rate.lower:.1f} to {100 * rate.upper:.1f}"
            texts[group.get(by, "")] = f"{group.get(by, 'all')} {100 * rate:.1f} % ({interval}) of {rate.n}"
    return [texts[""]] if "" in texts else list(texts.values())


def found_of(rows: Sequence[ScoredSample], by: str, seed: int) -> FindingsRecord:
    """The record of what ``rows`` show, one for each sample and epoch."""
    trials = []
    for row in rows:
        failed = None if row.scores is None else bool(round(row.scores[STATISTIC]))
        trials.append(Trial(row.answers.sample_id, str(row.cluster), _domain(row, by), failed))
    return replace(tested(trials, by, seed), phrases=_phrases(rows, by))


def tested(trials: Sequence[Trial], by: str, seed: int) -> FindingsRecord:
    """The record of what ``trials`` show, without phrases. Raises UsageError for a cluster that lies in two domains."""
    clips: dict[str, set[str]] = {}
    scored: dict[str, set[str]] = {}
    for item in trials:
        clips.setdefault(item.cluster, set()).add(item.sample_id)
        if item.failed is not None:
            scored.setdefault(item.cluster, set()).add(item.sample_id)
    units = _units(trials, by)
    weighed = stats.weigh(units, str(seed))
    records = [
        FindingRecord(
            rank=rank,
            id=f"{METRIC.replace('_', '-')}:{item.part}",
            title=f"{item.part}: uplift of {METRIC}",
            detector=f"{by}_uplift",
            metric=METRIC,
            slice={by: item.part},
            status=item.status,
            validation_notes=item.why,
            **_estimate(item.discovery, f"{seed}/{item.part}/discovery"),
            p_value=item.p,
            adjusted_p_value=item.q,
            discovery=FindingSideRecord(**_side(item.discovery, scored, item.p)),
            holdout=HoldoutRecord(
                **_side(item.holdout, scored, item.p_holdout), **_estimate(item.holdout, f"{seed}/{item.part}/holdout")
            ),
        )
        for rank, item in enumerate(weighed, start=1)
    ]
    # What the clusters are called by: the samples' ids where each is its own, else the lines' ``cluster``.
    clusters_are: Literal["sample_id", "cluster"]
    clusters_are = "sample_id" if all(names == {cluster} for cluster, names in clips.items()) else "cluster"
    counts = Counter(item.status for item in weighed)
    top = next((item.id for item in records if item.status in ("validated", "candidate")), None)
    count = sum(item.status != "untested" for item in weighed)
    return FindingsRecord(
        records,
        top,
        {status: counts[status] for status in stats.STATUSES},
        FindingMethodsRecord(**_methods(by, seed, count, units), clusters_are=clusters_are),
    )


def _units(trials: Sequence[Trial], by: str) -> list[stats.Unit]:
    """Each cluster with its failures; a clip counts in each epoch in which its asking did not fail."""
    counts: dict[str, list[Any]] = {}
    for trial in trials:
        unit = counts.setdefault(trial.cluster, [trial.part, 0, 0])
        if unit[0] != trial.part:
            raise UsageError(
                f"the cluster {trial.cluster!r} lies in two domains, {unit[0]!r} and {trial.part!r}: what is of one "
                f"recording belongs in one {by}"
            )
        if trial.failed is not None:
            unit[1] += trial.failed
            unit[2] += 1
    return [stats.Unit(cluster, *unit) for cluster, unit in sorted(counts.items())]


def _domain(row: ScoredSample, by: str) -> str:
    sample = row.answers.selected.sample
    if sample.metadata.get(by) is None:
        raise UsageError(f"sample {sample.id!r} has no {by!r} in its metadata: add it, or give findings another by=")
    return str(sample.metadata[by])


def _estimate(side: stats.Side, seed: str) -> dict[str, Any]:
    interval = stats.uplift_interval(side.members, side.others, seed)
    return {"effect_size": finite(side.uplift), "ci_lower": interval.lower, "ci_upper": interval.upper}


def _side(side: stats.Side, clips: Mapping[str, set[str]], p: float | None) -> dict[str, Any]:
    names, other_names = (
        sorted(name for unit in units for name in clips[unit.cluster]) for units in (side.members, side.others)
    )
    rates = tuple(finite(rate) for rate in side.rates)
    return {
        "clip_count_domain": len(names),
        "clip_count_other": len(other_names),
        "cluster_count_domain": len(side.members),
        "cluster_count_other": len(side.others),
        "domain_rate": rates[0],
        "other_rate": rates[1],
        "p_value": p,
        "testable": not side.lacking,
        "clips": names if len(names) <= MOST_NAMES else None,
        "clips_digest": digest(names),
        "other_clips_digest": digest(other_names),
    }


def _methods(by: str, seed: int, tested: int, units: Sequence[stats.Unit]) -> dict[str, Any]:
    holdout = sorted(stats.holdout_of(units, str(seed)))
    return {
        "by": by,
        "uplift": f"{METRIC} of a {by} less that of all others together",
        "test": "permutation of clusters, one-sided, mid-p; studentized and no less than resampled for several clips",
        "interval": f"Bayesian bootstrap of clusters and one more, {100 * CONFIDENCE:g} %",
        "bootstrap_resamples": stats.RESAMPLES,
        "permutations": stats.PERMUTATIONS,
        "confidence": CONFIDENCE,
        "multiple_testing": "benjamini-hochberg",
        "tested": tested,
        "alpha": stats.ALPHA,
        "discovery_alpha": stats.DISCOVERY,
        "holdout_alpha": stats.holdout_level(tested),
        "holdout_fraction": stats.HOLDOUT,
        "fewest_clusters": stats.FEWEST,
        "split": SplitRecord(
            seed=str(seed),
            salt=stats.SALT,
            rule=f"of each {by} the first {stats.HOLDOUT:g} of its clusters by SHA-256 of [salt, 1, seed, cluster]",
            clusters=len(units),
            holdout_count=len(holdout),
            holdout=holdout if len(holdout) <= MOST_NAMES else None,
            holdout_digest=digest(holdout),
        ),
    }


def _phrases(rows: Sequence[ScoredSample], by: str) -> list[PhraseRecord]:
    """The answers made up most often, without case, punctuation and markers, each with the domains it was given in."""
    phrases: dict[str, Counter[str]] = {}
    for row in rows:
        if row.answer is None or row.scores is None or not row.scores[STATISTIC]:
            continue
        text = (row.answer.value or "")[:_LOOKED_AT]
        words = content_of(text).words or basic_text(text) or text.strip()
        phrases.setdefault(words[:LONGEST_PHRASE], Counter())[_domain(row, by)] += 1
    ordered = sorted(phrases.items(), key=lambda entry: (-entry[1].total(), entry[0]))
    return [
        PhraseRecord(phrase, domains.total(), dict(sorted(domains.items())))
        for phrase, domains in ordered[:MOST_PHRASES]
    ]
