"""How often intervals of slopes, areas and means over perturbations hold: python benchmarks/coverage_of_curves.py.

Utterances (or speakers) of their own difficulty are answered under every perturbation of a ladder, which share what is
hard; the truth is the curve of all utterances there could be. Rows are as ``coverage.py`` prints them:
the share of repetitions with an interval, the share of those that holds the truth, its median width. ``naive`` rows are
what comes of taking perturbations for independent: the same figure with the variances of the points added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from coverage import Scenario, main

from pytest_audiobench.stats.intervals import Interval
from pytest_audiobench.stats.weighted_sums import Points, area_weights, contrast, mean_interval, slope_weights

DOSES = (20.0, 15.0, 10.0, 5.0, 0.0, -5.0, -10.0)
"""dB SNR."""

Draw = Callable[[np.random.Generator, int], tuple[Points, np.ndarray]]


def _rates(rng: np.random.Generator, n: int, easy: float, hard: float, apart: float) -> np.ndarray:
    """Error rates of ``n`` utterances by dose, shape (n, doses): logistic in the dose, ``apart`` their spread."""
    middle = rng.normal(0.0, apart, n)
    steep = 1.0 / (1.0 + np.exp((np.array(DOSES)[None, :] - 2.0 - middle[:, None]) / 4.0))
    return easy + (hard - easy) * steep


def _truth(easy: float, hard: float, apart: float) -> np.ndarray:
    return _rates(np.random.default_rng(3), 400_000, easy, hard, apart).mean(axis=0)


def _words(easy: float, hard: float, apart: float) -> Draw:
    truth = _truth(easy, hard, apart)

    def draw(rng: np.random.Generator, n: int) -> tuple[Points, np.ndarray]:
        length = rng.integers(3, 26, n)
        tops = rng.binomial(length[:, None], _rates(rng, n, easy, hard, apart)).astype(float)
        return Points(tops, np.repeat(length[:, None], len(DOSES), axis=1).astype(float)), truth

    return draw


def _runaways(easy: float, hard: float, apart: float) -> Draw:
    """With insertions: under every dose one answer in twelve holds twice the words."""
    truth = _truth(easy, hard, apart) + 2.0 / 12.0

    def draw(rng: np.random.Generator, n: int) -> tuple[Points, np.ndarray]:
        length = rng.integers(3, 26, n)
        tops = rng.binomial(length[:, None], _rates(rng, n, easy, hard, apart)).astype(float)
        tops += 2.0 * length[:, None] * (rng.random(tops.shape) < 1.0 / 12.0)
        return Points(tops, np.repeat(length[:, None], len(DOSES), axis=1).astype(float)), truth

    return draw


def _answers(easy: float, hard: float, apart: float) -> Draw:
    truth = _truth(easy, hard, apart)

    def draw(rng: np.random.Generator, n: int) -> tuple[Points, np.ndarray]:
        # One threshold for all doses of an answer: what is heard at 0 dB is heard at 10 dB too.
        tops = (rng.random(n)[:, None] < _rates(rng, n, easy, hard, apart)).astype(float)
        return Points(tops, np.ones_like(tops)), truth

    return draw


def _speakers(easy: float, hard: float, apart: float) -> Draw:
    truth = _truth(easy, hard, apart)

    def draw(rng: np.random.Generator, n: int) -> tuple[Points, np.ndarray]:
        names = np.repeat(np.arange(n), rng.integers(1, 13, n))
        length = rng.integers(3, 26, len(names))
        rates = _rates(rng, n, easy, hard, apart)[names]
        tops = rng.binomial(length[:, None], rates).astype(float)
        wholes = np.repeat(length[:, None], len(DOSES), axis=1).astype(float)
        return Points(tops, wholes, names.tolist()), truth

    return draw


def _failing(easy: float, hard: float, apart: float) -> Draw:
    """Of which one asking in ten failed, so that the perturbations do not share all of their samples."""
    whole = _words(easy, hard, apart)

    def draw(rng: np.random.Generator, n: int) -> tuple[Points, np.ndarray]:
        points, truth = whole(rng, n)
        kept = rng.random(points.tops.shape) < 0.9
        return Points(points.tops * kept, points.wholes * kept), truth

    return draw


def _slope(points: Points) -> Interval:
    found = contrast(points, [10.0 * one for one in slope_weights(DOSES)])
    return Interval(found.lower, found.upper, found.method)


def _two_runs(harder: float) -> Callable[[np.random.Generator, int], tuple[Interval, float]]:
    """The difference of two runs' slopes over the same utterances; ``harder`` moves the second's hardest rate."""
    weights = [10.0 * one for one in slope_weights(DOSES)]
    gone = (_truth(0.02, 0.6 + harder, 6.0) - _truth(0.02, 0.6, 6.0)) @ np.array(weights)

    def draw(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        length, rates = rng.integers(3, 26, n), _rates(rng, n, 0.0, 1.0, 6.0)
        sides = [rng.binomial(length[:, None], 0.02 + (hard - 0.02) * rates) for hard in (0.6, 0.6 + harder)]
        tops = np.concatenate(sides, axis=1).astype(float)
        wholes = np.repeat(length[:, None], tops.shape[1], axis=1).astype(float)
        found = contrast(Points(tops, wholes), [-one for one in weights] + weights)
        return Interval(found.lower, found.upper, found.method), float(gone)

    return draw


def _naive(weights: list[float]) -> Callable[[Points], Interval]:
    def interval(points: Points) -> Interval:
        totals = points.wholes.sum(axis=0)
        ratios = points.tops.sum(axis=0) / totals
        moves = (points.tops - ratios * points.wholes) / totals
        error = math.sqrt(float((moves * moves).sum(axis=0) @ np.square(weights)))
        value = float(ratios @ np.array(weights))
        return Interval(value - 1.96 * error, value + 1.96 * error, "naive")

    return interval


def _forms(most: float) -> Iterator[tuple[str, list[float], Callable[[Points], Interval]]]:
    slope = [10.0 * one for one in slope_weights(DOSES)]
    area, equal = area_weights(DOSES), [1.0 / len(DOSES)] * len(DOSES)
    yield "slope per 10 dB", slope, _slope
    yield "area", area, lambda points: mean_interval(points, area, most)
    yield "mean of perturbations", equal, lambda points: mean_interval(points, equal, most)
    yield "naive slope", slope, _naive(slope)
    yield "naive mean", equal, _naive(equal)


def scenarios() -> Iterator[Scenario]:
    sizes = (10, 20, 40, 100, 400)
    for harder in (0.0, 0.2):
        what = f"word errors, the second run {100 * harder:g} points worse at most"
        yield Scenario("difference of slopes", what, sizes, _two_runs(harder))
    for what, most, draw, own in (
        ("word errors, 2 to 60 %", math.inf, _words(0.02, 0.6, 6.0), sizes),
        ("word errors, 0.5 to 10 %", math.inf, _words(0.005, 0.1, 6.0), sizes),
        ("word errors, 1 answer in 12 runs away", math.inf, _runaways(0.02, 0.6, 6.0), sizes),
        ("word errors, 1 asking in 10 failed", math.inf, _failing(0.02, 0.6, 6.0), sizes),
        ("word errors of speakers of 1 to 12", math.inf, _speakers(0.02, 0.6, 6.0), (10, 20, 40, 100)),
        ("right answers, 90 to 30 %", 1.0, _answers(0.9, 0.3, 6.0), sizes),
        ("right answers, 99 to 90 %", 1.0, _answers(0.99, 0.9, 6.0), sizes),
    ):
        for form, weights, interval in _forms(most):

            def made(
                rng: np.random.Generator, n: int, draw: Draw = draw, weights: list[float] = weights,
                interval: Callable[[Points], Interval] = interval,
            ) -> tuple[Interval, float]:  # fmt: skip
                points, truth = draw(rng, n)
                return interval(points), float(truth @ np.array(weights))

            yield Scenario(form, what, own, made)


if __name__ == "__main__":
    main(scenarios, __doc__)
