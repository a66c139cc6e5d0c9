"""What the listener hears: a few hundred numbers per clip, with numpy alone and in float64.

Frames are 25 ms long and 10 ms apart. A clip is first brought to one level, and its own level kept as a
feature. The groups, in the order of the vector:

spectrum
    40 log-mel bands (60 to 7600 Hz): mean, standard deviation, and the 10th, 50th and 90th percentile over
    time. Continuous sounds have high 10th percentiles, blows and beeps low ones.
cepstrum
    13 mel-frequency cepstral coefficients and their slopes over five frames: mean and standard deviation.
course
    The active part (frames within 35 dB of the loudest) in 12 equal segments: 13 cepstral coefficients each,
    less their mean over the active part, and the logarithmic energy. What is said, at any rate of speaking.
prosody
    Level, active duration, fundamental frequency by autocorrelation (60 to 500 Hz: mean, standard deviation,
    10th and 90th percentile and slope of its logarithm over the voiced frames), share of voiced frames,
    peaks of energy per second (about the rate of syllables), mean and spread of frame energy.
texture
    Spectral flatness (mean and standard deviation), spectral flux, centroid, 85 % roll-off (means and
    standard deviations), zero crossings, crest factor, and the power of the energy's modulation in eight
    bands from 0.5 to 32 Hz.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio.clip import Samples

Array: TypeAlias = npt.NDArray[np.float64]

VERSION = "1"
RATE_HZ = 16_000

_FRAME, _HOP, _FFT = 400, 160, 512
_BANDS, _CEPSTRA, _SEGMENTS = 40, 13, 12
_FLOOR = 1e-10
_LOUDNESS = 0.05
_ACTIVE_DB = 35.0
_PITCH_HZ = (60.0, 500.0)
_MODULATION_HZ = (0.5, 1.0, 2.0, 4.0, 6.0, 9.0, 14.0, 21.0, 32.0)

GROUPS = {
    "spectrum": 5 * _BANDS,
    "cepstrum": 4 * _CEPSTRA,
    "course": _SEGMENTS * (_CEPSTRA + 1),
    "prosody": 11,
    "texture": 10 + len(_MODULATION_HZ) - 1,
}
"""How many numbers each group has."""


class _Frames(NamedTuple):
    power: Array  # (frames, frequencies)
    mel: Array  # (frames, bands), natural logarithm
    cepstra: Array  # (frames, coefficients)
    energy_db: Array  # (frames,)
    active: npt.NDArray[np.bool_]  # (frames,)


def features(samples: Samples) -> Array:
    """The features of a mono clip at 16 kHz: shape (sum(GROUPS.values()),)."""
    wave = samples.astype(np.float64)
    wave = np.pad(wave, (0, max(0, _FRAME + 8 * _HOP - len(wave))))
    level = float(np.sqrt(np.mean(wave**2)))
    wave = wave * (_LOUDNESS / max(level, 1e-5))
    framed = np.lib.stride_tricks.sliding_window_view(wave, _FRAME)[::_HOP]
    power = np.abs(np.fft.rfft(framed * np.hanning(_FRAME), _FFT)) ** 2
    mel = np.log(power @ _mel_filters().T + 1e-6)
    energy_db = 10 * np.log10(np.mean(framed**2, axis=1) + _FLOOR)
    frames = _Frames(power, mel, mel @ _cosines().T, energy_db, _active(energy_db))
    groups = _cepstrum(frames), _course(frames), _prosody(frames, wave, level), _texture(frames, wave)
    return np.concatenate([mel.mean(axis=0), mel.std(axis=0), *np.percentile(mel, (10, 50, 90), axis=0), *groups])


def columns(groups: tuple[str, ...]) -> npt.NDArray[np.intp]:
    """The places of some groups in the vector."""
    starts = np.cumsum([0, *GROUPS.values()])
    ranges = [np.arange(starts[i], starts[i + 1]) for i, name in enumerate(GROUPS) if name in groups]
    return np.concatenate(ranges)


def _cepstrum(frames: _Frames) -> Array:
    padded = np.pad(frames.cepstra, ((2, 2), (0, 0)), mode="edge")
    # Least squares over five frames.
    slopes = (2 * (padded[4:] - padded[:-4]) + padded[3:-1] - padded[1:-3]) / 10
    parts = [frames.cepstra.mean(axis=0), frames.cepstra.std(axis=0), slopes.mean(axis=0), slopes.std(axis=0)]
    return np.concatenate(parts)


def _course(frames: _Frames) -> Array:
    inside = _inside(frames.active)
    cepstra = frames.cepstra[inside] - frames.cepstra[frames.active].mean(axis=0)
    energy = frames.energy_db[inside] - frames.energy_db.max()
    values = np.column_stack([cepstra, energy / 10])
    # Means over equal parts; parts of few frames share frames.
    edges = np.linspace(0, len(values), _SEGMENTS + 1)
    starts = np.minimum(edges[:-1].astype(int), len(values) - 1)
    ends = np.maximum(np.ceil(edges[1:]).astype(int), starts + 1)
    return np.array([values[a:b].mean(axis=0) for a, b in zip(starts, ends, strict=True)]).ravel()


def _prosody(frames: _Frames, wave: Array, level: float) -> Array:
    log_pitch, voiced = _log_pitch(wave)
    if len(log_pitch) < 2:
        log_pitch = np.full(2, np.log2(120.0))
    slope = np.polyfit(np.linspace(0, 1, len(log_pitch)), log_pitch, 1)[0]
    energy = frames.energy_db[_inside(frames.active)]
    smooth = np.convolve(energy, np.ones(7) / 7, mode="same")
    peaks = (smooth[1:-1] > smooth[:-2]) & (smooth[1:-1] >= smooth[2:]) & (smooth[1:-1] > energy.max() - 15)
    duration_s = len(energy) * _HOP / RATE_HZ
    return np.array(
        [
            20 * np.log10(level + 1e-5) / 10,
            duration_s,
            log_pitch.mean(),
            log_pitch.std(),
            *np.percentile(log_pitch, (10, 90)),
            slope,
            voiced,
            peaks.sum() / duration_s,
            energy.mean() / 10,
            energy.std() / 10,
        ]
    )


def _texture(frames: _Frames, wave: Array) -> Array:
    power = frames.power + _FLOOR
    frequencies = np.linspace(0, 1, power.shape[1])
    total = power.sum(axis=1)
    flatness = np.exp(np.log(power).mean(axis=1)) / power.mean(axis=1)
    flux = np.abs(np.diff(frames.mel, axis=0)).mean(axis=1)
    centroid = power @ frequencies / total
    roll_off = (np.cumsum(power, axis=1) < 0.85 * total[:, None]).mean(axis=1)
    crossings = np.mean(np.signbit(wave[1:]) != np.signbit(wave[:-1]))
    crest = np.log(np.abs(wave).max() / (_LOUDNESS) + 1e-3)
    pairs = [v for feature in (flatness, flux, centroid, roll_off) for v in (feature.mean(), feature.std())]
    return np.array([*pairs, crossings, crest, *_modulation(frames.energy_db)])


def _modulation(energy_db: Array) -> list[float]:
    """Logarithmic power of the energy's modulation in bands; frames come at 100 Hz."""
    count = max(256, 1 << (len(energy_db) - 1).bit_length())
    spectrum = np.abs(np.fft.rfft((energy_db - energy_db.mean()) / 10, count)) ** 2 / len(energy_db)
    hz = np.fft.rfftfreq(count, _HOP / RATE_HZ)
    bands = pairwise(_MODULATION_HZ)
    return [float(np.log(spectrum[(hz >= low) & (hz < high)].mean() + 1e-3)) for low, high in bands]


def _log_pitch(wave: Array) -> tuple[Array, float]:
    """Fundamental frequency of the voiced windows in octaves, and the share of loud windows that are voiced.

    Windows of 40 ms every 20 ms at 8 kHz hold two periods of the lowest voice. A window is loud within
    35 dB of the loudest one, voiced where its normalised autocorrelation exceeds one half.
    """
    halved = wave[: len(wave) // 2 * 2].reshape(-1, 2).mean(axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(halved, 320)[::160]
    windows = windows - windows.mean(axis=1, keepdims=True)
    windows = windows[_active(10 * np.log10(np.mean(windows**2, axis=1) + _FLOOR))]
    correlation = np.fft.irfft(np.abs(np.fft.rfft(windows, 640)) ** 2)
    shortest, longest = (int(RATE_HZ / 2 / hz) for hz in _PITCH_HZ[::-1])
    # The correlation of n samples at lag k has n - k products: without this a low voice reads an octave high.
    heights = correlation[:, shortest:longest] / (1 - np.arange(shortest, longest) / 320)
    highest = heights.max(axis=1)
    voiced = highest > 0.5 * correlation[:, 0] + _FLOOR
    # The first peak nearly as high as the highest: the period, not twice the period.
    peaks = heights >= 0.9 * highest[:, None]
    peaks[:, 1:-1] &= (heights[:, 1:-1] >= heights[:, :-2]) & (heights[:, 1:-1] >= heights[:, 2:])
    lags = peaks.argmax(axis=1) + shortest
    octaves: Array = np.log2(RATE_HZ / 2 / lags[voiced])
    return octaves, float(voiced.mean())


def _active(energy_db: Array) -> npt.NDArray[np.bool_]:
    active: npt.NDArray[np.bool_] = energy_db > energy_db.max() - _ACTIVE_DB
    return active


def _inside(active: npt.NDArray[np.bool_]) -> slice:
    places = np.flatnonzero(active)
    return slice(int(places[0]), int(places[-1]) + 1)


@cache
def _mel_filters() -> Array:
    """Triangles of equal area on the mel scale of O'Shaughnessy: shape (bands, frequencies)."""
    low, high = (2595 * np.log10(1 + hz / 700) for hz in (60.0, 7600.0))
    edges = 700 * (10 ** (np.linspace(low, high, _BANDS + 2) / 2595) - 1)
    hz = np.fft.rfftfreq(_FFT, 1 / RATE_HZ)
    rising = (hz - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hz) / (edges[2:] - edges[1:-1])[:, None]
    triangles = np.clip(np.minimum(rising, falling), 0, None)
    filters: Array = triangles / triangles.sum(axis=1, keepdims=True)
    return filters


@cache
def _cosines() -> Array:
    """The cosine transform from log-mel bands to cepstral coefficients, orthonormal."""
    band = np.arange(_BANDS) + 0.5
    basis: Array = np.cos(np.pi * np.arange(_CEPSTRA)[:, None] * band / _BANDS) * np.sqrt(2 / _BANDS)
    return basis
