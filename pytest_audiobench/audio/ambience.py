"""The noise of a café: what an edit adds and a recipe plays."""

from __future__ import annotations

import numpy as np

from pytest_audiobench.audio.noise import Wave, stream
from pytest_audiobench.audio.spectra import band_pass, coloured_noise

_BAND_HZ = (120.0, 3500.0)
_SLOWEST_HZ, _FASTEST_HZ = 0.2, 0.5


def cafe(frames: int, rate_hz: int, *identity: str | int) -> Wave:
    """Chatter without words, shape (frames,), at no level in particular.

    Gaussian noise in the band of speech (Butterworth of order 2, 120 to 3500 Hz) times (1 + sin(2π·f·t + φ))/2, with f
    from 0.2 to 0.5 Hz and φ from 0 to π drawn by ``identity``: the café noise of audiobench's robust speech
    recognition (github.com/THENIROCK/audiobench, perturbations.py), its filter without delay.
    """
    draw = stream("swell", *identity)
    swell_hz = _SLOWEST_HZ + (_FASTEST_HZ - _SLOWEST_HZ) * draw.random_sample()
    phase = np.pi * draw.random_sample()
    chatter = coloured_noise(frames, rate_hz, band_pass(*_BAND_HZ, order=2), "chatter", *identity)
    return chatter * (0.5 + 0.5 * np.sin(2 * np.pi * swell_hz * np.arange(frames) / rate_hz + phase))
