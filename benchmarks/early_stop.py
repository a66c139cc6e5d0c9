"""How often an eval that is stopped early is stopped for the wrong reason, and how much asking that saves.

    python benchmarks/early_stop.py --repetitions 4000     # prints the table of docs/statistics/power.md

Each line is one setting: two runs of n samples, of which the second is worse by so many points, looked at after the
windows of a real slice, as a run with ``--ab-early-stop`` does. What no look decides is tested whole, at the other half
of the level. Where the loss is the margin any verdict is a wrong one; its rate must be at most its level and two
standard errors of the simulation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.answer_collection import sample_portions
from pytest_audiobench.evaluation.batch_plan import sample_hash, window_bits, window_of
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.looks import Shown, by_bets, by_test
from pytest_audiobench.stats.paired import ratio_drop

ALPHA, MARGIN = 0.05, 0.01
LOSSES = {"broken": 0.10, "worse": 0.02, "at the margin": MARGIN, "equal": 0.0}
Floats = npt.NDArray[np.float64]


class Setting(NamedTuple):
    """``flips`` of the answers change each way by chance; 0 for word errors, of sentences by twenty to a speaker."""

    name: str
    samples: int
    flips: float
    lines: int = 1


class Rates(NamedTuple):
    """Shares of repetitions, and of the samples that were asked."""

    repetitions: int
    regressed: float
    passes: float
    asked: float
    whole: float
    """Regressed by a look or, where none decided, by the test of all samples."""

    def faults(self, setting: Setting) -> list[str]:
        """What is beyond its level where the loss is the margin."""
        share = ALPHA / setting.lines
        limits = [("regressed", share / 2.0), ("passes", share / 2.0), ("whole", share)]
        return [
            f"{name} {getattr(self, name):.4f} at {level:.4f}"
            for name, level in limits
            if getattr(self, name) > level + 2.0 * math.sqrt(level * (1.0 - level) / self.repetitions)
        ]


def look_ends(samples: int) -> list[int]:
    """After how many samples there are looks, all of them last."""
    hashes = sorted(sample_hash(f"sample-{number}") for number in range(samples))
    windows = (window_of(each, window_bits(samples)) for each in hashes)
    sample = Sample(id="", clips=(), question="")
    portions = sample_portions([SelectedSample(sample, window, None, (), None) for window in windows], looks=True)
    return np.cumsum([len(portion) for portion in portions]).tolist()


def simulated(setting: Setting, loss: float, repetitions: int, seed: int = 1) -> Rates:
    """The rates of ``repetitions`` of two runs whose true difference is ``loss``."""
    rng = np.random.default_rng([seed, setting.samples, *setting.name.encode()])
    ends, found = look_ends(setting.samples), []
    level = ALPHA / 2.0 / setting.lines
    draw = _answers if setting.flips else _transcripts
    for _ in range(repetitions):
        before, after, clusters = draw(rng, setting, loss)
        verdict, asked = "", setting.samples
        for end, shown in _looks(before, after, clusters, ends[:-1], level):
            regressed = shown.p is not None and shown.p <= level
            if regressed or (shown.bound is not None and shown.bound < MARGIN):
                verdict, asked = "regressed" if regressed else "passes", end
                break
        whole = verdict == "regressed"
        if not verdict:
            p = ratio_drop(before, after, clusters, Question(MARGIN, ALPHA / 2.0, level), clusters is None).p
            whole = p is not None and p <= level
        found.append((verdict == "regressed", verdict == "passes", asked / setting.samples, whole))
    return Rates(repetitions, *np.mean(found, axis=0).tolist())


def _looks(
    before: Floats, after: Floats, clusters: Sequence[int] | None, ends: Sequence[int], level: float
) -> Iterator[tuple[int, Shown]]:
    for end in ends:
        first, second = before[:end], after[:end]
        if clusters is None:
            yield end, by_bets(first[:, 0] - second[:, 0], MARGIN, level)
        else:
            seen = end / len(before)
            yield end, by_test(first, second, clusters[:end], MARGIN, level, seen, higher_is_better=False)


def _answers(rng: np.random.Generator, setting: Setting, loss: float) -> tuple[Floats, Floats, None]:
    drawn, ones = rng.random(setting.samples), np.ones(setting.samples)
    worse, better = drawn < setting.flips + loss, drawn > 1.0 - setting.flips
    before = np.where(worse, 1.0, np.where(better, 0.0, 1.0))
    after = np.where(worse, 0.0, np.where(better, 1.0, 1.0))
    return np.stack([before, ones], axis=1), np.stack([after, ones], axis=1), None


def _transcripts(rng: np.random.Generator, setting: Setting, loss: float) -> tuple[Floats, Floats, list[int]]:
    """A tenth of the words wrong, more or less by speaker; half of the sentences are transcribed again, in which some
    speakers lose more than others, and some win by three points what as many lose.
    """
    count = setting.samples // 20
    speakers = rng.integers(0, count, setting.samples)
    words = rng.integers(3, 30, setting.samples)
    rates = rng.beta(2.0, 18.0, count)
    shifts = rng.choice([-1.0, 1.0], count) * np.minimum(0.03, rates) + 2.0 * loss * rng.uniform(0.0, 2.0, count)
    errors = rng.binomial(words, rates[speakers])
    again = rng.binomial(words, np.minimum(1.0, rates + shifts)[speakers])
    later = np.where(rng.random(setting.samples) < 0.5, again, errors)
    before, after = (np.stack([each, words], axis=1).astype(np.float64) for each in (errors, later))
    return before, after, speakers.tolist()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=4000)
    args = parser.parse_args()
    settings = [
        Setting(name, samples, flips, lines)
        for samples in (1_000, 10_000)
        for name, flips in (("accuracy", 0.02), ("word error rate", 0.0))
        for lines in (1, 8)
    ]
    print("| n | metric | lines | second run | regressed | passes | asked | regressed, with the test of all |")
    print("|--:|---|--:|---|--:|--:|--:|--:|")
    faults = []
    for setting in settings:
        for name, loss in LOSSES.items():
            rates = simulated(setting, loss, args.repetitions)
            shares = " | ".join(f"{100.0 * share:.1f} %" for share in rates[1:])
            print(f"| {setting.samples:,} | {setting.name} | {setting.lines} | {name} | {shares} |", flush=True)
            if loss == MARGIN:
                where = f"{setting.name}, {setting.samples}, {setting.lines} lines"
                faults += [f"{where}: {fault}" for fault in rates.faults(setting)]
    print("\n".join(faults) or "All lines are within their levels.")


if __name__ == "__main__":
    main()
