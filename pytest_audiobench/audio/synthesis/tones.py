"""Tones, silence and noise."""

from __future__ import annotations

import numpy as np

from pytest_audiobench.audio import noise
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource, decimal, number
from pytest_audiobench.audio.noise import Wave
from pytest_audiobench.audio.synthesis.recipe import Render, duration, level, playable_frequency, recipe, seed


def tone(frequency_hz: float, duration_s: float, level_db: float = -12.0) -> SynthesisSource:
    """A sine of ``frequency_hz`` from phase zero; to be played at more than twice its frequency."""
    return recipe("tone", duration_s, level_db, ("frequency_hz", decimal("frequency_hz", frequency_hz, least=0.0)))


def chirp(start_hz: float, end_hz: float, duration_s: float, level_db: float = -12.0) -> SynthesisSource:
    """A sine whose frequency goes linearly from ``start_hz`` to ``end_hz``."""
    return recipe(
        "chirp",
        duration_s,
        level_db,
        ("start_hz", decimal("start_hz", start_hz, least=0.0)),
        ("end_hz", decimal("end_hz", end_hz, least=0.0)),
    )


def silence(duration_s: float) -> SynthesisSource:
    """Digital silence."""
    return SynthesisSource("silence", 1, (("duration_s", duration(duration_s)),))


def white_noise(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """White Gaussian noise, flat up to half the rate it is played at."""
    return recipe("white_noise", duration_s, level_db, ("seed", str(seed)))


def pink_noise(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """Noise whose power falls by 3 dB an octave."""
    return recipe("pink_noise", duration_s, level_db, ("seed", str(seed)))


def _tone(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    frequency_hz = playable_frequency(number(parameters, "frequency_hz"), rate_hz)
    return _sine(frequency_hz * np.arange(frames) / rate_hz, parameters)


def _chirp(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    start_hz, end_hz = (playable_frequency(number(parameters, name), rate_hz) for name in ("start_hz", "end_hz"))
    time_s = np.arange(frames) / rate_hz
    slope = (end_hz - start_hz) / number(parameters, "duration_s")
    return _sine(start_hz * time_s + slope / 2 * time_s**2, parameters)


def _white_noise(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    return noise.at_rms(noise.white(frames, seed(parameters)), level(parameters))


def _pink_noise(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    return noise.at_rms(noise.pink(frames, seed(parameters)), level(parameters))


def _sine(cycles: Wave, parameters: Parameters) -> Samples:
    return (level(parameters) * np.sin(2 * np.pi * cycles)).astype(np.float32)


RENDERS: dict[tuple[str, int], Render] = {
    ("tone", 1): _tone,
    ("chirp", 1): _chirp,
    ("silence", 1): lambda frames, rate_hz, parameters: np.zeros(frames, dtype=np.float32),
    ("white_noise", 1): _white_noise,
    ("pink_noise", 1): _pink_noise,
}
