"""A sequence of short sounds: knocks, beeps and clicks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_audiobench.audio.clip import Samples, SynthesisSource
from pytest_audiobench.audio.noise import Wave, stream
from pytest_audiobench.audio.parameters import Parameters
from pytest_audiobench.audio.synthesis.recipe import Render, carried, level, recipe, seed


def events(duration_s: float, seed: int | str, level_db: float = -12.0) -> SynthesisSource:
    """Five events in four seconds, one at least, with silence between; ``level_db`` is of the loudest's peak.

    The sound is cut into equal parts, and each has one event of a kind, at a place and with a strength drawn by
    ``seed``: a knock (two or three blows, each a sine of 120 to 260 Hz that dies away in 30 ms), a beep (a sine of
    700 to 2000 Hz for 80 to 250 ms) or a click (noise that dies away in 2 ms). It is to be played at more than 4 kHz.
    """
    return recipe("events", duration_s, level_db, ("seed", str(seed)))


def _events(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    carried(_HIGHEST_HZ, rate_hz)
    draw = stream("events", 1, seed(parameters))
    parts = max(1, round(frames / rate_hz * _EVENTS_A_SECOND))
    sound = np.zeros(frames)
    for part in range(parts):
        make = _MAKERS[draw.randint(len(_MAKERS))]
        strength, place = 0.4 + 0.6 * draw.random_sample(), draw.random_sample()
        event = strength * make(rate_hz, draw)
        start = round((part + _LATEST * place) * frames / parts)
        heard = event[: frames - start]
        sound[start : start + len(heard)] += heard
    sound *= level(parameters) / float(np.max(np.abs(sound)))
    return sound.astype(np.float32)


_EVENTS_A_SECOND = 1.25
_LATEST = 0.6
_HIGHEST_HZ = 2000.0


def _knock(rate_hz: int, draw: np.random.RandomState) -> Wave:
    blows, pitch_hz = 2 + draw.randint(2), 120 + 140 * draw.random_sample()
    time_s = np.arange(round(0.12 * rate_hz)) / rate_hz
    blow = np.sin(2 * np.pi * pitch_hz * time_s) * np.exp(-time_s / 0.03)
    return np.tile(blow, blows)


def _beep(rate_hz: int, draw: np.random.RandomState) -> Wave:
    pitch_hz, duration_s = 700 + (_HIGHEST_HZ - 700) * draw.random_sample(), 0.08 + 0.17 * draw.random_sample()
    time_s = np.arange(round(duration_s * rate_hz)) / rate_hz
    ramps = np.minimum(1, np.minimum(time_s, time_s[-1] - time_s) / 0.01)
    beep: Wave = ramps * np.sin(2 * np.pi * pitch_hz * time_s)
    return beep


def _click(rate_hz: int, draw: np.random.RandomState) -> Wave:
    time_s = np.arange(round(0.015 * rate_hz)) / rate_hz
    hiss = 2 * draw.random_sample(len(time_s)) - 1
    click: Wave = hiss * np.exp(-time_s / 0.002)
    return click


_MAKERS: tuple[Callable[[int, np.random.RandomState], Wave], ...] = (_knock, _beep, _click)

RENDERS: dict[tuple[str, int], Render] = {("events", 1): _events}
