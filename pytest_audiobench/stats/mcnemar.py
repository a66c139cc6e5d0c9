"""The drop of independent 0-or-1 scores, from the pairs that became worse and those that became better.

At a drop of 0 this is McNemar's test, exact: of the pairs that differ, each is as likely worse as better. Where a drop
of d is supposed, E of the n pairs, binomial (n, d), are worse on its account, and the other pairs that differ are as
likely worse as better; p is the probability that as many pairs or more are worse. A negative d is a drop of the two
runs exchanged. p grows with d, so that bounds are its inversion, and for pairs that all tie the upper bound is that of
none in n trials (the "rule of three"). Where 10 pairs or more of over 100 differ, the probability of the very outcome
counts half (mid-p; Fagerland, Lydersen and Laake 2013, "The McNemar test for binary matched-pairs data").

By enumeration of all outcomes (``benchmarks/calibration.py``) neither side's error exceeds its level.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from pytest_audiobench.stats.distributions import normal_quantile
from pytest_audiobench.stats.drops import Drop, Question
from pytest_audiobench.stats.intervals import CONFIDENCE, Floats

EXACT_PAIRS, EXACT_DIFFERING = 100, 10
"""The exact probability is taken up to so many pairs, and below so many that differ; mid-p beyond both."""
_HALVINGS = 36


class Flips:
    """The p values of ``worse`` and ``better`` of ``pairs`` independent pairs, for any supposed drop in [-1, 1]."""

    def __init__(self, pairs: int, worse: int, better: int) -> None:
        differing = worse + better
        self.exact = pairs <= EXACT_PAIRS or differing < EXACT_DIFFERING
        self._pairs = pairs
        half = 0.0 if self.exact else 0.5
        self._at_most = _heads_at_most(better, differing, half)[::-1][: worse + 1]
        self._at_least = _heads_at_least(worse, differing, half)[::-1][: better + 1]
        logs = _log_factorials(pairs)
        taken = np.arange(max(worse, better) + 1)
        self._log_choices = logs[pairs] - logs[taken] - logs[pairs - taken]

    def p(self, drop: float) -> float:
        """P(at least so many worse) if the drop is ``drop``."""
        if drop >= 1.0 or drop <= -1.0:
            return float(drop > 0.0)
        among = self._at_most if drop >= 0.0 else self._at_least
        probabilities = self._exactly_worse(abs(drop), len(among))
        # More on the drop's account than are worse leaves at least so many worse; more better ones leave fewer.
        beyond = max(0.0, 1.0 - float(probabilities.sum())) if drop > 0.0 else 0.0
        return min(1.0, float(probabilities @ among) + beyond)

    def _exactly_worse(self, rate: float, count: int) -> Floats:
        if rate == 0.0:
            nothing: Floats = np.zeros(count)
            nothing[0] = 1.0
            return nothing
        taken = np.arange(count)
        logs = self._log_choices[:count] + taken * math.log(rate) + (self._pairs - taken) * math.log1p(-rate)
        probabilities: Floats = np.exp(logs)
        return probabilities

    def lower(self, level: float) -> float:
        """The lower bound of the drop at 1 - ``level``: the least that is not refuted, so that p(x) <= level below."""
        low, high = -1.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.p(middle) <= level else (low, middle)
        return low


def flips_drop(
    pairs: int, worse: int, better: int, question: Question, value: float | None = None, span: float = 1.0
) -> Drop:
    """The drop where ``worse`` and ``better`` of ``pairs`` independent pairs lost or won ``span`` each.

    ``value`` is the drop itself where pairs may have lost less than ``span``: it then stands in their place.
    """
    seen = span * (worse - better) / pairs if value is None else value
    forward, backward = Flips(pairs, worse, better), Flips(pairs, better, worse)
    tail = (1.0 - CONFIDENCE) / 2.0
    return Drop(
        seen,
        min(seen, span * forward.lower(tail)),
        max(seen, -span * backward.lower(tail)),
        max(seen, -span * backward.lower(question.alpha)),
        forward.p(question.margin / span),
        span * _detectable(pairs, better, question._replace(margin=question.margin / span)),
        f"McNemar {'exact' if forward.exact else 'mid-p'}, {worse} worse and {better} better of {pairs} pairs",
    )


def _detectable(pairs: int, better: int, question: Question) -> float:
    """The drop at which, with ``better`` pairs better, enough are worse in ``question.power`` of repetitions."""
    few = worse_needed(pairs, better, question)
    if few > pairs - better:
        return 1.0
    # The net number of worse ones that so many exceed: net - z sqrt(net + 2 better) = few - better, solved for net.
    z = normal_quantile(question.power)
    least = few - better
    net = least + z * z / 2.0 + z * math.sqrt(max(0.0, z * z / 4.0 + least + 2.0 * better))
    return min(1.0, net / pairs)


def worse_needed(pairs: int, better: int, question: Question) -> int:
    """The least number of worse pairs beside ``better`` ones that is a regression; one too many where none is."""
    few, many = 0, pairs - better + 1
    while few < many:
        worse = (few + many) // 2
        is_few = Flips(pairs, worse, better).p(question.margin) > question.level
        few, many = (worse + 1, many) if is_few else (few, worse)
    return few


def _heads_at_most(heads: int, tosses: int, half: float) -> Floats:
    """P(at most ``heads`` in k tosses) of a fair coin for k = 0 … ``tosses``, less ``half`` of P(exactly so many)."""
    # The next head falls after k tosses or later; summed from far, small probabilities keep their digits.
    furthest = max(tosses, 2 * heads) + 80 + int(12.0 * math.sqrt(max(tosses, 2 * heads) + 1.0))
    exactly = _exactly(heads, furthest)
    later: Floats = np.cumsum(exactly[::-1])[::-1] / 2.0
    return np.minimum(1.0, later[: tosses + 1]) - half * exactly[: tosses + 1]


def _heads_at_least(heads: int, tosses: int, half: float) -> Floats:
    """P(at least ``heads`` in k tosses) for k = 0 … ``tosses``, less ``half`` of P(exactly so many)."""
    exactly = half * _exactly(heads, tosses)
    if heads == 0:
        return 1.0 - exactly
    before: Floats = np.cumsum(np.concatenate([[0.0], _exactly(heads - 1, tosses)[:-1] / 2.0]))
    return np.minimum(1.0, before) - exactly


def _exactly(heads: int, tosses: int) -> Floats:
    """P(exactly ``heads`` in k tosses) for k = 0 … ``tosses``."""
    probabilities = np.zeros(tosses + 1)
    if heads <= tosses:
        logs, k = _log_factorials(tosses), np.arange(heads, tosses + 1)
        probabilities[heads:] = np.exp(logs[k] - logs[heads] - logs[k - heads] - k * math.log(2.0))
    return probabilities


def _log_factorials(most: int) -> Floats:
    # In powers of 2, so that few tables are kept.
    return _table(1 << max(6, most.bit_length()))[: most + 1]


@lru_cache(maxsize=32)
def _table(size: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, size)))])
