"""The same samples under another perturbation: noise beneath, a band cut off, a part masked; one point of a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, get_args

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.dataset import Dataset, Places
from pytest_audiobench.datasets.perturbations.dose import Harder, dose_of
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError

Change: TypeAlias = Callable[[Sequence[Sample]], Sequence[Sample]]
"""A slice's samples changed, ids, questions and choices kept; by clips' own means, so that nothing is decoded."""

ClipChange: TypeAlias = Callable[[Clip, str], Clip]
"""A clip changed, given what its random choices are drawn from."""


@dataclass(frozen=True)
class Perturbation:
    """What is done to every clip. ``name`` selects it in test ids (``white-m10dB``); it is what ``str`` gives.

    Perturbations of one ``family`` that have a ``dose`` (in ``unit``, such as "dB SNR") are the points of a curve; one
    without a dose stands alone. ``harder`` says which way the dose makes the task harder, where it does so one way.
    ``prepare`` is called once whenever samples are read, with the places where further audio (recorded noise, room
    responses) may lie, and gives what is then done to the samples; :func:`clipwise` makes it of what is done to each
    clip. It raises DataNotFound where that audio is absent.

    Raises UsageError for a name, a family or a unit that is no printable text, for a name or a family that is empty,
    and for a dose that is no finite number.
    """

    name: str
    family: str
    prepare: Callable[[Places], Change] = field(compare=False, repr=False)
    dose: float | None = None
    unit: str = ""
    harder: Harder = ""

    def __post_init__(self) -> None:
        for what, text in (("name", self.name), ("family", self.family), ("unit", self.unit)):
            if not isinstance(text, str) or not text.isprintable() or not (text or what == "unit"):
                raise UsageError(f"the {what} {text!r} of a perturbation is no printable text; give it one")
        if self.harder not in get_args(Harder):
            raise UsageError(f"harder={self.harder!r} of the perturbation {self.name} is not 'higher', 'lower' or ''")
        if self.dose is not None:
            object.__setattr__(self, "dose", dose_of(self.name, self.dose))

    def __str__(self) -> str:
        return self.name


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


def clipwise(prepare: Callable[[Places], ClipChange]) -> Callable[[Places], Change]:
    """What a perturbation prepares where it changes clip by clip.

    A sample's first clip draws from the sample's id, each further one from its place as well.
    """

    def prepared(places: Places) -> Change:
        change = prepare(places)
        return lambda samples: [replace(one, clips=_changed(change, one)) for one in samples]

    return prepared


def _changed(change: ClipChange, sample: Sample) -> tuple[Clip, ...]:
    return tuple(
        change(clip, f"{sample.id}#{place}" if place else sample.id) for place, clip in enumerate(sample.clips)
    )
