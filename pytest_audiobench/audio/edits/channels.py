"""Edits that stand for what sound passes on its way: noise, a narrow band, a room, a codec, an overdriven input.

Noise is added at a ratio to the clip's level: ``snr_db`` is 20·log10 of the clip's root mean square over the noise's,
both over the whole clip, with its silences and its constant part: where half of a clip is silent, speech stands 3 dB
higher above the noise than ``snr_db`` says. A sum that 16 bits cannot hold is made softer as a whole, so that the ratio
stays; none is made louder. The noise depends on the seed, the rate and the number of frames alone: give each sample its
own seed (``identity.seed("noise", sample.id)``). Not defined for a silent clip.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Edit, Parameters, Samples, decimal, number
from pytest_audiobench.audio.edits.codecs import NAMES, encoded_and_decoded
from pytest_audiobench.audio.edits.kind import Apply, EditKind, whole_clip
from pytest_audiobench.audio.signals import Wave, filtered, low_pass
from pytest_audiobench.errors import UsageError

_NOTHING = 4000 / 3400
_RING_CYCLES = 20
_ECHOES = 40


def white_noise(snr_db: float, seed: int | str) -> Edit:
    """Add white Gaussian noise at ``snr_db``."""
    return _noisy("white_noise", 2, snr_db, seed)


def pink_noise(snr_db: float, seed: int | str) -> Edit:
    """Add noise whose power falls by 3 dB an octave, at ``snr_db``."""
    return _noisy("pink_noise", 1, snr_db, seed)


def cafe_noise(snr_db: float, seed: int | str) -> Edit:
    """Add :func:`~pytest_audiobench.audio.signals.cafe` noise, which comes and goes, at ``snr_db``."""
    return _noisy("cafe_noise", 1, snr_db, seed)


def band_limit(cutoff_hz: float) -> Edit:
    """Nothing but the band below ``cutoff_hz``, as on a telephone: 3400 is what a line of 8 kHz carries.

    The magnitude of a Butterworth low-pass filter of order 4, without delay, times a raised cosine from 1 at
    ``cutoff_hz`` to 0 at 20/17 of it (4000 Hz for 3400), from where on nothing is left.
    """
    return Edit("band_limit", 1, (("cutoff_hz", decimal("cutoff_hz", cutoff_hz, least=1.0)),))


def reverb(seed: int | str, wet: float = 0.25, length_s: float = 0.4) -> Edit:
    """The clip in a room drawn by ``seed``: ``1 - wet`` of it as it was, ``wet`` of it by way of the room.

    The room's response is 1 at time zero and 40 echoes at times t uniform in (0, ``length_s``), each of
    (0.15 + 0.35·u)·exp(-6·t/``length_s``) with u uniform in [0, 1), divided by their sum: the reverberation of
    audiobench's robust speech recognition at the default values. Length and RMS of the clip are kept; a peak that
    16 bits cannot hold makes it softer as a whole.
    """
    if not 0 <= wet <= 1:
        raise UsageError(f"wet={wet} is not a share; give a number from 0 to 1")
    return Edit(
        "reverb",
        1,
        (("wet", decimal("wet", wet)), ("length_s", decimal("length_s", length_s, least=0.001))),
        seed=str(seed),
    )


def codec(name: str) -> Edit:
    """Through the codec ``name`` and back, with the same length and no delay; :data:`.codecs.NAMES` are known.

    The clip's key names the codec, not its build: another libsndfile may give other samples, and the PCM digest tells.
    """
    if name not in NAMES:
        raise UsageError(f"no codec is named {name!r}; there are {', '.join(NAMES)}")
    return Edit("codec", 1, (("name", name),))


def clipping(db: float) -> Edit:
    """Clipped hard at ``db`` decibels below the clip's own peak, as by an input that is overdriven; 0 changes nothing.

    The samples in between are kept, so the clip gets softer.
    """
    return Edit("clipping", 1, (("db", decimal("db", db, least=0.0)),))


def _noisy(name: str, version: int, snr_db: float, seed: int | str) -> Edit:
    return Edit(name, version, (("snr_db", decimal("snr_db", snr_db)),), seed=str(seed))


def _white_noise_1(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    """As version 2, in float32 and beyond full scale, from a stream that NumPy does not promise to keep."""
    level = signals.rms(samples)
    if not level:
        raise ValueError(f"white_noise is {signals.SILENT_CLIP}")
    hiss = signals.white(len(samples), seed or "")
    return samples + signals.at_rms(hiss, level / signals.amplitude(number(parameters, "snr_db")))


def _added(noise: Callable[..., Wave], *identity: str | int) -> Apply:
    return lambda samples, rate_hz, parameters, seed: signals.add_noise(
        samples, noise(len(samples), rate_hz, *identity, seed or ""), number(parameters, "snr_db")
    )


def _band_limit(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    cutoff_hz = number(parameters, "cutoff_hz")

    def magnitude(hz: Wave) -> Wave:
        fall = np.clip((hz / cutoff_hz - 1) / (_NOTHING - 1), 0, 1)
        falling: Wave = 0.5 * (1 + np.cos(np.pi * fall))
        return low_pass(cutoff_hz, order=4)(hz) * falling

    ring_s = max(0.1, _RING_CYCLES / cutoff_hz)
    return filtered(samples.astype(np.float64), rate_hz, magnitude, ring_s).astype(np.float32)


def _reverb(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    wet, length_s = number(parameters, "wet"), number(parameters, "length_s")
    draw = signals.stream("reverb", 1, seed or "")
    times, strengths = draw.random_sample(_ECHOES), draw.random_sample(_ECHOES)
    echoes = (0.15 + 0.35 * strengths) * np.exp(-6 * times)
    dry = samples.astype(np.float64)
    room = dry.copy()
    for time, echo in zip(times, echoes, strict=True):
        late = max(1, round(time * length_s * rate_hz))
        if late < len(dry):
            room[late:] += echo * dry[:-late]
    mixed = (1 - wet) * dry + wet / (1 + float(np.sum(echoes))) * room
    return signals.within_full_scale(signals.scaled_to_rms(mixed, signals.rms(samples)))


def _clipping(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    peak = float(np.max(np.abs(samples), initial=0.0))
    most = np.float32(peak * signals.amplitude(-number(parameters, "db")))
    return np.clip(samples, -most, most)


KINDS = tuple(
    EditKind(name, version, apply, reach_s=whole_clip)
    for name, version, apply in (
        ("white_noise", 1, _white_noise_1),
        ("white_noise", 2, _added(lambda frames, _, *seed: signals.gaussian(frames, *seed), "white_noise edit", 2)),
        ("pink_noise", 1, _added(signals.pink_noise, "pink_noise edit", 1)),
        ("cafe_noise", 1, _added(signals.cafe, "cafe_noise edit", 1)),
        ("band_limit", 1, _band_limit),
        ("reverb", 1, _reverb),
        ("codec", 1, lambda clip, rate_hz, given, _: encoded_and_decoded(dict(given).get("name", ""), clip, rate_hz)),
        ("clipping", 1, _clipping),
    )
)
