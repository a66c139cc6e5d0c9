"""Noise from a seed, and levels: what edits, recipes and rules share.

Streams of random numbers are of NumPy's RandomState, which is frozen (NEP 19), and of version 1 of the white and pink
noises, whose Generator is not: the golden digests of the tests say whether it still gives the same.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.identity import seed as seed_of

Wave: TypeAlias = npt.NDArray[np.float64]
"""A mono waveform while it is reckoned with, shape (frames,)."""

FULL_SCALE = 32767 / 32768
"""The largest sample that 16 bits hold."""


def stream(*identity: str | int) -> np.random.RandomState:
    """Random numbers that depend on ``identity`` alone, the same in every release of NumPy."""
    high, low = divmod(seed_of(*identity), 1 << 32)
    return np.random.RandomState([high, low])


def gaussian(frames: int, *identity: str | int) -> Wave:
    """White Gaussian noise of unit variance, shape (frames,), from :func:`stream`."""
    return stream(*identity).standard_normal(frames)


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
    own = rms(samples)
    return samples * np.float32(level / own) if own else samples


def scaled_to_rms(wave: Wave, level: float) -> Wave:
    """:func:`at_rms` in float64."""
    own = rms(wave)
    return wave * (level / own) if own else wave


def within_full_scale(wave: Wave) -> Samples:
    """``wave``, made softer as a whole where its peak passes :data:`FULL_SCALE`: 16 bits hold it, ratios stay."""
    peak = float(np.max(np.abs(wave), initial=0.0))
    return (wave * (FULL_SCALE / peak) if peak > FULL_SCALE else wave).astype(np.float32)


def under(samples: Samples, beneath: Wave, snr_db: float) -> Samples:
    """``samples`` with ``beneath`` added: ``snr_db`` is 20·log10 of the RMS of the one over the other's.

    Both are taken over all frames. Raises ValueError where one is silent.
    """
    level, own = rms(samples), rms(beneath)
    if not level:
        raise ValueError("noise is added at a ratio to the clip's level, and the clip is silent")
    if not own:
        raise ValueError("noise is added at a ratio of levels, and the noise is silent")
    return within_full_scale(samples + beneath * (level / own * amplitude(-snr_db)))


def amplitude(level_db: float) -> float:
    """The factor on amplitudes that ``level_db`` decibels mean: 20 dB is tenfold; infinite beyond what floats hold."""
    with np.errstate(over="ignore"):
        return float(np.power(10.0, level_db / 20.0))
