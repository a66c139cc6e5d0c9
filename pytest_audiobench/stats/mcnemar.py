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

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats import special
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
        # Of the k pairs that differ for no reason, the last ``worse`` are on the drop's account, or none is.
        tosses = np.arange(differing, better - 1, -1)
        self._at_most = special.bdtr(better, tosses, 0.5) - half * _heads(better, tosses)
        tosses = np.arange(differing, worse - 1, -1)
        self._at_least = special.bdtrc(worse - 1, tosses, 0.5) - half * _heads(worse, tosses)
        taken = np.arange(max(worse, better) + 1)
        self._log_choices = -special.betaln(taken + 1, pairs - taken + 1) - math.log(pairs + 1)

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

    ``value`` is the drop itself where pairs may have lost less than ``span``: it then is in their place.
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
        p_better=backward.p(0.0),
    )


def _detectable(pairs: int, better: int, question: Question) -> float:
    """The drop at which, with ``better`` pairs better, enough are worse in ``question.power`` of repetitions."""
    if (few := worse_needed(pairs, better, question)) > pairs - better:
        return 1.0
    # The net number of worse ones that so many exceed: net - z sqrt(net + 2 better) = few - better, solved for net.
    z = float(special.ndtri(question.power))
    least = few - better
    net = least + z * z / 2.0 + z * math.sqrt(max(0.0, z * z / 4.0 + least + 2.0 * better))
    return min(1.0, net / pairs)


def worse_needed(pairs: int, better: int, question: Question) -> int:
    """The least number of worse pairs with ``better`` ones that is a regression; one too many where none is."""
    few, many = 0, pairs - better + 1
    while few < many:
        worse = (few + many) // 2
        is_few = Flips(pairs, worse, better).p(question.margin) > question.level
        few, many = (worse + 1, many) if is_few else (few, worse)
    return few


def _heads(heads: int, tosses: npt.NDArray[np.int_]) -> Floats:
    """P(exactly ``heads``) in each number of tosses of a fair coin."""
    probabilities: Floats = np.exp(
        -special.betaln(heads + 1, tosses - heads + 1) - np.log(tosses + 1) - tosses * math.log(2.0)
    )
    return probabilities
