"""Filters in the frequency domain, without delay, and convolution; all in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pytest_audiobench.audio.noise import Wave, gaussian

Magnitude: TypeAlias = Callable[[Wave], Wave]
"""From frequencies in hertz, zero among them, to factors."""

_BLOCK_FRAMES = 1 << 18


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
