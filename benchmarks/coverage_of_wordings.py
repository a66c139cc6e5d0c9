"""How often the intervals over several wordings hold the truth: of the range of their values, and of the worst.

``python benchmarks/coverage_of_wordings.py --repetitions 200`` prints a row for each number of samples: the lowest and
the highest share over wordings that differ, that do not, and of word errors; two, three and five of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from pytest_audiobench.metrics.estimates import quotient
from pytest_audiobench.stats.bootstrap import Sums
from pytest_audiobench.stats.extremes import extremes
from pytest_audiobench.stats.intervals import Floats

Drawn = tuple[Floats, Floats, Floats]
"""The numerators and denominators of samples in each wording, and the true values."""


def answers(generator: np.random.Generator, samples: int, rates: Floats, alike: float) -> Drawn:
    """Right and wrong answers: of a sample by its difficulty, but for some that each wording draws again."""
    shared, own = generator.random((samples, 1)), generator.random((samples, len(rates)))
    right = np.where(generator.random((samples, 1)) < alike, shared, own) < rates
    return right.astype(np.float64), np.ones(right.shape), rates


def words(generator: np.random.Generator, samples: int, count: int) -> Drawn:
    """Word errors of utterances that differ in length and in how hard they are."""
    lengths = generator.poisson(8, (samples, 1)) + 1.0
    factors = 1.0 + 0.3 * np.arange(count)
    errors = generator.poisson(lengths * generator.gamma(0.5, 0.3, (samples, 1)) * factors)
    return errors.astype(np.float64), np.repeat(lengths, count, axis=1), 0.15 * factors


KINDS: dict[str, Callable[[np.random.Generator, int, int], Drawn]] = {
    "differing": lambda generator, samples, count: answers(generator, samples, 0.7 - 0.03 * np.arange(count), 0.7),
    "equal": lambda generator, samples, count: answers(generator, samples, np.full(count, 0.9), 0.8),
    "words": words,
}


def held(kind: str, samples: int, count: int, repetitions: int) -> tuple[float, float]:
    """The shares of repetitions whose intervals hold the true range, and the true worst (here the least)."""
    generator, hits = np.random.default_rng(samples * 10 + count), np.zeros(2)
    for _ in range(repetitions):
        tops, wholes, truth = KINDS[kind](generator, samples, count)
        sums = [
            Sums(np.stack([tops[:, each], wholes[:, each]], axis=1), lambda both: quotient(both[:, 0], both[:, 1]))
            for each in range(count)
        ]
        known = extremes(sums, None)
        for place, (interval, value) in enumerate(((known.range, np.ptp(truth)), (known.least, truth.min()))):
            if interval.lower is not None and interval.upper is not None:
                hits[place] += interval.lower - 1e-9 <= value <= interval.upper + 1e-9
    range_, worst = hits / repetitions
    return float(range_), float(worst)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    repetitions = parser.parse_args().repetitions
    for samples in (20, 40, 100, 400):
        shares = np.array([held(kind, samples, count, repetitions) for kind in KINDS for count in (2, 3, 5)])
        low, high = 100 * shares.min(axis=0), 100 * shares.max(axis=0)
        print(f"| {samples} | {low[0]:.1f} to {high[0]:.1f} % | {low[1]:.1f} to {high[1]:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
