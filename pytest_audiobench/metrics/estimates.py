"""Ways from per-sample statistics to an estimate, shared by the kinds of metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import RANGES, Clusters, Estimate, MetricKind, Statistics, Summed
from pytest_audiobench.records.fields import Direction
from pytest_audiobench.stats.bootstrap import Ends, Statistic, Sums, Table, interval_of, of_rows, resampling
from pytest_audiobench.stats.intervals import Floats, mean_interval, none, proportion, ratio

Estimation: TypeAlias = Callable[[Sequence[Statistics], Clusters], Estimate]


def columns(statistics: Sequence[Statistics], metric: str, *names: str) -> Floats:
    """The named statistics of every sample, shape (n, len(names)). Raises UsageError where a sample lacks one."""
    found = np.empty((len(statistics), len(names)))
    try:
        for column, name in enumerate(names):
            found[:, column] = np.fromiter((sample[name] for sample in statistics), np.float64, len(statistics))
        return found
    except KeyError as error:
        missing = str(error.args[0])
    has = ", ".join(next(sample for sample in statistics if missing not in sample)) or "none"
    raise UsageError(
        f"{metric} needs the statistic {missing!r} of every sample, and a sample has {has}: "
        f"let the protocol's score return it, or name another metric in its scorer"
    )


def mean_of(metric: str, statistic: str, bounds: tuple[float, float] = (0.0, 1.0)) -> Estimation:
    """The mean of one statistic that lies within ``bounds``; a share where all values are 0 or 1."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        values = columns(statistics, metric, statistic)[:, 0]
        if not len(values):
            return nothing()
        whole = bounds == (0.0, 1.0) and bool(((values == 0.0) | (values == 1.0)).all())
        interval = proportion(values, clusters) if whole else mean_interval(values, clusters, bounds=bounds)
        return Estimate(average(values), interval.lower, interval.upper, len(values), interval.method)

    return estimate


def ratio_of(
    metric: str, tops: Sequence[str], bottoms: Sequence[str], empty: str, most: float = math.inf
) -> Estimation:
    """The sum of all ``tops`` over the sum of all ``bottoms``, such as sum(S + D + I) / sum(N), at most ``most``.

    Where the bottoms add up to nothing the value is NaN, and ``method`` says that ``empty``.
    """

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        counts = columns(statistics, metric, *tops, *bottoms)
        above, below = counts[:, : len(tops)].sum(axis=1), counts[:, len(tops) :].sum(axis=1)
        if (total := float(below.sum())) == 0.0:
            return Estimate(math.nan, None, None, len(below), none(empty).method)
        interval = ratio(above, below, clusters, most=most)
        return Estimate(float(above.sum()) / total, interval.lower, interval.upper, len(below), interval.method)

    return estimate


def sums_of(
    metric: str, names: Sequence[str], value: Statistic, ends: Callable[[Floats], Ends] | None = None
) -> Summed:
    """The sums of the named statistics; ``value`` maps them, shape (r, len(names)), to r values, NaN for none.

    ``ends`` makes of the mean sample what one more may be (``stats.bootstrap``).
    """

    def summed(statistics: Sequence[Statistics]) -> Sums:
        return Sums(columns(statistics, metric, *names), value, ends)

    return summed


def of_sample(summed: Summed) -> Callable[[Statistics], float]:
    """The value that a sample's own statistics have; NaN where they have none."""

    def score(sample: Statistics) -> float:
        sums = summed([sample])
        return math.nan if isinstance(sums, str) else sums.whole()

    return score


def of_form(form_of: Callable[[Sequence[Statistics]], Sums | Table | str]) -> Estimation:
    """The estimate of a function of sums, or of whole samples, with a bootstrap interval; NaN and why, without one."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        form = form_of(statistics)
        if isinstance(form, str):
            return Estimate(math.nan, None, None, len(statistics), none(form).method)
        if isinstance(form, Table):
            value, interval = form.whole(), of_rows(form, clusters)
        else:
            units = resampling(form.units, clusters)
            value, interval = form.at(units.total()), interval_of(units, form, clusters)
        return Estimate(value, interval.lower, interval.upper, len(statistics), interval.method)

    return estimate


def value_of(kind: MetricKind, statistics: Sequence[Statistics]) -> float:
    """The value that ``kind`` estimates, without the resamples of its interval; NaN where there is none."""
    if (form_of := kind.summed or kind.whole) is None or not statistics:
        return kind.estimate(statistics, None).value
    form = form_of(statistics)
    return math.nan if isinstance(form, str) else form.whole()


def summed_kind(
    name: str,
    direction: Direction,
    unit: str,
    summed: Summed,
    about: str,
    sample_score: Callable[[Statistics], float] | None = None,
) -> MetricKind:
    """A metric that is a function of sums; a sample's ``own`` score is the same of it alone unless given."""
    return MetricKind(
        name,
        direction,
        unit,
        of_form(summed),
        about=about,
        summed=summed,
        sample_score=sample_score or of_sample(summed),
    )


def mean_kind(
    name: str, direction: Direction, unit: str, statistic: str, about: str, poolable: bool = True
) -> MetricKind:
    """A metric that is the mean over samples of one statistic, within the range of its unit, else of 0 or more."""
    estimate = mean_of(name, statistic, RANGES.get(unit, (0.0, math.inf)))
    return MetricKind(name, direction, unit, estimate, lambda sample: (sample[statistic], 1.0), about, poolable)


def mean_kinds(abouts: Mapping[tuple[str, Direction, str, str], str]) -> Iterator[MetricKind]:
    """Each :func:`mean_kind` of a name, direction, unit and statistic, with what it is."""
    return (mean_kind(*key, about) for key, about in abouts.items())


def ratio_kinds(
    abouts: Mapping[tuple[str, Direction, str, tuple[str, ...], tuple[str, ...], str], str],
) -> Iterator[MetricKind]:
    """Each :func:`ratio_kind` of a name, direction, unit, tops, bottoms and what is empty, with what it is."""
    return (ratio_kind(*key, about) for key, about in abouts.items())


def ratio_kind(
    name: str, direction: Direction, unit: str, tops: Sequence[str], bottoms: Sequence[str], empty: str, about: str
) -> MetricKind:
    """A metric that is the sum of all ``tops`` over the sum of all ``bottoms``, at most 1 where it is a share."""
    estimate = ratio_of(name, tops, bottoms, empty, RANGES.get(unit, (0.0, math.inf))[1])

    def parts(sample: Statistics) -> tuple[float, float]:
        return sum(sample[top] for top in tops), sum(sample[bottom] for bottom in bottoms)

    return MetricKind(name, direction, unit, estimate, parts, about)


def quotient(top: Floats, bottom: Floats) -> Floats:
    """``top`` / ``bottom``, NaN where there is nothing to divide by."""
    values: Floats = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0.0)
    return values


def average(values: Sequence[float] | Floats) -> float:
    """The mean. Sums by fsum, which does not depend on the order of samples; NaN where it cannot add."""
    try:
        return math.fsum(values) / len(values)
    except (ValueError, OverflowError):
        return math.nan


def nothing() -> Estimate:
    """The estimate over no samples."""
    return Estimate(math.nan, None, None, 0, none("no samples").method)


def not_of_samples(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    """The ``estimate`` of a metric that a run or a test records itself. Raises UsageError."""
    raise UsageError("this metric is recorded by the run, not estimated from samples: leave it out of a scorer")
