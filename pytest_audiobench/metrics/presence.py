"""Numbers of yes/no probes, as functions of four sums: hits, present probes, false alarms, distractors.

A present probe asks for a sound that is there, a distractor for one that is not. ``sums`` has the shape (r, 4) of r
samples or resamples; every function gives r values. Sensitivity and bias are those of signal detection theory for a
yes/no task (Stanislaw and Todorov 1999), of corrected rates, so that rates of 0 and 1 have finite values: of N probes
a rate r becomes (r + 1/N) / (1 + 2/N). With as many distractors as present probes that is the log-linear correction
(0.5 added to the counts and 1 to the probes, Hautus 1995). With other numbers that one pulls the two rates unequally:
who says nothing would have a d′ of 0.27 over 20 present probes and 40 distractors, and one of -0.26 over 80 and 40.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pytest_audiobench.stats.distributions import normal_quantile
from pytest_audiobench.stats.intervals import Floats

NAMES = ("hits", "present", "alarms", "absent")
CLIFF = ("solo_hits", "solo_present", "quad_hits", "quad_present")


def f1(sums: Floats) -> Floats:
    """2 hits / (answers of yes + present probes); NaN where nothing is present and nobody said yes."""
    hits, present, alarms, _ = sums.T
    return _over(2.0 * hits, hits + alarms + present)


def d_prime(sums: Floats) -> Floats:
    """z(hit rate) - z(false alarm rate), corrected; NaN without present probes or without distractors."""
    hits, alarms = _deviates(sums)
    return hits - alarms


def criterion(sums: Floats) -> Floats:
    """-(z(hit rate) + z(false alarm rate)) / 2, corrected: below 0 for who says yes too readily; NaN as above."""
    hits, alarms = _deviates(sums)
    found: Floats = -0.5 * (hits + alarms)
    return found + 0.0  # no minus zero, which prints as a bias


def cliff(sums: Floats) -> Floats:
    """Recall among four sounds less recall of one alone; NaN where either was not asked. ``sums`` as in ``CLIFF``."""
    solo_hits, solo, quad_hits, quad = sums.T
    return _over(quad_hits, quad) - _over(solo_hits, solo)


def _deviates(sums: Floats) -> tuple[Floats, Floats]:
    hits, present, alarms, absent = sums.T
    both = (present > 0.0) & (absent > 0.0)
    per_probe = _over(np.ones_like(present), present + absent)
    found = []
    for top, whole in ((hits, present), (alarms, absent)):
        # By the rarer answer, so that rates as far from 0 as from 1 are opposite to the last bit.
        rare = (_over(np.minimum(top, whole - top), whole) + per_probe) / (1.0 + 2.0 * per_probe)
        deviates = np.array([_z(rate) for rate in rare.tolist()])
        found.append(np.where(both, np.where(2.0 * top > whole, -deviates, deviates), np.nan))
    return found[0], found[1]


# Resamples of a few dozen probes share few rates.
@lru_cache(maxsize=8192)
def _z(rate: float) -> float:
    """The normal deviate; NaN for what no rate can be, as sums from an edited file can make it."""
    return normal_quantile(rate) if 0.0 < rate < 1.0 else float("nan")


def _over(top: Floats, bottom: Floats) -> Floats:
    found: Floats = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0.0)
    return found
