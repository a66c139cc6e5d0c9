"""What a class of faults came to: the figures of its row in docs/reliability.md, and a line for each broken promise.

A module of this folder is a class of the campaign where it has three names: ``NAME``, what is broken; ``PROMISE``, a
sentence that holds however it breaks; and ``run(seeds)``, which tries each seed and returns a ``Tally``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Protocol


@dataclass
class Tally:
    """Counts over the seeds that were tried."""

    tried: int = 0
    lost: int = 0
    """Answers that were stored and are gone, asked for again, or other than they were."""
    asked_twice: int = 0
    """Answers that came from a model and had not reached the store when a process died."""
    false_greens: int = 0
    raw: int = 0
    """Tracebacks of this package where a sentence should stand."""
    hangs: int = 0
    false_reds: int = 0
    seconds: float = 0.0
    mistakes: list[str] = field(default_factory=list)
    """A sentence for each broken promise, with the seed that repeats it."""
    notes: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class FaultClass(Protocol):
    """A module of this folder that breaks one kind of thing."""

    NAME: str
    PROMISE: str

    def run(self, seeds: Iterable[int]) -> Tally: ...
