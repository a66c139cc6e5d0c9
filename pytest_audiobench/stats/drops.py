"""By how much one of two runs over the same samples is worse, and whether that is more than a margin.

A drop is a difference in the worse direction: positive means that the later run is worse. How it is found depends on
the metric's form: ``paired.py`` for means and ratios of sums, ``mcnemar.py`` for independent right and wrong answers,
``paired_bootstrap.py`` for functions of sums and of whole sets. ``docs/statistics`` has the formulas and what
simulations say of each.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """What is asked of a drop.

    ``margin`` is the largest drop that is not a regression, in the metric's unit; ``alpha`` the level of the one-sided
    bound; ``level`` that of the test, alpha divided by the number of tests in the run; ``power`` the probability at
    which the detectable drop is given.
    """

    margin: float
    alpha: float = 0.05
    level: float = 0.05
    power: float = 0.8


class Drop(NamedTuple):
    """``value`` is the drop, ``lower`` and ``upper`` its two-sided 95 % interval, ``bound`` its one-sided upper
    bound at 1 - alpha, ``p`` that of "the drop is at most the margin", ``detectable`` the smallest drop that would be
    called a regression with the asked power. Each is None where it is not known, and ``method`` says why; else it
    says how. p is at most a level where the lower bound at that level is at least the margin, and only there.
    ``error`` is the standard error, where the test has one. ``p_better`` is p at a margin of 0 with the runs exchanged:
    that of "the later run is not better".
    """

    value: float
    lower: float | None
    upper: float | None
    bound: float | None
    p: float | None
    detectable: float | None
    method: str
    error: float | None = None
    p_better: float | None = None


def no_drop(value: float, reason: str) -> Drop:
    """A drop of which nothing but its value is known, and why."""
    return Drop(value, None, None, None, None, None, f"no test: {reason}")
