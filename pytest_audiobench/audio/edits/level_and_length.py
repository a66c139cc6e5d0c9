"""Edits of level, length and tempo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

import numpy as np
import soxr

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Edit, Parameters, Samples, decimal, number
from pytest_audiobench.audio.edits.kind import Apply, EditKind, Stream, whole_clip
from pytest_audiobench.audio.edits.masks import Fill
from pytest_audiobench.audio.long_sound import resampled, silent_blocks
from pytest_audiobench.errors import UsageError

Place: TypeAlias = Literal["first", "middle", "last"]
"""Of a fragment in its clip, as of a clip in its window; the middle's odd frame lies behind it."""

_FILTER_S = 0.1  # far longer than half of soxr's HQ filter at any rate of audio


def gain(db: float) -> Edit:
    """Louder or softer by ``db`` decibels of amplitude; samples beyond [-1, 1] are kept, not clipped."""
    return Edit("gain", 1, (("db", decimal("db", db)),))


def trim(start_s: float, end_s: float) -> Edit:
    """Keep [start_s, end_s) of the clip, in seconds, to the nearest frame; what lies beyond its end is not there."""
    start, end = decimal("start_s", start_s, least=0.0), decimal("end_s", end_s)
    if end_s <= start_s:
        raise UsageError(f"trim from {start} s to {end} s keeps nothing; let the end be after the start")
    return Edit("trim", 1, (("start_s", start), ("end_s", end)))


def pad(before_s: float, after_s: float) -> Edit:
    """Digital silence before and after, in seconds, to the nearest frame."""
    before, after = decimal("before_s", before_s, least=0.0), decimal("after_s", after_s, least=0.0)
    return Edit("pad", 1, (("before_s", before), ("after_s", after)))


def speed(factor: float) -> Edit:
    """Faster by ``factor`` in tempo and pitch together, as a tape is (Ko et al. 2015); 1.1 shortens by 9 %."""
    return Edit("speed", 1, (("factor", decimal("factor", factor, least=0.1)),))


def sixteen_bits() -> Edit:
    """As a 16-bit recording holds it: rounded to 1/32768, and clipped at full scale.

    So do all models at the clip's rate hear the same, behind a server or in the process; a change of rate that follows
    may pass full scale again.
    """
    return Edit("sixteen_bits", 1)


def silence() -> Edit:
    """Digital silence of the same length: what a model answers when nothing is heard."""
    return Edit("silence", 1)


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


def _gain(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    return samples * np.float32(signals.amplitude(number(parameters, "db")))


def _trim(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    start, end = (round(number(parameters, name) * rate_hz) for name in ("start_s", "end_s"))
    return samples[start:end]


def _pad(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    before, after = (round(number(parameters, name) * rate_hz) for name in ("before_s", "after_s"))
    return np.pad(samples, (before, after))


def _speed(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    resampled: Samples = soxr.resample(samples, rate_hz * number(parameters, "factor"), rate_hz, quality="HQ")
    return resampled


def _sixteen_bits(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    steps: Samples = np.clip(np.rint(samples * np.float32(32768)), -32768, 32767)
    return steps / np.float32(32768)


def _silence(samples: Samples, *_: object) -> Samples:
    return np.zeros_like(samples)


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


def _by_block(apply: Apply) -> Stream:
    return lambda blocks, rate_hz, parameters: (apply(block, rate_hz, parameters, None) for block in blocks)


def _trimmed_blocks(blocks: Iterator[Samples], rate_hz: int, parameters: Parameters) -> Iterator[Samples]:
    start, end = (round(number(parameters, name) * rate_hz) for name in ("start_s", "end_s"))
    for block in blocks:
        yield block[max(0, start) : max(0, end)]
        start, end = start - len(block), end - len(block)


def _padded_blocks(blocks: Iterator[Samples], rate_hz: int, parameters: Parameters) -> Iterator[Samples]:
    before, after = (round(number(parameters, name) * rate_hz) for name in ("before_s", "after_s"))
    yield from silent_blocks(before)
    yield from blocks
    yield from silent_blocks(after)


KINDS = (
    EditKind("gain", 1, _gain, stream=_by_block(_gain)),
    EditKind(
        "trim",
        1,
        _trim,
        lambda whole_s, given: max(0.0, min(whole_s, number(given, "end_s")) - number(given, "start_s")),
        lambda wanted_s, given: min(number(given, "end_s"), number(given, "start_s") + wanted_s),
        _trimmed_blocks,
    ),
    EditKind(
        "pad",
        1,
        _pad,
        lambda whole_s, given: whole_s + number(given, "before_s") + number(given, "after_s"),
        stream=_padded_blocks,
    ),
    EditKind(
        "speed",
        1,
        _speed,
        lambda whole_s, given: whole_s / number(given, "factor"),
        lambda wanted_s, given: wanted_s * number(given, "factor") + _FILTER_S,
        lambda blocks, rate_hz, given: resampled(blocks, rate_hz * number(given, "factor"), rate_hz),
    ),
    EditKind("sixteen_bits", 1, _sixteen_bits, stream=_by_block(_sixteen_bits)),
    EditKind("silence", 1, _silence, stream=_by_block(_silence)),
    EditKind("fragment", 1, _fragment, lambda whole_s, given: min(whole_s, number(given, "length_s")), whole_clip),
    EditKind("window", 1, _window, lambda whole_s, given: max(whole_s, number(given, "length_s")), whole_clip),
)
