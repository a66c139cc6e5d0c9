"""How often the gate's tests are wrong where the truth is known: false alarms, coverage and power, by simulation.

    python benchmarks/calibration.py --budget 300  # seconds on one core; the tables of docs/statistics/calibration.md

A line of a table is one setting at the null's edge, where the true drop is the margin. False alarms must be at most
their level and two standard errors of the simulation, intervals must hold the truth at least as often as they say less
two points. Independent right and wrong answers are not simulated: all their outcomes are added up.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from pytest_audiobench.metrics.definitions.translations import bleu_statistics
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.metrics.metric_drops import drop_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats.drops import Drop, Question
from pytest_audiobench.stats.mcnemar import Flips

ALPHA, LINES = 0.05, 24
EXACT = 10**9
"""Repetitions that stand for all outcomes added up."""
Floats: TypeAlias = npt.NDArray[np.float64]
Rng: TypeAlias = np.random.Generator
Runs: TypeAlias = tuple[Sequence[Statistics], Sequence[Statistics], Sequence[int] | None]


class Setting(NamedTuple):
    """``draw`` makes two runs' statistics and their clusters; ``truth`` is the drop between them in the population."""

    name: str
    metric: str
    margin: float
    draw: Callable[[Rng], Runs]
    truth: float


class Rates(NamedTuple):
    """Shares of repetitions: alarms at 0.05 and 0.05 / 24, truths within the interval and below the bound, no test."""

    repetitions: int
    alarms: float
    few_alarms: float
    covered: float
    bounded: float
    silent: float

    def faults(self) -> list[str]:
        """What is beyond its limit: level + 2 standard errors, or nominal coverage - 2 points."""

        def most(level: float) -> float:
            return level + 2.0 * math.sqrt(level * (1.0 - level) / max(1, self.repetitions))

        found = [
            (self.alarms > most(ALPHA), f"{self.alarms:.4f} alarms at 0.05"),
            (self.few_alarms > most(ALPHA / LINES), f"{self.few_alarms:.5f} alarms at 0.05/24"),
            (1.0 - self.covered > most(0.07), f"{self.covered:.3f} covered"),
            (1.0 - self.bounded > most(0.07), f"{self.bounded:.3f} bounded"),
        ]
        return [text for wrong, text in found if wrong]


def simulated(setting: Setting, repetitions: int, seconds: float = math.inf, seed: int = 1) -> Rates:
    """The rates of ``setting``, of ``repetitions`` or what ``seconds`` allow."""
    rng = np.random.default_rng([seed, *setting.name.encode()])
    kind, question = metric_kind(setting.metric), Question(setting.margin, ALPHA, ALPHA / LINES)
    start, drops = time.perf_counter(), list[Drop]()
    while len(drops) < repetitions and (len(drops) < 20 or time.perf_counter() - start < seconds):
        before, after, clusters = setting.draw(rng)
        drops.append(drop_of(kind, before, after, clusters, question))
    return rates_of(drops, setting.truth)


def rates_of(drops: Sequence[Drop], truth: float) -> Rates:
    tested = [drop for drop in drops if drop.p is not None]
    count, close = len(drops), 1e-12

    def share(holds: Callable[[Drop], bool], among: Sequence[Drop]) -> float:
        return sum(map(holds, among)) / len(among) if among else 1.0

    return Rates(
        count,
        share(lambda drop: drop.p is not None and drop.p <= ALPHA, drops),
        share(lambda drop: drop.p is not None and drop.p <= ALPHA / LINES, drops),
        share(lambda drop: (drop.lower or 0.0) - close <= truth <= (drop.upper or 0.0) + close, tested),
        share(lambda drop: truth <= (drop.bound or 0.0) + close, tested),
        1.0 - len(tested) / count,
    )


def enumerated(pairs: int, rate: float, margin: float) -> Rates:
    """The rates of independent answers of which ``rate`` become better and ``rate`` + ``margin`` worse, exactly."""
    alarms = few = outside = above = 0.0
    for worse, better, chance in _outcomes(pairs, rate + margin, rate):
        p = Flips(pairs, worse, better).p(margin)
        # The bound lies below the truth where the exchanged runs refute a drop of -truth.
        back = Flips(pairs, better, worse).p(-margin)
        alarms += chance * (p <= ALPHA)
        few += chance * (p <= ALPHA / LINES)
        outside += chance * (p <= 0.025 or back <= 0.025)
        above += chance * (back <= ALPHA)
    return Rates(EXACT, alarms, few, 1.0 - outside, 1.0 - above, 0.0)


def power(pairs: int, rate: float, drop: float, margin: float = 0.0, level: float = ALPHA) -> float:
    """The probability that ``drop`` is called a regression, where ``rate`` of the answers flip each way at random."""
    outcomes = _outcomes(pairs, rate + drop, rate)
    return sum(chance for worse, better, chance in outcomes if Flips(pairs, worse, better).p(margin) <= level)


def naive_alarms(pairs: int, rate: float, repetitions: int, rng: Rng, right: float = 0.7) -> tuple[float, float]:
    """How often "the mean dropped by more than a point" and the paired test alarm on an unchanged model.

    Each run's answers are the model's own, of which ``rate`` flip at random in each run.
    """
    own = rng.random((repetitions, pairs)) < right
    before, after = (own ^ (rng.random(own.shape) < rate) for _ in range(2))
    worse, better = (before & ~after).sum(axis=1), (after & ~before).sum(axis=1)
    dropped = before.mean(axis=1) - after.mean(axis=1) > 0.01
    seen = {key: Flips(pairs, *key).p(0.0) <= ALPHA for key in set(zip(worse.tolist(), better.tolist(), strict=True))}
    return float(dropped.mean()), float(
        np.mean([seen[key] for key in zip(worse.tolist(), better.tolist(), strict=True)])
    )


def _outcomes(pairs: int, worse: float, better: float) -> Iterator[tuple[int, int, float]]:
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, pairs + 1)))])

    def most(rate: float) -> int:
        return min(pairs, int(pairs * rate + 7.0 * math.sqrt(pairs * rate) + 12.0))

    for w in range(most(worse) + 1 if worse else 1):
        for b in range(min(most(better) if better else 0, pairs - w) + 1):
            chance = logs[pairs] - logs[w] - logs[b] - logs[pairs - w - b]
            chance += w * math.log(worse or 1.0) + b * math.log(better or 1.0)
            chance += (pairs - w - b) * math.log1p(-worse - better)
            if chance > -23.0:
                yield w, b, math.exp(chance)


def sizes_of(how: str, clusters: int) -> npt.NDArray[np.int64]:
    """Cluster sizes: five each; of a log-normal spread; or five each and one that holds a third of all."""
    if how == "unequal":
        quantiles = (np.arange(clusters) + 0.5) / clusters
        spread = special.stdtrit(10_000, np.clip(quantiles, 0.001, 0.999))
        return np.maximum(1, np.round(5.0 * np.exp(spread - 0.5))).astype(np.int64)
    sizes = np.full(clusters, 5)
    if how == "one large":
        sizes[0] = 5 * clusters // 2
    return sizes


def answers(sizes: npt.NDArray[np.int64], rate: float, alike: float, margin: float) -> Callable[[Rng], Runs]:
    """Right and wrong answers in clusters that flip alike; ``rate`` / 2 each way, and ``margin`` more to the worse."""
    names = np.repeat(np.arange(len(sizes)), sizes)
    rates = np.array([rate / 2.0 + margin, rate / 2.0, 1.0 - rate - margin])

    def draw(rng: Rng) -> Runs:
        shares = rng.gamma(np.maximum(rates * (1.0 / alike - 1.0), 1e-9), size=(len(sizes), 3)) + 1e-300
        own = (shares / shares.sum(axis=1, keepdims=True))[names]
        place = rng.random(len(names))
        worse, better = place < own[:, 0], (place >= own[:, 0]) & (place < own[:, 0] + own[:, 1])
        before = np.where(worse, True, np.where(better, False, rng.random(len(names)) < 0.7))
        after = np.where(worse, False, np.where(better, True, before))
        return _correct(before), _correct(after), names.tolist()

    return draw


def _correct(values: npt.NDArray[np.generic]) -> list[Statistics]:
    return [{"correct": float(value)} for value in values.tolist()]


def points(samples: int, differing: float) -> Callable[[Rng], Runs]:
    """Scores between 0 and 1, of which a share are redrawn and the others tie."""

    def draw(rng: Rng) -> Runs:
        before = rng.beta(2.0, 1.0, samples)
        after = np.where(rng.random(samples) < differing, rng.beta(2.0, 1.0, samples), before)
        return _correct(before), _correct(after), None

    return draw


def words(
    utterances: int,
    redone: float,
    runaway: float = 0.0,
    margin: float = 0.0,
    speakers: int = 0,
    most: int = 25,
    empty: float = 0.0,
) -> Callable[[Rng], Runs]:
    """Word errors at a rate of 10 %; a share of utterances is ``redone`` in the second run, at ``margin`` more errors.

    In each run a share of answers is a ``runaway`` of 20 to 400 words more; in the second a share is ``empty``.
    Speakers differ in how hard they are to hear, in how many utterances they have, and in how the second run hears
    them.
    """

    def draw(rng: Rng) -> Runs:
        length = rng.integers(3, most, utterances)
        names = None
        if speakers:
            often = rng.lognormal(0.0, 0.7, speakers)
            names = rng.choice(speakers, utterances, p=often / often.sum())
        rates = np.full(utterances, 0.1)
        shift = np.zeros(utterances)
        if names is not None:
            rates = rng.beta(2.0, 18.0, speakers)[names]
            shift = rng.normal(0.0, 0.02, speakers)[names]
        before = rng.binomial(length, rates).astype(float)
        # The margin falls on all utterances alike, also where only some are redone.
        again = rng.binomial(length, np.clip(rates + shift + margin / redone, 0.0, 1.0))
        after = np.where(rng.random(utterances) < redone, again, before).astype(float)
        after = np.where(rng.random(utterances) < empty, length, after).astype(float) if empty else after
        wild = [np.where(rng.random(utterances) < runaway, rng.integers(20, 400, utterances), 0) for _ in range(2)]
        sides = [
            [
                {"S": s, "D": 0.0, "I": i, "N": n}
                for s, i, n in zip(errors.tolist(), more.tolist(), length.tolist(), strict=True)
            ]
            for errors, more in ((before, wild[0]), (after, wild[1]))
        ]
        return sides[0], sides[1], None if names is None else names.tolist()

    return draw


def classes(samples: int, rare: bool, flips: float = 0.02, clusters: int = 0) -> Callable[[Rng], Runs]:
    """One label of ten a sample, the rarest 1 % of them where ``rare``; a share of answers is redrawn."""
    labels = [f"label {place}" for place in range(10)]
    weights = 1.0 / np.arange(1, 11) ** (1.4 if rare else 0.0)
    made = {(t, s): label_statistics(labels, [labels[t]], [labels[s]]) for t in range(10) for s in range(10)}

    def draw(rng: Rng) -> Runs:
        true = rng.choice(10, samples, p=weights / weights.sum())
        names = rng.integers(0, clusters, samples) if clusters else None

        def said() -> npt.NDArray[np.int64]:
            return np.where(rng.random(samples) < 0.7, true, rng.integers(0, 10, samples))

        before = said()
        redo = rng.random(samples) < flips if names is None else (rng.random(clusters) < flips)[names]
        after = np.where(redo, said(), before)
        sides = [[made[pair] for pair in zip(true.tolist(), side.tolist(), strict=True)] for side in (before, after)]
        return sides[0], sides[1], None if names is None else names.tolist()

    return draw


def translations(samples: int, redone: float, clusters: int = 0) -> Callable[[Rng], Runs]:
    """Sentences of 4 to 20 words, a fifth of which come out wrong; a share of answers is made again."""
    pool = np.random.default_rng(5)
    vocabulary = np.array([f"w{number}" for number in range(200)])
    made: list[list[dict[str, float]]] = []
    for _ in range(400):
        true = pool.choice(vocabulary, pool.integers(4, 21))
        rate = pool.beta(2.0, 8.0)
        said = (np.where(pool.random(len(true)) < rate, pool.choice(vocabulary, len(true)), true) for _ in range(4))
        made.append([bleu_statistics(" ".join(one), [" ".join(true)], "none") for one in said])

    def draw(rng: Rng) -> Runs:
        which, first = rng.integers(0, len(made), samples), rng.integers(0, 4, samples)
        names = rng.integers(0, clusters, samples) if clusters else None
        again = rng.random(samples) < redone if names is None else (rng.random(clusters) < redone)[names]
        second = np.where(again, rng.integers(0, 4, samples), first)
        sides = [[made[w][a] for w, a in zip(which.tolist(), side.tolist(), strict=True)] for side in (first, second)]
        return sides[0], sides[1], None if names is None else names.tolist()

    return draw


def trials(samples: int, alike: float, clusters: int = 0) -> Callable[[Rng], Runs]:
    """Trials of which 30 % are targets; the two runs' scores have the correlation ``alike``."""

    def draw(rng: Rng) -> Runs:
        target = rng.random(samples) < 0.3
        names = rng.integers(0, clusters, samples) if clusters else None
        common = 1.5 * target + math.sqrt(alike) * rng.normal(size=samples)
        noise = math.sqrt(1.0 - alike)
        scores = [common + noise * rng.normal(size=samples) for _ in range(2)]
        sides = [
            [
                {"target": float(is_target), "has_score": 1.0, "trial_score": score}
                for is_target, score in zip(target.tolist(), side.tolist(), strict=True)
            ]
            for side in scores
        ]
        return sides[0], sides[1], None if names is None else names.tolist()

    return draw


def means() -> list[Setting]:
    """Means of scores and ratios of sums."""
    found = []
    for how, clusters in (
        ("equal", 10),
        ("equal", 50),
        ("unequal", 20),
        ("unequal", 50),
        ("unequal", 200),
        ("one large", 50),
    ):
        for rate, alike in ((0.02, 0.01), (0.02, 0.5), (0.3, 0.3)):
            for margin in (0.0, 0.01):
                name = f"{clusters} clusters, {how}; {rate:.0%} flip, correlation {alike:g}"
                draw = answers(sizes_of(how, clusters), rate, alike, margin)
                found.append(Setting(name, "accuracy", margin, draw, margin))
    for samples, differing in ((10, 1.0), (30, 1.0), (100, 0.02), (300, 0.02), (300, 0.2)):
        found.append(
            Setting(f"{samples} points; {differing:.0%} drawn anew", "accuracy", 0.0, points(samples, differing), 0.0)
        )
    for utterances, redone, runaway, speakers in (
        (30, 1.0, 0.0, 0),
        (30, 1.0, 0.02, 0),
        (300, 0.02, 0.0, 0),
        (300, 0.2, 0.0, 0),
        (300, 1.0, 0.01, 0),
        (300, 1.0, 0.0, 20),
        (300, 1.0, 0.01, 20),
        (1000, 0.2, 0.003, 100),
    ):
        for margin in (0.0, 0.01):
            name = f"{utterances} utterances; {redone:.0%} redone, {runaway:.1%} runaway"
            name += f", {speakers} speakers" if speakers else ""
            draw = words(utterances, redone, runaway, margin, speakers)
            found.append(Setting(name, "wer", margin, draw, margin))
    for utterances, redone in ((50, 0.2), (100, 0.02), (100, 0.2), (300, 0.2), (1000, 0.2), (1000, 1.0)):
        # An empty answer costs the nine words in ten that were right.
        name = f"{utterances} utterances; {redone:.0%} redone, 1.1% newly empty"
        found.append(Setting(name, "wer", 0.01, words(utterances, redone, empty=0.01 / 0.9), 0.01))
    return found


def bootstrapped() -> list[Setting]:
    """Functions of sums and of whole sets, on an unchanged model."""

    def named(what: str, redone: float, clusters: int) -> str:
        return f"{what}; {redone:.0%} anew{f', {clusters} clusters' if clusters else ''}"

    found = []
    for samples, rare, flips, clusters in (
        (50, False, 0.3, 0),
        (100, True, 0.1, 0),
        (300, True, 0.02, 0),
        (300, True, 0.3, 0),
        (300, False, 0.3, 20),
        (1000, True, 0.1, 100),
    ):
        name = named(f"{samples} samples{', rare labels' if rare else ''}", flips, clusters)
        found.append(Setting(name, "macro_f1", 0.0, classes(samples, rare, flips, clusters), 0.0))
    name = named("300 samples, rare labels", 0.1, 0)
    found.append(Setting(name, "cohen_kappa", 0.0, classes(300, True, 0.1), 0.0))
    for samples, redone, clusters in ((20, 1.0, 0), (50, 0.3, 0), (300, 0.02, 0), (300, 1.0, 0), (300, 1.0, 20)):
        name = named(f"{samples} samples", redone, clusters)
        found.append(Setting(name, "bleu", 0.0, translations(samples, redone, clusters), 0.0))
    for samples, clusters in ((100, 0), (300, 0), (300, 30)):
        name = named(f"{samples} trials", 1.0, clusters)
        found.append(Setting(name, "eer_interpolated", 0.0, trials(samples, 0.8, clusters), 0.0))
    return found


def _row(name: str, metric: str, margin: float, rates: Rates) -> str:
    repetitions = "all outcomes" if rates.repetitions == EXACT else f"{rates.repetitions:,}"
    faults = "; ".join(rates.faults())
    return (
        f"| {name} | {metric} | {100.0 * margin:g} | {repetitions} | {100.0 * rates.alarms:.2f} | "
        f"{100.0 * rates.few_alarms:.3f} | {100.0 * rates.covered:.1f} | {100.0 * rates.bounded:.1f} | "
        f"{100.0 * rates.silent:.1f} |{f' **{faults}** |' if faults else ''}"
    )


HEADER = (
    "| setting | metric | margin (pp) | repetitions | alarms at 5 % | alarms at 0.208 % | 95 % interval covers | "
    "95 % bound covers | no test |\n|---|---|---|---|---|---|---|---|---|"
)


def worst_of_answers(pairs: int, margin: float) -> Rates:
    """The worst of :func:`enumerated` over rates of flips from none to a tenth each way."""
    rated = [enumerated(pairs, rate, margin) for rate in (0.0, 0.0025, 0.01, 0.03, 0.1) if rate + margin > 0.0]
    return Rates(
        EXACT,
        max(one.alarms for one in rated),
        max(one.few_alarms for one in rated),
        min(one.covered for one in rated),
        min(one.bounded for one in rated),
        0.0,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--budget", type=float, default=300.0, help="seconds for all simulations together")
    parser.add_argument("--repetitions", type=int, default=10_000, help="the most repetitions of one setting")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"Seed {arguments.seed}, at most {arguments.budget:g} s; all numbers but margins in per cent.\n\n{HEADER}")
    faults = 0
    for pairs in (20, 50, 100, 300, 1000):
        for margin in (0.0, 0.01, 0.03):
            rates = worst_of_answers(pairs, margin)
            print(_row(f"{pairs} answers, the worst rate of flips", "accuracy", margin, rates), flush=True)
            faults += len(rates.faults())
    for settings, part in ((means(), 0.4), (bootstrapped(), 0.6)):
        for setting in settings:
            rates = simulated(setting, arguments.repetitions, part * arguments.budget / len(settings), arguments.seed)
            print(_row(setting.name, setting.metric, setting.margin, rates), flush=True)
            faults += len(rates.faults())
    print("\n| answers | alarms of the rule of one point | alarms of the test | power at a drop of 3 points |")
    print("|---|---|---|---|")
    rng = np.random.default_rng(arguments.seed)
    for pairs in (100, 300, 1000):
        naive, tested = naive_alarms(pairs, 0.02, 20_000, rng)
        print(f"| {pairs} | {100.0 * naive:.1f} | {100.0 * tested:.1f} | {100.0 * power(pairs, 0.01, 0.03):.1f} |")
    print(f"\n{faults} beyond their limits." if faults else "\nAll are within their limits.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
