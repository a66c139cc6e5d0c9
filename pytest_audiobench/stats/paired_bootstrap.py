"""The drop of a function of sums (BLEU, macro F1) or of a whole set (an equal error rate), by a paired bootstrap.

Both runs' statistics of a sample, or of a cluster, are drawn together (Koehn 2004, "Statistical significance tests for
machine translation evaluation"; Berg-Kirkpatrick et al. 2012). The resamples give the standard error of the drop; p and
bounds are Student's t on it, since a share of 1,000 resamples cannot hold a level of 0.05 / 24, and percentiles
are too narrow for few clusters. The seed comes from the statistics.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.bootstrap import (
    CELLS,
    FEW_RESAMPLES,
    RESAMPLES,
    Resampling,
    Rows,
    Sparse,
    Statistic,
    Sums,
    Table,
    resampled_rows,
    resampling,
)
from pytest_audiobench.stats.drops import Drop, Question, no_drop
from pytest_audiobench.stats.intervals import Clusters, Floats, numbered
from pytest_audiobench.stats.mcnemar import EXACT_DIFFERING
from pytest_audiobench.stats.paired import Moves, Resampled, studentised

FEWEST_OF_SUMS, FEWEST_OF_ROWS = 20, 30
"""Clusters (or samples) below which each form is not known to hold its level."""


def sums_drop(
    before: Sums, after: Sums, clusters: Clusters, question: Question, higher_is_better: bool = True, span: float = 1.0
) -> Drop:
    """The drop of a function of sums over the same samples in one order, by 1,000 resamples.

    ``span`` is what the metric can lose by, for the bound where no pair differs; infinite where that is not known.
    """
    sign = 1.0 if higher_is_better else -1.0
    totals = [resampling(side.units, None).total() for side in (before, after)]
    if not all(np.isfinite(total).all() for total in totals):
        return no_drop(math.nan, "a value is not finite")
    value = sign * float(before.value(totals[0])[0] - after.value(totals[1])[0])
    if not math.isfinite(value):
        return no_drop(value, "the value is not finite")
    # The same resamples whichever run is the first, so that two runs exchanged have the opposite drop.
    turned = totals[0][0].tolist() > totals[1][0].tolist()
    first, second = (after, before) if turned else (before, after)
    width = totals[turned].shape[1]

    def drop(sums: Floats) -> Floats:
        difference: Floats = first.value(sums[:, :width]) - second.value(sums[:, width:])
        return difference

    units = resampling(_beside(first.units, second.units), clusters)
    values = units.resampled(drop)
    if not np.isfinite(values).all():
        return no_drop(value, "some resamples have no value")
    shares = _shares(clusters, len(units.kind_of))
    about = (-sign if turned else sign) * _influences(units, drop)[units.kind_of]
    about = about - shares * about.sum()
    in_all = np.where(_differ(units, width)[units.kind_of], about + value * shares, 0.0)
    samples = float(len(units.kind_of) if clusters is None else len(clusters))
    moves = Moves(about, in_all, shares, units.what, samples)
    resampled = Resampled(float(values.std(ddof=1)), RESAMPLES, FEWEST_OF_SUMS)
    return studentised(value, moves, question, span, resampled)


def rows_drop(
    before: Table,
    after: Table,
    clusters: Clusters,
    question: Question,
    higher_is_better: bool = True,
    span: float = 1.0,
) -> Drop:
    """The drop of what only whole sets show, over the same samples in one order, by 200 resamples.

    No test where a table is ``lacking`` what resamples need: simulations find none that holds there. How much each
    sample moves the drop is not known: all that differ are taken to move it alike.
    """
    sign = 1.0 if higher_is_better else -1.0
    if not (np.isfinite(before.rows).all() and np.isfinite(after.rows).all()):
        return no_drop(math.nan, "a value is not finite")
    value = sign * (before.value(before.rows) - after.value(after.rows))
    if not math.isfinite(value):
        return no_drop(value, "the value is not finite")
    if (lacking := before.lacking or after.lacking) is not None:
        return no_drop(value, lacking)
    turned = before.rows.sum(axis=0).tolist() > after.rows.sum(axis=0).tolist()
    first, second = (after, before) if turned else (before, after)
    width = first.rows.shape[1]

    def drop(rows: Floats) -> float:
        return first.value(rows[:, :width]) - second.value(rows[:, width:])

    values, count, what = resampled_rows(Table(np.hstack([first.rows, second.rows]), drop), clusters)
    if count < 2:
        return no_drop(value, f"fewer than 2 {what}")
    if not np.isfinite(values).all():
        return no_drop(value, "some resamples have no value")
    codes = numbered(clusters, len(before.rows))
    differ = np.bincount(codes, (before.rows != after.rows).any(axis=1)) > 0.0
    shares = _shares(clusters, count)
    in_all = differ * shares
    if differ.sum() < EXACT_DIFFERING:
        for cluster in np.flatnonzero(differ):
            in_all[cluster] = value - sign * _drop_without((codes == cluster)[:, None], before, after)
    return studentised(
        value,
        Moves(differ * shares, in_all, shares, what, float(len(before.rows))),
        question,
        span,
        Resampled(float(values.std(ddof=1)), FEW_RESAMPLES, FEWEST_OF_ROWS, signed=False),
        unseen_cures=True,
    )


def _drop_without(cluster: npt.NDArray[np.bool_], before: Table, after: Table) -> float:
    """The drop had the two runs been alike in ``cluster`` (n, 1): the mean of both ways, so that no run is favoured."""
    spared = before.value(before.rows) - after.value(np.where(cluster, before.rows, after.rows))
    suffered = before.value(np.where(cluster, after.rows, before.rows)) - after.value(after.rows)
    return (spared + suffered) / 2.0


def _beside(first: Floats | Rows, second: Floats | Rows) -> Floats | Rows:
    if isinstance(first, Rows) and isinstance(second, Rows):
        return first.beside(second)
    return np.hstack([np.asarray(first), np.asarray(second)])


def _shares(clusters: Clusters, units: int) -> Floats:
    """The share of the samples that each unit holds, shape (units,)."""
    counts = np.bincount(numbered(clusters, units), minlength=units)
    shares: Floats = counts / counts.sum()
    return shares


def _influences(units: Resampling, value: Statistic) -> Floats:
    """By how much each distinct row moves ``value``: its product with the gradient, by differences of one count."""
    total = units.total()[0]
    places = np.flatnonzero(total)
    gradient = np.zeros_like(total)
    at_once = max(1, CELLS // len(total))
    for start in range(0, len(places), at_once):
        some = places[start : start + at_once]
        steps = np.zeros((len(some), len(total)))
        steps[np.arange(len(some)), some] = 1.0
        # A count below one has nothing to lose.
        less = np.where(total[some] >= 1.0, 1.0, 0.0)
        change = value(total + steps) - value(total - steps * less[:, None])
        gradient[some] = np.nan_to_num(change / (1.0 + less))
    if isinstance(units.distinct, Sparse):
        moved = units.distinct.values * gradient[units.distinct.columns]
        return np.bincount(units.distinct.rows, moved, units.distinct.shape[0]).astype(np.float64)
    influences: Floats = units.distinct @ gradient
    return influences


def _differ(units: Resampling, width: int) -> npt.NDArray[np.bool_]:
    """Whether the two runs differ in each distinct row, of which the first has ``width`` columns."""
    count, both = units.distinct.shape
    if both != 2 * width:
        return np.ones(count, dtype=bool)
    if not isinstance(units.distinct, Sparse):
        different: npt.NDArray[np.bool_] = (units.distinct[:, :width] != units.distinct[:, width:]).any(axis=1)
        return different
    _, rows, columns, values = units.distinct
    cells, cell_of = np.unique(rows * width + columns % width, return_inverse=True)
    net = np.bincount(cell_of, np.where(columns < width, values, -values))
    differing: npt.NDArray[np.bool_] = np.bincount(cells // width, net != 0.0, count) > 0.0
    return differing
