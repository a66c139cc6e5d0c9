"""Edits that add noise at a ratio to the clip's level.

``snr_db`` is 20·log10 of the clip's root mean square over the noise's, both over the whole clip, with its silences and
its constant part: where half of a clip is silent, speech stands 3 dB higher above the noise than ``snr_db`` says. A sum
that 16 bits cannot hold is made softer as a whole, so that the ratio stays; none is made louder. The noise depends on
the seed, the rate and the number of frames alone: give each sample its own seed
(``identity.seed("noise", sample.id)``). Not defined for a silent clip.
"""

from __future__ import annotations

from pytest_audiobench.audio import noise
from pytest_audiobench.audio.clip import Edit, Parameters, Samples, decimal, number
from pytest_audiobench.audio.edits.kind import EditKind, whole_clip
from pytest_audiobench.audio.noise import pink_noise as pink_noise_of


def white_noise(snr_db: float, seed: int | str) -> Edit:
    """Add white Gaussian noise at ``snr_db``."""
    return _noisy("white_noise", 2, snr_db, seed)


def pink_noise(snr_db: float, seed: int | str) -> Edit:
    """Add noise whose power falls by 3 dB an octave, at ``snr_db``."""
    return _noisy("pink_noise", 1, snr_db, seed)


def cafe_noise(snr_db: float, seed: int | str) -> Edit:
    """Add :func:`~pytest_audiobench.audio.noise.cafe` noise, which comes and goes, at ``snr_db``."""
    return _noisy("cafe_noise", 1, snr_db, seed)


def _noisy(name: str, version: int, snr_db: float, seed: int | str) -> Edit:
    return Edit(name, version, (("snr_db", decimal("snr_db", snr_db)),), seed=str(seed))


def _white_noise_1(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    """As version 2, in float32 and beyond full scale, from a stream that NumPy does not promise to keep."""
    level = noise.rms(samples)
    if not level:
        raise ValueError("white_noise is at a ratio to the clip's level, and the clip is silent")
    hiss = noise.white(len(samples), seed or "")
    return samples + noise.at_rms(hiss, level / noise.amplitude(number(parameters, "snr_db")))


def _white_noise(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    hiss = noise.gaussian(len(samples), "white_noise edit", 2, seed or "")
    return noise.add_noise(samples, hiss, number(parameters, "snr_db"))


def _pink_noise(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    hiss = pink_noise_of(len(samples), rate_hz, "pink_noise edit", 1, seed or "")
    return noise.add_noise(samples, hiss, number(parameters, "snr_db"))


def _cafe_noise(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    chatter = noise.cafe(len(samples), rate_hz, "cafe_noise edit", 1, seed or "")
    return noise.add_noise(samples, chatter, number(parameters, "snr_db"))


KINDS = (
    EditKind("white_noise", 1, _white_noise_1, reach_s=whole_clip),
    EditKind("white_noise", 2, _white_noise, reach_s=whole_clip),
    EditKind("pink_noise", 1, _pink_noise, reach_s=whole_clip),
    EditKind("cafe_noise", 1, _cafe_noise, reach_s=whole_clip),
)
