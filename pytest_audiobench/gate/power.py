"""How small a drop of each eval the gate can see, and how many samples it would take to see a given one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableRows
from pytest_audiobench.gate.pairing import pair_samples
from pytest_audiobench.gate.regression import mismatch
from pytest_audiobench.gate.threshold_syntax import margin_of, point, read_margin
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.metric import ERROR_RATES, RANGES, MetricKind, Statistics, span
from pytest_audiobench.metrics.metric_drops import drop_of, moved
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.run import NoiseShare
from pytest_audiobench.stats import special
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.intervals import CONFIDENCE, Floats, standard_error
from pytest_audiobench.stats.mcnemar import EXACT_DIFFERING
from pytest_audiobench.stats.paired import FEWEST, Spread, Unseen
from pytest_audiobench.stats.paired_bootstrap import FEWEST_OF_SUMS
from pytest_audiobench.stats.power import (
    fewest,
    flips_detectable,
    flips_needed,
    flips_power,
    t_detectable,
    t_power,
    two_shares_needed,
)

ASSUMED_FLIPS = 0.02
"""The share of flips where nothing says how many there are."""
ASSUMED, MEASURED = "assumed", "measured between the two"
OWN_ERROR = "assumed: two runs' scores are correlated by one half"
"""What is assumed in place of flips where scores are not right or wrong and no pairs were measured."""
_USUAL_PP = (1, 2, 5, 10, 20, 50)
MOST_TIMES = 100
"""Times the present samples beyond which a larger drop is advised."""


class PowerQuery(NamedTuple):
    """The drop to be seen and the gate's terms, as written."""

    drop: str
    margin: str
    metric: str | None = None
    """Each eval's headline unless named."""
    alpha: float = 0.05
    lines: int = 1
    power: float = 0.8
    flips: float | None = None
    """The share of samples whose score is taken to change at random, whatever the model's noise floor says."""


@dataclass(frozen=True)
class Power:
    """What an eval can see; drops are in ``unit``."""

    eval: str
    model: str
    metric: str
    unit: str
    n: int
    """Samples times epochs."""
    clusters: int | None
    """None: each sample its own."""
    flips: float | None
    """The share of samples whose score changes between two runs of one model."""
    flips_from: str
    drop: float
    margin: float
    detectable: float | None
    """The least drop that is called a regression with the required power at ``n``."""
    needed: int | None
    """The samples for the required drop."""
    unpaired: int | None
    """The samples on each side for it, were they not the same samples."""
    note: str
    """Why one of these is None."""


def usual_drops(margin: str) -> tuple[str, ...]:
    """What is shown where no drop is named: the least three usual ones above the margin.

    Raises UsageError for what is no margin, and for one above all of them.
    """
    number, in_points = read_margin(margin)
    if not (above := [drop for drop in _USUAL_PP if not in_points or drop > number]):
        raise UsageError(f"no usual drop is more than the margin of {margin}: give one by --drop")
    return tuple(f"{drop}pp" for drop in above[:3])


class _Samples(NamedTuple):
    """The baseline's: statistics, clusters where they repeat, and what makes pairs differ."""

    values: Sequence[Statistics]
    clusters: Sequence[Hashable] | None
    flips: float | None
    flips_from: str
    variance: float | None
    """That of a paired difference at n, where pairs were measured."""


def power_of(side: ComparableEval, against: ComparableEval | None, query: PowerQuery) -> Power:
    """What the gate can see of ``side``'s eval; ``against`` is another run of it, in which flips are counted.

    Raises UsageError for a metric, a drop or a margin that it cannot have, and an ``against`` that was asked otherwise.
    """
    names = side.metrics.get(side.headline, ())
    name = query.metric or next(iter(names), "")
    if name not in names:
        raise UsageError(f"{side.eval} does not measure {name} by {side.headline}; it measures {', '.join(names)}")
    kind = metric_kind(name)
    # A run's evals are asked about at once: what has no points of a hundred is shown with the drop it can see alone.
    drop, margin = (
        margin_of(text, kind) if point(kind) is not None or "pp" not in text else 0.0
        for text in (query.drop, query.margin)
    )
    samples = _samples(side, against, kind, query)
    question = Question(margin, query.alpha, query.alpha / query.lines, query.power)
    before = value_of(kind, samples.values)
    impossible = _impossible(kind, before, drop, margin)
    detectable, needed, why = _reach(kind, samples, drop, question, impossible)
    flip = samples.variance is not None or _errors_of(kind, samples) is None
    return Power(
        eval=side.eval,
        model=side.model,
        metric=name,
        unit=kind.unit,
        n=len(samples.values),
        clusters=None if samples.clusters is None else len(set(samples.clusters)),
        flips=samples.flips if flip else None,
        flips_from=samples.flips_from if flip else OWN_ERROR,
        drop=drop,
        margin=margin,
        detectable=detectable,
        needed=needed,
        unpaired=_samples_without_pairs(kind, samples.values, before, drop, question),
        note=why or _advice(query.drop, len(samples.values), samples.flips if flip else None, needed),
    )


def _impossible(kind: MetricKind, before: float, drop: float, margin: float) -> str:
    """Why no number of samples shows a drop, where none does."""
    if drop <= margin:
        if point(kind) is None and not drop:
            return (
                f"{kind.name} has no percentage points: give its drop as a plain number ({kind.unit or 'its own unit'})"
            )
        return "the drop is within the margin: no number of samples shows it"
    least, _ = RANGES.get(kind.unit, (-math.inf, math.inf))
    if kind.direction == "higher" and before - drop < least:
        return f"it is at {before:.3g}, so it cannot drop by so much"
    return ""


def _reach(
    kind: MetricKind, samples: _Samples, drop: float, question: Question, impossible: str
) -> tuple[float | None, int | None, str]:
    """The detectable drop, the samples that ``drop`` needs, and why one is not there."""
    n = len(samples.values)
    if n < 2:
        return None, None, "fewer than 2 samples"
    if samples.clusters is None and samples.flips is not None and are_answers(kind, samples.values):
        seen = flips_detectable(n, samples.flips, question)
        needed = None if impossible else flips_needed(drop, samples.flips, question)
    else:
        spread = _errors_of(kind, samples) or _spread_of(kind, samples)
        if isinstance(spread, str):
            return None, None, spread
        seen = spread.detectable(question)
        needed = None if impossible else spread.needed(drop, question)
    too_few = seen is None and needed is not None
    return seen, needed, impossible or "too few samples to call any drop a regression" * too_few


def _least_seen(sees: Callable[[float], bool], low: float, high: float, within: float) -> float | None:
    """The least drop between the two that is seen, by bisection; None where not even ``high`` is."""
    if not sees(high):
        return None
    while high - low > within:
        middle = (low + high) / 2.0
        low, high = (low, middle) if sees(middle) else (middle, high)
    return high


class _Errors(NamedTuple):
    """The variance of a drop of ``n`` pairs in ``units``, as the gate has it; ``fewest`` have a test.

    A value's ``own`` variance grows with its ``rate`` of errors, 0 where it has none: what a drop brings is taken to be
    spread over the samples as the baseline's errors are, and the two runs' scores to be correlated by one half.
    """

    variance: float
    own: float
    rate: float
    span: float
    n: int
    units: int
    fewest: int

    def detectable(self, question: Question) -> float | None:
        """The least drop that is seen with the asked power."""
        low, high = question.margin, self.span
        if not math.isfinite(high):
            return self._reach(0.0, self.units, question) if self.units >= self.fewest else None
        return _least_seen(lambda drop: self._sees(drop, self.units, question), low, high, 1e-6 * self.span)

    def needed(self, drop: float, question: Question) -> int | None:
        """The samples, in clusters as they are now, that see ``drop``."""
        units = fewest(lambda count: self._sees(drop, count, question))
        return None if units is None else math.ceil(units * self.n / self.units)

    def _sees(self, drop: float, units: int, question: Question) -> bool:
        return units >= self.fewest and self._reach(drop, units, question) <= drop

    def _reach(self, drop: float, units: int, question: Question) -> float:
        failures = Unseen(self.span, units * self.n / self.units)
        growth = 1.0 + drop / self.rate if self.rate > 0.0 else 1.0
        error = math.sqrt((self.variance + self.own * (growth - math.sqrt(growth))) * self.units / units)
        return Spread(error, 0.0, units - 1, failures, failures._replace(span=math.inf)).detectable(question)


class _Spread(NamedTuple):
    """What varies in the differences of ``n`` pairs in ``units``: the variance of their mean, of flips alone.

    A drop adds its own: it is taken to come from samples that lose all they can, ``span`` each, ``design`` times as
    uneven as clusters make it. So few differ, those and a share ``flips``, and what the test knows of the spread it
    knows of these alone.
    """

    variance: float
    span: float
    design: float
    flips: float
    n: int
    units: int

    def effect(self, drop: float, margin: float) -> float:
        """By how many standard deviations of a unit's difference ``drop`` exceeds ``margin``."""
        of_drop = self.design * drop * (self.span - drop) / self.n if math.isfinite(self.span) else 0.0
        return (drop - margin) / math.sqrt(max(self.variance + of_drop, 1e-300) * self.units)

    def detectable(self, question: Question) -> float | None:
        """The least drop that is seen with the asked power."""
        low, high = question.margin, self.span
        if not math.isfinite(high):
            reach = t_detectable(self.units, question.level, question.power, sides=1)
            return question.margin + reach * math.sqrt(self.variance * self.units)
        return _least_seen(lambda drop: self._sees(drop, self.units, question), low, high, 1e-4 * self.span)

    def needed(self, drop: float, question: Question) -> int | None:
        """The samples, in clusters as they are now, that see ``drop``."""
        units = fewest(lambda count: self._sees(drop, count, question))
        return None if units is None else math.ceil(units * self.n / self.units)

    def _sees(self, drop: float, units: int, question: Question) -> bool:
        share = min(1.0, self.flips + drop / self.span) if math.isfinite(self.span) else 1.0
        differing = 1.0 - (1.0 - share) ** (self.n / self.units)
        # The spread of squares in which a share of all is 1 and the rest 0: the gate's own degrees (stats/paired.py).
        degrees = min(units - 1.0, 2.0 * units / (1.0 / differing - 1.0)) if differing < 1.0 else units - 1.0
        effect = self.effect(drop, question.margin)
        if t_power(effect, units, question.level, sides=1, degrees=max(1, int(degrees))) < question.power:
            return False
        if differing * units >= EXACT_DIFFERING:
            return True
        shares = question._replace(margin=question.margin / self.span)
        return flips_power(units, drop / self.span, self.flips, shares) >= question.power


def _errors_of(kind: MetricKind, samples: _Samples) -> _Errors | None:
    """That of the measured pairs; else that of the run's own value, as if two runs' scores were correlated by one half.

    None for right and wrong answers, where flips are given, and where nothing varies.
    """
    if samples.flips_from == "given" or are_answers(kind, samples.values):
        return None
    own = _own_error(kind, samples.values, samples.clusters) ** 2
    variance = own if samples.variance is None else samples.variance
    if not variance > 0.0:
        return None
    units = len(samples.values if samples.clusters is None else set(samples.clusters))
    rate = value_of(kind, samples.values) if kind.unit in ERROR_RATES else 0.0
    known_from = FEWEST_OF_SUMS if kind.parts is None else FEWEST
    return _Errors(variance, own if rate > 0.0 else 0.0, rate, span(kind.unit), len(samples.values), units, known_from)


def _own_error(kind: MetricKind, values: Sequence[Statistics], clusters: Sequence[Hashable] | None) -> float:
    """The standard error of one run's value; NaN where it is not known."""
    if (moves := residuals(kind, values)) is not None:
        return standard_error(moves, clusters)
    if kind.summed is None:
        return math.nan
    estimate = kind.estimate(values, clusters)
    if estimate.lower is None or estimate.upper is None:
        return math.nan
    return (estimate.upper - estimate.lower) / 2.0 / float(special.ndtri(0.5 + CONFIDENCE / 2.0))


def _spread_of(kind: MetricKind, samples: _Samples) -> _Spread | str:
    n, units = len(samples.values), len(set(samples.clusters)) if samples.clusters is not None else len(samples.values)
    if units < 2:
        return "1 cluster, 2 needed"
    least, most = (0.0, 1.0) if kind.unit in ERROR_RATES else RANGES.get(kind.unit, (0.0, math.inf))
    moves = residuals(kind, samples.values)
    design = 1.0
    if moves is not None and samples.clusters is not None and (unclustered := standard_error(moves)) > 0.0:
        # Pairs of one cluster change together no less than they score alike.
        design = max(1.0, (standard_error(moves, samples.clusters) / unclustered) ** 2)
    variance = samples.variance
    if variance is None:
        if moves is None or samples.flips is None:
            return f"how {kind.name} varies between runs is not known from one: give --against RUN"
        # A flip turns a right or wrong answer; of other scores it is taken to draw another sample's.
        per_flip = 1.0 if are_answers(kind, samples.values) else 2.0 * float(moves.var())
        variance = samples.flips * per_flip * design / n
    return _Spread(variance, most - least, design, samples.flips or 0.0, n, units)


def _samples(side: ComparableEval, against: ComparableEval | None, kind: MetricKind, query: PowerQuery) -> _Samples:
    scorer = side.headline
    scored = side.columns.where(side.columns.has_scores(scorer))
    values, clusters = _values(scored, scorer), scored.clusters()
    if against is None:
        flips, known_from = (ASSUMED_FLIPS, ASSUMED) if query.flips is None else (query.flips, "given")
        if query.flips is None and side.noise is not None:
            own = [each for each in side.noise.measured if (each.metric, each.dataset) == (kind.name, side.dataset)]
            floors: Sequence[NoiseShare] = own or [side.noise]
            flips = max(map(_changed, floors))
            where = f"on {side.dataset}" if own else "on other data, the worst"
            known_from = f"the model's noise floor {where}" if side.noise.measured else "the model's noise floor"
        return _Samples(values, clusters, flips, known_from, None)
    if (reason := mismatch(side, against, scorer)) is not None:
        raise UsageError(f"{side.eval} cannot be compared with {against.source} to count what differs: {reason}")
    pairs = pair_samples(side, against, scorer).rows
    if not pairs:
        raise UsageError(f"{side.eval}: the run it is compared with shares no sample with it")
    before, after = _values(pairs.before, scorer), _values(pairs.after, scorer)
    changes = Counter(moved(kind, *pair) for pair in zip(before, after, strict=True))
    # What is net of both ways is a drop, and no flip.
    flips = 2.0 * min(changes[1], changes[-1]) / len(pairs)
    drop = drop_of(kind, before, after, pairs.before.clusters(), Question(0.0))
    variance = None if drop.error is None else drop.error**2 * len(pairs) / max(1, len(values))
    return _Samples(values, clusters, flips, MEASURED, variance)


def _values(rows: ComparableRows, scorer: str) -> list[Statistics]:
    return [scores for scores in rows.scores(scorer) if scores is not None]


def _changed(noise: NoiseShare) -> float:
    """The share of outcomes that are others when the model is asked again; of answers, where no more is known."""
    return 1.0 - (noise.same_answers if noise.same_outcomes is None else noise.same_outcomes)


def residuals(kind: MetricKind, values: Sequence[Statistics]) -> Floats | None:
    """By how much each sample moves the ratio times n; None where the metric is not a ratio of sums."""
    if kind.parts is None:
        return None
    tops, wholes = np.array([kind.parts(sample) for sample in values], dtype=np.float64).T
    total = float(wholes.sum())
    if not total > 0.0:
        return None
    moves: Floats = (tops - tops.sum() / total * wholes) * len(wholes) / total
    return moves


def are_answers(kind: MetricKind, statistics: Sequence[Statistics]) -> bool:
    """Whether each sample is right or wrong."""
    return kind.parts is not None and all(kind.parts(sample) in ((0.0, 1.0), (1.0, 1.0)) for sample in statistics)


def _samples_without_pairs(
    kind: MetricKind, values: Sequence[Statistics], before: float, drop: float, question: Question
) -> int | None:
    after = before - drop if kind.direction == "higher" else before + drop
    if not are_answers(kind, values) or not 0.0 <= after <= 1.0 or question.margin > 0.0 or drop <= 0.0:
        return None
    # One-sided at the level is two-sided at twice it.
    return math.ceil(two_shares_needed(before, after, min(1.0, 2.0 * question.level), question.power))


def _advice(drop: str, n: int, flips: float | None, needed: int | None) -> str:
    if needed is not None and needed <= MOST_TIMES * n:
        return ""
    share = "" if flips is None else f", since {100.0 * flips:.3g} % of them flip"
    remedy = "look for a larger drop, or steady the answers (greedy decoding, epochs)"
    return f"a drop of {drop} needs more than {MOST_TIMES} times the present samples{share}: {remedy}"


def plain(power: Power) -> Mapping[str, object]:
    """The row as plain values, for CSV and JSON."""
    return dict(vars(power))
