"""What a gate will be able to see, said before it asks: the loss under which an eval is likely to be inconclusive."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.gate.power import PowerQuery, power_of
from pytest_audiobench.gate.thresholds import Line, Terms
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.metrics.value import digits_text

_MOST_LINES = 5


class Sight(NamedTuple):
    """The least loss of ``eval``'s headline that most runs call a regression; infinite where none would be one."""

    eval: str
    metric: str
    n: int
    loss: float
    in_points: bool

    @property
    def loss_text(self) -> str:
        """``3.4 pp``, or a number in the metric's unit."""
        return f"{100.0 * self.loss:.1f} pp" if self.in_points else digits_text(self.loss, 2)

    def __str__(self) -> str:
        if math.isinf(self.loss):
            return f"{self.eval}: n = {self.n}, too few to call any loss of {self.metric} a regression"
        return f"{self.eval}: n = {self.n}, a loss of {self.metric} under {self.loss_text} is likely inconclusive"


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
    return Sight(side.eval, name, seen.n, seen.detectable or math.inf, kind.unit in FRACTIONS)


def sight_lines(sights: Iterable[Sight]) -> list[str]:
    """A line for each of a few; of many the best and the worst in one."""
    known = sorted(sights, key=lambda sight: (sight.in_points, sight.loss))
    if len(known) <= _MOST_LINES:
        return [f"to be seen in {sight}" for sight in known]
    blind = sum(math.isinf(sight.loss) for sight in known)
    seeing = [sight for sight in known if sight.in_points and not math.isinf(sight.loss)]
    said = [f"{blind} of too few samples to call any loss a regression"] if blind else []
    if seeing:
        ends = (f"{sight.loss_text} ({sight.eval}, n = {sight.n})" for sight in (seeing[0], seeing[-1]))
        said.insert(0, f"a loss under {' to '.join(ends)} is likely inconclusive")
    return [f"to be seen in {len(known)} evals: {'; '.join(said)}; audiobench power says it of each"] if said else []
