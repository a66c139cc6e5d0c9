"""What the gate sees of word error rates and BLEU, and how often it alarms for nothing, over a run of 20 lines.

    python benchmarks/power_of_ratios.py                 # minutes on one core; the tables of docs/statistics/power.md

Utterances have 5 to 40 words, as hard as they come (5 to 15 % of the words are wrong), and the second run makes most
of the errors that the first one makes. Its drop is of 3 points where power is asked for, and is the margin where
alarms are counted: those of one line at 0.05 / 20, and those of runs of 20 lines, of which one alarms or more.
Beside the gate's test are the one that it had before, which reckoned with cures that no sample shows, and a plain t
on the samples. BLEU's resamples are drawn for fewer lines.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from pytest_audiobench.metrics.definitions.translations import bleu_of, bleu_statistics
from pytest_audiobench.stats.bootstrap import Sums
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.paired_bootstrap import sums_drop

ALPHA, LINES, SEEN = 0.05, 20, 0.03
LEVEL = ALPHA / LINES
Floats = npt.NDArray[np.float64]
Rng = np.random.Generator


class Data(NamedTuple):
    """How two runs' word errors come about.

    ``kept`` of the first run's errors are made again by the second; a share ``runaway`` of each run's answers has 100
    to 400 words more; of the utterances a share ``cured`` was answered with nothing by the first run alone.
    """

    name: str
    rate: float = 0.1
    kept: float = 0.75
    per_speaker: int = 1
    runaway: float = 0.0
    cured: float = 0.0

    def draw(self, rng: Rng, n: int, drop: float) -> tuple[Floats, Floats, list[int] | None]:
        """Errors and words of ``n`` utterances in both runs, and speakers where they repeat."""
        words = np.clip(np.round(np.exp(rng.normal(2.75, 0.5, n))), 5, 40).astype(int)
        speaker = np.arange(n) // self.per_speaker
        # Utterances differ in how hard they are, and speakers in that and in how the second run hears them.
        hard, turned = rng.gamma(1.5, 1.0 / 1.5, n), np.ones(n)
        if self.per_speaker > 1:
            hard *= rng.gamma(4.0, 0.25, n)[speaker]
            turned = rng.gamma(4.0, 0.25, n)[speaker]
        rate = np.minimum(self.rate * hard, 0.6)
        before = rng.binomial(words, rate)
        # Errors that go and errors that come are as many, but for the drop, which is larger where speech is harder.
        lost = drop + self.cured * (1.0 - self.rate)
        new = rate * (1.0 - self.kept) / (1.0 - rate) * turned + lost * hard / (1.0 - rate)
        after = rng.binomial(before, self.kept) + rng.binomial(words - before, np.clip(new, 0.0, 1.0))
        if self.cured:
            before = np.where(rng.random(n) < self.cured, words, before)
        before, after = (
            errors + np.where(rng.random(n) < self.runaway, rng.integers(100, 401, n), 0) for errors in (before, after)
        )
        sides = [np.stack([errors, words], axis=1).astype(np.float64) for errors in (before, after)]
        return sides[0], sides[1], speaker.tolist() if self.per_speaker > 1 else None


SHAPES = (
    Data("10 %"),
    Data("5 %", rate=0.05),
    Data("15 %", rate=0.15),
    Data("10 %, half of the errors are the same", kept=0.5),
    Data("10 %, speakers of 5", per_speaker=5),
    Data("10 %, 1 % runaways in each run", runaway=0.01),
    Data("10 %, 5 % runaways in each run", runaway=0.05),
    Data("10 %, 1 % runaways, speakers of 5", per_speaker=5, runaway=0.01),
)
CURED = Data("10 %, the first run alone has 1.1 % empty answers", cured=0.011)


class Tested(NamedTuple):
    """The p values of one line by the gate's test, by the one that it had, and by a plain t."""

    gate: float
    before: float
    plain: float


def tested(before: Floats, after: Floats, clusters: list[int] | None, margin: float) -> Tested:
    """A word error rate's drop, tested."""
    drop = ratio_drop(before, after, clusters, Question(margin, ALPHA, LEVEL), higher_is_better=False)
    first, second = (side[:, 0].sum() / side[:, 1].sum() for side in (before, after))
    residuals = (after[:, 0] - second * after[:, 1]) / after[:, 1].sum()
    residuals -= (before[:, 0] - first * before[:, 1]) / before[:, 1].sum()
    n, shares = len(before), after[:, 1] / after[:, 1].sum()
    plain = stats.t.sf((second - first - margin) / math.sqrt(residuals @ residuals * n / (n - 1)), n - 1)
    p = 1.0 if drop.p is None else drop.p
    return Tested(p, _as_before(p, drop.value - margin, 1.0 / float(shares @ shares)), float(plain))


def _as_before(p: float, excess: float, samples: float, span: float = 1.0) -> float:
    """No less than the probability that all samples miss the cures that would make up for the ``excess``."""
    return max(p, max(0.0, 1.0 - excess / span) ** samples if excess > 0.0 else 1.0)


class Translations:
    """Sentences in three translations: one, one of an unchanged model, and one of a model that has become worse.

    The two others keep three in four of the wrong words of the first. ``drop`` is how much BLEU the last one loses.
    """

    def __init__(self, rng: Rng, sentences: int = 4_000, kept: float = 0.75, more: float = 0.021) -> None:
        vocabulary = np.array([f"w{number}" for number in range(300)])
        rows = []
        for _ in range(sentences):
            true = rng.choice(vocabulary, rng.integers(5, 41))
            rate = rng.beta(2.0, 8.0)
            first = np.where(rng.random(len(true)) < rate, rng.choice(vocabulary, len(true)), true)
            said = [first]
            for extra in (0.0, more):
                new = np.where(first == true, rate * (1.0 - kept) / (1.0 - rate) + extra, 0.0)
                other = np.where(rng.random(len(true)) < new, rng.choice(vocabulary, len(true)), true)
                said.append(np.where((first != true) & (rng.random(len(true)) < kept), first, other))
            rows.append([list(bleu_statistics(" ".join(answer), [" ".join(true)], "none").values()) for answer in said])
        self._rows = np.array(rows)
        values = bleu_of(self._rows.sum(axis=0))
        self.drop = float(values[0] - values[2])

    def draw(self, rng: Rng, n: int, worse: bool) -> tuple[Sums, Sums]:
        """Both runs' statistics of ``n`` sentences; of an unchanged model unless ``worse``."""
        which, turned = rng.integers(0, len(self._rows), n), rng.random(n) < 0.5
        # Of an unchanged model either translation may be the first.
        first = np.where(turned & (not worse), 1, 0)
        second = 2 if worse else 1 - first
        return Sums(self._rows[which, first], bleu_of), Sums(self._rows[which, second], bleu_of)

    def p(self, rng: Rng, n: int, worse: bool, margin: float) -> Tested:
        """BLEU's drop, tested; a plain t has no such form."""
        drop = sums_drop(*self.draw(rng, n, worse), None, Question(margin, ALPHA, LEVEL), span=100.0)
        p = 1.0 if drop.p is None else drop.p
        return Tested(p, _as_before(p, drop.value - margin, float(n), 100.0), math.nan)


class Rates(NamedTuple):
    """In per cent: false alarms of lines and of runs of 20, and how many lines with a drop are seen."""

    lines: float
    runs: float
    power: float


def rates(null: Iterator[Tested], drops: Iterator[Tested]) -> Iterator[Rates]:
    """Those of the gate's test, of the one before, and of a plain t."""
    null_p, drop_p = (np.array(list(each)) for each in (null, drops))
    alarms, seen = null_p <= LEVEL, drop_p <= LEVEL
    runs = alarms[: len(alarms) // LINES * LINES].reshape(-1, LINES, 3).any(axis=1)
    for column in range(3):
        shares = (100.0 * float(each[:, column].mean()) for each in (alarms, runs, seen))
        yield Rates(*(math.nan if np.isnan(drop_p[:, column]).all() else share for share in shares))


def most(repetitions: int) -> tuple[float, float]:
    """The shares of false alarms beyond which lines and runs exceed their level by two standard errors."""
    runs = max(1, repetitions // LINES)
    return (
        100.0 * (LEVEL + 2.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / repetitions)),
        100.0 * (ALPHA + 2.0 * math.sqrt(ALPHA * (1.0 - ALPHA) / runs)),
    )


HEADER = (
    "| data | n | margin | false alarms of a line | of a run | before | power | before | plain t |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def row(name: str, n: int, margin: float, found: list[Rates], repetitions: int) -> tuple[str, bool]:
    """A line of the table, and whether it alarms too often."""
    gate, before, plain = found
    fault = gate.lines > most(repetitions)[0] or gate.runs > most(repetitions)[1]
    cells = (
        f"{gate.lines:.2f}{' **too many**' * fault}",
        f"{gate.runs:.1f}",
        f"{before.runs:.1f}",
        f"{gate.power:.1f}",
        f"{before.power:.1f}",
        "–" if math.isnan(plain.power) else f"{plain.power:.1f}",
    )
    return f"| {name} | {n} | {margin:g} | {' | '.join(cells)} |", fault


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=10_000, help="lines of word errors for each rate of alarms")
    parser.add_argument("--bleu", type=int, default=1_000, help="such lines of BLEU; 0 for none")
    arguments = parser.parse_args()
    start, faults = time.perf_counter(), 0
    print(f"Per cent, at 0.05 / {LINES}, power at a drop of 3 points; {arguments.repetitions:,} lines of an unchanged")
    print(f"model, limits {most(arguments.repetitions)[0]:.2f} and {most(arguments.repetitions)[1]:.1f}.\n\n{HEADER}")
    for data in (*SHAPES, CURED):
        for n in (50, 200):
            for margin in (0.0, 0.01):
                rng = np.random.default_rng([n, int(1000 * margin), *data.name.encode()])
                null = (tested(*data.draw(rng, n, margin), margin) for _ in range(arguments.repetitions))
                drops = (tested(*data.draw(rng, n, SEEN), margin) for _ in range(arguments.repetitions // 4))
                line, fault = row(data.name, n, 100.0 * margin, list(rates(null, drops)), arguments.repetitions)
                # No test of so few sees what is in none of them: this row says what that costs.
                faults += fault and data != CURED
                print(line, flush=True)
    if arguments.bleu:
        rng = np.random.default_rng(1)
        texts = Translations(rng)
        for n in (50, 200):
            for margin in (0.0, 1.0):
                null = (texts.p(rng, n, False, 0.0) for _ in range(arguments.bleu))
                drops = (texts.p(rng, n, True, margin) for _ in range(arguments.bleu // 4))
                found = list(rates(null, drops))
                line, fault = row(f"BLEU, a drop of {texts.drop:.1f}", n, margin, found, arguments.bleu)
                faults += fault
                print(line, flush=True)
    print(f"\n{faults} beyond their limits; {time.perf_counter() - start:.0f} s.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
