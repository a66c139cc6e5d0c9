"""Looks at the pairs of two runs while one of them is still asked, so that the level holds over all looks together.

Independent samples of a score with two ends are followed by a capital process: who bets that the drop is above (or
below) a margin has a capital that grows with a factor of ``1 + bet * (drop - margin)`` by each pair, and that reaches
``1 / level`` with a probability of at most ``level`` where the bet is a wrong one, whenever it is looked at (Ville
1939; Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86, 2024). The capital
is shared among bets that stay what they are, so that it depends on the pairs alone and not on their order.

Ratios and clusters are looked at by the fixed-sample test at its own level for each look: that at which the
mixture of Robbins (1970) over a half-normal drift has grown to ``1 / level``, as in the one-sided asymptotic confidence
sequences of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas ("Time-uniform central limit theory and asymptotic
confidence sequences", Annals of Statistics, 2024). In an exchangeable order the means at two looks have the later one's
variance for covariance, whatever the clusters. So their standardised values are at least as correlated as those of a
Brownian motion in the number of samples, which makes a crossing no likelier (Slepian 1962).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats import special
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.intervals import Clusters, Floats
from pytest_audiobench.stats.paired import ratio_drop

_BETS = 0.9 * 0.5 ** np.arange(6)
"""The shares of the largest bet: a small one for a drop just beyond a margin, a large one where little differs."""
_SHARPEST = 40.0
"""The looks' levels are largest where a quarter to a half of all samples are there."""
_HALVINGS = 60


class Shown(NamedTuple):
    """What a look shows: a regression where ``p`` is at most its level, a pass where ``bound`` is below the margin."""

    p: float | None = None
    """Of "the drop is at most the margin", over all looks; None where there is no test yet."""
    bound: float | None = None
    """The drop's upper bound at the level; None where it is not below the margin, or not known."""


def by_bets(drops: Floats, margin: float, level: float, span: float = 1.0) -> Shown:
    """A look at independent ``drops``, between ``-span`` and ``span``, as the ``margin`` is."""
    drops, margin = drops / span, margin / span
    p = math.exp(-max(0.0, log_capital(drops, margin, 1.0)))
    passes = log_capital(drops, margin, -1.0) >= -math.log(level)
    return Shown(p, span * _upper_bound(drops, margin, level) if passes else None)


def by_test(
    before: Floats,
    after: Floats,
    clusters: Clusters,
    margin: float,
    level: float,
    seen: float,
    higher_is_better: bool = True,
    span: float = 1.0,
) -> Shown:
    """A look at the share ``seen`` of all samples by the test of :func:`ratio_drop`, which says what else is what."""
    here = level_of_look(level, seen)
    if here <= 0.0:
        return Shown()
    drop = ratio_drop(before, after, clusters, Question(margin, here, here), higher_is_better, span)
    return Shown() if drop.p is None else Shown(p_at_any_time(drop.p, seen), drop.bound)


def log_capital(drops: Floats, margin: float, side: float) -> float:
    """The logarithm of the capital that bets on a mean of ``drops``, between -1 and 1, above the ``margin`` (``side``
    1) or below it (-1); that is between -1 and 1 too.
    """
    bets = _BETS / (1.0 + side * margin)
    values, counts = np.unique(drops, return_counts=True)
    gains = np.log1p(bets[:, None] * (side * (values - margin)))
    return float(np.logaddexp.reduce(gains @ counts)) - math.log(len(bets))


def _upper_bound(drops: Floats, margin: float, level: float) -> float:
    """The least margin below which the mean of ``drops`` is shown to be, of which ``margin`` is one."""
    low, high, wanted = float(drops.mean()), margin, -math.log(level)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if log_capital(drops, middle, -1.0) >= wanted else (middle, high)
    return high


def level_of_look(level: float, seen: float) -> float:
    """The level of the fixed-sample test at a look at the share ``seen`` of all samples."""
    low, high = 0.0, 100.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if _log_mixture(middle, seen) >= -math.log(level) else (middle, high)
    return float(special.ndtr(-high))


def p_at_any_time(p: float, seen: float) -> float:
    """What ``p`` of a fixed-sample test at a look is worth over all looks: at most a level where ``p`` is at most that
    level's at this look.
    """
    return min(1.0, math.exp(-_log_mixture(-float(special.ndtri(max(p, 1e-300))), seen)))


def _log_mixture(score: float, seen: float) -> float:
    """The logarithm of the likelihood ratio of half-normal drifts, with a standardised ``score``."""
    spread = _SHARPEST * seen
    shrunk = spread / (1.0 + spread)
    return (
        math.log(2.0)
        - math.log1p(spread) / 2.0
        + score * score * shrunk / 2.0
        + float(special.log_ndtr(score * math.sqrt(shrunk)))
    )
