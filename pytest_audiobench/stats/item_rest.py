"""Item-rest correlations: whether those who do well on all other items do well on this one.

The corrected item-total correlation of classical test theory (Henrysson 1963; Lord and Novick 1968, chapter 15).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FEWEST = 3
"""Examinees with different scores over all items, below which a correlation is 1 or -1 whatever the item is."""

_DRAWS = 200
_SEED = 20261123
_ROUNDING = 1e-9


def item_rest(scores: npt.ArrayLike) -> Floats:
    """The correlation of each item's scores with the means of all other items, over those who answered.

    ``scores``: shape (items, examinees). NaN for an item that all score alike on, and where the means of the other
    items are all one. Raises ValueError for fewer than two items, which have no rest.
    """
    table = _table(scores)
    return _correlations(table, _rests(table))


def negative_by_chance(scores: npt.ArrayLike) -> float:
    """How many items would have a negative correlation if who scores what on an item were drawn at random.

    The mean of 200 draws from one seed: with few examinees, half of the items is not a rare number.
    """
    table = _table(scores)
    rests = _rests(table)
    generator = np.random.default_rng(_SEED)
    counts = [
        np.count_nonzero(_correlations(generator.permuted(table, axis=1), rests) < -_ROUNDING) for _ in range(_DRAWS)
    ]
    return float(np.mean(counts))


def distinct_abilities(scores: npt.ArrayLike) -> int:
    """How many different means over all items the examinees have."""
    return len(np.unique(np.round(_table(scores).mean(axis=0), 9)))


def _table(scores: npt.ArrayLike) -> Floats:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise ValueError(f"scores of items by examinees are wanted, of two items or more, not of shape {table.shape}")
    return table


def _rests(table: Floats) -> Floats:
    rests: Floats = (table.sum(axis=0) - table) / (len(table) - 1)
    return rests


def _correlations(table: Floats, rests: Floats) -> Floats:
    items = table - table.mean(axis=1, keepdims=True)
    others = rests - rests.mean(axis=1, keepdims=True)
    products = (items * others).sum(axis=1)
    norms = np.sqrt((items**2).sum(axis=1) * (others**2).sum(axis=1))
    # What is left of equal numbers by rounding is not a spread.
    correlations = np.full(len(table), np.nan)
    varied = norms > _ROUNDING
    correlations[varied] = np.clip(products[varied] / norms[varied], -1.0, 1.0)
    return correlations
