"""How often a printed interval holds the truth: python benchmarks/coverage.py [--repetitions 1000] [--only WORD].

Draws data whose truth is known, over numbers of samples, clusters, shares and shapes, and prints a Markdown table:
the share of repetitions in which an interval was printed at all, the share of those in which it held the truth, and
its median width. A row that holds in less than 93 % of the printed ones by more than two standard errors is marked.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats import intervals
from pytest_audiobench.stats.intervals import Interval, mean_interval, proportion, ratio

LEAST = 0.93
"""Nominal, 95 %, less two points."""


class Scenario(NamedTuple):
    """``draw`` makes the interval of one set of ``n`` samples or clusters, and gives the truth beside it."""

    form: str
    what: str
    sizes: tuple[int, ...]
    draw: Callable[[np.random.Generator, int], tuple[Interval, float]]


class Row(NamedTuple):
    form: str
    what: str
    n: int
    printed: float
    held: float
    width: float
    repetitions: int

    @property
    def below(self) -> bool:
        """Whether it held less often than it should, beyond two standard errors of the simulation."""
        count = self.printed * self.repetitions
        return count > 0 and self.held < LEAST - 2.0 * math.sqrt(LEAST * (1.0 - LEAST) / count)


def study(scenario: Scenario, n: int, repetitions: int) -> Row:
    """One row; its seed is the scenario's own."""
    rng = np.random.default_rng([n, *scenario.what.encode()])
    held, widths = 0, []
    for _ in range(repetitions):
        interval, truth = scenario.draw(rng, n)
        if interval.lower is not None and interval.upper is not None:
            held += interval.lower - 1e-12 <= truth <= interval.upper + 1e-12
            widths.append(interval.upper - interval.lower)
    printed = len(widths)
    share = held / printed if printed else math.nan
    width = float(np.median(widths)) if widths else math.nan
    return Row(scenario.form, scenario.what, n, printed / repetitions, share, width, repetitions)


def _shares() -> Iterator[Scenario]:
    for share in (0.5, 0.9, 0.98, 0.998):

        def draw(rng: np.random.Generator, n: int, share: float = share) -> tuple[Interval, float]:
            return proportion(rng.random(n) < share), share

        yield Scenario("share", f"{share:g}", (5, 30, 80, 300), draw)
    for largest, correlation, share in (
        (2, 0.3, 0.6), (2, 0.9, 0.98), (8, 0.1, 0.6), (8, 0.5, 0.95), (60, 0.1, 0.8), (60, 0.5, 0.95), (60, 0.5, 0.99),
    ):  # fmt: skip

        def clustered(
            rng: np.random.Generator, n: int, largest: int = largest, rho: float = correlation, share: float = share
        ) -> tuple[Interval, float]:
            sizes = np.exp(rng.uniform(0.0, math.log(largest + 1.0), n)).astype(int)
            strength = 1.0 / rho - 1.0
            names = np.repeat(np.arange(n), sizes)
            rates = rng.beta(share * strength, (1.0 - share) * strength, n)[names]
            return proportion(rng.random(len(names)) < rates, names.tolist()), share

        what = f"{share:g}, clusters of 1 to {largest}, correlation {correlation:g}"
        yield Scenario("share, clustered", what, (5, 10, 30, 100), clustered)


def _means() -> Iterator[Scenario]:
    shapes: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
        "spread evenly about 0.6": (lambda rng, n: rng.beta(3, 2, n), 0.6),
        "near 0 or near 1": (lambda rng, n: rng.beta(0.2, 0.3, n), 0.4),
        "narrow about 0.6": (lambda rng, n: rng.beta(60, 40, n), 0.6),
        "8 in 10 are 1, the others even": (lambda rng, n: np.where(rng.random(n) < 0.8, 1.0, rng.random(n)), 0.9),
        "1 in 50 is 0, the others 0.95": (
            lambda rng, n: np.where(rng.random(n) < 0.02, 0.0, rng.beta(95, 5, n)),
            0.98 * 0.95,
        ),
        "skewed, mean 0.05": (lambda rng, n: rng.beta(0.1, 1.9, n), 0.05),
    }
    for what, (shape, truth) in shapes.items():
        yield Scenario(
            "mean in 0 to 1", what, (2, 5, 30, 80, 300), lambda rng, n, s=shape, t=truth: (mean_interval(s(rng, n)), t)
        )  # type: ignore[misc]
    yield Scenario("mean in 0 to 1", "even, in pairs", (5, 30, 100), lambda rng, n: (_paired_mean(rng, n), 0.6))
    yield Scenario(
        "mean, open above",
        "numbers of words, lognormal",
        (20, 50, 200),
        lambda rng, n: (mean_interval(np.exp(rng.normal(3.0, 0.5, n)), bounds=(0.0, math.inf)), math.exp(3.0 + 0.125)),
    )


def _paired_mean(rng: np.random.Generator, n: int) -> Interval:
    return mean_interval(np.repeat(rng.beta(3, 2, n), 2), np.repeat(np.arange(n), 2).tolist())


def _ratios() -> Iterator[Scenario]:
    def words(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.integers(3, 26, n)

    def of(
        rates: Callable[[np.random.Generator, int], np.ndarray], truth: float
    ) -> Callable[..., tuple[Interval, float]]:
        def draw(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
            length = words(rng, n)
            return ratio(rng.binomial(length, rates(rng, n)), length), truth

        return draw

    sizes = (5, 30, 80, 300)
    for rate in (0.01, 0.05, 0.3):
        yield Scenario("error rate", f"{rate:g}, words alike", sizes, of(lambda rng, n, r=rate: np.full(n, r), rate))  # type: ignore[misc]
    yield Scenario("error rate", "0.1, utterances differ", sizes, of(lambda rng, n: rng.beta(1, 9, n), 0.1))
    yield Scenario("error rate", "0.05, utterances differ much", sizes, of(lambda rng, n: rng.beta(0.3, 5.7, n), 0.05))
    yield Scenario(
        "error rate", "0.02, and 1 answer in 50 empty", sizes,
        of(lambda rng, n: np.where(rng.random(n) < 0.02, 1.0, 0.02), 0.02 + 0.98 * 0.02),
    )  # fmt: skip

    def long_and_short(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        length = np.ceil(np.exp(rng.normal(2.3, 1.0, n))).astype(int)
        return ratio(rng.binomial(length, rng.beta(1, 9, n)), length), 0.1

    yield Scenario("error rate", "0.1, lengths lognormal", sizes, long_and_short)

    def speakers(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        names = np.repeat(np.arange(n), rng.integers(1, 21, n))
        length = words(rng, len(names))
        return ratio(rng.binomial(length, rng.beta(1, 9, n)[names]), length, names.tolist()), 0.1

    yield Scenario("error rate, clustered", "0.1, speakers of 1 to 20", (5, 10, 30, 100), speakers)

    def insertions(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        length = words(rng, n)
        return ratio(rng.poisson(length * rng.gamma(0.5, 0.3, n)), length), 0.15

    yield Scenario("error rate", "0.15, insertions, gamma", sizes, insertions)
    for rate, times in ((0.02, 2.0), (0.02, 10.0), (0.005, 20.0)):

        def runaways(
            rng: np.random.Generator, n: int, rate: float = rate, times: float = times
        ) -> tuple[Interval, float]:
            length = words(rng, n)
            extra = np.where(rng.random(n) < rate, times * 14.0, 0.0)
            return ratio(rng.binomial(length, 0.05) + extra, length), 0.05 + rate * times

        what = f"beyond its claim: 1 in {1 / rate:g} runs away to {times:g} times the words"
        yield Scenario("error rate", what, (30, 80, 300, 1000), runaways)

    def matches(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        length = words(rng, n)
        return ratio(rng.binomial(length, rng.beta(0.5, 19.5, n)), length, most=1.0), 0.025

    yield Scenario("ratio in 0 to 1", "0.025, utterances differ", sizes, matches)


def _loops() -> Iterator[Scenario]:
    """Word error rates of 10 % of which 1 % of the answers repeat themselves for many words more."""

    def transcripts(rng: np.random.Generator, n: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
        length = np.clip(np.round(np.exp(rng.normal(2.75, 0.5, n))), 5, 40)
        errors = rng.binomial(length.astype(int), np.minimum(0.1 * rng.gamma(1.5, 1.0 / 1.5, n), 0.6))
        loop = np.exp(rng.uniform(math.log(20.0), math.log(longest), n))
        return errors + np.where(rng.random(n) < 0.01, loop, 0.0), length

    def before(errors: np.ndarray, length: np.ndarray) -> Interval:
        ends = (intervals._added(errors, length, rate) for rate in (0.0, max(1.0, float((errors / length).max()))))
        return Interval(*(intervals.gamma_bound(*end, p) for end, p in zip(ends, (0.025, 0.975), strict=True)), "")

    def where_seen(errors: np.ndarray, length: np.ndarray) -> Interval:
        return ratio(errors, length) if intervals.runaways(errors, length) else intervals.none("none ran away")

    for longest in (60, 100, 400):
        many, words = transcripts(np.random.default_rng(1), 1_000_000, longest)
        whole, trimmed = float(many.sum() / words.sum()), float(np.minimum(many, words).sum() / words.sum())
        for what, form, truth in (
            ("before", before, whole),
            ("all", ratio, whole),
            ("where one is among them", where_seen, whole),
            ("trimmed", lambda errors, length: ratio(np.minimum(errors, length), length, most=1.0), trimmed),
        ):

            def draw(
                rng: np.random.Generator,
                n: int,
                longest: int = longest,
                form: Callable[..., Interval] = form,
                truth: float = truth,
            ) -> tuple[Interval, float]:
                return form(*transcripts(rng, n, longest)), truth

            yield Scenario("loops", f"1 % loops of 20 to {longest} words: {what}", (50, 200, 1000), draw)


def _lost() -> Iterator[Scenario]:
    kind = metric_kind("wil")

    def draw(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        length = rng.integers(3, 26, n)
        wrong = rng.binomial(length, np.where(rng.random(n) < 0.03, 1.0, 0.05))
        rows = [{"S": float(s), "D": 0.0, "I": 0.0, "N": float(w)} for s, w in zip(wrong, length, strict=True)]
        kept = 1.0 - (0.03 + 0.97 * 0.05)
        return _of(kind.name, rows), 1.0 - kept * kept

    yield Scenario("word information lost", "1 answer in 33 all wrong", (5, 30, 80, 300), draw)


def _labels() -> Iterator[Scenario]:
    for shares, right in (
        ((1, 1, 1, 1), 0.7), ((1, 1, 1, 1), 0.95), ((12, 5, 2, 1), 0.7), (tuple(60 // i for i in range(1, 11)), 0.7),
        ((19, 1), 0.9), ((1, 1), 0.98),
    ):  # fmt: skip
        for name in ("macro_f1", "balanced_accuracy", "micro_f1", "cohen_kappa", "mcc"):
            truth = _population(name, shares, right)

            def draw(
                rng: np.random.Generator, n: int, name: str = name, shares: tuple[int, ...] = shares,
                right: float = right, truth: float = truth,
            ) -> tuple[Interval, float]:  # fmt: skip
                return _of(
                    name, _answers(rng.choice(len(shares), n, p=np.array(shares) / sum(shares)), shares, right, rng)
                ), truth

            what = f"{name}, labels {':'.join(map(str, shares))}, {right:g} right"
            yield Scenario("bootstrap of labels", what, (20, 50, 100, 300), draw)


def _answers(
    true: np.ndarray, shares: tuple[int, ...], right: float, rng: np.random.Generator
) -> list[dict[str, float]]:
    k = len(shares)
    said = np.where(rng.random(len(true)) < right, true, (true + rng.integers(1, k, len(true))) % k)
    names = [f"{label:02d}" for label in range(k)]
    return [label_statistics(names, [names[t]], [names[s]]) for t, s in zip(true.tolist(), said.tolist(), strict=True)]


def _population(name: str, shares: tuple[int, ...], right: float) -> float:
    from pytest_audiobench.metrics import label_statistics

    k = len(shares)
    prior = np.array(shares) / sum(shares)
    confused = np.full((k, k), (1.0 - right) / (k - 1))
    np.fill_diagonal(confused, right)
    joint = prior[:, None] * confused
    sums = np.concatenate([np.diag(joint), joint.sum(axis=0), prior, [0.0, 1.0]])
    return float(getattr(label_statistics, name)(sums[None, :])[0])


def _texts() -> Iterator[Scenario]:
    for quality in (0.4, 0.8, 0.97):
        big = _n_grams(np.random.default_rng(7), 60_000, quality)
        truth = metric_kind("bleu").estimate(_folded(big), None).value

        def draw(
            rng: np.random.Generator, n: int, quality: float = quality, truth: float = truth
        ) -> tuple[Interval, float]:
            rows = _n_grams(rng, n, quality)
            return _of("bleu", [dict(zip(_BLEU, row, strict=True)) for row in rows.tolist()]), truth

        yield Scenario("bootstrap of sums", f"BLEU of {truth:.0f}", (20, 50, 150), draw)

    def f1(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        true = rng.integers(1, 5, n)
        hits, alarms = rng.binomial(true, rng.beta(9, 1, n)), rng.poisson(0.2, n)
        rows = [
            {"span_hits": float(h), "span_alarms": float(a), "span_misses": float(t - h)}
            for h, a, t in zip(hits, alarms, true, strict=True)
        ]
        return _of("entity_f1", rows), 2 * 2.25 / (2 * 2.25 + 0.2 + 0.25)

    yield Scenario("bootstrap of sums", "entity F1 of 0.91", (20, 50, 150), f1)


_BLEU = ("sys_len", "ref_len", *(f"{what}{n}" for what in ("match", "total") for n in range(1, 5)))


def _n_grams(rng: np.random.Generator, n: int, quality: float) -> np.ndarray:
    length = rng.integers(6, 26, n)
    good = rng.beta(8 * quality, 8 * (1 - quality), n)
    right = rng.random((n, 25)) < good[:, None]
    right &= np.arange(25) < length[:, None]
    matches, totals = [], []
    for order in range(1, 5):
        windows = np.lib.stride_tricks.sliding_window_view(right, order, axis=1).all(axis=2)
        matches.append(windows.sum(axis=1))
        totals.append(length - order + 1)
    return np.stack([length, length, *matches, *totals], axis=1).astype(float)


def _folded(rows: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(_BLEU, rows.sum(axis=0).tolist(), strict=True))]


def _trials() -> Iterator[Scenario]:
    for share in (0.5, 0.1):
        for apart in (2.0, 4.0):
            truth = 0.5 * math.erfc(apart / 2.0 / math.sqrt(2.0))

            def draw(
                rng: np.random.Generator, n: int, apart: float = apart, share: float = share, truth: float = truth
            ) -> tuple[Interval, float]:
                target = np.arange(n) < share * n
                scores = rng.normal(0.0, 1.0, n) + apart * target
                rows = [
                    {"target": float(t), "has_score": 1.0, "trial_score": float(s)}
                    for t, s in zip(target, scores, strict=True)
                ]
                return _of("eer_interpolated", rows), truth

            what = f"equal error rate of {truth:.3f}, {share:.0%} targets"
            yield Scenario("bootstrap of trials", what, (50, 200, 1000), draw)


def _of(name: str, rows: list[dict[str, float]]) -> Interval:
    found = metric_kind(name).estimate(rows, None)
    return Interval(found.lower, found.upper, found.method)


GROUPS = (_shares, _means, _ratios, _loops, _lost, _labels, _texts, _trials)


def everything() -> Iterator[Scenario]:
    return (one for group in GROUPS for one in group())


def main(scenarios: Callable[[], Iterator[Scenario]] = everything, about: str = __doc__) -> None:
    """Print the rows of ``scenarios``, as the command line asks; ``about`` is the program's own account of itself."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--only", default="", help="scenarios whose form holds this word")
    args = parser.parse_args()
    print("| form | data | n | printed | covers | width |\n| :-- | :-- | --: | --: | --: | --: |")
    for scenario in (one for one in scenarios() if args.only in one.form):
        for n in scenario.sizes:
            row = study(scenario, n, args.repetitions)
            held = "–" if math.isnan(row.held) else f"{100 * row.held:.1f} %{' **below**' if row.below else ''}"
            print(
                f"| {row.form} | {row.what} | {n} | {100 * row.printed:.0f} % | {held} | {row.width:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
