"""A data set slice by name, read only when an eval runs, and the same slice perturbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

from pytest_audiobench.audio.combining import moves_time
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.strict_json import short_repr
from pytest_audiobench.records.run import PublishedRecord


@runtime_checkable
class SamplesOnDemand(Protocol):
    """A sequence of samples that are made when they are asked for: a million of them need not be in memory."""

    def at(self, positions: Sequence[int]) -> list[Sample]:
        """Those at ``positions``, in that order."""


def samples_at(samples: Sequence[Sample], positions: Sequence[int]) -> list[Sample]:
    """Those at ``positions``, in that order."""
    if isinstance(samples, SamplesOnDemand):
        return samples.at(positions)
    return [samples[position] for position in positions]


@dataclass(frozen=True)
class Submission:
    """What the publisher of a slice without references takes, to score it: the rows with the predictions in them."""

    rows: Callable[[Places], Iterator[tuple[str, Mapping[str, Any]]]]
    """Yields each row as it was published, without audio, by its sample's id."""
    keys: tuple[str, ...]
    """Under which the prediction is in a row."""
    format: Literal["json", "jsonl"] = "json"


@dataclass(frozen=True)
class Dataset:
    """A slice of a data set: the unit of planning."""

    name: str
    """What evals, records and baselines know it by; it is in the hashes."""
    read: Callable[[Places], Sequence[Sample]]
    """Yields its samples, in any order."""
    cluster: str | None = None
    """The metadata field whose values are the statistical clusters (one recording asked twice, one speaker)."""
    groups: tuple[str, ...] | None = None
    """The metadata fields reported on; None means those with few values."""
    note: str = ""
    """What a reader of its numbers must know; it is printed with them."""
    perturbation: Perturbation | None = None
    """What was done to the clips, where it is the point of a curve or one of several that a suite compares."""

    withheld: bool = False
    """Whether its publisher keeps the references: every ``reference`` is empty, and no answer is right or wrong."""
    is_timed: bool = False
    """Whether references say when something sounds, so that nothing may be done to clips that moves time."""
    published: tuple[PublishedRecord, ...] = ()
    """What others published of it as it stands, and under its perturbations."""
    averages: Mapping[str, int] = field(default_factory=dict)
    """The averages of its benchmark that it counts in, the outermost first, each with the number of its parts."""
    pooled: bool = True
    """Whether its samples count in the figures of a suite."""
    submission: Submission | None = None
    """None where its clips are no longer those that were published, too."""
    left_out: frozenset[str] = frozenset()
    """The ids of samples that are asked, since batches are cut of all, and enter no score, record or hash."""

    @property
    def is_as_published(self) -> bool:
        """Whether it is unchanged, with others or alone."""
        return self.name == self.unperturbed

    @property
    def unperturbed(self) -> str:
        """The name of the data set that the perturbation was applied to."""
        return self.name if self.perturbation is None else self.name.removesuffix(f"+{self.perturbation.name}")


def perturb(dataset: Dataset, perturbation: Perturbation) -> Dataset:
    """``dataset`` with its samples changed by ``perturbation``; they keep their ids, so that they can be paired.

    Raises UsageError for what is no data set, such as a name, and for several perturbations.
    """
    if not isinstance(dataset, Dataset):
        raise UsageError(f"perturb takes a data set first, not {short_repr(dataset)}: write dataset(…) or manifest(…)")
    if not isinstance(perturbation, Perturbation):
        raise UsageError(f"perturb takes one perturbation, not {short_repr(perturbation)}: perturb once for each")

    def read(places: Places) -> Sequence[Sample]:
        samples = dataset.read(places)
        perturbed = perturbation.prepare(places)(samples)
        if dataset.is_timed:
            _refuse_moved_time(perturbation, samples, perturbed)
        return [
            replace(
                sample, recordings=before.clips if before.recordings is None else before.recordings, before=before.clips
            )
            for before, sample in zip(samples, perturbed, strict=True)
        ]

    name = f"{dataset.name}+{perturbation.name}"
    published = tuple(row for row in dataset.published if row.perturbation == perturbation.name)
    return replace(
        dataset, name=name, read=read, perturbation=perturbation, published=published, averages={}, submission=None
    )


def _refuse_moved_time(perturbation: Perturbation, samples: Sequence[Sample], perturbed: Sequence[Sample]) -> None:
    for before, after in zip(samples, perturbed, strict=True):
        if any(moves_time(*clips) for clips in zip(before.clips, after.clips, strict=False)):
            raise UsageError(
                f"{perturbation} moves what sounds in {before.id!r} to other times than its reference says; perturb it "
                "by what leaves lengths alone, such as noise, a room or a codec"
            )
