"""The drop of a metric between two runs over the same samples, by the test that is right for the metric's form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import Clusters, Floats, MetricKind, Statistics, span
from pytest_audiobench.stats.bootstrap import Sums, Table
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
    if (kind.parts or kind.summed or kind.whole) is None:
        return no_drop(math.nan, f"{kind.name} is not made of samples that can be compared")
    try:
        first, second = (_side(kind, statistics) for statistics in (before, after))
    except KeyError as error:
        return no_drop(math.nan, f"a sample lacks the statistic {error}")
    except (ArithmeticError, ValueError, UsageError) as error:
        # Statistics come from baselines too, which anyone may have edited.
        return no_drop(math.nan, str(error))
    higher, most = kind.direction == "higher", span(kind.unit)
    if isinstance(first, str) or isinstance(second, str):
        return no_drop(math.nan, first if isinstance(first, str) else str(second))
    if isinstance(first, Sums) and isinstance(second, Sums):
        return sums_drop(first, second, clusters, question, higher, most)
    if isinstance(first, Table) and isinstance(second, Table):
        return rows_drop(first, second, clusters, question, higher, most)
    assert isinstance(first, np.ndarray)
    assert isinstance(second, np.ndarray)
    return ratio_drop(first, second, clusters, question, higher, most)


def _side(kind: MetricKind, statistics: Sequence[Statistics]) -> Floats | Sums | Table | str:
    """One run's statistics in the metric's form, or why they have none."""
    if kind.parts is not None:
        return np.fromiter(map(kind.parts, statistics), np.dtype((np.float64, 2)), len(statistics))
    form = kind.summed or kind.whole
    assert form is not None
    return form(statistics)


def moved(kind: MetricKind, before: Statistics, after: Statistics) -> int:
    """Whether a sample's own score became worse (1), better (-1) or neither (0); 0 where a sample has no score."""
    if before == after:
        return 0
    try:
        scores = [_sample_score(kind, sample) for sample in (before, after)]
    except (KeyError, ArithmeticError, ValueError, UsageError):
        return 0
    worse = scores[0] - scores[1] if kind.direction == "higher" else scores[1] - scores[0]
    return (worse > 0.0) - (worse < 0.0)


def _sample_score(kind: MetricKind, sample: Statistics) -> float:
    if kind.parts is None:
        return math.nan if kind.sample_score is None else kind.sample_score(sample)
    top, whole = kind.parts(sample)
    return top / max(whole, 1.0)
