"""The same questions without their sound: with silence, with another sample's clips, with no audio at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed


def silenced(dataset: Dataset) -> Dataset:
    """Every clip as digital silence of its own length."""
    return _changed(dataset, "silence", silent)


def unheard(dataset: Dataset) -> Dataset:
    """The text alone."""
    return _changed(dataset, "text", without_clips)


def swapped(dataset: Dataset) -> Dataset:
    """Every question with other clips, those of a sample that has as many, by a seeded cycle through all of them.

    They are drawn whatever the answer is, so that what is right by chance stays right by chance. Samples that are asked
    about the same clips are lent the same. Raises UsageError, when it is read, for a sample that no other can lend its
    clips to.
    """
    return _changed(dataset, "swapped", lambda samples: lent(dataset.name, samples))


def _changed(dataset: Dataset, how: str, change: Callable[[Sequence[Sample]], Sequence[Sample]]) -> Dataset:
    return replace(dataset, name=f"{dataset.name}+{how}", read=lambda places: change(dataset.read(places)), note="")


def silent(samples: Sequence[Sample]) -> list[Sample]:
    """As :func:`silenced` does it."""
    return [replace(one, clips=tuple(clip.edited(edits.silence()) for clip in one.clips)) for one in samples]


def without_clips(samples: Sequence[Sample]) -> list[Sample]:
    """As :func:`unheard` does it."""
    return [replace(one, clips=()) for one in samples]


def lent(name: str, samples: Sequence[Sample]) -> list[Sample]:
    """As :func:`swapped` does it: the cycle depends on ``name`` and the samples' ids."""
    places: dict[tuple[Clip, ...], tuple[int, str]] = {}
    for one in samples:
        place = seed("swap", name, one.id), one.id
        places[one.clips] = min(place, places.get(one.clips, place))
    by_number: dict[int, list[tuple[Clip, ...]]] = {}
    for clips in sorted(places, key=lambda clips: places[clips]):
        by_number.setdefault(len(clips), []).append(clips)
    lenders: dict[tuple[Clip, ...], tuple[Clip, ...]] = {}
    for alike in by_number.values():
        if len(alike) < 2 and alike[0]:
            raise UsageError(
                f"no sample of {name} has other clips than {places[alike[0]][1]!r} and as many ({len(alike[0])}), so "
                "no other sample's can be played instead: leave it out of the slice"
            )
        lenders |= dict(zip(alike, [*alike[1:], alike[0]], strict=True))
    return [replace(one, clips=lenders[one.clips]) for one in samples]
