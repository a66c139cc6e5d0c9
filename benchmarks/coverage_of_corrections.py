"""How often the interval of a judge's score that human labels correct holds the truth, and how wide it is.

``python benchmarks/coverage_of_corrections.py --repetitions 1000`` prints a row for each judge and number of labels and
answers: the shares of repetitions in which the interval held the truth and in which the paper's normal one did, and the
mean widths of it and of the interval by the labels alone. A row that holds in less than 95 % by more than two standard
errors is marked, and one that is wider than the labels alone by more than 1 %.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats.intervals import Floats, mean_interval
from pytest_audiobench.stats.prediction_powered import corrected_mean

Judge = Callable[[np.random.Generator, Floats], Floats]
"""From the truth of each answer what the judge says of it."""
LABELS, ANSWERS = (30, 60, 200), (500, 5000)
SPEAKERS_OF = 5
"""Answers of one speaker, where they come by speakers."""


class Population(NamedTuple):
    what: str
    right: float
    """The share of right answers; of graded ones their mean."""
    judge: Judge
    kind: str = "answers"


def _flips(of_right: float, of_wrong: float) -> Judge:
    """A judge that takes a right answer for wrong, and a wrong one for right, this often."""
    return lambda rng, truth: np.where(
        rng.random(len(truth)) < np.where(truth > 0, of_right, of_wrong), 1 - truth, truth
    )


def _graded(rng: np.random.Generator, truth: Floats) -> Floats:
    return np.clip(np.round((truth + rng.normal(0.1, 0.2, len(truth))) * 5) / 5, 0.0, 1.0)


POPULATIONS = (
    Population("always right", 0.8, lambda rng, truth: truth.copy()),
    Population("3 % wrong", 0.8, _flips(0.03, 0.03)),
    Population("5 % wrong, few wrong answers", 0.95, _flips(0.05, 0.05)),
    Population("lenient", 0.7, _flips(0.05, 0.4)),
    Population("useless", 0.7, lambda rng, truth: (rng.random(len(truth)) < 0.8).astype(np.float64)),
    Population("says yes", 0.7, lambda rng, truth: np.ones(len(truth))),
    Population("graded, 0.1 too high", 0.5, _graded, "graded"),
    Population("lenient, by speakers", 0.7, _flips(0.05, 0.4), "speakers"),
)


def draw(rng: np.random.Generator, population: Population, answers: int) -> tuple[Floats, Floats, Floats | None]:
    """The truth and the judge's figures of answers in a random order, and the speakers where they come by those."""
    speakers = None
    if population.kind == "graded":
        truth = rng.integers(0, 6, answers) / 5.0
    elif population.kind == "speakers":
        speakers = np.arange(answers) // SPEAKERS_OF
        of_speaker = rng.beta(7.0, 3.0, answers // SPEAKERS_OF + 1)
        truth = (rng.random(answers) < of_speaker[speakers]).astype(np.float64)
        order = rng.permutation(answers)
        truth, speakers = truth[order], speakers[order].astype(np.float64)
    else:
        truth = (rng.random(answers) < population.right).astype(np.float64)
    return truth, population.judge(rng, truth), speakers


def normal_interval(truth: Floats, figures: Floats, labels: int, weight: float) -> tuple[float, float]:
    """The paper's interval at this lambda, for independent answers."""
    rectified = truth[:labels] - weight * figures[:labels]
    others = weight * figures[labels:]
    spread = math.sqrt(rectified.var() / labels + others.var() / len(others))
    value = others.mean() + rectified.mean()
    return value - 1.96 * spread, value + 1.96 * spread


def row(population: Population, labels: int, others: int, repetitions: int) -> str:
    rng = np.random.default_rng([labels, others, *population.what.encode()])
    mask = (np.arange(labels + others) < labels).astype(np.float64)
    inside, normal, widths = 0, 0, np.zeros(2)
    for _ in range(repetitions):
        truth, figures, speakers = draw(rng, population, labels + others)
        clusters = None if speakers is None else speakers.tolist()
        correction = corrected_mean(figures, truth * mask, mask, clusters)
        alone = mean_interval(truth[:labels], None if clusters is None else clusters[:labels])
        low, high = correction.interval.lower or 0.0, correction.interval.upper or 0.0
        inside += low <= population.right <= high
        bounds = normal_interval(truth, figures, labels, correction.weight)
        normal += bounds[0] <= population.right <= bounds[1]
        widths += high - low, (alone.upper or 0.0) - (alone.lower or 0.0)
    share, (width, by_labels) = inside / repetitions, widths / repetitions
    below = share < 0.95 - 2.0 * math.sqrt(0.95 * 0.05 / repetitions)
    marks = " **below**" * below + " **wider**" * bool(width > 1.01 * by_labels)
    shares = f"{100 * share:.1f} %{marks} | {100 * normal / repetitions:.1f} %"
    return f"| {population.what} | {labels} | {others} | {shares} | {100 * width:.1f} | {100 * by_labels:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| judge | labels | others | covers | normal | width, points | of the labels alone |")
    print(f"|{'---|' * 7}")
    for population in POPULATIONS:
        for labels in LABELS:
            for others in ANSWERS:
                print(row(population, labels, others, repetitions), flush=True)


if __name__ == "__main__":
    main()
