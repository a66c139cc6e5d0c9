"""Edits that stand for what sound passes on its way: a narrow band, a room, a codec, an overdriven input."""

from __future__ import annotations

import numpy as np

from pytest_audiobench.audio import noise
from pytest_audiobench.audio.clip import Edit, Parameters, Samples, decimal, number
from pytest_audiobench.audio.edits.codecs import NAMES, encoded_and_decoded
from pytest_audiobench.audio.edits.kind import EditKind, whole_clip
from pytest_audiobench.audio.noise import Wave, filtered, low_pass
from pytest_audiobench.errors import UsageError

_NOTHING = 4000 / 3400
_RING_CYCLES = 20
_ECHOES = 40


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
        raise UsageError(f"wet={wet} is no share; give a number from 0 to 1")
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
    draw = noise.stream("reverb", 1, seed or "")
    times, strengths = draw.random_sample(_ECHOES), draw.random_sample(_ECHOES)
    echoes = (0.15 + 0.35 * strengths) * np.exp(-6 * times)
    dry = samples.astype(np.float64)
    room = dry.copy()
    for time, echo in zip(times, echoes, strict=True):
        late = max(1, round(time * length_s * rate_hz))
        if late < len(dry):
            room[late:] += echo * dry[:-late]
    mixed = (1 - wet) * dry + wet / (1 + float(np.sum(echoes))) * room
    return noise.within_full_scale(noise.scaled_to_rms(mixed, noise.rms(samples)))


def _codec(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    return encoded_and_decoded(dict(parameters).get("name", ""), samples, rate_hz)


def _clipping(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    peak = float(np.max(np.abs(samples), initial=0.0))
    most = np.float32(peak * noise.amplitude(-number(parameters, "db")))
    return np.clip(samples, -most, most)


KINDS = (
    EditKind("band_limit", 1, _band_limit, reach_s=whole_clip),
    EditKind("reverb", 1, _reverb, reach_s=whole_clip),
    EditKind("codec", 1, _codec, reach_s=whole_clip),
    EditKind("clipping", 1, _clipping, reach_s=whole_clip),
)
