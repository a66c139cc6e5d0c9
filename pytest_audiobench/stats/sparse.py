"""Rows of which few columns are not 0: a sample's few labels among the hundreds of a task."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import Floats

Row: TypeAlias = tuple[tuple[int, float], ...]
"""The columns of a row that are not 0, and what stands there."""


class Rows(NamedTuple):
    """Rows of one ``width``, one a sample."""

    rows: Sequence[Row]
    width: int

    def beside(self, other: Rows) -> Rows:
        """Each row with ``other``'s to the right of it."""
        pairs = zip(self.rows, other.rows, strict=True)
        joined = [(*left, *((self.width + place, value) for place, value in right)) for left, right in pairs]
        return Rows(joined, self.width + other.width)


class Sparse(NamedTuple):
    """A matrix of few numbers: ``values[i]`` stands in row ``rows[i]`` and column ``columns[i]``, and 0 elsewhere."""

    shape: tuple[int, int]
    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    values: Floats

    def weighted(self, weights: Floats) -> Floats:
        """The sums of its rows by each of ``weights``, shape (r, rows), in memory for the numbers that are there."""
        width = self.shape[1]
        return np.array([np.bincount(self.columns, one[self.rows] * self.values, width) for one in weights])

    def column(self, place: int) -> Floats:
        """One column in full."""
        here, found = self.columns == place, np.zeros(self.shape[0])
        found[self.rows[here]] = self.values[here]
        return found


def distinct(units: Sequence[Row], width: int) -> tuple[Sparse, npt.NDArray[np.intp]]:
    """The different rows among ``units`` in an order of their own, and which of them each unit is, shape (n,)."""
    places: dict[Row, int] = {}
    kind_of = [places.setdefault(unit, len(places)) for unit in units]
    found = list(places)
    order = sorted(range(len(found)), key=found.__getitem__)
    renamed = np.argsort(np.array(order, dtype=np.intp))
    entries = [(row, *entry) for row, old in enumerate(order) for entry in found[old]]
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    kinds = Sparse(
        (len(found), width), np.array(rows, np.intp), np.array(columns, np.intp), np.array(values, np.float64)
    )
    return kinds, renamed[np.array(kind_of, dtype=np.intp)]


def by_cluster(units: Sequence[Row], clusters: Sequence[Hashable]) -> list[Row]:
    """The units of each cluster added up."""
    parts: dict[Hashable, dict[int, list[float]]] = {}
    for cluster, unit in zip(clusters, units, strict=True):
        its = parts.setdefault(cluster, {})
        for place, value in unit:
            its.setdefault(place, []).append(value)
    # fsum does not depend on the order of samples.
    return [tuple((place, math.fsum(values)) for place, values in sorted(its.items())) for its in parts.values()]
