"""By how much one of two runs over the same samples is worse, and whether that is more than a margin.

A drop is a difference in the worse direction: positive means that the later run is worse. All functions take the two
runs' statistics row by row in one order of samples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Floats
from pytest_audiobench.stats.quantiles import normal_quantile, t_quantile


class Question(NamedTuple):
    """What is asked of a drop.

    ``margin`` is the largest drop that is no regression, in the metric's unit; ``alpha`` the level of the one-sided
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
    called a regression with the asked power. Each is None where it is not known, and ``method`` says why; else it says
    how.
    """

    value: float
    lower: float | None
    upper: float | None
    bound: float | None
    p: float | None
    detectable: float | None
    method: str


def no_drop(value: float, reason: str) -> Drop:
    """A drop of which nothing but its value is known, and why."""
    return Drop(value, None, None, None, None, None, f"no test: {reason}")


def ratio_drop(
    before: Floats, after: Floats, clusters: Clusters, question: Question, higher_is_better: bool = True
) -> Drop:
    """The drop of a ratio of sums; ``before`` and ``after`` hold numerator and denominator of each sample, (n, 2).

    Student's t on the samples' or clusters' linearised differences (the delta method).
    """
    sign = 1.0 if higher_is_better else -1.0
    ratios = [float(side[:, 0].sum() / side[:, 1].sum()) for side in (before, after)]
    value = sign * (ratios[0] - ratios[1])
    each = [
        (side[:, 0] - ratio * side[:, 1]) / side[:, 1].sum()
        for side, ratio in zip((before, after), ratios, strict=True)
    ]
    residuals = sign * (each[0] - each[1])
    if clusters is not None:
        numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
        residuals = np.bincount([numbers[one] for one in clusters], weights=residuals, minlength=len(numbers))
    count = len(residuals)
    if count < 2:
        return no_drop(value, "fewer than 2 samples or clusters")
    error = math.sqrt(float(residuals @ residuals) * count / (count - 1))
    if error == 0.0:
        return no_drop(value, "no pair differs from the others")
    half, one_sided = t_quantile(0.5 + CONFIDENCE / 2.0, count - 1), t_quantile(1.0 - question.alpha, count - 1)
    z = (value - question.margin) / error
    return Drop(
        value,
        value - half * error,
        value + half * error,
        value + one_sided * error,
        0.5 * math.erfc(z / math.sqrt(2.0)),
        question.margin + (normal_quantile(1.0 - question.level) + normal_quantile(question.power)) * error,
        f"paired t, {count} {'samples' if clusters is None else 'clusters'}",
    )
