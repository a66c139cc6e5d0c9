"""Power: how probably a drop is called a regression, how large a drop can be seen, and how many samples that takes.

Of paired scores: Student's t on the differences, by the noncentral t distribution. Of right and wrong answers of
independent samples: the gate's own test (``mcnemar.py``), by enumeration of how many pairs become worse and better.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.mcnemar import Flips, worse_needed

MOST = 10_000_000
"""Samples beyond which no number is sought."""
_ENUMERATED = 5_000
_OUT_OF_RANGE = 4.5
_WITHIN = 0.002
"""How near to the exact number of samples a search ends, as a share: power is not a smooth function of it."""


def t_power(effect: float, count: int, alpha: float = 0.05, sides: int = 2, degrees: int | None = None) -> float:
    """The power of the t test of ``count`` >= 2 pairs whose mean difference is ``effect`` standard deviations.

    One-sided (``sides`` = 1) it tests for more than 0; ``degrees`` of freedom are count - 1 unless given. Cohen 1988,
    chapter 2; statsmodels' ``TTestPower``.
    """
    degrees = degrees or count - 1
    reached, shift = stats.t.isf(alpha / sides, degrees), effect * math.sqrt(count)
    power = float(stats.nct.sf(reached, degrees, shift))
    return power + float(stats.nct.sf(reached, degrees, -shift)) if sides == 2 else power


def t_detectable(count: int, alpha: float = 0.05, power: float = 0.8, sides: int = 2) -> float:
    """The mean difference, in standard deviations, that ``count`` >= 2 pairs see with ``power`` > ``alpha``."""
    return _least(lambda effect: t_power(effect, count, alpha, sides) >= power, 1.0)


def two_shares_needed(before: float, after: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Samples on each side to tell two shares apart two-sided, if they were not the same samples.

    By Cohen's h, 2 asin √p - 2 asin √q (Cohen 1988, chapter 6). Infinite for equal shares.
    """
    h = abs(2.0 * math.asin(math.sqrt(before)) - 2.0 * math.asin(math.sqrt(after)))
    reached = float(stats.norm.isf(alpha / 2.0))

    def seen(shift: float) -> bool:
        return float(stats.norm.sf(reached - shift) + stats.norm.sf(reached + shift)) >= power

    return 2.0 * (_least(seen, 1.0) / h) ** 2 if h else math.inf


def flips_power(pairs: int, drop: float, flips: float, question: Question) -> float:
    """The power of the gate's test of ``pairs`` independent right or wrong answers, of which ``flips`` (a share) change
    for no reason, as many for the better as for the worse, while ``drop`` (a share) more become wrong.

    Exact but for 1 outcome in 100,000: over the numbers that become better, of how many then become worse. Beyond
    5,000 pairs, where outcomes are many and normal, by their mean and variance.
    """
    better = flips / 2.0
    worse = min(better + drop, 1.0 - better)
    if pairs > _ENUMERATED:
        net = worse - better
        error = math.sqrt(max(worse + better - net * net, 1e-12) / pairs)
        return float(stats.norm.cdf((net - question.margin) / error - stats.norm.isf(question.level)))
    centre, spread = pairs * better, math.sqrt(pairs * better * (1.0 - better))
    first = max(0, math.floor(centre - _OUT_OF_RANGE * spread))
    last = min(pairs, math.ceil(centre + _OUT_OF_RANGE * spread))
    improved, enough, needed = np.arange(first, last + 1), [], worse_needed(pairs, first, question)
    for count in improved.tolist():
        while needed <= pairs - count and Flips(pairs, needed, count).p(question.margin) > question.level:
            needed += 1
        enough.append(needed)
    called = stats.binom.sf(np.array(enough) - 1, pairs - improved, min(worse / (1.0 - better), 1.0))
    return min(1.0, float(stats.binom.pmf(improved, pairs, better) @ called))


def flips_detectable(pairs: int, flips: float, question: Question) -> float | None:
    """The least drop that :func:`flips_power` sees with the asked power; None where even all wrong would not do."""
    if flips_power(pairs, 1.0 - flips, flips, question) < question.power:
        return None
    low, high = question.margin, 1.0 - flips
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (low, middle) if flips_power(pairs, middle, flips, question) >= question.power else (middle, high)
    return high


def flips_needed(drop: float, flips: float, question: Question) -> int | None:
    """The pairs at which :func:`flips_power` sees ``drop``; None where it is within the margin, or for too many."""
    if drop <= question.margin:
        return None
    return fewest(lambda pairs: flips_power(pairs, drop, flips, question) >= question.power)


def fewest(enough: Callable[[int], bool], least: int = 2) -> int | None:
    """The least number from which on there is ``enough``, to 2 in 1,000; None beyond ten million."""
    high = least
    while not enough(high):
        if high >= MOST:
            return None
        high *= 2
    low = high // 2
    while high - low > max(1.0, _WITHIN * high):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _least(enough: Callable[[float], bool], high: float) -> float:
    while not enough(high):
        high *= 2.0
    low = 0.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
