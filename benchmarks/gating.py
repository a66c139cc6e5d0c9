"""What holding one regression line of 10,000 samples against a baseline costs, by the form of its metric.

Run ``python benchmarks/gating.py [--samples N] [--rounds N]`` on a quiet machine. Each form is given both sides'
statistics, as the gate has them, and gives back the drop, its interval, bound, p and the detectable drop. The peer is
SciPy's paired bootstrap of the word error rates' difference, with as many resamples as ours draws for sums.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy.stats
from measure import here, table_row, yardstick

from pytest_audiobench.metrics.definitions.translations import bleu_statistics
from pytest_audiobench.metrics.metric import Clusters, Statistics
from pytest_audiobench.metrics.metric_drops import drop_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats.bootstrap import RESAMPLES
from pytest_audiobench.stats.drops import Question

WORDS = [f"word{number}" for number in range(500)]
Side = Sequence[Statistics]


def answers(generator: np.random.Generator, samples: int, right: float) -> Side:
    return [{"correct": float(one)} for one in generator.random(samples) < right]


def transcripts(generator: np.random.Generator, samples: int, wrong: float) -> Side:
    lengths = generator.integers(3, 30, samples)
    return [{"S": float(generator.binomial(one, wrong)), "D": 0.0, "I": 0.0, "N": float(one)} for one in lengths]


def translations(generator: np.random.Generator, samples: int, wrong: float) -> Side:
    found = []
    for _ in range(samples):
        true = [WORDS[one] for one in generator.integers(0, len(WORDS), 12)]
        said = [WORDS[0] if generator.random() < wrong else one for one in true]
        found.append(bleu_statistics(" ".join(said), [" ".join(true)], "13a"))
    return found


def peer(before: Side, after: Side) -> None:
    """SciPy's paired percentile bootstrap of the difference of two word error rates."""
    columns = [np.array([one["S"] for one in side]) for side in (before, after)] + [
        np.array([one["N"] for one in before])
    ]

    def drop(first: np.ndarray, second: np.ndarray, words: np.ndarray, axis: int = -1) -> np.ndarray:
        return (second.sum(axis=axis) - first.sum(axis=axis)) / words.sum(axis=axis)

    scipy.stats.bootstrap(columns, drop, n_resamples=RESAMPLES, paired=True, method="percentile", batch=50, rng=1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    generator = np.random.default_rng(1)
    speakers: Clusters = [f"speaker {number % 400}" for number in range(args.samples)]
    made = {
        "accuracy, McNemar": ("accuracy", answers, (0.8, 0.79), None),
        "accuracy, 400 speakers": ("accuracy", answers, (0.8, 0.79), speakers),
        "WER": ("wer", transcripts, (0.05, 0.052), None),
        "WER, 400 speakers": ("wer", transcripts, (0.05, 0.052), speakers),
        "BLEU, bootstrap": ("bleu", translations, (0.2, 0.21), None),
    }
    print(f"{args.samples} pairs; yardstick {yardstick().wall_s:.3f} s")
    for name, (metric, make, shares, clusters) in made.items():
        before, after = (make(np.random.default_rng(7), args.samples, share) for share in shares)
        held = partial(drop_of, metric_kind(metric), before, after, clusters, Question(0.01, level=0.05 / 24))
        print(table_row(name, [here(held) for _ in range(args.rounds)], 1000.0, "ms"))
    before, after = (transcripts(generator, args.samples, share) for share in (0.05, 0.052))
    beside = partial(peer, before, after)
    print(table_row("WER, SciPy's bootstrap", [here(beside) for _ in range(args.rounds)], 1000.0, "ms"))


if __name__ == "__main__":
    main()
