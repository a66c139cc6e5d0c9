"""What requests took, compared between two models that were asked in turns: latency, first token, per second and token.

A request is paired with the other model's to the same sample. Differences are those of logarithms, so that a drop is a
share of what the other model took, whether the request was short or long. Requests of one turn are near in time and
meet the same load: a turn is a cluster, of both models' requests. The first turn, in which servers warm up, is left
out, and so are turns of which the store answered a part, since fewer requests are faster.

- no quantile: the mean of the pairs' log ratios, by the paired t of ``stats/paired.py``; for the throughput, the ratio
  of what all requests took, by a bootstrap over turns,
- p50, p95, p99: the quantiles' log ratio. Were it the margin, then of the candidate's requests, shifted by it, as many
  would lie beyond the quantile of both together as of the base's: that is what the paired t is asked, and bounds are
  the ratios that it does not refute. A bootstrap's standard error alarms five times too often at 0.05 / 20 where bursts
  make the tail.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from msgspec.structs import replace

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.timings import Timing, Timings
from pytest_audiobench.gate.pairing import pair_samples
from pytest_audiobench.gate.regression_text import amount, sentence
from pytest_audiobench.gate.thresholds import Line, Terms
from pytest_audiobench.metrics.metric import Floats
from pytest_audiobench.records.fields import Direction
from pytest_audiobench.records.run import RegressionRecord, RegressionStatus
from pytest_audiobench.stats import special
from pytest_audiobench.stats.bootstrap import Sums
from pytest_audiobench.stats.drops import Drop, Question, no_drop
from pytest_audiobench.stats.intervals import CONFIDENCE
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.paired_bootstrap import sums_drop

WARM_UP = 1
"""Turns at an evaluation's beginning that are not timed."""
FEWEST_BEYOND = 10
"""Requests that must lie beyond a quantile for its error to be known."""
LEAST_TIMED = 0.5
"""The share of the pairs behind the warm-up that must be timed for both models."""
Statistic: TypeAlias = Literal["mean", "total", "p50", "p95", "p99"]
_LARGEST = 700.0
"""Logarithms beyond it have no float."""
_LENGTHS = ("latency", "rtf", "throughput", "cost")
"""What is less where answers are shorter."""
_NOT_TOLD = {
    "first_token": "it is reported for streams only (stream=yes)",
    "token_time": "the servers must count tokens, in the same way",
    "tokens": "the servers must count them",
    "cost": "it takes price_in=, price_audio= and price_out=, and servers that count tokens",
    "rtf": "the clips' lengths must be known",
}


_ALIKE, _HALVINGS = 1e-12, 18


class _Measure(NamedTuple):
    """What is compared of a request: None where it is not reported."""

    unit: str
    of: Callable[[Timing], float | None]
    direction: Direction = "lower"
    span: float = math.inf
    """The logarithm by which a request may differ though none of those that were timed does; of seconds all differ."""


def _per_audio_s(timing: Timing) -> float | None:
    return timing.latency_s / timing.audio_s if timing.latency_s is not None and timing.audio_s else None


def _per_token_s(timing: Timing) -> float | None:
    """Of a stream the time behind the first token, by the tokens behind it; else all of it, by all of them."""
    if timing.latency_s is None or not timing.tokens:
        return None
    if timing.first_token_s is None:
        return timing.latency_s / timing.tokens
    return (timing.latency_s - timing.first_token_s) / (timing.tokens - 1) if timing.tokens > 1 else None


_MEASURES: Mapping[str, _Measure] = {
    "latency": _Measure("s", lambda timing: timing.latency_s),
    "first_token": _Measure("s", lambda timing: timing.first_token_s),
    "rtf": _Measure("s per s", _per_audio_s),
    "token_time": _Measure("s per token", _per_token_s),
    "throughput": _Measure("answers/s", lambda timing: timing.share_s, "higher"),
    "tokens": _Measure("tokens", lambda timing: float(timing.tokens), span=math.log(10.0)),
    "cost": _Measure("USD", lambda timing: timing.cost_usd, span=math.log(10.0)),
}


class _Timed(NamedTuple):
    """The pairs that were timed: what each side took, in one order, and in which turn; and how many there might be."""

    before: Floats
    after: Floats
    turns: list[int]
    of: int


def speed_regression(
    baseline: ComparableEval | None,
    here: ComparableEval,
    timings: tuple[Timings | None, Timings | None],
    line: Line,
    terms: Terms,
    failure: str = "",
) -> RegressionRecord:
    """What became of a line on speed; ``timings`` are the base's and those of ``here``, None for what had no turns;
    ``failure`` says why too much of the asking failed.

    Raises UsageError for a quantile of what has none.
    """
    name, _, quantile = (line.metric or "").partition(".")
    measure = _MEASURES[name]
    if quantile and name == "throughput":
        raise UsageError(f"{line.text} has no effect: throughput is of all requests together, and has no {quantile}")
    margin = float(f"{line.margin.rstrip('%').strip()}e-2")
    base, own = timings
    if failure or baseline is None or base is None or own is None:
        why = failure or (
            "request times are compared between two models behind servers that are asked in turns (--ab-gate), and "
            "not for answers that a judge scores"
        )
        return _record(line, here, measure, terms, margin, None, no_drop(math.nan, why))
    group = {field: value for field, value in line.group if field != "scorer"}
    pairs = [
        (base.by_sample.get(row.identity), own.by_sample.get(row.identity))
        for _, row in pair_samples(baseline, here, here.headline, scored=False).rows
        if row.is_in(group)
    ]
    whole = _turns_asked_alike(base, own)
    timed = _timed(pairs, measure, whole)
    drop = _drop(timed, quantile, measure, margin, terms, name)
    drop = _relative(drop, measure)
    record = _record(line, here, measure, terms, margin, timed, drop, quantile)
    if drop.p is None or name not in _LENGTHS:
        return record
    return _beside_length(record, _timed(pairs, _MEASURES["tokens"], whole), terms)


def _turns_asked_alike(base: Timings, own: Timings) -> set[int]:
    """The turns behind the warm-up in which both models were asked the same, and the store answered nothing."""
    sides = []
    for timings in (base, own):
        asked: dict[int, set[tuple[str, int]]] = defaultdict(set)
        for sample, timing in timings.by_sample.items():
            asked[timing.turn].add(sample)
        sides.append(asked)
    whole = {turn for turn, samples in sides[0].items() if len(samples) == base.sizes[turn]}
    return {turn for turn in whole if turn >= WARM_UP and sides[1].get(turn) == sides[0][turn]}


def _timed(pairs: Sequence[tuple[Timing | None, Timing | None]], measure: _Measure, whole: set[int]) -> _Timed:
    rows, turns = [], []
    for before, after in pairs:
        if before is None or after is None or before.turn not in whole:
            continue
        first, second = measure.of(before) or 0.0, measure.of(after) or 0.0
        is_streamed = {timing.first_token_s is not None for timing in (before, after)}
        if first > 0.0 and second > 0.0 and len(is_streamed) == 1:
            rows.append((first, second))
            turns.append(before.turn)
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    warming = sum(any(timing and timing.turn < WARM_UP for timing in pair) for pair in pairs)
    return _Timed(table[:, 0], table[:, 1], turns, len(pairs) - warming)


def _drop(timed: _Timed, quantile: str, measure: _Measure, margin: float, terms: Terms, name: str) -> Drop:
    """The drop of logarithms, in the worse direction."""
    count = len(timed.turns)
    if not timed.of:
        return no_drop(math.nan, "all were asked in the first turn, in which servers warm up")
    if count < LEAST_TIMED * timed.of or not count:
        told = f"; {_NOT_TOLD[name]}" if name in _NOT_TOLD else ""
        why = f"of {timed.of} pairs {count} were asked in this run, in turns of both, and timed{told}"
        return no_drop(math.nan, why)
    # Of what is better when higher the seconds for each are compared, which are better when lower.
    most = -math.log1p(-margin) if measure.direction == "higher" and margin < 1.0 else math.log1p(margin)
    question = Question(most, terms.alpha, terms.alpha / terms.lines)
    statistic: Statistic = "total" if measure.direction == "higher" else cast(Statistic, quantile or "mean")
    # Counts know of no load.
    turns = timed.turns if math.isinf(measure.span) else None
    return log_drop(timed.before, timed.after, turns, question, statistic, measure.span)


def log_drop(
    before: Floats,
    after: Floats,
    turns: Sequence[int] | None,
    question: Question,
    statistic: Statistic = "mean",
    span: float = math.inf,
) -> Drop:
    """By how much the logarithm of ``statistic`` is larger over ``after``, pair by pair in one order; all are above 0.

    The margin of ``question`` is one of logarithms, as are the drop and ``span``, what a request may differ by.
    """
    count, sides = len(before), [np.log(side)[:, None] for side in (before, after)]
    if statistic == "mean":
        pairs = [np.hstack([side, np.ones_like(side)]) for side in sides]
        ratios = sides[1] - sides[0]
        common = float(ratios.mean())
        if np.ptp(ratios) > _ALIKE or common > question.margin:
            return ratio_drop(pairs[0], pairs[1], turns, question, False, span)
        # As counts of tokens may: then what none of them showed may still differ.
        of_none = question._replace(margin=question.margin - common)
        drop = ratio_drop(pairs[0], pairs[0], turns, of_none, False, span)
        ends = (drop.lower, drop.upper, drop.bound, drop.detectable)
        lower, upper, bound, detectable = (None if end is None else end + common for end in ends)
        return drop._replace(value=common, lower=lower, upper=upper, bound=bound, detectable=detectable)
    if statistic == "total":
        first, second = (
            Sums(np.column_stack([side, np.ones(count)]), lambda sums: np.log(sums[:, 0] / sums[:, 1]))
            for side in (before, after)
        )
        return sums_drop(first, second, turns, question, False, math.inf)
    share = int(statistic[1:]) / 100.0
    if count * (1.0 - share) < FEWEST_BEYOND:
        return no_drop(math.nan, f"of {count} requests fewer than {FEWEST_BEYOND} lie beyond {statistic}")
    return _quantile_drop(sides[0][:, 0], sides[1][:, 0], turns, question, share)


def drop_beyond(before: Floats, after: Floats, turns: Sequence[int] | None, share: float) -> Drop:
    """How many more of ``after`` lie beyond the quantile of both together, as a share of all."""
    quantile = np.quantile(np.concatenate([before, after]), share)
    pairs = [np.column_stack([side > quantile, np.ones(len(side))]) for side in (before, after)]
    drop = ratio_drop(pairs[0], pairs[1], turns, Question(0.0), False, math.inf)
    # Where all are faster in all turns there is no spread to go by, and nothing is clearer.
    is_clear = drop.p is None and drop.value < 0.0 and drop.method.endswith("differ alike")
    return drop._replace(p=1.0, p_better=0.0) if is_clear else drop


def _quantile_drop(
    before: Floats, after: Floats, turns: Sequence[int] | None, question: Question, share: float
) -> Drop:
    def beyond(shift: float) -> Drop:
        return drop_beyond(before, after - shift, turns, share)

    def refuted(low: float, high: float, level: float, better: bool) -> float:
        """The ratio between ``low``, at which the test does not refute it, and ``high``, at which it does."""
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            drop = beyond(middle)
            p = drop.p_better if better else drop.p
            low, high = (low, middle) if p is not None and p <= level else (middle, high)
        return low

    value = float(np.quantile(after, share) - np.quantile(before, share))
    at = beyond(question.margin)
    if at.p is None and not at.method.startswith("no test: none of"):
        return at._replace(value=value)
    farthest = max(np.ptp(before), np.ptp(after)) + 1.0
    tail = (1.0 - CONFIDENCE) / 2.0
    lower, least = (refuted(value, value - farthest, level, False) for level in (tail, question.level))
    upper, bound = (refuted(value, value + farthest, level, True) for level in (tail, question.alpha))
    error = (upper - lower) / (2.0 * float(special.ndtri(1.0 - tail)))
    detectable = question.margin + value - least + float(special.ndtri(question.power)) * error
    method = f"quantile by the {beyond(value).method.removeprefix('no test: ')}"
    p = 1.0 if at.p is None else at.p
    return Drop(value, lower, upper, bound, p, detectable, method, error, beyond(0.0).p_better)


def _relative(drop: Drop, measure: _Measure) -> Drop:
    """The same as shares of what the other side has: how much more is taken, or how much less is had."""

    def share(value: float) -> float:
        return -math.expm1(-value) if measure.direction == "higher" else math.expm1(min(value, _LARGEST))

    lower, upper, bound, detectable = (
        None if end is None else share(end) for end in (drop.lower, drop.upper, drop.bound, drop.detectable)
    )
    return drop._replace(value=share(drop.value), lower=lower, upper=upper, bound=bound, detectable=detectable)


def _record(
    line: Line,
    here: ComparableEval,
    measure: _Measure,
    terms: Terms,
    margin: float,
    timed: _Timed | None,
    drop: Drop,
    quantile: str = "",
) -> RegressionRecord:
    status: RegressionStatus = "inconclusive"
    if drop.p is None:
        status = "not_comparable"
    elif drop.p <= terms.alpha / terms.lines:
        status = "regressed"
    elif drop.bound is not None and drop.bound < margin:
        status = "pass"
    sides = (None, None) if timed is None else (timed.before, timed.after)
    values = [None if side is None or not len(side) else _value(side, quantile, measure) for side in sides]
    moves = 0 if timed is None else int((timed.after > timed.before).sum())
    record = RegressionRecord(
        status=status,
        metric=line.metric or "",
        scorer=here.headline,
        group={field: value for field, value in line.group if field != "scorer"},
        unit=measure.unit,
        direction=measure.direction,
        baseline=values[0],
        value=values[1],
        drop=None if math.isnan(drop.value) else drop.value,
        lower=drop.lower,
        upper=drop.upper,
        bound=drop.bound,
        margin=margin,
        p=drop.p,
        alpha=terms.alpha,
        lines=terms.lines,
        detectable=drop.detectable,
        pairs=0 if timed is None else len(timed.turns),
        clusters=None if timed is None else len(set(timed.turns)),
        worse=moves,
        better=0 if timed is None else int((timed.after < timed.before).sum()),
        left_out={},
        examples={},
        method=drop.method,
        detail="",
        p_better=drop.p_better,
        q_better=None if drop.p_better is None else min(1.0, drop.p_better * terms.lines),
        relative=True,
    )
    detail = f"unmeasured: {drop.method.removeprefix('no test: ')}" if drop.p is None else sentence(record)
    return replace(record, detail=detail)


def _value(side: Floats, quantile: str, measure: _Measure) -> float:
    """A side's figure: its quantile, the geometric mean of its requests, or answers in a second."""
    if quantile:
        return float(np.quantile(side, int(quantile[1:]) / 100.0))
    return float(len(side) / side.sum()) if measure.direction == "higher" else float(np.exp(np.log(side).mean()))


def _beside_length(record: RegressionRecord, timed: _Timed, terms: Terms) -> RegressionRecord:
    """The record, which also says that answers became shorter or longer beyond chance."""
    length = _relative(_drop(timed, "", _MEASURES["tokens"], 0.0, terms, "tokens"), _MEASURES["tokens"])
    if length.lower is None or length.upper is None or length.lower <= 0.0 <= length.upper:
        return record
    how = "longer" if length.value > 0.0 else "shorter"
    ends = sorted(abs(100.0 * end) for end in (length.lower, length.upper))
    text = (
        f"; answers are {amount(record, abs(length.value))} {how} ({ends[0]:.1f} to {ends[1]:.1f}): token_time tells "
        "of the speed alone"
    )
    return replace(record, detail=record.detail + text)
