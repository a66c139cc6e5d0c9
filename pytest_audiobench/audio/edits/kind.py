"""The kind of an edit: how it is applied, and what it does to lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pytest_audiobench.audio.clip import Parameters, Samples

Apply: TypeAlias = Callable[[Samples, int, Parameters, str | None], Samples]
Stream: TypeAlias = Callable[[Iterator[Samples], int, Parameters], Iterator[Samples]]


def same_length(duration_s: float, parameters: Parameters) -> float:
    """As long as before."""
    return duration_s


def whole_clip(duration_s: float, parameters: Parameters) -> float:
    """All of the clip is looked at, even if little of the result is needed."""
    return math.inf


@dataclass(frozen=True)
class EditKind:
    """A registered edit."""

    name: str
    version: int
    apply: Apply
    """Returns a new waveform; raises ValueError where it is not defined for the one given."""
    length_s: Callable[[float, Parameters], float] = same_length
    """The result's duration given the input's."""
    reach_s: Callable[[float, Parameters], float] = same_length
    """How much of the input's beginning the first so many seconds of the result depend on; infinite for all of it."""
    stream: Stream | None = None
    """What ``apply`` returns, of blocks and in blocks, for sound that is not in memory; None where it needs the whole
    or a seed."""
