"""What a metric is: a way from per-sample statistics to a value and its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.records.fields import Direction
from pytest_audiobench.stats.bootstrap import Sums, Table

SHARE = "share"
"""The unit of metrics that lie between 0 and 1."""

WORD_ERRORS = "errors per word"
CHARACTER_ERRORS = "errors per character"
PHONE_ERRORS = "errors per phone"
ERROR_RATES = frozenset({WORD_ERRORS, CHARACTER_ERRORS, PHONE_ERRORS})
"""The units of error rates, which may exceed 1 and are kept as fractions of one like shares."""

POINTS = "points"
"""The unit of differences between shares or error rates, kept as fractions of one like these."""

FRACTIONS = ERROR_RATES | {SHARE, POINTS}
"""The units that a percentage can be written for."""

AGREEMENT, CORRELATION, COSINE = "agreement", "correlation", "cosine"
BLEU, CHRF, CHRF_WORDS = "BLEU", "chrF", "chrF++"

RANGES: Mapping[str, tuple[float, float]] = {
    SHARE: (0.0, 1.0),
    POINTS: (-1.0, 1.0),
    **dict.fromkeys((AGREEMENT, CORRELATION, COSINE), (-1.0, 1.0)),
    **dict.fromkeys((BLEU, CHRF, CHRF_WORDS), (0.0, 100.0)),
}
"""Between what metrics of these units lie, both ends among them."""


def span(unit: str) -> float:
    """What a metric of this unit can lose; infinite where it has no end.

    An error rate has none: it can lose what answers no worse than empty ones lose, which is 1.
    """
    if unit in ERROR_RATES:
        return 1.0
    least, most = RANGES.get(unit, (-math.inf, math.inf))
    return most - least


Statistics: TypeAlias = Mapping[str, float]
"""A scorer's statistics of one answer, by name: ``{"correct": 1}``.

Those of a part of the sample are named ``reward@type=speech``: metrics that can be made of them are given by part, too.
"""
Clusters: TypeAlias = Sequence[Hashable] | None
"""The cluster of each sample, in their order, where clips repeat; else None."""
Floats: TypeAlias = npt.NDArray[np.float64]


def is_right(statistics: Statistics) -> bool | None:
    """Whether nothing was wrong with an answer: by ``correct``, else by word errors; None when neither is counted."""
    if "correct" in statistics:
        return statistics["correct"] >= 1
    if "reward" in statistics:
        return None  # words are a part of what a scene is scored by
    errors = [statistics[name] for name in ("S", "D", "I") if name in statistics]
    return sum(errors) == 0 if errors else None


class Estimate(NamedTuple):
    """A value and its interval: None and None where none is known; ``method`` says which it is, or why not."""

    value: float
    """In the metric's unit; NaN where there is none."""
    lower: float | None
    """The lower bound, at 95 %."""
    upper: float | None
    """The upper bound."""
    n: int
    """The samples that count."""
    method: str


Summed: TypeAlias = Callable[[Sequence[Statistics]], Sums | str]
"""A function of sums: each sample's row of statistics and the value of their sums; or why there is none."""

Whole: TypeAlias = Callable[[Sequence[Statistics]], Table | str]
"""What only the whole set tells: each sample's row and the value of all rows; or why there is none."""


@dataclass(frozen=True)
class MetricKind:
    """A metric: which way is better, its unit, and how it is estimated from per-sample statistics.

    Only one that has ``parts``, ``summed`` or ``whole`` can be compared on pairs.
    """

    name: str
    """A small letter, then letters, digits, - and _."""
    direction: Direction
    """Which way is better: "higher" or "lower"."""
    unit: str
    """"share" and "points" are fractions of one, shown in % and in pp; any other text is shown as it is."""
    estimate: Callable[[Sequence[Statistics], Clusters], Estimate]
    """Takes the samples' statistics and, where clips repeat, each sample's cluster; NaN for samples without any."""
    parts: Callable[[Statistics], tuple[float, float]] | None = None
    """A sample's numerator and denominator, where the metric is a ratio of their sums."""
    about: str = ""
    """In a sentence or two what it is: the formula, its source, and what empty input gives."""
    poolable: bool = True
    """False where samples' statistics depend on the set that they were scored in (CIDEr's document frequencies)."""
    summed: Summed | None = None
    """Where it is another function of sums (corpus BLEU)."""
    whole: Whole | None = None
    """Where it takes the whole set (an equal error rate)."""
    sample_score: Callable[[Statistics], float] | None = None
    """A sample's own score where it is not its ``parts``, so that samples that became worse can be named."""
    across: bool = False
    """Whether it compares conditions: it then has a value where several are pooled, and none of one alone."""


_RANGES = {
    "share": "0 to 1",
    **dict.fromkeys(("points", "agreement", "correlation", "cosine"), "-1 to 1"),
    **dict.fromkeys(("BLEU", "chrF", "chrF++"), "0 to 100"),
    "CIDEr-D": "0 to 10",
    "of 5": "0 to 5",
}


def value_range(kind: MetricKind) -> str:
    """The values that a metric of this unit may have, in words; "" where the unit does not say it."""
    return _RANGES.get(kind.unit, "0 and above" if kind.unit.startswith("errors per") else "")
