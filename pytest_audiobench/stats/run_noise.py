"""How far a figure moves between runs of one unchanged model, and what the next run will hardly fall below.

A line for one more run is a prediction limit of a normal mean (Hahn and Meeker, Statistical Intervals, 1991, 4.7):
``mean - t(1 - level, degrees) * sd * sqrt(1 + 1 / runs)``. What is known of ``sd`` is the spread of the runs' figures,
with one degree less than there are runs, and, where each sample's scores are known, the spread of every sample over the
runs: with hundreds of samples its degrees are hundreds. The second holds where samples vary by themselves; where the
figures vary by more than that allows, runs share something (a kernel, a batch), and the first alone is taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats import special
from pytest_audiobench.stats.intervals import Floats

FEWEST_RUNS = 3
"""Two runs give a spread of one degree, whose limit is tens of its standard deviations away."""
_SHARED_LEVEL = 0.2
"""The level at which runs count as sharing something: a generous one, since the cost of a miss is false alarms."""
_RULE_OF_THREE = 3.0
"""What was never seen in n runs happens less than 3 / n times a run, with 95 % (Hanley and Lippman-Hand, 1983)."""


class RunNoise(NamedTuple):
    """The spread of one figure between runs."""

    mean: float
    sd: float
    """Of one run."""
    degrees: float
    runs: int
    shared: bool
    """Whether runs differ by more than their samples do by themselves."""
    unseen: float = 0.0
    """Where no sample changed between the runs: how many may in one run, with 95 %."""
    step: float = 0.0
    """By how much one of them moves the figure at most."""

    def reach(self, level: float) -> float:
        """How far below (or above) the mean one more run lies with the probability ``level``, at most."""
        reach = float(special.stdtrit(self.degrees, 1.0 - level)) * self.sd * math.sqrt(1.0 + 1.0 / self.runs)
        changes = 0
        while self.unseen and special.pdtrc(changes, self.unseen) > level:
            changes += 1
        return max(reach, changes * self.step)

    def seen(self, level: float, power: float) -> float:
        """The loss that puts a run beyond :meth:`reach` with the probability ``power``."""
        wobble = math.sqrt(self.sd**2 + self.unseen * self.step**2)
        return self.reach(level) + float(special.ndtri(power)) * wobble

    def beyond_samples(self, of_samples: float) -> float:
        """The standard deviation that runs share, beyond the ``of_samples`` that their samples explain."""
        return math.sqrt(max(0.0, self.sd**2 - of_samples**2)) if self.shared else 0.0


def noise_of_figures(figures: Floats) -> RunNoise:
    """From the figures of runs alone."""
    # Equal figures have no spread, whatever the rounding of their mean.
    sd = float(figures.std(ddof=1)) if np.ptp(figures) > 0.0 else 0.0
    return RunNoise(float(figures.mean()), sd, len(figures) - 1.0, len(figures), shared=True)


def noise_of_samples(figures: Floats, moves: Floats, step: float) -> tuple[RunNoise, float]:
    """From the runs' figures and what each independent unit added to them; and the spread that the units explain.

    ``moves`` has a row for each run and a column for each unit; a run's row adds up to its figure, but for a constant.
    ``step`` is the most by which one sample moves the figure.
    """
    of_runs, runs = noise_of_figures(figures), len(figures)
    variances = np.where(np.ptp(moves, axis=0) > 0.0, moves.var(axis=0, ddof=1), 0.0)
    total = float(variances.sum())
    if not total > 0.0:
        return of_runs._replace(shared=of_runs.sd > 0.0, unseen=_RULE_OF_THREE / runs, step=step), 0.0
    # The expected square of a variance's estimate exceeds its own by the factor 1 + 2 / degrees.
    degrees = total**2 * (runs + 1.0) / float((variances**2).sum())
    between = of_runs.sd**2
    if float(special.fdtrc(runs - 1.0, degrees, between / total)) < _SHARED_LEVEL:
        return of_runs, math.sqrt(total)
    pooled = ((runs - 1.0) * between + degrees * total) / (runs - 1.0 + degrees)
    return of_runs._replace(sd=math.sqrt(pooled), degrees=runs - 1.0 + degrees, shared=False), math.sqrt(total)
