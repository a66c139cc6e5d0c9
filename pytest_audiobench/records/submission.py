"""A submission's file: what one model did in one suite of a run, to be given to others.

All that is claimed lies in ``payload``. It holds no floats: decimals are texts, the shortest that read back as the same
float, so that its canonical bytes (those of RFC 8785) are the same everywhere. Here they are floats again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from pytest_audiobench.records.fields import Count, Digest, Direction, Name, Number, Positive, Record, Time
from pytest_audiobench.records.run import (
    CurveRecord,
    FindingMethodsRecord,
    FindingRecord,
    PerturbationRecord,
    PerturbationsRecord,
    RuntimeRecord,
    ScorerRecord,
)

MOST_BYTES = 16 * 2**20
"""A larger file is not a submission: 10,000 samples read by one scorer take about one MB."""


class SubmittedFigure(Record, frozen=True):
    """A metric over all samples as one scorer sees them, in its own unit (a share of 0.75, not 75)."""

    metric: Name
    scorer: Name
    signature: Name
    value: Number | None
    lower: Number | None
    """With upper the 95 % interval."""
    upper: Number | None
    n: Count
    unit: Name
    direction: Direction


class SubmittedItem(Record, frozen=True):
    """One eval. Its hashes are all components and input_hash, run_hash and score_hash, which follow from them."""

    eval: Name
    dataset: Name
    protocol: Name
    n: Count
    epochs: Positive
    limited: bool
    perturbation: PerturbationRecord | None
    hashes: Mapping[str, Name]
    scorers: Sequence[ScorerRecord]
    metrics: Sequence[SubmittedFigure]


class SubmittedFindings(Record, frozen=True):
    """What was found of one eval, as run.json has it, without the phrases that a model made up."""

    eval: Name
    findings: Sequence[FindingRecord]
    top_finding: str | None
    validation_summary: Mapping[str, Count]
    findings_methods: FindingMethodsRecord | None


class TopFinding(Record, frozen=True):
    """The top finding of the first item that has one, whole."""

    eval: Name
    id: Name
    finding: FindingRecord
    samples: Sequence[Name]
    """The ids of the samples that it is about: they are lines of that eval in the evidence."""


class SubmittedModel(Record, frozen=True):
    """The model."""

    alias: Name
    spec: Name
    """As it was given to --ab-model."""
    digest: Name
    """The component model of the items' hashes."""
    fingerprint: Mapping[str, Name]


class SubmittedRun(Record, frozen=True):
    """The run."""

    name: Name
    finished: Name
    """ISO 8601, UTC."""
    version: Name
    """Of pytest-audiobench."""


class SuiteHashes(Record, frozen=True):
    """The suite's: over its items' sorted hashes."""

    input_hash: Digest
    run_hash: Digest
    score_hash: Digest


class Payload(Record, frozen=True, kw_only=True):
    """All that is claimed."""

    schema: Literal["audiobench.submission/2"] = "audiobench.submission/2"
    suite: Name
    model: SubmittedModel
    run: SubmittedRun
    hashes: SuiteHashes
    n: Count
    """Samples, each once."""
    epochs: Positive
    limit: Positive | None
    """The run's --ab-limit."""
    limited: bool
    """Whether any eval of the suite was limited."""
    missing: Sequence[Name]
    """What a run that was not whole lacks."""
    headline: SubmittedFigure | None
    """The first of metrics."""
    metrics: Sequence[SubmittedFigure]
    """Pooled over the suite's evals."""
    scorers: Sequence[ScorerRecord]
    items: Annotated[Sequence[SubmittedItem], Meta(min_length=1)]
    curves: Sequence[CurveRecord]
    perturbations: Sequence[PerturbationsRecord]
    findings: Sequence[SubmittedFindings]
    top_finding: TopFinding | None
    evidence: Annotated[str, Meta(max_length=MOST_BYTES)]
    """The text of a baseline's file of the suite: a line for each sample with its statistics, digests and groups. No
    answers, no audio."""
    runtime: RuntimeRecord
    submitted_at: Time
    submitted_by: Name | None
    """The hub's name of who pushed it; None in a dry run."""
    authored_by: Name | None
    notes: Name
    tags: Sequence[Name]


class SubmissionFile(Record, frozen=True, kw_only=True):
    """The file: the payload with its digest and its signature."""

    schema: Literal["audiobench.submission/2"] = "audiobench.submission/2"
    payload_sha256: Digest
    """Of the payload's canonical bytes."""
    signature: Annotated[str, Meta(max_length=20_000)] | None
    """An armored SSH signature (OpenSSH, PROTOCOL.sshsig) of the payload's canonical bytes for the namespace
    pytest-audiobench; None without a signature."""
    payload: Mapping[str, Any]
    """A :class:`Payload` with decimals for floats."""
