"""A scene: pieces of sound at places and levels over a bed, rendered to the same 16-bit samples everywhere.

Levels come from exact integer sums of squares, and of floats only sums, products, quotients, roots and comparisons are
taken, element by element: no release of NumPy and no processor rounds them otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio.clip import Parameters, Samples, decimal, number
from pytest_audiobench.audio.signals import Wave
from pytest_audiobench.errors import UsageError

RATE_HZ = 16_000

Pcm16: TypeAlias = npt.NDArray[np.int16]
Spans: TypeAlias = Sequence[tuple[int, int]]
"""From a first frame to the one behind the last."""

_PEAK = 0.97
_DUCKING_FRAMES = 4_000
_JOINT_FRAMES = 160
_FRAME = 320
"""20 ms, over which it is measured whether a piece sounds."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a piece sounds in a scene, and how loud."""

    start: int
    frames: int
    offset: int
    """The frame of the piece with which it begins."""
    extent: int
    """How many frames of the piece are taken: as many as sound, but for a bed."""
    level: str
    """Its root mean square over the frames that sound, of full scale: a decimal, as keys have it."""
    is_bed: bool = False
    """Whether it is repeated to fill its frames, and ducked."""


def scene_parameters(frames: int, placements: Sequence[Placement], ducked: Spans, floor: str) -> Parameters:
    """A scene as a rule's parameters. Raises UsageError for what leaves the scene."""
    for place in placements:
        if not (0 <= place.start < place.start + place.frames <= frames and place.offset >= 0 < place.extent):
            raise UsageError(f"{place} is not within a scene of {frames} frames")
    items = (
        " ".join(("bed" if p.is_bed else "piece", *map(str, (p.start, p.frames, p.offset, p.extent)), level))
        for p in placements
        for level in [decimal("level", float(p.level))]
    )
    spans = " ".join(f"{first}-{last}" for first, last in ducked)
    ducking = (("ducked", spans), ("floor", floor)) if spans else ()
    return (("frames", str(frames)), ("items", ";".join(items)), *ducking)


def scene(clips: Sequence[Samples], parameters: Parameters) -> Samples:
    """The rule ``scene``: the clips as its ``items`` say. Raises ValueError where one is silent or too short."""
    texts = dict(parameters)
    items = [item.split(" ") for item in texts.get("items", "").split(";")]
    places = [Placement(int(i[1]), int(i[2]), int(i[3]), int(i[4]), i[5], i[0] == "bed") for i in items]
    spans = [(int(first), int(last)) for first, last in (s.split("-") for s in texts.get("ducked", "").split())]
    pcm = rendered(
        [pcm16(clip) for clip in clips],
        places,
        round(number(parameters, "frames")),
        spans,
        float(texts.get("floor", 1)),
    )
    return pcm.astype(np.float32) / np.float32(32768)


def rendered(
    pieces: Sequence[Pcm16], placements: Sequence[Placement], frames: int, ducked: Spans = (), floor: float = 1.0
) -> Pcm16:
    """The scene's samples. A sum that passes 0.97 is made softer as a whole."""
    total = np.zeros(frames)
    ducking = envelope(frames, ducked, floor) if ducked else None
    for pcm, place in zip(pieces, placements, strict=True):
        end = place.start + place.frames
        sound = pcm[place.offset : place.offset + place.extent]
        if len(sound) < place.extent:
            raise ValueError(f"a piece of {len(pcm)} frames has no {place.extent} from {place.offset} on")
        sound = looped(sound, place.frames) if place.is_bed else sound
        wave = sound * (gain(sound, float(place.level)) / 32768)
        if place.is_bed and ducking is not None:
            wave *= ducking[place.start : end]
        total[place.start : end] += wave
    peak = max(float(total.max()), -float(total.min()))
    if peak > _PEAK:
        total *= _PEAK / peak
    pcm16_total: Pcm16 = np.rint(total * 32767).astype(np.int16)
    return pcm16_total


def gain(pcm: Pcm16, level: float) -> float:
    """The factor that brings ``pcm`` to the root mean square ``level`` of full scale. Raises ValueError for silence."""
    energy = square_sum(pcm)
    if not energy:
        raise ValueError("a piece of a scene is silent")
    return level / math.sqrt(energy / len(pcm) / 32768**2)


def square_sum(pcm: Pcm16) -> int:
    """The sum of the squares, exactly."""
    wide = pcm.astype(np.int64)
    return int(np.dot(wide, wide))


def looped(pcm: Pcm16, frames: int) -> Pcm16:
    """The first ``frames`` of ``pcm`` repeated, its end faded into its beginning over 10 ms."""
    if len(pcm) >= frames:
        return pcm[:frames]
    fade = min(_JOINT_FRAMES, len(pcm) // 2)
    period = len(pcm) - fade
    up = np.arange(1, fade + 1) / (fade + 1)
    again = pcm[:period].copy()
    again[:fade] = np.rint(pcm[period:] * (1 - up) + pcm[:fade] * up)
    loop: Pcm16 = np.resize(again, frames)
    loop[:fade] = pcm[:fade]
    return loop


def envelope(frames: int, spans: Spans, floor: float, fade: int = _DUCKING_FRAMES) -> Wave:
    """``floor`` within the spans, 1 far from them, with linear ramps between; the least where several act."""
    factors = np.ones(frames)
    down = 1 - (1 - floor) * (np.arange(1, fade + 1) / (fade + 1))
    for first, last in spans:
        factors[first:last] = np.minimum(factors[first:last], floor)
        before, after = max(0, first - fade), min(frames, last + fade)
        factors[before:first] = np.minimum(factors[before:first], down[fade - (first - before) :])
        factors[last:after] = np.minimum(factors[last:after], down[::-1][: after - last])
    return factors


def active(pcm: Pcm16) -> tuple[int, int] | None:
    """Where ``pcm`` sounds, None for silence: from the first to behind the last 20 ms that are above -50 dB of full
    scale and not 40 dB below the loudest.
    """
    frames = -(-len(pcm) // _FRAME)
    wide = np.zeros(frames * _FRAME, dtype=np.int64)
    wide[: len(pcm)] = pcm
    energies = (wide * wide).reshape(frames, _FRAME).sum(axis=1)
    loudest = int(energies.max(initial=0))
    sounding = np.flatnonzero((energies * 100_000 > _FRAME << 30) & (energies * 10_000 > loudest))
    if not len(sounding):
        return None
    return int(sounding[0]) * _FRAME, min(len(pcm), (int(sounding[-1]) + 1) * _FRAME)


def pcm16(samples: Samples) -> Pcm16:
    """``samples`` as 16 bits hold them."""
    pcm: Pcm16 = np.clip(np.rint(samples * np.float32(32768)), -32768, 32767).astype(np.int16)
    return pcm
