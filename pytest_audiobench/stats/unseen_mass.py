"""How far a drop that was measured may be from the true one: its standard error, its skewness, and what was not seen.

Where differences are skewed (an answer in a hundred is newly empty) samples with few of the large ones show both a
small drop and a small error, and t's bound on the side of the long tail is too near: it is moved out by the first term
of the Edgeworth expansion, the third moment over the second times (1 + 2 t²) / 6 (Johnson 1978, "Modified t tests and
confidence intervals for asymmetrical populations"; Hall 1992), and never moved in. Where none of the large ones is
among the samples nothing shows them. So no bound is nearer than failures can move the drop of which n samples show
none: a share 1 - level^(1 / n) of all, the "rule of three". Both are made alike on the better side, for cures.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pytest_audiobench.stats.quantiles import t_quantile, t_tail


class Unseen(NamedTuple):
    """Failures, or cures, of ``span`` each that are so rare that none is among ``samples``; infinite where none says
    how large they may be, and nothing is claimed of them.
    """

    span: float
    samples: float

    def reach(self, level: float) -> float:
        """How much they move the drop where all samples miss them with a probability of ``level``."""
        return -self.span * math.expm1(math.log(level) / self.samples) if math.isfinite(self.span) else 0.0

    def p(self, excess: float) -> float:
        """The probability that all samples miss those that would make up for ``excess``."""
        if not math.isfinite(self.span):
            return 0.0
        return float(max(0.0, 1.0 - excess / self.span) ** self.samples) if excess > 0.0 else 1.0


class Spread(NamedTuple):
    """``error`` is the standard error, with ``degrees`` of freedom; ``skew`` the third moment over its square."""

    error: float
    skew: float
    degrees: int
    unseen: Unseen

    def reach(self, level: float, side: float) -> float:
        """How far the bound at 1 - ``level`` lies from the drop, on its worse ``side`` (1) or its better one (-1)."""
        t = t_quantile(1.0 - level, self.degrees)
        tail = max(0.0, side * self.skew) * (1.0 + 2.0 * t * t) / 6.0
        return max(t * self.error + tail, self.unseen.reach(level))

    def p(self, excess: float) -> float:
        """The level at which the lower bound lies ``excess`` below the drop: :meth:`reach` inverted."""
        tail = max(0.0, -self.skew)
        beyond = excess - tail / 6.0
        root = math.sqrt(self.error**2 + 4.0 / 3.0 * tail * max(0.0, beyond))
        return max(t_tail(2.0 * beyond / (self.error + root), self.degrees), self.unseen.p(excess))
