"""Edits by name and version: pure functions of a waveform, its rate, parameters and a seed.

An edit is made by the functions of this module (``gain(-6)``), never by hand; its parameters are strings,
so that a clip's key is the same on every machine. Edits are applied in order, to mono samples at the
source's own rate, before resampling: what an edit does then does not depend on which model listens.
A changed definition gets a new version, never the old number.

Mixing with another clip is no edit: the other clip's samples would have to reach a pure function by way of
a string. :meth:`pytest_audiobench.audio.kit.AudioKit.mixed` gives the mixture as a clip of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import soxr

from pytest_audiobench.audio import noise
from pytest_audiobench.audio.clip import Edit, Samples
from pytest_audiobench.audio.parameters import Parameters, decimal, number
from pytest_audiobench.errors import UsageError

Apply: TypeAlias = Callable[[Samples, int, Parameters, str | None], Samples]


def _same(duration_s: float, parameters: Parameters) -> float:
    return duration_s


def _all(duration_s: float, parameters: Parameters) -> None:
    return None


@dataclass(frozen=True)
class EditKind:
    """A registered edit.

    ``apply`` returns a new waveform and raises ValueError where it is not defined for the one given.
    ``length_s`` is the result's duration given the input's; ``reach_s`` how much of the input's beginning
    the first so many seconds of the result depend on, None for all of it.
    """

    name: str
    version: int
    apply: Apply
    length_s: Callable[[float, Parameters], float] = _same
    reach_s: Callable[[float, Parameters], float | None] = _same


def gain(db: float) -> Edit:
    """Louder or softer by ``db`` decibels of amplitude; samples beyond [-1, 1] are kept, not clipped."""
    return Edit("gain", 1, (("db", decimal("db", db)),))


def trim(start_s: float, end_s: float) -> Edit:
    """Keep [start_s, end_s) of the clip, in seconds, to the nearest frame; what lies beyond its end is not there."""
    start, end = decimal("start_s", start_s, least=0.0), decimal("end_s", end_s)
    if end_s <= start_s:
        raise UsageError(f"trim from {start} s to {end} s keeps nothing; let the end be after the start")
    return Edit("trim", 1, (("start_s", start), ("end_s", end)))


def pad(before_s: float, after_s: float) -> Edit:
    """Digital silence before and after, in seconds, to the nearest frame."""
    before, after = decimal("before_s", before_s, least=0.0), decimal("after_s", after_s, least=0.0)
    return Edit("pad", 1, (("before_s", before), ("after_s", after)))


def speed(factor: float) -> Edit:
    """Faster by ``factor`` in tempo and pitch together, as a tape is (Ko et al. 2015); 1.1 shortens by 9 %."""
    return Edit("speed", 1, (("factor", decimal("factor", factor, least=0.1)),))


def white_noise(snr_db: float, seed: int | str) -> Edit:
    """Add white Gaussian noise at ``snr_db``: 20·log10 of the clip's RMS over the noise's, both over the whole clip.

    The noise depends on the seed alone: give each sample its own (``identity.seed("noise", sample.id)``).
    Not defined for a silent clip.
    """
    return Edit("white_noise", 1, (("snr_db", decimal("snr_db", snr_db)),), seed=str(seed))


def silence() -> Edit:
    """Digital silence of the same length: what a model answers when nothing is heard."""
    return Edit("silence", 1)


def kind_of(edit: Edit) -> EditKind:
    """The registered kind of ``edit``. Raises UsageError, which names what is known."""
    kind = _KINDS.get((edit.name, edit.version))
    if kind is None:
        known = ", ".join(f"{name} version {version}" for name, version in sorted(_KINDS))
        raise UsageError(f"no edit is named {edit.name!r} in version {edit.version}; there are {known}")
    return kind


def apply(edit: Edit, samples: Samples, rate_hz: int) -> Samples:
    """``samples``, shape (frames,), edited. Raises ValueError where the edit is not defined for them."""
    return kind_of(edit).apply(samples, rate_hz, edit.parameters, edit.seed)


def length_s(edits: tuple[Edit, ...], duration_s: float) -> float:
    """How long a source of ``duration_s`` lasts after ``edits``."""
    for edit in edits:
        duration_s = kind_of(edit).length_s(duration_s, edit.parameters)
    return duration_s


def reach_s(edits: tuple[Edit, ...], window_s: float) -> float | None:
    """How much of the source the first ``window_s`` after ``edits`` depend on; None for all of it."""
    reach: float | None = window_s
    for edit in reversed(edits):
        if reach is None:
            return None
        reach = kind_of(edit).reach_s(reach, edit.parameters)
    return reach


def _gain(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    return samples * np.float32(noise.amplitude(number(parameters, "db")))


def _trim(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    start, end = (round(number(parameters, name) * rate_hz) for name in ("start_s", "end_s"))
    return samples[start:end]


def _trim_length_s(duration_s: float, parameters: Parameters) -> float:
    return max(0.0, min(duration_s, number(parameters, "end_s")) - number(parameters, "start_s"))


def _trim_reach_s(duration_s: float, parameters: Parameters) -> float:
    return min(number(parameters, "end_s"), number(parameters, "start_s") + duration_s)


def _pad(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    before, after = (round(number(parameters, name) * rate_hz) for name in ("before_s", "after_s"))
    return np.pad(samples, (before, after))


def _pad_length_s(duration_s: float, parameters: Parameters) -> float:
    return duration_s + number(parameters, "before_s") + number(parameters, "after_s")


def _speed(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    resampled: Samples = soxr.resample(samples, rate_hz * number(parameters, "factor"), rate_hz, quality="HQ")
    return resampled


def _speed_length_s(duration_s: float, parameters: Parameters) -> float:
    return duration_s / number(parameters, "factor")


def _speed_reach_s(duration_s: float, parameters: Parameters) -> float:
    return duration_s * number(parameters, "factor") + _FILTER_S


_FILTER_S = 0.1  # far longer than half of soxr's HQ filter at any rate of audio


def _white_noise(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    level = noise.rms(samples)
    if not level:
        raise ValueError("white_noise is at a ratio to the clip's level, and the clip is silent")
    hiss = noise.white(len(samples), seed or "")
    return samples + noise.at_rms(hiss, level / noise.amplitude(number(parameters, "snr_db")))


def _silence(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    return np.zeros_like(samples)


_KINDS = {
    (kind.name, kind.version): kind
    for kind in (
        EditKind("gain", 1, _gain),
        EditKind("trim", 1, _trim, _trim_length_s, _trim_reach_s),
        EditKind("pad", 1, _pad, _pad_length_s),
        EditKind("speed", 1, _speed, _speed_length_s, _speed_reach_s),
        EditKind("white_noise", 1, _white_noise, reach_s=_all),
        EditKind("silence", 1, _silence),
    )
}
