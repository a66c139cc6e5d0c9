"""Thresholds and margins from several runs of one unchanged model: what is noise, and which loss will still be seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.gate.power import PowerQuery, are_answers, power_of
from pytest_audiobench.gate.regression import mismatch
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.metric import RANGES, MetricKind, Statistics, span
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats import special
from pytest_audiobench.stats.intervals import Floats
from pytest_audiobench.stats.run_noise import FEWEST_RUNS, RunNoise, noise_of_figures, noise_of_samples


class Terms(NamedTuple):
    """What a calibration promises: ``false_alarms`` over a whole run of all lines, a loss seen with ``power``."""

    false_alarms: float = 0.05
    power: float = 0.8
    margins: bool = False
    """Margins against a baseline instead of thresholds."""


class Figures(NamedTuple):
    """One metric of one eval in every run; the samples' statistics where they are known, run by run, in one order."""

    eval: str
    metric: str
    n: int
    values: Sequence[float]
    samples: Sequence[Sequence[Statistics]] = ()
    clusters: Sequence[str] = ()
    sides: Sequence[ComparableEval] = ()


@dataclass(frozen=True)
class CalibratedLine:
    """What one metric of one eval must reach."""

    eval: str
    metric: str
    unit: str
    n: int
    runs: int
    mean: float
    sd: float
    """Of one run."""
    degrees: float
    require: str
    """The threshold or the margin; empty where there is none."""
    sees: float | None
    """The loss that is seen with the asked power."""
    note: str = ""


class Moved(NamedTuple):
    """How a line stands to the earlier calibration; ``loss`` is how much worse it is, negative where it is better."""

    eval: str
    metric: str
    before: float
    now: float
    loss: float
    verdict: str
    """"worse", "better" or "" for what noise explains."""


def figures_of(runs: Sequence[Sequence[ComparableEval]], metrics: Sequence[str]) -> list[Figures]:
    """The metrics of every eval that all ``runs`` have: each one's first, else those of ``metrics``.

    Raises UsageError where the runs were asked otherwise: of other data, by another wording, scored by another rule.
    """
    by_run = [{side.eval: side for side in run} for run in runs]
    found = []
    for eval_, first in by_run[0].items():
        sides = [run[eval_] for run in by_run if eval_ in run]
        if len(sides) < len(runs):
            continue
        for other in sides[1:]:
            if (reason := mismatch(first, other, first.headline)) is not None:
                raise UsageError(f"{eval_}: {other.source} is not a repetition of {first.source}: {reason}")
        measured = first.metrics.get(first.headline, ())
        wanted = [name for name in metrics if name in measured] if metrics else list(measured[:1])
        found += [_figures(eval_, name, sides) for name in wanted]
    return found


def _figures(eval_: str, metric: str, sides: Sequence[ComparableEval]) -> Figures:
    kind = metric_kind(metric)
    scored = [
        {r.identity: (scores, r.cluster or r.sample_id) for r in side.rows if (scores := r.scores[side.headline])}
        for side in sides
    ]
    values = [value_of(kind, [scores for scores, _ in rows.values()]) for rows in scored]
    common = [identity for identity in scored[0] if all(identity in rows for rows in scored)]
    return Figures(
        eval=eval_,
        metric=metric,
        n=max(map(len, scored)),
        values=values,
        samples=[[rows[identity][0] for identity in common] for rows in scored],
        clusters=[scored[0][identity][1] for identity in common],
        sides=sides,
    )


def calibrated(figures: Sequence[Figures], terms: Terms) -> list[CalibratedLine]:
    """A line for each, at ``terms.false_alarms`` over all of them together (Bonferroni's share each).

    Raises UsageError for fewer than three runs, and where nothing is measured.
    """
    if not figures:
        raise UsageError("the runs have no eval in common that measures anything, so there is nothing to calibrate")
    if (runs := min(len(each.values) for each in figures)) < FEWEST_RUNS:
        raise UsageError(
            f"{runs} runs are too few to know how much they differ: calibrate from {FEWEST_RUNS} or more, 5 are usual"
        )
    level = terms.false_alarms / len(figures)
    return [_line(each, terms, level) for each in figures]


def _line(figures: Figures, terms: Terms, level: float) -> CalibratedLine:
    kind, values = metric_kind(figures.metric), np.array(figures.values, dtype=np.float64)
    if not np.isfinite(values).all():
        return _none(figures, kind, math.nan, "a run has no value of it")
    noise, of_samples = _noise(kind, figures, values)
    if terms.margins:
        return _margin(figures, kind, noise, of_samples, terms, level)
    if not noise.sd and not noise.step:
        return _none(figures, kind, noise.mean, "its runs are equal, and how far one answer moves it is not known")
    limit, sign = _limit(kind, noise, level), ">=" if kind.direction == "higher" else "<="
    least, most = RANGES.get(kind.unit, (-math.inf, math.inf))
    if not (least < limit if sign == ">=" else limit < most):
        return _none(figures, kind, noise.mean, f"its noise reaches as far as it can fall: {noise.sd:.3g} a run")
    note = "the runs differ by more than their samples do by themselves" if noise.shared and of_samples else ""
    require = f"{kind.name} {sign} {_plain(limit)}"
    return _calibrated(figures, kind, noise, require, noise.seen(level, terms.power), note)


def _noise(kind: MetricKind, figures: Figures, values: Floats) -> tuple[RunNoise, float]:
    if kind.parts is None or not figures.samples or not figures.samples[0]:
        return noise_of_figures(values), 0.0
    parts = np.array([[kind.parts(scores) for scores in run] for run in figures.samples], dtype=np.float64)
    tops, wholes = parts[..., 0], parts[..., 1]
    total = wholes.sum(axis=1, keepdims=True)
    if not (total > 0.0).all():
        return noise_of_figures(values), 0.0
    moves = (tops - tops.sum() / wholes.sum() * wholes) / total
    _, numbers = np.unique(np.array(figures.clusters), return_inverse=True)
    units = np.array([np.bincount(numbers, weights=run) for run in moves])
    step = 1.0 / wholes.shape[1] if all(are_answers(kind, run) for run in figures.samples) else float(np.ptp(moves))
    return noise_of_samples(values, units, step)


def _limit(kind: MetricKind, noise: RunNoise, level: float) -> float:
    """The limit, rounded away from the mean to a hundredth of its distance."""
    sign = -1.0 if kind.direction == "higher" else 1.0
    limit = noise.mean + sign * noise.reach(level)
    digits = 2 - math.floor(math.log10(noise.reach(level)))
    rounded = (math.floor if sign < 0 else math.ceil)(round(limit * 10.0**digits, 6)) / 10.0**digits
    return round(rounded, max(0, digits))


def _margin(
    figures: Figures, kind: MetricKind, noise: RunNoise, of_samples: float, terms: Terms, level: float
) -> CalibratedLine:
    if not figures.sides:
        return _none(figures, kind, noise.mean, "a margin is of pairs, and of these runs only figures are known")
    shared = noise.beyond_samples(of_samples)
    reach = float(special.stdtrit(noise.runs - 1.0, 1.0 - level)) * math.sqrt(2.0) * shared
    digits = 2 - math.floor(math.log10(reach)) if reach else 0
    margin = round(math.ceil(reach * 10.0**digits) / 10.0**digits, max(0, digits)) if reach else 0.0
    if margin >= span(kind.unit):
        return _none(figures, kind, noise.mean, "what its runs share moves it by as much as it can fall")
    first, other = figures.sides[:2]
    lines = max(1, round(terms.false_alarms / level))
    query = PowerQuery(_plain(2.0 * margin or 1e-9), _plain(margin), kind.name, terms.false_alarms, lines, terms.power)
    power = power_of(first, other, query)
    note = "the margin is what runs share beyond their samples" if margin else "its noise is in the gate's own test"
    return _calibrated(figures, kind, noise, f"{kind.name}.drop <= {_plain(margin)}", power.detectable, note)


def _plain(number: float) -> str:
    """Without an exponent, which a margin may not have."""
    return str(np.format_float_positional(number, trim="-"))


def _calibrated(
    figures: Figures, kind: MetricKind, noise: RunNoise, require: str, sees: float | None, note: str
) -> CalibratedLine:
    return CalibratedLine(
        figures.eval,
        figures.metric,
        kind.unit,
        figures.n,
        noise.runs,
        _decimal(noise.mean),
        noise.sd,
        noise.degrees,
        require,
        sees,
        note,
    )


def _decimal(mean: float) -> float:
    """Without what the sum of binary fractions adds behind the twelfth digit: 0.9875, not 0.9875000000000002."""
    return float(f"{mean:.12g}")


def _none(figures: Figures, kind: MetricKind, mean: float, why: str) -> CalibratedLine:
    runs = len(figures.values)
    return CalibratedLine(
        figures.eval,
        figures.metric,
        kind.unit,
        figures.n,
        runs,
        _decimal(mean),
        math.nan,
        0.0,
        "",
        None,
        f"no line: {why}",
    )


def moved_since(
    earlier: Mapping[tuple[str, str], CalibratedLine], now: Sequence[CalibratedLine], level: float
) -> list[Moved]:
    """How each line that both have has moved, by Welch's test of the two means at ``level`` over all of them."""
    both = [(earlier[key], line) for line in now if (key := (line.eval, line.metric)) in earlier]
    return [_moved(before, line, level / len(both)) for before, line in both]


def _moved(before: CalibratedLine, now: CalibratedLine, level: float) -> Moved:
    loss = before.mean - now.mean if metric_kind(now.metric).direction == "higher" else now.mean - before.mean
    variances = [(line.sd**2 / line.runs, line.degrees) for line in (before, now)]
    error = math.sqrt(sum(variance for variance, _ in variances))
    verdict = ""
    if not math.isfinite(loss) or not math.isfinite(error):
        verdict = "worse" if math.isfinite(before.mean) and not math.isfinite(now.mean) else ""
    elif error == 0.0:
        verdict = "worse" if loss > 0.0 else "better" if loss < 0.0 else ""
    else:
        degrees = error**4 / sum(variance**2 / degrees for variance, degrees in variances if degrees > 0.0)
        p = float(special.stdtr(degrees, -abs(loss) / error))
        verdict = ("worse" if loss > 0.0 else "better") if p < level else ""
    return Moved(now.eval, now.metric, before.mean, now.mean, loss, verdict)
