"""What an edit is to those who apply it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.audio.parameters import Parameters

Apply: TypeAlias = Callable[[Samples, int, Parameters, str | None], Samples]


def same(duration_s: float, parameters: Parameters) -> float:
    """As long as before; as far as asked for."""
    return duration_s


def whole(duration_s: float, parameters: Parameters) -> float:
    """All of the clip is looked at, however little of the result is wanted."""
    return math.inf


@dataclass(frozen=True)
class EditKind:
    """A registered edit.

    ``apply`` returns a new waveform and raises ValueError where it is not defined for the one given.
    ``length_s`` is the result's duration given the input's; ``reach_s`` how much of the input's beginning
    the first so many seconds of the result depend on; infinite for all of it, be asked for it or not.
    """

    name: str
    version: int
    apply: Apply
    length_s: Callable[[float, Parameters], float] = same
    reach_s: Callable[[float, Parameters], float] = same
