"""A baseline's file: one model's evals in one run, with a line for each sample, so that a diff shows what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from pytest_audiobench.records.fields import Count, Direction, Name, Number, Positive, Record, Status
from pytest_audiobench.records.run import NoiseRecord, PooledHashes

LONGEST_TEXT = 2_000
"""Characters of an answer that a baseline keeps."""

MOST_BYTES = 64 * 2**20
"""A larger file is not a baseline: a hundred thousand samples by two scorers take a sixth of it."""

COMMON = "="
"""Stands in a sample's line for the prompt that most of its eval's samples were asked by."""


class BaselineFigure(Record, frozen=True):
    """A metric's value over an eval's samples, in its own ``unit``; None where there is no number or no interval."""

    name: Name
    value: Number | None
    lower: Number | None
    upper: Number | None
    n: Count
    unit: Name
    direction: Direction


class BaselineScorer(Record, frozen=True):
    """A scorer of an eval and what it measured."""

    name: Name
    signature: Name
    statistics: Sequence[Name] | None
    """The names of the statistics that all samples share; None where each has its own."""
    metrics: Sequence[BaselineFigure]


class UncommonEntries(Record, frozen=True, omit_defaults=True):
    """What only some samples have."""

    statuses: Sequence[Status] | None = None
    """One for each scorer; None where each parsed the answer."""
    failures: Sequence[Name] = ()
    text: Annotated[str, Meta(max_length=LONGEST_TEXT)] | None = None
    """The answer, where the baseline keeps texts."""


class SampleLine(Record, frozen=True, array_like=True):
    """One sample in one epoch, as a list in this order."""

    id: Name
    epoch: Count
    scores: Sequence[Sequence[Number] | Mapping[Name, Number] | None]
    """For each scorer its statistics, as a list in the order of their names where all samples share these."""
    audio: Name | None
    """The digest of its clips' keys."""
    prompt: Name | None
    """The digest of its messages; :data:`COMMON` for the eval's."""
    cluster: Name | None
    groups: Name | None
    """A key of the eval's groups; None for none."""
    truth: Name | None
    """The digest of its choices and references."""
    uncommon: UncommonEntries = UncommonEntries()


class BaselineEval(Record, frozen=True):
    """One eval."""

    eval: Name
    suite: Name
    dataset: Name
    protocol: Name
    epochs: Positive
    limited: bool
    cluster: Name | None
    """The metadata field that names the clusters; None for the clip."""
    hashes: Mapping[Name, Name]
    scorers: Annotated[Sequence[BaselineScorer], Meta(min_length=1)]
    """The headline first."""
    groups: Mapping[Name, Mapping[Name, Name]]
    """The groups that samples are in, by the first digits of their digest."""
    prompt: Name | None
    """The prompt that most samples were asked by."""
    samples: Sequence[SampleLine]


class BaselineModel(Record, frozen=True):
    """The model."""

    alias: Name
    spec: Name
    digest: Name
    """The component ``model`` of an item's hashes."""
    fingerprint: Mapping[Name, Name]
    noise: NoiseRecord | None


class BaselineHead(Record, frozen=True, kw_only=True):
    """Whose baseline it is, and of which run."""

    schema: Literal["audiobench.baseline/2"] = "audiobench.baseline/2"
    version: Name
    """Of the package that wrote it."""
    run: Name
    finished: Name
    """When the run ended (ISO 8601, UTC)."""
    hashes: PooledHashes
    """The run's."""
    model: BaselineModel
    limit: Positive | None
    """The run's ``--ab-limit``."""
    epochs: Positive
    missing: Sequence[Name]
    """A sentence for each thing that a run which was not whole lacks."""


class BaselineFile(BaselineHead, frozen=True, kw_only=True):
    """One model's evals in one run."""

    evals: Sequence[BaselineEval]
