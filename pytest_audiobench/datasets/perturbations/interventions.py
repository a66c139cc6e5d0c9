"""What is done to the sound to see whether an answer depends on it: parts masked, noise over all, no sound at all.

A mask draws its places by SHA-256 from the sample's id, the same for all shares, fills and families; noise is that of
the catalogue's ladder. Masks and noise are made at 16 kHz, which a clip of another rate is brought to first: the share
is then exact in what a model at 16 kHz hears, and noise is as strong whatever the rate of the file was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.combining import at_rate
from pytest_audiobench.audio.edits.masks import Fill, Mode
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.catalogue import ladder
from pytest_audiobench.datasets.perturbations.perturbation import Change, ClipChange, Perturbation, dose_of, per_clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed
from pytest_audiobench.identity import seed as seed_of

PERCENTS = (20.0, 40.0, 60.0, 80.0, 90.0, 100.0)


def masks(*percents: float, mode: Mode = "random", fill: Fill = "silence") -> tuple[Perturbation, ...]:
    """``mask-p20`` and so on: a share of each clip replaced, one perturbation for each of ``percents`` or the usual ones.

    Mode and fill stand in the names (``mask-p20-start``, ``mask-p20-noise``, ``mask-p20-end-noise``) and in the
    families, but for a random place and silence; :func:`~pytest_audiobench.audio.edits.mask` says what they do.
    Raises UsageError for a share outside 0 to 100 or given twice, and for an unknown mode or fill.
    """
    family = "-".join(["mask", *([str(mode)] if mode != "random" else []), *([str(fill)] if fill != "silence" else [])])
    doses = [dose_of(family, percent) for percent in percents or PERCENTS]
    names = [_name(percent, family) for percent in doses]
    if len(set(names)) < len(names):
        raise UsageError(f"masks{percents} has a share twice, to the six digits of a name; give each once")
    return tuple(
        Perturbation(name, family, per_clip(_masked(percent, mode, fill)), percent, "% masked", "higher")
        for name, percent in zip(names, doses, strict=True)
    )


def noises(*snrs_db: float) -> tuple[Perturbation, ...]:
    """``noise-20dB``, ``noise-m10dB`` and so on: white noise over the whole clip, as ``ladder("white", …)`` makes it.

    The sounds are those of the ladder; it is only called noise. Raises UsageError as it does.
    """
    rungs = ladder("white", *snrs_db)
    return tuple(replace(one, name=one.name.replace("white", "noise", 1), family="noise") for one in rungs)


def controls() -> tuple[Perturbation, ...]:
    """``silence``, ``swapped`` and ``text``: what :mod:`.controls` does, as perturbations of the family ``control``.

    Every clip as silence of its length; every question with the clips of another sample that has as many; no clips.
    """
    changes: dict[str, Change] = {"silence": silent, "swapped": partial(lent, "the data set"), "text": without_clips}
    return tuple(Perturbation(name, "control", _whatever_lies_where(change)) for name, change in changes.items())


def _name(percent: float, family: str) -> str:
    """Words that ``-k`` can select: the dose behind the word that all masks share, then the mode and the fill."""
    return f"mask-p{percent:g}{family.removeprefix('mask')}"


def _masked(percent: float, mode: Mode, fill: Fill) -> Callable[[Places], ClipChange]:
    edits.mask(percent, mode, fill)  # a mistake is told where it is made, not where samples are read

    def change(clip: Clip, id_: str) -> Clip:
        return at_rate(clip).edited(edits.mask(percent, mode, fill, seed_of("condition", "mask", id_)))

    return lambda places: change


def _whatever_lies_where(change: Callable[[Sequence[Sample]], Sequence[Sample]]) -> Callable[[Places], Change]:
    return lambda places: change


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
