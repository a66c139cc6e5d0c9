"""The bootstrap for what has no simple formula: functions of sums, such as macro F1, and of whole samples.

Percentiles of resamples (Efron 1979; for BLEU Koehn 2004). Where the number has ends (a share), each resample also
holds one more sample, the worst there can be for the lower bound and the best for the upper one, with a weight drawn
from the exponential distribution: what ``stats.intervals`` adds, without which all right answers would be certainty.
The seed comes from the statistics, and samples are put in an order of their own, so that neither the order of samples
nor a shard moves a bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Floats, Interval, none
from pytest_audiobench.stats.sparse import Sparse

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Maps sums of shape (r, k) to r values."""

RESAMPLES = 1_000
FEW_RESAMPLES = 200
"""Where each resample is costly: enough for a bound to about a tenth of the interval's width."""
FEWEST = 20
"""Samples or clusters below which percentiles of resamples were seen to hold the truth too rarely."""
FEWEST_OF_LABEL = 5
"""Samples or clusters of the rarest label that a mean over labels takes in: fewer tell nothing of its part."""
_CELLS = 4_000_000
"""Counts drawn at a time, which bounds the memory."""
_FEW_ALIKE = 8


class Ends(NamedTuple):
    """What one more sample may be where the value is lowest and highest: rows (p, k), of which a resample draws one."""

    lowest: Floats
    highest: Floats


def of_sums(
    statistics: Floats,
    value: Statistic,
    clusters: Clusters = None,
    ends: Callable[[Floats], Ends] | None = None,
    confidence: float = CONFIDENCE,
) -> Interval:
    """The interval for ``value`` of the column sums of ``statistics``, shape (n, k), by resampling samples or clusters.

    ``ends`` makes of the mean sample what one more may be; without it nothing is added.
    No interval is given for fewer than 20 samples or clusters, or where all resamples have the same value.
    """
    units, what = np.asarray(statistics, dtype=np.float64), "samples"
    size = 1.0
    own = units.mean(axis=0) if len(units) else np.zeros(units.shape[1])
    if clusters is not None and len(set(clusters)) < len(clusters):
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
        codes = [numbers[cluster] for cluster in clusters]
        summed = np.zeros((len(numbers), units.shape[1]))
        np.add.at(summed, codes, units)
        units, what = summed, "clusters"
        size = size_of(np.bincount(codes).astype(np.float64))
    if (reason := _too_few(len(units), what)) is not None:
        return none(reason)
    if not np.isfinite(units).all():
        return none("a value is not finite")
    units = units[np.lexsort(units.T[::-1])]
    added = None if ends is None else _scaled(ends(own), size)
    draws = _Draws(units.tobytes(), np.ones(len(units)), lambda weights: weights @ units, max(units.shape))
    values = _drawn(draws, value, added)
    return _percentiles(*values, f"{len(units)} {what}, {RESAMPLES} resamples", confidence)


def of_repeated(
    units: Sparse,
    counts: Floats,
    value: Statistic,
    what: str = "samples",
    ends: Ends | None = None,
    confidence: float = CONFIDENCE,
) -> Interval:
    """:func:`of_sums` of distinct ``units`` (samples or clusters, as ``what`` says) that occur ``counts`` times each.

    Its memory is that of the numbers that are not 0. The order of units moves a bound: sort them. ``ends`` are those
    of one more unit.
    """
    total = int(counts.sum())
    if (reason := _too_few(total, what)) is not None:
        return none(reason)
    told = b"".join(part.tobytes() for part in (units.rows, units.columns, units.values, counts))
    values = _drawn(_Draws(told, counts, units.weighted, max(units.shape)), value, ends)
    return _percentiles(*values, f"{total} {what}, {RESAMPLES} resamples", confidence)


def of_rows(
    rows: Floats,
    value: Callable[[Floats], float],
    clusters: Clusters = None,
    ends: Ends | None = None,
    confidence: float = CONFIDENCE,
) -> Interval:
    """The interval for what only whole samples tell, such as an error rate over thresholds.

    ``value`` maps rows, shape (m, k), to a number. Percentile bootstrap of 200 resamples of the samples ``rows``, shape
    (n, k), or of their clusters, in an order of their own. Of ``ends`` each resample holds as many rows as a Poisson
    variable of mean 1 (times a cluster's size) says. No interval for fewer than 20, or where a resample has no value.
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
    if (reason := _too_few(len(units), what)) is not None:
        return none(reason)
    lengths = np.array([len(unit) for unit in units])
    size = size_of(lengths.astype(np.float64))
    starts = np.cumsum([0, *lengths])
    every = np.concatenate(units)
    generator = _generator(every.tobytes())
    values: tuple[list[float], list[float]] = ([], [])
    for _ in range(FEW_RESAMPLES):
        drawn = generator.integers(0, len(units), size=len(units))
        here = every[drawn if what == "samples" else _whole(drawn, starts)]
        more, which = round(generator.poisson() * size), generator.random()
        for found, end in zip(values, ends or (None, None), strict=True):
            extra = [] if end is None else [np.repeat(end[int(which * len(end))][None, :], more, axis=0)]
            found.append(value(np.concatenate([here, *extra])))
    of = f"{len(units)} {what}, {FEW_RESAMPLES} resamples"
    return _percentiles(np.array(values[0]), np.array(values[1]), of, confidence)


def size_of(lengths: Floats) -> float:
    """How many samples the cluster of a sample has on average."""
    return float(lengths @ lengths / lengths.sum())


def _too_few(count: int, what: str) -> str | None:
    return f"{count} {what if count != 1 else what[:-1]}, {FEWEST} needed" if count < FEWEST else None


def _scaled(ends: Ends, size: float) -> Ends:
    return Ends(ends.lowest * size, ends.highest * size)


def _whole(drawn: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.arange(starts[unit], starts[unit + 1]) for unit in drawn])


def _generator(told: bytes) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(told).digest()[:8], "big"))


class _Draws(NamedTuple):
    """What is resampled: its bytes for the seed, how often each unit is there, sums by weights, its longer side."""

    told: bytes
    counts: Floats
    sums_by: Callable[[Floats], Floats]
    widest: int


def _drawn(draws: _Draws, value: Statistic, ends: Ends | None) -> tuple[Floats, Floats]:
    """``value`` of the sums of each resample, with the worst and with the best of one more unit where there are any."""
    generator = _generator(draws.told)
    at_once = max(1, _CELLS // draws.widest)
    lower: list[Floats] = []
    upper: list[Floats] = []
    for at in range(0, RESAMPLES, at_once):
        drawn = min(at_once, RESAMPLES - at)
        sums = draws.sums_by(_weights(generator, draws.counts, drawn))
        if ends is None:
            lower.append(value(sums))
            upper.append(lower[-1])
            continue
        weights, which = generator.standard_exponential((drawn, 1)), generator.random(drawn)
        for found, end in ((lower, ends.lowest), (upper, ends.highest)):
            found.append(value(sums + weights * end[(which * len(end)).astype(np.intp)]))
    return np.concatenate(lower), np.concatenate(upper)


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


def _percentiles(lower: Floats, upper: Floats, of: str, confidence: float) -> Interval:
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return none("some resamples have no value")
    tail = 100.0 * (1.0 - confidence) / 2.0
    bounds = float(np.percentile(lower, tail)), float(np.percentile(upper, 100.0 - tail))
    if bounds[1] - bounds[0] <= 1e-12 * max(1.0, abs(bounds[0])):
        # A few right answers tell nothing of the wrong ones that more would bring: [1, 1] would claim certainty.
        return none("every resample gives the same value")
    return Interval(*bounds, f"bootstrap {100 * confidence:g} %, {of}")
