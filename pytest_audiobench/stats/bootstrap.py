"""A percentile bootstrap for what has no simple formula: functions of sums, such as macro F1, and of whole samples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Floats, Interval, none
from pytest_audiobench.stats.sparse import Sparse

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Maps sums of shape (r, k) to r values."""

RESAMPLES = 1_000
FEW_RESAMPLES = 200
"""Where each resample is costly: enough for a bound to about a tenth of the interval's width."""
_CELLS = 4_000_000
"""Counts drawn at a time, which bounds the memory."""
_FEW_ALIKE = 8


def of_sums(
    statistics: Floats, value: Statistic, clusters: Clusters = None, confidence: float = CONFIDENCE
) -> Interval:
    """The interval for ``value`` of the column sums of ``statistics``, shape (n, k), by resampling samples or clusters.

    Percentile bootstrap (Efron 1979; for BLEU Koehn 2004) of 1,000 resamples. The seed comes from the statistics and
    samples are put in an order of their own, so that neither the order of samples nor a shard moves a bound.
    No interval is given for fewer than 2 samples or clusters, where a resample has no value, or where all have the same
    (nothing but right answers): no resample tells what is missing from the samples.
    """
    units, what = np.asarray(statistics, dtype=np.float64), "samples"
    if clusters is not None and len(set(clusters)) < len(clusters):
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
        summed = np.zeros((len(numbers), units.shape[1]))
        np.add.at(summed, [numbers[cluster] for cluster in clusters], units)
        units, what = summed, "clusters"
    count = len(units)
    if count < 2:
        return none(f"fewer than 2 {what}")
    if not np.isfinite(units).all():
        return none("a value is not finite")
    units = units[np.lexsort(units.T[::-1])]

    def summed_by(weights: Floats) -> Floats:
        return value(weights @ units)

    values = _drawn(units.tobytes(), np.ones(count), summed_by, max(units.shape))
    return _percentiles(values, f"{count} {what}, {RESAMPLES} resamples", confidence)


def of_repeated(
    units: Sparse, counts: Floats, value: Statistic, what: str = "samples", confidence: float = CONFIDENCE
) -> Interval:
    """:func:`of_sums` of distinct ``units`` (samples or clusters, as ``what`` says) that occur ``counts`` times each.

    Its memory is that of the numbers that are not 0. The order of units moves a bound: sort them.
    """
    total = int(counts.sum())
    if total < 2:
        return none(f"fewer than 2 {what}")
    told = b"".join(part.tobytes() for part in (units.rows, units.columns, units.values, counts))

    def summed_by(weights: Floats) -> Floats:
        return value(units.weighted(weights))

    values = _drawn(told, counts, summed_by, max(units.shape))
    return _percentiles(values, f"{total} {what}, {RESAMPLES} resamples", confidence)


def of_rows(
    rows: Floats, value: Callable[[Floats], float], clusters: Clusters = None, confidence: float = CONFIDENCE
) -> Interval:
    """The interval for what only whole samples tell, such as an error rate over thresholds.

    ``value`` maps rows, shape (m, k), to a number. Percentile bootstrap of 200 resamples of the samples ``rows``, shape
    (n, k), or of their clusters, in an order of their own. No interval for fewer than 2, or where a resample has no
    value.
    """
    if not np.isfinite(rows).all():
        return none("a value is not finite")
    names = range(len(rows)) if clusters is None else clusters
    members: dict[object, list[int]] = {}
    for row, name in enumerate(names):
        members.setdefault(name, []).append(row)
    units = [rows[its] for its in members.values()]
    units = sorted((unit[np.lexsort(unit.T[::-1])] for unit in units), key=lambda unit: unit.tobytes())
    what = "samples" if len(units) == len(rows) else "clusters"
    if len(units) < 2:
        return none(f"fewer than 2 {what}")
    starts = np.cumsum([0, *(len(unit) for unit in units)])
    every = np.concatenate(units)
    generator = _generator(every.tobytes())
    values = []
    for _ in range(FEW_RESAMPLES):
        drawn = generator.integers(0, len(units), size=len(units))
        values.append(value(every[drawn if what == "samples" else _whole(drawn, starts)]))
    return _percentiles(np.array(values), f"{len(units)} {what}, {FEW_RESAMPLES} resamples", confidence)


def _whole(drawn: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.arange(starts[unit], starts[unit + 1]) for unit in drawn])


def _generator(told: bytes) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(told).digest()[:8], "big"))


def _drawn(told: bytes, counts: Floats, value: Statistic, widest: int) -> Floats:
    """``value`` of how often each unit is in each resample, in portions whose rows are at most ``widest``."""
    generator = _generator(told)
    at_once = max(1, _CELLS // widest)
    found = [value(_weights(generator, counts, min(at_once, RESAMPLES - at))) for at in range(0, RESAMPLES, at_once)]
    return np.concatenate(found)


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
