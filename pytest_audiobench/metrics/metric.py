"""Numbers with their conditions, and the registry of the metrics that thresholds may name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Statistics: TypeAlias = Mapping[str, float]
Direction: TypeAlias = Literal["higher", "lower"]


class Estimate(NamedTuple):
    """A value and its interval: None and None where none is known; ``method`` says which it is, or why not."""

    value: float
    lower: float | None
    upper: float | None
    n: int
    method: str


@dataclass(frozen=True)
class MetricKind:
    """A metric: which way is better, its unit, and how it is estimated from per-sample statistics.

    ``estimate`` takes the samples' statistics and, where clips repeat, each sample's cluster. ``parts`` gives a
    sample's numerator and denominator where the metric is a ratio of their sums: such metrics can be compared
    sample by sample.
    """

    name: str
    direction: Direction
    unit: str
    estimate: Callable[[Sequence[Statistics], Sequence[Hashable] | None], Estimate]
    parts: Callable[[Statistics], tuple[float, float]] | None = None
