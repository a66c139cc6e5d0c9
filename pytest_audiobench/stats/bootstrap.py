"""The bootstrap for what has no simple formula: functions of sums, such as macro F1, and of whole samples.

Percentiles of resamples (Efron 1979; for BLEU Koehn 2004). Where the number has ends (a share), each resample also
holds one more sample, the worst there can be for the lower bound and the best for the upper one, as
``stats.intervals`` adds it: without it all right answers would be certainty. The seed comes from the statistics, and
samples are put in an order of their own, so that neither the order of samples nor a shard moves a bound.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Floats, Interval, none, numbered, repeat

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Maps sums of shape (r, k) to r values."""

RESAMPLES = 1_000
FEW_RESAMPLES = 200
"""Where each resample is costly: enough for a bound to about a tenth of the interval's width."""
FEWEST = 20
"""Samples or clusters below which percentiles of resamples were seen to hold the truth too rarely."""
FEWEST_OF_LABEL = 5
"""Samples or clusters of a label: fewer tell so little of its part of a mean that one more is taken into account."""
CELLS = 4_000_000
"""Numbers held at a time, which bounds the memory."""
_FEW_ALIKE = 8


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
    """A matrix of few numbers: ``values[i]`` is in row ``rows[i]`` and column ``columns[i]``, and 0 elsewhere."""

    shape: tuple[int, int]
    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    values: Floats

    def weighted(self, weights: Floats) -> Floats:
        """The sums of its rows by each of ``weights``, shape (r, rows), in memory for the numbers that are there."""
        width = self.shape[1]
        return np.array([np.bincount(self.columns, weight[self.rows] * self.values, width) for weight in weights])

    def column(self, place: int) -> Floats:
        """One column in full."""
        there, full = self.columns == place, np.zeros(self.shape[0])
        full[self.rows[there]] = self.values[there]
        return full


class Ends(NamedTuple):
    """What one more sample may be where the value is lowest and highest: rows (p, k), of which a resample draws one."""

    lowest: Floats
    highest: Floats


class Sums(NamedTuple):
    """A number that is a function of sums: each sample's statistics, (n, k) or sparse, and the ``value`` of sums.

    ``ends`` makes of the mean sample what one more may be; ``rare`` what one more of each part may be that has too few
    samples or clusters to be known by them, or None. ``lacking`` says why there are not enough for an interval, where
    there are not.
    """

    units: Floats | Rows
    value: Statistic
    ends: Callable[[Floats], Ends] | None = None
    lacking: Callable[[Resampling], str | None] | None = None
    rare: Callable[[Resampling], Ends | None] | None = None

    def whole(self) -> float:
        """The value of all samples together; NaN where a statistic is not finite."""
        return self.at(resampling(self.units, None).total())

    def at(self, sums: Floats) -> float:
        """The value of ``sums``, shape (1, k)."""
        return float(self.value(sums)[0]) if np.isfinite(sums).all() else math.nan


class Table(NamedTuple):
    """A number that only whole samples show (an equal error rate): ``value`` maps their rows, (m, k), to it.

    ``ends`` are what one more sample may be; ``lacking`` says why there is no interval, where there is none.
    """

    rows: Floats
    value: Callable[[Floats], float]
    ends: Ends | None = None
    lacking: str | None = None

    def whole(self) -> float:
        """The value of all rows together."""
        return self.value(self.rows)


class Resampling(NamedTuple):
    """Samples, or clusters of them, ready to be resampled: ``distinct`` rows, in an order of their own, of which there
    are ``counts`` each. ``kind_of`` says which of them each unit is, units in the order of their first sample.
    """

    distinct: Floats | Sparse
    counts: Floats
    kind_of: npt.NDArray[np.intp]
    what: str

    @property
    def units(self) -> int:
        return int(self.counts.sum())

    def total(self) -> Floats:
        """The sums over all units, shape (1, k)."""
        return self.weighted(self.counts[None, :])

    def weighted(self, weights: Floats) -> Floats:
        """The sums of the distinct rows by each of ``weights``, shape (r, d)."""
        return self.distinct.weighted(weights) if isinstance(self.distinct, Sparse) else weights @ self.distinct

    def resampled(self, value: Statistic) -> Floats:
        """``value`` of 1,000 resamples of the units. The seed comes from the statistics."""
        return np.concatenate([value(sums) for sums, _ in self._drawn()])

    def reaching(self, value: Statistic, ends: Ends, rare: Ends | None = None) -> tuple[Floats, Floats]:
        """``value`` of 1,000 resamples with one more unit of either of ``ends``, by a weight drawn from exp(-w).

        So is one more of each of ``rare``, by its own weight.
        """
        bounds: tuple[list[Floats], list[Floats]] = ([], [])
        for sums, generator in self._drawn():
            weights, which = generator.standard_exponential((len(sums), 1)), generator.random(len(sums))
            each = None if rare is None else generator.standard_exponential((len(sums), len(rare.lowest)))
            for values, end, of_rare in zip(bounds, ends, rare or (None, None), strict=True):
                more = sums if each is None or of_rare is None else sums + each @ of_rare
                values.append(value(more + weights * end[(which * len(end)).astype(np.intp)]))
        return np.concatenate(bounds[0]), np.concatenate(bounds[1])

    def _drawn(self) -> Iterator[tuple[Floats, np.random.Generator]]:
        """The sums of resamples in portions, and what draws them."""
        if isinstance(self.distinct, Sparse):
            parts: tuple[npt.NDArray[np.generic], ...] = (*self.distinct[1:], self.counts)
            bytes_of_units = b"".join(part.tobytes() for part in parts)
        else:
            bytes_of_units = self.distinct.tobytes()
        generator = _generator(bytes_of_units)
        at_once = max(1, CELLS // max(self.distinct.shape))
        for at in range(0, RESAMPLES, at_once):
            yield self.weighted(_weights(generator, self.counts, min(at_once, RESAMPLES - at))), generator


def resampling(units: Floats | Rows, clusters: Clusters = None) -> Resampling:
    """Samples by their statistics, those of a cluster added up where clusters repeat."""
    grouped = repeat(clusters)
    what = "clusters" if grouped else "samples"
    if isinstance(units, Rows):
        entries = by_cluster(units.rows, clusters) if clusters is not None and grouped else units.rows
        kinds, kind_of = distinct(entries, units.width)
        return Resampling(kinds, np.bincount(kind_of, minlength=kinds.shape[0]).astype(np.float64), kind_of, what)
    rows = np.asarray(units, dtype=np.float64)
    if clusters is not None and grouped:
        codes = numbered(clusters, len(rows))
        # Added up in an order of their own, so that the order of samples does not move a last digit, and the seed.
        order = np.lexsort(rows.T[::-1])
        summed = np.zeros((int(codes.max()) + 1, rows.shape[1]))
        np.add.at(summed, codes[order], rows[order])
        rows = summed
    order = np.lexsort(rows.T[::-1])
    return Resampling(rows[order], np.ones(len(rows)), np.argsort(order), what)


def interval_of(units: Resampling, sums: Sums, clusters: Clusters = None) -> Interval:
    """The interval for the value of ``sums``, by 1,000 resamples of ``units``: its samples, or clusters of them.

    None for fewer than 20 of them, where ``lacking`` says why, or where all resamples have the same value. Memory for
    sparse statistics is that of the numbers that are not 0.
    """
    if (reason := _too_few(units.units, units.what)) is not None:
        return none(reason)
    if not isinstance(units.distinct, Sparse) and not np.isfinite(units.distinct).all():
        return none("a value is not finite")
    if sums.lacking is not None and (reason := sums.lacking(units)) is not None:
        return none(reason)
    few = ""
    if sums.ends is None:
        lower = upper = units.resampled(sums.value)
    else:
        lengths = np.bincount(numbered(clusters, len(units.kind_of))).astype(np.float64)
        ends = sums.ends(units.total()[0] / lengths.sum())
        size = size_of(lengths)
        rare = None if sums.rare is None else sums.rare(units)
        if rare is not None:
            rare = Ends(rare.lowest * size, rare.highest * size)
            few = f", one more of each of {len(rare.lowest)} with fewer than {FEWEST_OF_LABEL}"
        lower, upper = units.reaching(sums.value, Ends(ends.lowest * size, ends.highest * size), rare)
    return _percentiles(lower, upper, f"{units.units} {units.what}, {RESAMPLES} resamples{few}")


def of_rows(table: Table, clusters: Clusters = None) -> Interval:
    """The interval for what only whole samples show, such as an error rate over thresholds.

    Percentile bootstrap of 200 resamples of the table's rows, or of their clusters, in an order of their own. No
    interval for fewer than 20, or where a resample has no value.
    """
    if table.lacking is not None:
        return none(table.lacking)
    if not np.isfinite(table.rows).all():
        return none("a value is not finite")
    units = _Units.of(table, clusters)
    if (reason := _too_few(units.number, units.what)) is not None:
        return none(reason)
    values: tuple[list[float], list[float]] = ([], [])
    for rows, generator in units.drawn():
        more, which = round(generator.poisson() * size_of(units.lengths)), generator.random()
        for values_at_end, end in zip(values, table.ends or (None, None), strict=True):
            extra = [] if end is None else [np.repeat(end[int(which * len(end))][None, :], more, axis=0)]
            values_at_end.append(table.value(np.concatenate([rows, *extra])))
    of = f"{units.number} {units.what}, {FEW_RESAMPLES} resamples"
    return _percentiles(np.array(values[0]), np.array(values[1]), of)


def resampled_rows(table: Table, clusters: Clusters) -> tuple[Floats, int, str]:
    """The table's value over 200 resamples of its rows, or of their clusters; how many of these there are of what.

    No values for fewer than 2. The seed comes from the rows.
    """
    units = _Units.of(table, clusters)
    if units.number < 2:
        return np.empty(0), units.number, units.what
    return np.array([table.value(rows) for rows, _ in units.drawn()]), units.number, units.what


def size_of(lengths: Floats) -> float:
    """How many samples the cluster of a sample has on average."""
    return float(lengths @ lengths / lengths.sum())


class _Units(NamedTuple):
    """A table's rows, cluster by cluster, in an order of their own."""

    every: Floats
    lengths: Floats
    what: str

    @classmethod
    def of(cls, table: Table, clusters: Clusters) -> _Units:
        names = range(len(table.rows)) if clusters is None else clusters
        members: dict[object, list[int]] = {}
        for row, name in enumerate(names):
            members.setdefault(name, []).append(row)
        units = [table.rows[numbers] for numbers in members.values()]
        units = sorted((unit[np.lexsort(unit.T[::-1])] for unit in units), key=lambda unit: unit.tobytes())
        lengths = np.array([len(unit) for unit in units], dtype=np.float64)
        return cls(np.concatenate(units), lengths, "samples" if len(units) == len(table.rows) else "clusters")

    @property
    def number(self) -> int:
        return len(self.lengths)

    def drawn(self) -> Iterator[tuple[Floats, np.random.Generator]]:
        """The rows of 200 resamples, and what draws them, seeded by the rows."""
        starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        generator = _generator(self.every.tobytes())
        for _ in range(FEW_RESAMPLES):
            drawn = generator.integers(0, self.number, size=self.number)
            yield self.every[drawn if self.what == "samples" else _whole(drawn, starts)], generator


def _too_few(count: int, what: str) -> str | None:
    return f"{count} {what if count != 1 else what[:-1]}, {FEWEST} needed" if count < FEWEST else None


def _whole(drawn: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    sizes = (starts[1:] - starts[:-1])[drawn]
    ends = np.cumsum(sizes)
    places: npt.NDArray[np.int64] = np.arange(ends[-1]) + np.repeat(starts[drawn] - ends + sizes, sizes)
    return places


def _generator(seed: bytes) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(seed).digest()[:8], "big"))


def _weights(generator: np.random.Generator, counts: Floats, drawn: int) -> Floats:
    """How often each unit is in each of ``drawn`` resamples, shape (drawn, d)."""
    total, distinct = int(counts.sum()), len(counts)
    if total > _FEW_ALIKE * distinct:
        return generator.multinomial(total, counts / counts.sum(), size=drawn).astype(np.float64)
    # Where few units are alike, counting drawn positions costs a fraction of the multinomial.
    unit_at = np.repeat(np.arange(distinct), counts.astype(np.intp))
    resamples = [
        np.bincount(unit_at[generator.integers(0, total, size=total)], minlength=distinct) for _ in range(drawn)
    ]
    return np.array(resamples, dtype=np.float64)


def _percentiles(lower: Floats, upper: Floats, of: str) -> Interval:
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return none("some resamples have no value")
    tail = 100.0 * (1.0 - CONFIDENCE) / 2.0
    bounds = float(np.percentile(lower, tail)), float(np.percentile(upper, 100.0 - tail))
    if bounds[1] - bounds[0] <= 1e-12 * max(1.0, abs(bounds[0])):
        # A few right answers tell nothing of the wrong ones that more would bring: [1, 1] would claim certainty.
        return none("every resample gives the same value")
    return Interval(*bounds, f"bootstrap {100 * CONFIDENCE:g} %, {of}")


def distinct(units: Sequence[Row], width: int) -> tuple[Sparse, npt.NDArray[np.intp]]:
    """The different rows among ``units`` in an order of their own, and which of them each unit is, shape (n,)."""
    places: dict[Row, int] = {}
    kind_of = [places.setdefault(unit, len(places)) for unit in units]
    different = list(places)
    order = sorted(range(len(different)), key=different.__getitem__)
    renamed = np.argsort(np.array(order, dtype=np.intp))
    entries = [(row, *entry) for row, old in enumerate(order) for entry in different[old]]
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    kinds = Sparse(
        (len(different), width), np.array(rows, np.intp), np.array(columns, np.intp), np.array(values, np.float64)
    )
    return kinds, renamed[np.array(kind_of, dtype=np.intp)]


def by_cluster(units: Sequence[Row], clusters: Sequence[Hashable]) -> list[Row]:
    """The units of each cluster added up."""
    parts: dict[Hashable, dict[int, list[float]]] = {}
    for cluster, unit in zip(clusters, units, strict=True):
        sums = parts.setdefault(cluster, {})
        for place, value in unit:
            sums.setdefault(place, []).append(value)
    # fsum does not depend on the order of samples.
    return [tuple((place, math.fsum(values)) for place, values in sorted(sums.items())) for sums in parts.values()]
