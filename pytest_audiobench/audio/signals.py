"""Noise from a seed, levels, and filters in the frequency domain without delay: what edits, recipes and rules share.

Streams of random numbers are of NumPy's RandomState, which is frozen (NEP 19), and of version 1 of the white and pink
noises, whose Generator is not: the golden digests of the tests say whether it still gives the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.identity import seed as seed_of

Wave: TypeAlias = npt.NDArray[np.float64]
"""A mono waveform while it is computed with, shape (frames,)."""

FULL_SCALE = 32767 / 32768
"""The largest sample that 16 bits hold."""

SILENT_CLIP = "at a ratio to the clip's level, and the clip is silent"
"""The end of what is said of a clip to which no noise can be added; samples are recognized by it."""

_BLOCK_FRAMES = 1 << 18
_CAFE_BAND_HZ = (120.0, 3500.0)
_SLOWEST_HZ, _FASTEST_HZ = 0.2, 0.5


def stream(*identity: str | int) -> np.random.RandomState:
    """Random numbers that depend on ``identity`` alone, the same in every release of NumPy."""
    high, low = divmod(seed_of(*identity), 1 << 32)
    return np.random.RandomState([high, low])


class _Drawing(threading.local):
    """A stream for each thread, seeded again each time: to make one takes as long as thousands of numbers."""

    def __init__(self) -> None:
        self.stream = np.random.RandomState(0)


_drawing = _Drawing()


def gaussian(frames: int, *identity: str | int) -> Wave:
    """White Gaussian noise of unit variance, shape (frames,), as from :func:`stream`."""
    _drawing.stream.seed([*divmod(seed_of(*identity), 1 << 32)])
    return _drawing.stream.standard_normal(frames)


def white(frames: int, seed: str) -> Samples:
    """White Gaussian noise of unit variance, shape (frames,), from NumPy's PCG64 seeded by SHA-256 of ``seed``."""
    generator = np.random.Generator(np.random.PCG64(seed_of("white noise", 1, seed)))
    return generator.standard_normal(frames, dtype=np.float32)


def pink(frames: int, seed: str) -> Samples:
    """Noise whose power falls as 1/f (3 dB an octave): white noise shaped in the frequency domain, mean zero."""
    spectrum = np.fft.rfft(white(frames, seed).astype(np.float64))
    spectrum[0] = 0.0
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    return np.fft.irfft(spectrum, n=frames).astype(np.float32) if frames > 1 else np.zeros(frames, dtype=np.float32)


def rms(samples: Samples | Wave) -> float:
    """Root mean square over all frames, a constant part included; 0 for no frames."""
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0


def at_rms(samples: Samples, level: float) -> Samples:
    """``samples`` scaled to the root mean square ``level``; silence stays silence."""
    current = rms(samples)
    return samples * np.float32(level / current) if current else samples


def scaled_to_rms(wave: Wave, level: float) -> Wave:
    """:func:`at_rms` in float64."""
    current = rms(wave)
    return wave * (level / current) if current else wave


def within_full_scale(wave: Wave) -> Samples:
    """``wave``, made softer as a whole where its peak passes :data:`FULL_SCALE`: 16 bits hold it, ratios stay."""
    peak = float(np.max(np.abs(wave), initial=0.0))
    return (wave * (FULL_SCALE / peak) if peak > FULL_SCALE else wave).astype(np.float32)


def add_noise(samples: Samples, noise: Wave, snr_db: float) -> Samples:
    """``samples`` with ``noise`` added: ``snr_db`` is 20·log10 of the RMS of the one over the other's.

    Both are taken over all frames. Raises ValueError where one is silent.
    """
    level, noise_level = rms(samples), rms(noise)
    if not level:
        raise ValueError(f"noise is added {SILENT_CLIP}")
    if not noise_level:
        raise ValueError("noise is added at a ratio of levels, and the noise is silent")
    return within_full_scale(samples + noise * (level / noise_level * amplitude(-snr_db)))


def amplitude(level_db: float) -> float:
    """The factor on amplitudes that ``level_db`` decibels mean: 20 dB is tenfold; infinite beyond what floats hold."""
    with np.errstate(over="ignore"):
        return float(np.power(10.0, level_db / 20.0))


Magnitude: TypeAlias = Callable[[Wave], Wave]
"""From frequencies in hertz, zero among them, to factors."""


def low_pass(cutoff_hz: float, order: int) -> Magnitude:
    """The magnitude of a Butterworth low-pass filter: -3 dB at ``cutoff_hz``, 6·``order`` dB an octave above it."""
    return lambda hz: 1 / np.sqrt(1 + (hz / cutoff_hz) ** (2 * order))


def band_pass(low_hz: float, high_hz: float, order: int) -> Magnitude:
    """The magnitude of a Butterworth band-pass filter whose edges, at -3 dB, are ``low_hz`` and ``high_hz``."""

    def magnitude(hz: Wave) -> Wave:
        above = np.maximum(hz, 1e-9)
        off = (above**2 - low_hz * high_hz) / (above * (high_hz - low_hz))
        return 1 / np.sqrt(1 + off ** (2 * order))

    return magnitude


def filtered(wave: Wave, rate_hz: int, magnitude: Magnitude, ring_s: float) -> Wave:
    """``wave`` with every frequency multiplied by ``magnitude``, silence before and after it for ``ring_s``."""
    size = _power_of_two(len(wave) + round(ring_s * rate_hz))
    spectrum = np.fft.rfft(wave, size)
    spectrum *= magnitude(_frequencies_hz(size, rate_hz))
    return np.fft.irfft(spectrum, size)[: len(wave)]


def coloured_noise(frames: int, rate_hz: int, magnitude: Magnitude, *identity: str | int) -> Wave:
    """Gaussian noise of unit variance multiplied by ``magnitude`` in frequency, shape (frames,).

    The beginning of a period of a power of two: at a prime number of frames a transform takes ten times as long.
    """
    size = _power_of_two(frames)
    spectrum = np.fft.rfft(gaussian(size, *identity))
    spectrum *= magnitude(_frequencies_hz(size, rate_hz))
    return np.fft.irfft(spectrum, size)[:frames]


def pink_noise(frames: int, rate_hz: int, *identity: str | int) -> Wave:
    """:func:`coloured_noise` whose power falls as 1/f, by 3 dB an octave, without a constant part of its period."""

    def magnitude(hz: Wave) -> Wave:
        return np.concatenate([[0.0], 1 / np.sqrt(hz[1:])])

    return coloured_noise(frames, rate_hz, magnitude, *identity)


def cafe(frames: int, rate_hz: int, *identity: str | int) -> Wave:
    """Chatter without words, shape (frames,), at no level in particular.

    Gaussian noise in the band of speech (Butterworth of order 2, 120 to 3500 Hz) times (1 + sin(2π·f·t + φ))/2, with f
    from 0.2 to 0.5 Hz and φ from 0 to π drawn by ``identity``: the café noise of audiobench's robust speech
    recognition (github.com/THENIROCK/audiobench, perturbations.py), its filter without delay.
    """
    draw = stream("swell", *identity)
    swell_hz = _SLOWEST_HZ + (_FASTEST_HZ - _SLOWEST_HZ) * draw.random_sample()
    phase = np.pi * draw.random_sample()
    chatter = coloured_noise(frames, rate_hz, band_pass(*_CAFE_BAND_HZ, order=2), "chatter", *identity)
    return chatter * (0.5 + 0.5 * np.sin(2 * np.pi * swell_hz * np.arange(frames) / rate_hz + phase))


def convolved(wave: Wave, response: Wave) -> Wave:
    """The whole convolution, of len(wave) + len(response) - 1 frames, by blocks that overlap and are added."""
    size = _power_of_two(min(len(wave), max(_BLOCK_FRAMES, len(response))) + len(response) - 1)
    step = size - len(response) + 1
    kernel = np.fft.rfft(response, size)
    result = np.zeros(len(wave) + len(response) - 1)
    for start in range(0, len(wave), step):
        piece = np.fft.irfft(np.fft.rfft(wave[start : start + step], size) * kernel, size)
        end = min(start + size, len(result))
        result[start:end] += piece[: end - start]
    return result


def _frequencies_hz(size: int, rate_hz: int) -> Wave:
    return np.arange(size // 2 + 1, dtype=np.float64) * (rate_hz / size)


def _power_of_two(least: int) -> int:
    return 1 << max(1, (least - 1).bit_length())
