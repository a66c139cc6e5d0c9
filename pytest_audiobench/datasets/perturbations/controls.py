"""Controls: what is answered when the audio is silent, another sample's, or not there at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of


def controls() -> tuple[Perturbation, ...]:
    """``silence``, ``swapped`` and ``text``, perturbations of the family ``control``.

    Every clip as silence of its length; every question with the clips of another sample that has as many; no clips.
    """
    swap = partial(_with_clips_swapped, "the data set")
    return (
        Perturbation("silence", "control", lambda places: _silent),
        Perturbation("swapped", "control", lambda places: swap),
        Perturbation("text", "control", lambda places: _without_clips),
    )


def with_silence(dataset: Dataset) -> Dataset:
    """Every clip as digital silence of its own length."""
    return _with_change(dataset, "silence", _silent)


def without_audio(dataset: Dataset) -> Dataset:
    """The text alone."""
    return _with_change(dataset, "text", _without_clips)


def with_swapped_clips(dataset: Dataset) -> Dataset:
    """Every question with other clips, those of a sample that has as many, by a seeded cycle through all of them.

    They are drawn whatever the answer is, so that what is right by chance stays right by chance. Samples that are asked
    about the same clips are lent the same. Raises UsageError, when it is read, for a sample that no other can lend its
    clips to.
    """
    return _with_change(dataset, "swapped", lambda samples: _with_clips_swapped(dataset.name, samples))


def _with_change(dataset: Dataset, how: str, change: Callable[[Sequence[Sample]], Sequence[Sample]]) -> Dataset:
    return replace(dataset, name=f"{dataset.name}+{how}", read=lambda places: change(dataset.read(places)), note="")


def _silent(samples: Sequence[Sample]) -> list[Sample]:
    return [replace(sample, clips=tuple(clip.edited(edits.silence()) for clip in sample.clips)) for sample in samples]


def _without_clips(samples: Sequence[Sample]) -> list[Sample]:
    return [replace(sample, clips=()) for sample in samples]


def _with_clips_swapped(name: str, samples: Sequence[Sample]) -> list[Sample]:
    """As :func:`with_swapped_clips` does it: the cycle depends on ``name`` and the samples' ids."""
    places: dict[tuple[Clip, ...], tuple[int, str]] = {}
    for sample in samples:
        place = seed_of("swap", name, sample.id), sample.id
        places[sample.clips] = min(place, places.get(sample.clips, place))
    by_number: dict[int, list[tuple[Clip, ...]]] = {}
    for clips in sorted(places, key=lambda clips: places[clips]):
        by_number.setdefault(len(clips), []).append(clips)
    lenders: dict[tuple[Clip, ...], tuple[Clip, ...]] = {}
    for group in by_number.values():
        if len(group) < 2 and group[0]:
            raise UsageError(
                f"no sample of {name} has other clips than {places[group[0]][1]!r} and as many ({len(group[0])}), so "
                "no other sample's can be played instead: leave it out of the slice"
            )
        lenders |= dict(zip(group, [*group[1:], group[0]], strict=True))
    return [replace(sample, clips=lenders[sample.clips]) for sample in samples]
