"""Edits by a place in the clip: a fragment of it, or the clip somewhere in a longer window."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Edit, Parameters, Samples, decimal, number
from pytest_audiobench.audio.edits.kind import EditKind, whole_clip
from pytest_audiobench.audio.edits.masks import Fill
from pytest_audiobench.errors import UsageError

Place: TypeAlias = Literal["first", "middle", "last"]
"""Of a fragment in its clip, as of a clip in its window; the middle's odd frame lies behind it."""


def fragment(place: Place, length_s: float) -> Edit:
    """The ``first``, the ``middle`` or the ``last`` seconds of the clip; one that is no longer than that is kept whole.

    Raises UsageError for an unknown place and for no length.
    """
    return Edit("fragment", 1, (("place", _checked("place", place, Place)), ("length_s", _seconds(length_s))))


def window(place: Place, length_s: float, fill: Fill = "silence", seed: int | str = 0) -> Edit:
    """The clip ``first``, in the ``middle`` or ``last`` in a window of so many seconds; a longer clip is kept whole.

    What is left of the window is digital ``silence``, or ``noise``: white Gaussian noise of the clip's RMS, limited to
    what 16 bits hold, for which each sample has its own seed. Raises UsageError for an unknown place or fill and for
    no length.
    """
    words = ("place", _checked("place", place, Place)), ("fill", _checked("fill", fill, Fill))
    return Edit("window", 1, (*words, ("length_s", _seconds(length_s))), seed=str(seed) if fill == "noise" else None)


def _fragment(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    length = min(round(number(parameters, "length_s") * rate_hz), len(samples))
    begin = _begin(parameters, len(samples) - length)
    return samples[begin : begin + length]


def _window(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    length = max(round(number(parameters, "length_s") * rate_hz), len(samples))
    filled = np.zeros(length, np.float32)
    if _checked("fill", dict(parameters).get("fill"), Fill) == "noise" and length > len(samples):
        hiss = signals.scaled_to_rms(signals.gaussian(length, "window noise", 1, seed or ""), signals.rms(samples))
        filled = np.clip(hiss, -signals.FULL_SCALE, signals.FULL_SCALE).astype(np.float32)
    begin = _begin(parameters, length - len(samples))
    filled[begin : begin + len(samples)] = samples
    return filled


def _begin(parameters: Parameters, room: int) -> int:
    place = _checked("place", dict(parameters).get("place"), Place)
    return {"first": 0, "middle": room // 2, "last": room}[place]


def _seconds(length_s: float) -> str:
    text = decimal("length_s", length_s, least=0.0)
    if not float(text):
        raise UsageError("a fragment or a window of 0 s has no sound in it; give it a length in seconds")
    return text


def _checked(what: str, given: object, kinds: object) -> str:
    known = get_args(kinds)
    if given not in known:
        raise UsageError(f"no {what} of a clip is named {given!r}; there are {', '.join(known)}")
    return str(given)


KINDS = (
    EditKind("fragment", 1, _fragment, lambda whole_s, given: min(whole_s, number(given, "length_s")), whole_clip),
    EditKind("window", 1, _window, lambda whole_s, given: max(whole_s, number(given, "length_s")), whole_clip),
)
