"""Noise from a seed, and levels: what edits and recipes share."""

from __future__ import annotations

import numpy as np

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.identity import seed as seed_of


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


def rms(samples: Samples) -> float:
    """Root mean square over all frames; 0 for no frames."""
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0


def at_rms(samples: Samples, level: float) -> Samples:
    """``samples`` scaled to the root mean square ``level``; silence stays silence."""
    own = rms(samples)
    return samples * np.float32(level / own) if own else samples


def amplitude(level_db: float) -> float:
    """The factor on amplitudes that ``level_db`` decibels mean: 20 dB is tenfold; infinite beyond what floats hold."""
    with np.errstate(over="ignore"):
        return float(np.power(10.0, level_db / 20.0))
