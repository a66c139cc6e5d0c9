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
from pytest_audiobench.datasets.dataset import Places
from pytest_audiobench.datasets.perturbations.catalogue import ladder
from pytest_audiobench.datasets.perturbations.controls import lent, silent, without_clips
from pytest_audiobench.datasets.perturbations.dose import dose_of
from pytest_audiobench.datasets.perturbations.perturbation import Change, ClipChange, Perturbation, clipwise
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
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
        Perturbation(name, family, clipwise(_masked(percent, mode, fill)), percent, "% masked", "higher")
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
