"""What a gate will be able to see, before it asks: the smallest drop of an eval that it calls regressed mostly."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.gate.power import ASSUMED, OWN_ERROR, PowerQuery, power_of
from pytest_audiobench.gate.thresholds import Line, Terms
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.metrics.value import digits_text


class Sight(NamedTuple):
    """The least loss of ``eval``'s headline that most runs call a regression; infinite where none would be one."""

    eval: str
    metric: str
    n: int
    loss: float
    in_points: bool
    is_assumed: bool = True
    """Whether how much two runs differ by chance is assumed, and not known from the model's noise floor."""

    @property
    def loss_text(self) -> str:
        """``3.4 pp``, or a number in the metric's unit."""
        return f"{100.0 * self.loss:.1f} pp" if self.in_points else f"{digits_text(self.loss, 2)} of {self.metric}"


def sight_of(side: ComparableEval, line: Line, terms: Terms, limit: int | None = None) -> Sight | None:
    """What ``line``, on the headline of the baseline's ``side``, will see over ``limit`` of its samples; None where
    nothing is known of how the metric varies.

    It is what ``audiobench power`` says (:func:`power_of`).
    """
    name = line.metric or next(iter(side.metrics.get(side.headline, ())), "")
    if line.group or not is_known(name):
        return None
    kind, query = metric_kind(name), PowerQuery(line.margin, line.margin, name, terms.alpha, terms.lines)
    most = len(side.rows) if limit is None else limit * side.epochs
    rows = side.columns.where(np.arange(len(side.rows)) < most)
    try:
        # A line may also be on a share of answers, or on a trimmed rate, which are not metrics of the eval's own.
        seen = power_of(replace(side, rows=rows, metrics={side.headline: [name]}), None, query)
    except (UsageError, KeyError, ArithmeticError, ValueError):
        # Its eval says what is wrong with the line, or with the baseline's statistics.
        return None
    if seen.n < 2 or (seen.detectable is None and kind.parts is None):
        return None
    is_assumed = seen.flips_from in (ASSUMED, OWN_ERROR)
    return Sight(side.eval, name, seen.n, seen.detectable or math.inf, kind.unit in FRACTIONS, is_assumed)
