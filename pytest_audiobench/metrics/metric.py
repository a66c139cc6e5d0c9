"""What a metric is: a way from per-sample statistics to a value and its interval."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.bootstrap import Sums, Table

Statistics: TypeAlias = Mapping[str, float]
Floats: TypeAlias = npt.NDArray[np.float64]
Direction: TypeAlias = Literal["higher", "lower"]
Clusters: TypeAlias = Sequence[Hashable] | None


class Estimate(NamedTuple):
    """A value and its interval: None and None where none is known; ``method`` says which it is, or why not."""

    value: float
    lower: float | None
    upper: float | None
    n: int
    method: str


Summed: TypeAlias = Callable[[Sequence[Statistics]], Sums | str]
"""A function of sums: each sample's row of statistics and the value of their sums; or why there is none."""

Whole: TypeAlias = Callable[[Sequence[Statistics]], Table | str]
"""What only the whole set tells: each sample's row and the value of all rows; or why there is none."""


@dataclass(frozen=True)
class MetricKind:
    """A metric: which way is better, its unit, and how it is estimated from per-sample statistics.

    ``estimate`` takes the samples' statistics and, where clips repeat, each sample's cluster. ``parts`` gives a
    sample's numerator and denominator where the metric is a ratio of their sums: such metrics can be compared
    sample by sample. ``summed`` stands where it is another function of sums (corpus BLEU), ``whole`` where it takes the
    whole set (an equal error rate). A metric with none of the three cannot be compared on pairs. ``own`` is a sample's
    own score where it is not its ``parts``, so that samples that became worse can be named. ``about`` says in a
    sentence or two what it is: the formula, its source, and what empty input gives. A metric whose samples' statistics
    depend on the set that they were scored in (CIDEr's document frequencies) is not ``poolable``: a suite has no value
    of it. One that compares conditions (``across``) has a value where several are pooled, and none of one alone.
    """

    name: str
    direction: Direction
    unit: str
    estimate: Callable[[Sequence[Statistics], Clusters], Estimate]
    parts: Callable[[Statistics], tuple[float, float]] | None = None
    about: str = ""
    poolable: bool = True
    summed: Summed | None = None
    whole: Whole | None = None
    own: Callable[[Statistics], float] | None = None
    across: bool = False
