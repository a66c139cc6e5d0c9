"""A percentile bootstrap for what has no simple formula: functions of sums, such as macro F1, and of whole samples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Floats, Interval, none
from pytest_audiobench.stats.sparse import Rows, Sparse, by_cluster, distinct

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Maps sums of shape (r, k) to r values."""

RESAMPLES = 1_000
FEW_RESAMPLES = 200
"""Where each resample is costly: enough for a bound to about a tenth of the interval's width."""
CELLS = 4_000_000
"""Numbers held at a time, which bounds the memory."""
_FEW_ALIKE = 8


class Sums(NamedTuple):
    """A number that is a function of sums: each sample's statistics, (n, k) or sparse, and the ``value`` of sums."""

    units: Floats | Rows
    value: Statistic

    def whole(self) -> float:
        """The value of all samples together."""
        return float(self.value(resampling(self.units, None).total())[0])


class Table(NamedTuple):
    """A number that only whole samples tell (an equal error rate): ``value`` maps their rows, (m, k), to it."""

    rows: Floats
    value: Callable[[Floats], float]


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
        if isinstance(self.distinct, Sparse):
            parts: tuple[npt.NDArray[np.generic], ...] = (*self.distinct[1:], self.counts)
            told = b"".join(part.tobytes() for part in parts)
        else:
            told = self.distinct.tobytes()
        generator = _generator(told)
        at_once = max(1, CELLS // max(self.distinct.shape))
        return np.concatenate(
            [
                value(self.weighted(_weights(generator, self.counts, min(at_once, RESAMPLES - at))))
                for at in range(0, RESAMPLES, at_once)
            ]
        )


def resampling(units: Floats | Rows, clusters: Clusters) -> Resampling:
    """Samples by their statistics, those of a cluster added up where clusters repeat."""
    grouped = clusters is not None and len(set(clusters)) < len(clusters)
    what = "clusters" if grouped else "samples"
    if isinstance(units, Rows):
        rows = by_cluster(units.rows, clusters) if clusters is not None and grouped else units.rows
        kinds, kind_of = distinct(rows, units.width)
        return Resampling(kinds, np.bincount(kind_of, minlength=kinds.shape[0]).astype(np.float64), kind_of, what)
    found = np.asarray(units, dtype=np.float64)
    if clusters is not None and grouped:
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
        codes = np.array([numbers[cluster] for cluster in clusters], dtype=np.intp)
        # Added up in an order of their own, so that the order of samples does not move a last digit, and the seed.
        order = np.lexsort(found.T[::-1])
        summed = np.zeros((len(numbers), found.shape[1]))
        np.add.at(summed, codes[order], found[order])
        found = summed
    order = np.lexsort(found.T[::-1])
    return Resampling(found[order], np.ones(len(found)), np.argsort(order), what)


def of_sums(sums: Sums, clusters: Clusters = None, confidence: float = CONFIDENCE) -> Interval:
    """The interval for the value of ``sums``, by resampling samples or clusters.

    Percentile bootstrap (Efron 1979; for BLEU Koehn 2004) of 1,000 resamples. The seed comes from the statistics and
    samples are put in an order of their own, so that neither the order of samples nor a shard moves a bound.
    No interval is given for fewer than 2 samples or clusters, where a resample has no value, or where all have the same
    (nothing but right answers): no resample tells what is missing from the samples. Memory for sparse statistics is
    that of the numbers that are not 0.
    """
    units = resampling(sums.units, clusters)
    if units.units < 2:
        return none(f"fewer than 2 {units.what}")
    if not isinstance(units.distinct, Sparse) and not np.isfinite(units.distinct).all():
        return none("a value is not finite")
    return _percentiles(units.resampled(sums.value), f"{units.units} {units.what}, {RESAMPLES} resamples", confidence)


def of_rows(table: Table, clusters: Clusters = None, confidence: float = CONFIDENCE) -> Interval:
    """The interval for what only whole samples tell, such as an error rate over thresholds.

    Percentile bootstrap of 200 resamples of the table's rows, or of their clusters, in an order of their own. No
    interval for fewer than 2, or where a resample has no value.
    """
    if not np.isfinite(table.rows).all():
        return none("a value is not finite")
    values, count, what = resampled_rows(table, clusters)
    return (
        none(f"fewer than 2 {what}")
        if count < 2
        else _percentiles(values, f"{count} {what}, {FEW_RESAMPLES} resamples", confidence)
    )


def resampled_rows(table: Table, clusters: Clusters) -> tuple[Floats, int, str]:
    """The table's value over 200 resamples of its rows, or of their clusters; how many of these there are of what.

    No values for fewer than 2. The seed comes from the rows.
    """
    names = range(len(table.rows)) if clusters is None else clusters
    members: dict[object, list[int]] = {}
    for row, name in enumerate(names):
        members.setdefault(name, []).append(row)
    units = [table.rows[its] for its in members.values()]
    units = sorted((unit[np.lexsort(unit.T[::-1])] for unit in units), key=lambda unit: unit.tobytes())
    what = "samples" if len(units) == len(table.rows) else "clusters"
    if len(units) < 2:
        return np.empty(0), len(units), what
    starts = np.cumsum([0, *(len(unit) for unit in units)])
    every = np.concatenate(units)
    generator = _generator(every.tobytes())
    values = []
    for _ in range(FEW_RESAMPLES):
        drawn = generator.integers(0, len(units), size=len(units))
        values.append(table.value(every[drawn if what == "samples" else _whole(drawn, starts)]))
    return np.array(values), len(units), what


def _whole(drawn: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    sizes = (starts[1:] - starts[:-1])[drawn]
    ends = np.cumsum(sizes)
    found: npt.NDArray[np.int64] = np.arange(ends[-1]) + np.repeat(starts[drawn] - ends + sizes, sizes)
    return found


def _generator(told: bytes) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(told).digest()[:8], "big"))


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


def _percentiles(values: Floats, of: str, confidence: float) -> Interval:
    if not np.isfinite(values).all():
        return none("some resamples have no value")
    if np.ptp(values) <= 1e-12 * max(1.0, abs(values[0])):
        # A few right answers tell nothing of the wrong ones that more would bring: [1, 1] would claim certainty.
        return none("every resample gives the same value")
    tail = 100.0 * (1.0 - confidence) / 2.0
    lower, upper = np.percentile(values, [tail, 100.0 - tail])
    return Interval(float(lower), float(upper), f"bootstrap {100 * confidence:g} %, {of}")
