"""Sounds made of several clips: each rule by name and version, a pure function of waveforms at one rate.

A combination is made by the functions of this module (``with_noise(clip, noise, 10)``), never by hand. Its parameters
are strings, so that a clip's key is the same on every machine. All clips are played at the combination's own rate,
whatever theirs is; rules reckon in float64. A changed definition gets a new version, never the old number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pytest_audiobench.audio import noise
from pytest_audiobench.audio.clip import Clip, CombinedSource, Samples
from pytest_audiobench.audio.parameters import Parameters, decimal, number
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of

RATE_HZ = 16_000

Combine: TypeAlias = Callable[[Sequence[Samples], int, Parameters, str | None], Samples]


@dataclass(frozen=True)
class Rule:
    """A registered rule.

    ``combine`` returns the waveform made of others (a shape (frames,) each) at a rate, and raises ValueError where it
    is not defined for them. ``length_s`` is the result's duration given theirs.
    """

    name: str
    version: int
    combine: Combine
    length_s: Callable[[Sequence[float], Parameters], float]


def with_noise(clip: Clip, under: Clip, snr_db: float, seed: int | str = 0, rate_hz: int = RATE_HZ) -> Clip:
    """``clip`` with ``under`` beneath it: ``snr_db`` is 20·log10 of the RMS of the one over the other's, over the clip.

    The noise begins at a place that ``seed`` draws, and is repeated or cut to the clip's length before its level is
    taken. Not defined where either is silent.
    """
    source = CombinedSource(
        "noise", 1, rate_hz, (clip, under), (("snr_db", decimal("snr_db", snr_db)),), seed=str(seed)
    )
    return Clip(source)


def rule_of(source: CombinedSource) -> Rule:
    """The registered rule of ``source``. Raises UsageError, which names what is known."""
    rule = _RULES.get((source.rule, source.version))
    if rule is None:
        known = ", ".join(f"{name} version {version}" for name, version in sorted(_RULES))
        raise UsageError(f"no rule is named {source.rule!r} in version {source.version}; there are {known}")
    return rule


def _noise(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    speech, under = clips
    start = seed_of("noise start", 1, seed or "") % len(under)
    beneath = np.resize(np.roll(under, -start), len(speech))
    level = noise.rms(speech)
    if not level or not noise.rms(beneath):
        raise ValueError("noise is mixed at a ratio of levels, and one of the two clips is silent")
    return speech + noise.at_rms(beneath, level / noise.amplitude(number(parameters, "snr_db")))


def _first(lengths_s: Sequence[float], parameters: Parameters) -> float:
    return lengths_s[0]


_RULES = {(rule.name, rule.version): rule for rule in (Rule("noise", 1, _noise, _first),)}
