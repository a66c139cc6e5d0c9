"""The metrics by name: those that thresholds may name and readings may yield."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Hashable, Sequence
from typing import cast

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import Direction, Estimate, MetricKind, Statistics
from pytest_audiobench.stats.intervals import mean, none, proportion, ratio

NAME = r"[a-z][A-Za-z0-9_-]*"
"""What a metric's name may be, so that a threshold can name it."""

SHARE = "share"
"""The unit of metrics that lie between 0 and 1."""

WORD_ERRORS = "errors per word"
"""The unit of error rates, which may exceed 1."""

POINTS = "points"
"""The unit of differences between shares or error rates, kept as fractions of one like these."""

_kinds: dict[str, MetricKind] = {}


def register(kind: MetricKind) -> None:
    """Make ``kind`` known by its name. Raises UsageError for an unusable name, or one that means another metric."""
    if not re.fullmatch(NAME, kind.name):
        raise UsageError(f"{kind.name!r} cannot name a metric: use a small letter, then letters, digits, - and _")
    known = _kinds.get(kind.name, kind)
    # A conftest.py that is loaded again, by a second session in one process, brings the same metric anew.
    if _definition(known) != _definition(kind):
        raise UsageError(f"two metrics are registered as {kind.name!r}: {known} and {kind}; rename one")
    _kinds[kind.name] = kind


def _definition(kind: MetricKind) -> tuple[str, ...]:
    code = kind.estimate
    return kind.direction, kind.unit, getattr(code, "__module__", ""), getattr(code, "__qualname__", repr(code))


def is_known(name: str) -> bool:
    return name in _kinds


def metric_kind(name: str) -> MetricKind:
    """The metric called ``name``. Raises UsageError that names the nearest, when there is none."""
    if name not in _kinds:
        near = difflib.get_close_matches(name, _kinds, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names())}"
        raise UsageError(f"no metric is called {name[:60]!r}; {hint}")
    return _kinds[name]


def names() -> tuple[str, ...]:
    """The names of all metrics, sorted."""
    return tuple(sorted(_kinds))


def estimate_accuracy(statistics: Sequence[Statistics], clusters: Sequence[Hashable] | None) -> Estimate:
    """The mean of "correct": right answers, or points within [0, 1], over all samples that were asked."""
    try:
        values = [one["correct"] for one in statistics]
    except KeyError:
        raise _lacking("correct", "accuracy", statistics) from None
    if not values:
        return _nothing()
    whole = set(values) <= {0.0, 1.0}
    interval = proportion(values, clusters) if whole else mean(values, clusters, bounds=(0.0, 1.0))
    return Estimate(_average(values), interval.lower, interval.upper, len(values), interval.method)


def estimate_wer(statistics: Sequence[Statistics], clusters: Sequence[Hashable] | None) -> Estimate:
    """Corpus word error rate: sum(S + D + I) / sum(N), not the mean of the samples' rates.

    No words in all references is no rate: the value is NaN and ``method`` says so.
    """
    try:
        errors = np.array([one["S"] + one["D"] + one["I"] for one in statistics], dtype=np.float64)
        words = np.array([one["N"] for one in statistics], dtype=np.float64)
    except KeyError as error:
        raise _lacking(error.args[0], "wer", statistics) from None
    if not len(words):
        return _nothing()
    total = float(words.sum())
    if total == 0.0:
        return Estimate(math.nan, None, None, len(words), none("the references hold no words").method)
    interval = ratio(errors, words, clusters)
    return Estimate(float(errors.sum()) / total, interval.lower, interval.upper, len(words), interval.method)


def share_of(status: str) -> Callable[[Sequence[Statistics], Sequence[Hashable] | None], Estimate]:
    """The estimate of the share of samples whose statistics say ``status`` is 1; absent is 0."""

    def estimate(statistics: Sequence[Statistics], clusters: Sequence[Hashable] | None) -> Estimate:
        values = [one.get(status, 0.0) for one in statistics]
        if not values:
            return _nothing()
        interval = proportion(values, clusters)
        return Estimate(_average(values), interval.lower, interval.upper, len(values), interval.method)

    return estimate


def _lacking(name: str, metric: str, statistics: Sequence[Statistics]) -> UsageError:
    has = ", ".join(next(one for one in statistics if name not in one)) or "none"
    return UsageError(
        f"{metric} needs the statistic {name!r} of every sample, and a sample has {has}: "
        f"let the protocol's score return it, or name another metric in its reading"
    )


def _average(values: Sequence[float]) -> float:
    # fsum does not depend on the order of samples; it refuses to add opposite infinities.
    try:
        return math.fsum(values) / len(values)
    except (ValueError, OverflowError):
        return math.nan


def _nothing() -> Estimate:
    return Estimate(math.nan, None, None, 0, none("no samples").method)


def not_of_samples(statistics: Sequence[Statistics], clusters: Sequence[Hashable] | None) -> Estimate:
    """The ``estimate`` of a metric that a run or a test records itself. Raises UsageError."""
    raise UsageError("this metric is recorded by the run, not estimated from samples: leave it out of a reading")


register(MetricKind("accuracy", "higher", SHARE, estimate_accuracy, lambda one: (one["correct"], 1.0)))
register(MetricKind("wer", "lower", WORD_ERRORS, estimate_wer, lambda one: (one["S"] + one["D"] + one["I"], one["N"])))
register(MetricKind("coverage", "higher", SHARE, share_of("parsed")))
for _status in ("unparsed", "refused", "empty", "out_of_range", "truncated", "errors"):
    register(MetricKind(_status, "lower", SHARE, share_of(_status)))

for _name, _direction, _unit in (
    *((f"adds_over_{control}", "higher", POINTS) for control in ("silence", "swapped", "text")),
    ("same_answers", "higher", SHARE),
    ("score_shift", "lower", POINTS),
    ("samples_per_s", "higher", "samples/s"),
    ("rtfx", "higher", "× real time"),
    ("tokens_per_s", "higher", "tokens/s"),
    ("first_token_s", "lower", "s"),
    ("padding_waste", "lower", SHARE),
    ("model_share", "higher", SHARE),
    ("peak_memory_mb", "lower", "MB"),
):
    register(MetricKind(_name, cast(Direction, _direction), _unit, not_of_samples))
