"""Changes of the sound that show whether an answer depends on it: parts masked, or noise over all.

A mask draws its places by SHA-256 from the sample's id, the same for all shares, fills and families; noise is that of
the catalogue's ladder. Masks and noise are made at 16 kHz, which a clip of another rate is brought to first: the share
is then exact in what a model at 16 kHz hears, and noise is as strong whatever the rate of the file was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.combining import at_rate
from pytest_audiobench.audio.edits.masks import Fill, Mode
from pytest_audiobench.datasets.perturbations.catalogue import ladder
from pytest_audiobench.datasets.perturbations.perturbation import ClipChange, Perturbation, dose_of, per_clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of

PERCENTS = (20.0, 40.0, 60.0, 80.0, 90.0, 100.0)


def masks(*percents: float, mode: Mode = "random", fill: Fill = "silence") -> tuple[Perturbation, ...]:
    """``mask-p20`` and so on: a share of each clip replaced, for each of ``percents`` or the usual ones.

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
        Perturbation(name, family, per_clip(_masking(percent, mode, fill)), percent, "% masked", "higher")
        for name, percent in zip(names, doses, strict=True)
    )


def noises(*snrs_db: float) -> tuple[Perturbation, ...]:
    """``noise-20dB``, ``noise-m10dB`` and so on: white noise over the whole clip, as ``ladder("white", …)`` makes it.

    The sounds are those of the ladder; only the name is another. Raises UsageError as it does.
    """
    rungs = ladder("white", *snrs_db)
    return tuple(replace(rung, name=rung.name.replace("white", "noise", 1), family="noise") for rung in rungs)


def _name(percent: float, family: str) -> str:
    """Words that ``-k`` can select: the dose behind the word that all masks share, then the mode and the fill."""
    return f"mask-p{percent:g}{family.removeprefix('mask')}"


def _masking(percent: float, mode: Mode, fill: Fill) -> Callable[[Places], ClipChange]:
    edits.mask(percent, mode, fill)  # a mistake is told where it is made, not where samples are read

    def change(clip: Clip, id_: str) -> Clip:
        return at_rate(clip).edited(edits.mask(percent, mode, fill, seed_of("condition", "mask", id_)))

    return lambda places: change
