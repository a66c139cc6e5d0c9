"""What a recipe is made of, for those who write one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource, decimal, number
from pytest_audiobench.errors import UsageError

Render: TypeAlias = Callable[[int, int, Parameters], Samples]
"""From a number of frames, a rate and parameters to the sound."""

LONGEST_S = 4 * 3600.0
"""Beyond it a mistyped duration would fill the memory."""


def recipe(name: str, duration_s: float, level_db: float, *parameters: tuple[str, str]) -> SynthesisSource:
    """A recipe with a duration, a level and further parameters."""
    shared = (("duration_s", duration(duration_s)), ("level_db", decimal("level_db", level_db)))
    return SynthesisSource(name, 1, shared + parameters)


def duration(duration_s: float) -> str:
    """Raises UsageError for less than a millisecond, and for more than :data:`LONGEST_S`."""
    text = decimal("duration_s", duration_s, least=0.001)
    if duration_s > LONGEST_S:
        raise UsageError(f"duration_s={text} is beyond {LONGEST_S:g}, the longest sound that is made; give fewer")
    return text


def level(parameters: Parameters) -> float:
    """The parameter ``level_db`` as an amplitude."""
    return signals.amplitude(number(parameters, "level_db"))


def seed(parameters: Parameters) -> str:
    """The parameter ``seed``."""
    return dict(parameters).get("seed", "")


def playable_frequency(frequency_hz: float, rate_hz: int) -> float:
    """``frequency_hz``. Raises ValueError where a sound at ``rate_hz`` cannot hold it."""
    if 2 * frequency_hz >= rate_hz:
        raise ValueError(f"{frequency_hz:g} Hz cannot be played at {rate_hz} Hz; stay below {rate_hz / 2:g} Hz")
    return frequency_hz
