"""Perturbations that show what an answer hangs on: the order of the options, a part of the clip, where it sounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.edits.masks import Fill
from pytest_audiobench.audio.edits.windows import Place
from pytest_audiobench.datasets.perturbations.perturbation import Change, ClipChange, Perturbation, per_clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of

ORDERS = 9
"""Rotations of up to ten options."""

FRAGMENT_S = 3.0
WINDOWS_S = (15.0, 30.0)
"""Of the study whose windows these are (SALMONN on SAKURA: 15 and 30 s, the clip early, in the middle or late)."""

_PLACES: tuple[Place, ...] = ("first", "middle", "last")


def orders(rotations: int = 3) -> tuple[Perturbation, ...]:
    """``order-1`` to ``order-3``: the options rotated, the first so many of them moved behind the last.

    With the unchanged order they are all cyclic orders of four options, in which each option stands once in each place.
    Of two options ``order-2`` is the unchanged order again, which is not asked twice. Which text is right stays; so do
    samples without choices.
    """
    return tuple(Perturbation(f"order-{by}", "order", _rotating(by)) for by in range(1, rotations + 1))


def fragments(length_s: float = FRAGMENT_S) -> tuple[Perturbation, ...]:
    """``first-3s``, ``middle-3s`` and ``last-3s``: that part of every clip alone."""
    return tuple(
        Perturbation(f"{place}-{length_s:g}s", "fragment", per_clip(_fragment(place, length_s))) for place in _PLACES
    )


def windows(length_s: float, fill: Fill = "silence") -> tuple[Perturbation, ...]:
    """``early-15s-silence``, ``mid-…`` and ``late-…``: every clip somewhere in a window of silence or noise."""
    return tuple(
        Perturbation(f"{word}-{length_s:g}s-{fill}", "window", per_clip(_window(place, length_s, fill)))
        for word, place in zip(("early", "mid", "late"), _PLACES, strict=True)
    )


def _rotating(by: int) -> Callable[[Places], Change]:
    def rotated(sample: Sample) -> Sample:
        start = by % len(sample.choices) if sample.choices else 0
        return replace(sample, choices=(*sample.choices[start:], *sample.choices[:start])) if start else sample

    def change(samples: Sequence[Sample]) -> Sequence[Sample]:
        if not any(len(sample.choices) > 1 for sample in samples):
            raise UsageError("no sample has options to put in another order; leave the eval out by -k, or the order")
        return [rotated(sample) for sample in samples]

    return lambda places: change


def _fragment(place: Place, length_s: float) -> Callable[[Places], ClipChange]:
    edit = edits.fragment(place, length_s)
    return lambda places: lambda clip, id_: clip.edited(edit)


def _window(place: Place, length_s: float, fill: Fill) -> Callable[[Places], ClipChange]:
    edits.window(place, length_s, fill)  # a mistake is told where it is made, not where samples are read

    def change(clip: Clip, id_: str) -> Clip:
        return clip.edited(edits.window(place, length_s, fill, seed_of("condition", "window", id_)))

    return lambda places: change
