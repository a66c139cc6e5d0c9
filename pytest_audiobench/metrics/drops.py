"""The drop of a metric between two runs over the same samples, by the test that is right for the metric's form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import Clusters, MetricKind, Statistics
from pytest_audiobench.metrics.units import ERROR_RATES, RANGES
from pytest_audiobench.stats.drops import Drop, Question, no_drop
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.paired_bootstrap import rows_drop, sums_drop


def drop_of(
    kind: MetricKind, before: Sequence[Statistics], after: Sequence[Statistics], clusters: Clusters, question: Question
) -> Drop:
    """How much worse ``after`` is than ``before``, pair by pair in one order; ``clusters`` names each pair's cluster.

    Ratios of sums (``parts``), functions of sums (``summed``) and of whole sets (``whole``) each have their test; a
    metric with none of the three has no test, and ``method`` says so. So it does where a sample lacks a statistic.
    """
    if not before:
        return no_drop(math.nan, "no pairs")
    try:
        return _drop(kind, before, after, clusters, question)
    except KeyError as error:
        return no_drop(math.nan, f"a sample lacks the statistic {error}")
    except (ArithmeticError, ValueError, UsageError) as error:
        # Statistics come from baselines too, which anyone may have edited: a library may meet a count below 0.
        return no_drop(math.nan, str(error))


def moved(kind: MetricKind, before: Statistics, after: Statistics) -> int:
    """Whether a sample's own score became worse (1), better (-1) or neither (0); 0 where a sample has no score."""
    if before == after:
        return 0
    try:
        own = [_own(kind, one) for one in (before, after)]
    except (KeyError, ArithmeticError, ValueError, UsageError):
        return 0
    worse = own[0] - own[1] if kind.direction == "higher" else own[1] - own[0]
    return (worse > 0.0) - (worse < 0.0)


def _drop(
    kind: MetricKind, before: Sequence[Statistics], after: Sequence[Statistics], clusters: Clusters, question: Question
) -> Drop:
    higher, span = kind.direction == "higher", _span(kind)
    if kind.parts is not None:
        here, there = (np.array([kind.parts(one) for one in side], dtype=np.float64) for side in (before, after))
        return ratio_drop(here, there, clusters, question, higher, span)
    if kind.summed is not None:
        first, second = kind.summed(before), kind.summed(after)
        if isinstance(first, str) or isinstance(second, str):
            return no_drop(math.nan, first if isinstance(first, str) else str(second))
        return sums_drop(first, second, clusters, question, higher, span)
    if kind.whole is not None:
        whole, later = kind.whole(before), kind.whole(after)
        if isinstance(whole, str) or isinstance(later, str):
            return no_drop(math.nan, whole if isinstance(whole, str) else str(later))
        return rows_drop(whole, later, clusters, question, higher, span)
    return no_drop(math.nan, f"{kind.name} is not made of samples that can be compared")


def _span(kind: MetricKind) -> float:
    """What a metric can lose by all of its samples; an error rate, by answers no worse than empty ones."""
    if kind.unit in ERROR_RATES:
        return 1.0
    least, most = RANGES.get(kind.unit, (-math.inf, math.inf))
    return most - least


def _own(kind: MetricKind, one: Statistics) -> float:
    if kind.parts is None:
        return math.nan if kind.own is None else kind.own(one)
    top, whole = kind.parts(one)
    return top / max(whole, 1.0)
