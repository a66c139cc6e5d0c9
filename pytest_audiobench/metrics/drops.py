"""The drop of a metric between two runs over the same samples, by the test that is right for the metric's form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_audiobench.metrics.metric import Clusters, MetricKind, Statistics
from pytest_audiobench.stats.drops import Drop, Question, no_drop, ratio_drop


def drop_of(
    kind: MetricKind, before: Sequence[Statistics], after: Sequence[Statistics], clusters: Clusters, question: Question
) -> Drop:
    """How much worse ``after`` is than ``before``, pair by pair in one order; ``clusters`` names each pair's cluster.

    Ratios of sums (``parts``), functions of sums (``summed``) and of whole sets (``whole``) each have their test; a
    metric with none of the three has no test, and ``method`` says so.
    """
    if kind.parts is None:
        return no_drop(float("nan"), f"{kind.name} is not made of samples")
    sides = [np.array([kind.parts(one) for one in side], dtype=np.float64).reshape(-1, 2) for side in (before, after)]
    return ratio_drop(sides[0], sides[1], clusters, question, kind.direction == "higher")


def moved(kind: MetricKind, before: Statistics, after: Statistics) -> int:
    """Whether a sample's own score became worse (1), better (-1) or neither (0)."""
    if kind.parts is None:
        return 0
    (top, whole), (later, later_whole) = kind.parts(before), kind.parts(after)
    difference = top / max(whole, 1.0) - later / max(later_whole, 1.0)
    worse = difference if kind.direction == "higher" else -difference
    return (worse > 0.0) - (worse < 0.0)
