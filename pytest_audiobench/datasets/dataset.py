"""A data set slice by name, read only when an eval runs, and the same slice perturbed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample


@dataclass(frozen=True)
class Dataset:
    """A slice of a data set: the unit of planning. ``read`` yields its samples, in any order.

    ``cluster`` names the metadata field whose values are the statistical clusters (one recording asked
    twice, one speaker); ``groups`` the metadata fields reported on; None means the fields with few values.
    ``note`` is what a reader of its numbers must know; it is printed with them. ``perturbation`` is what was done to the
    clips, where it is the point of a curve or one of several perturbations that a suite compares.
    """

    name: str
    read: Callable[[Places], Sequence[Sample]]
    cluster: str | None = None
    groups: tuple[str, ...] | None = None
    note: str = ""
    perturbation: Perturbation | None = None

    @property
    def unperturbed(self) -> str:
        """The name of the data set that the perturbation was put upon."""
        return self.name if self.perturbation is None else self.name.removesuffix(f"+{self.perturbation.name}")


def perturb(dataset: Dataset, perturbation: Perturbation) -> Dataset:
    """``dataset`` with its samples changed by ``perturbation``; they keep their ids, so that perturbations are paired."""

    def read(places: Places) -> Sequence[Sample]:
        samples = dataset.read(places)
        changed = perturbation.prepare(places)(samples)
        return [
            replace(
                one,
                recordings=before.clips if before.recordings is None else before.recordings,
                before=before.clips,
            )
            for before, one in zip(samples, changed, strict=True)
        ]

    return replace(dataset, name=f"{dataset.name}+{perturbation.name}", read=read, perturbation=perturbation)
