"""Sounds from a recipe: name, version and string parameters; rendered at the rate they are played at.

A recipe is made by the functions of this module (``tone(440, 1)``). It is exact at every rate, so it is
rendered at the listener's and never resampled; noise therefore differs between rates, in its samples
though not in its level. Levels are in decibels of full scale: of the peak for tone and chirp (a sine of
amplitude 1 is at 0), of the RMS for noises (0 is an RMS of 1).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_audiobench.audio import noise
from pytest_audiobench.audio.clip import Samples, SynthesisSource
from pytest_audiobench.audio.parameters import Parameters, decimal, number
from pytest_audiobench.errors import UsageError


def tone(frequency_hz: float, duration_s: float, level_db: float = -12.0) -> SynthesisSource:
    """A sine of ``frequency_hz`` from phase zero; to be played at more than twice its frequency."""
    return _recipe("tone", duration_s, level_db, ("frequency_hz", decimal("frequency_hz", frequency_hz, least=0.0)))


def chirp(start_hz: float, end_hz: float, duration_s: float, level_db: float = -12.0) -> SynthesisSource:
    """A sine whose frequency goes linearly from ``start_hz`` to ``end_hz``."""
    return _recipe(
        "chirp",
        duration_s,
        level_db,
        ("start_hz", decimal("start_hz", start_hz, least=0.0)),
        ("end_hz", decimal("end_hz", end_hz, least=0.0)),
    )


def silence(duration_s: float) -> SynthesisSource:
    """Digital silence."""
    return SynthesisSource("silence", 1, (("duration_s", _duration(duration_s)),))


def white_noise(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """White Gaussian noise, flat up to half the rate it is played at."""
    return _recipe("white_noise", duration_s, level_db, ("seed", str(seed)))


def pink_noise(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """Noise whose power falls by 3 dB an octave."""
    return _recipe("pink_noise", duration_s, level_db, ("seed", str(seed)))


def duration_s(source: SynthesisSource) -> float:
    """How long the recipe sounds."""
    return number(source.parameters, "duration_s")


def render(source: SynthesisSource, rate_hz: int) -> Samples:
    """The sound, shape (frames,), at ``rate_hz``.

    Raises UsageError for an unknown recipe, ValueError for a frequency that the rate cannot carry.
    """
    recipe = _RECIPES.get((source.recipe, source.version))
    if recipe is None:
        known = ", ".join(f"{name} version {version}" for name, version in sorted(_RECIPES))
        raise UsageError(f"no recipe is named {source.recipe!r} in version {source.version}; there are {known}")
    return recipe(round(duration_s(source) * rate_hz), rate_hz, source.parameters)


def _recipe(name: str, duration_s: float, level_db: float, *own: tuple[str, str]) -> SynthesisSource:
    shared = (("duration_s", _duration(duration_s)), ("level_db", decimal("level_db", level_db)))
    return SynthesisSource(name, 1, shared + own)


def _duration(duration_s: float) -> str:
    return decimal("duration_s", duration_s, least=0.001)


def _tone(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    frequency_hz = _carried(number(parameters, "frequency_hz"), rate_hz)
    return _sine(frequency_hz * np.arange(frames) / rate_hz, parameters)


def _chirp(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    start_hz, end_hz = (_carried(number(parameters, name), rate_hz) for name in ("start_hz", "end_hz"))
    time_s = np.arange(frames) / rate_hz
    slope = (end_hz - start_hz) / number(parameters, "duration_s")
    return _sine(start_hz * time_s + slope / 2 * time_s**2, parameters)


def _silence(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    return np.zeros(frames, dtype=np.float32)


def _white_noise(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    return noise.at_rms(noise.white(frames, dict(parameters).get("seed", "")), _level(parameters))


def _pink_noise(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    return noise.at_rms(noise.pink(frames, dict(parameters).get("seed", "")), _level(parameters))


def _carried(frequency_hz: float, rate_hz: int) -> float:
    if 2 * frequency_hz >= rate_hz:
        raise ValueError(f"{frequency_hz:g} Hz cannot be played at {rate_hz} Hz; stay below {rate_hz / 2:g} Hz")
    return frequency_hz


def _sine(cycles: np.ndarray[tuple[int], np.dtype[np.float64]], parameters: Parameters) -> Samples:
    return (_level(parameters) * np.sin(2 * np.pi * cycles)).astype(np.float32)


def _level(parameters: Parameters) -> float:
    return noise.amplitude(number(parameters, "level_db"))


_RECIPES: dict[tuple[str, int], Callable[[int, int, Parameters], Samples]] = {
    ("tone", 1): _tone,
    ("chirp", 1): _chirp,
    ("silence", 1): _silence,
    ("white_noise", 1): _white_noise,
    ("pink_noise", 1): _pink_noise,
}
