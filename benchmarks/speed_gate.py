"""How often lines on speed alarm for two equal servers under load: python benchmarks/speed_gate.py.

Requests of their own length are asked of two servers in turns of sixteen at once, as ``--ab-gate`` asks them: a turn
lasts as long as its longest request, and who ends a round begins the next. What a machine's load does at a time it
does to whichever server is asked then. Rows are the share of repetitions that alarm, in per cent, at a margin of 0 with
equal servers (the level, as one line of one run and as one of twenty), and with a candidate that is 10 % slower (what
is seen). ``first one, then the other`` is what comes of asking all of the base before all of the candidate, by the same
test on the same pairs; ``requests apart`` of turns, but of a test that takes requests for independent.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from pytest_audiobench.gate.speed import WARM_UP, Statistic, drop_beyond, log_drop
from pytest_audiobench.stats.drops import Question

Floats = np.ndarray
Load = Callable[[np.random.Generator, float], Callable[[float], float]]
"""Draws what a machine does to requests over so many seconds: by how much they are slower at a time."""

TURN = 16
TYPICAL_S, LENGTHS_APART = 0.8, 0.5
LEVELS = (0.05, 0.05 / 20)
LINES: tuple[Statistic, ...] = ("mean", "total", "p50", "p95", "p99")


def quiet(rng: np.random.Generator, seconds: float) -> Callable[[float], float]:
    return lambda at_s: 1.0


def drift(rng: np.random.Generator, seconds: float) -> Callable[[float], float]:
    """Twice as slow at the end as at the beginning."""
    return lambda at_s: 1.0 + min(1.0, at_s / seconds)


def bursts(every_s: float, lasting_s: float) -> Load:
    """Other jobs, which come and go: half as slow again to four times as slow."""

    def draw(rng: np.random.Generator, seconds: float) -> Callable[[float], float]:
        count = rng.poisson(2.0 * seconds / every_s)
        starts = np.sort(rng.uniform(0.0, 2.0 * seconds, count))
        ends, factors = starts + rng.exponential(lasting_s, count), rng.uniform(1.5, 4.0, count)
        return lambda at_s: float(factors[(starts <= at_s) & (at_s < ends)].max(initial=1.0))

    return draw


def wandering(rng: np.random.Generator, seconds: float) -> Callable[[float], float]:
    """Its logarithm wanders about 0, by 0.3, and forgets half of it in 15 s."""
    step_s = 0.5
    keep = 0.5 ** (step_s / 15.0)
    moves = rng.normal(0.0, 0.3 * np.sqrt(1.0 - keep * keep), int(3.0 * seconds / step_s) + 2)
    logs = [rng.normal(0.0, 0.3)]
    for move in moves:
        logs.append(keep * logs[-1] + move)
    return lambda at_s: float(np.exp(logs[min(int(at_s / step_s), len(logs) - 1)]))


def together(*loads: Load) -> Load:
    def draw(rng: np.random.Generator, seconds: float) -> Callable[[float], float]:
        drawn = [load(rng, seconds) for load in loads]
        return lambda at_s: float(np.prod([each(at_s) for each in drawn]))

    return draw


def light(rng: np.random.Generator, n: int) -> Floats:
    return np.exp(rng.normal(0.0, 0.1, n))


def stalls(rng: np.random.Generator, n: int) -> Floats:
    """Heavy tails: one request in fifty hangs, for three to thirty times as long."""
    return light(rng, n) * np.where(rng.random(n) < 0.02, 3.0 * (1.0 + rng.pareto(1.5, n)).clip(max=10.0), 1.0)


WORLDS: dict[str, tuple[Load, Callable[[np.random.Generator, int], Floats]]] = {
    "quiet": (quiet, light),
    "drift to twice as slow": (drift, light),
    "bursts of 20 s": (bursts(60.0, 20.0), light),
    "bursts of 1 s": (bursts(8.0, 1.0), light),
    "load that wanders": (wandering, light),
    "stalls, heavy tails": (quiet, stalls),
    "all of these": (together(drift, bursts(60.0, 20.0), bursts(8.0, 1.0), wandering), stalls),
}


def asked(
    rng: np.random.Generator, world: str, n: int, slower: float = 1.0, in_turns: bool = True
) -> tuple[Floats, Floats, Floats]:
    """What ``n`` requests took of both servers, and their turns, without the warm-up."""
    load, noise = WORLDS[world]
    lengths = TYPICAL_S * np.exp(rng.normal(0.0, LENGTHS_APART, n))
    turns = np.arange(n) // TURN
    count = int(turns[-1]) + 1
    at = load(rng, 2.0 * count * TYPICAL_S * 2.5)
    took = np.zeros((2, n))
    order = [(turn, side) for turn in range(count) for side in ((0, 1) if turn % 2 == 0 else (1, 0))]
    clock_s = 0.0
    for turn, side in order if in_turns else sorted(order, key=lambda each: each[1]):
        these = turns == turn
        own = lengths[these] * noise(rng, int(these.sum())) * (slower if side else 1.0)
        # A burst that begins within a turn meets what is left of it.
        begins, middle = at(clock_s), at(clock_s + float(np.median(own)))
        took[side, these] = own * (begins + middle) / 2.0
        clock_s += float(took[side, these].max())
    timed = turns >= WARM_UP
    return took[0, timed], took[1, timed], turns[timed]


def shares(
    world: str,
    n: int,
    statistic: Statistic,
    repetitions: int,
    slower: float,
    in_turns: bool = True,
    apart: bool = False,
) -> list[float | None]:
    """The shares of repetitions that alarm at each level; None where there is no test."""
    rng = np.random.default_rng([n, len(world), int(1000 * slower)])
    alarms = np.zeros(len(LEVELS))
    for _ in range(repetitions):
        before, after, turns = asked(rng, world, n, slower, in_turns)
        which = np.arange(len(turns)) if apart else turns
        if statistic in ("mean", "total"):
            drop = log_drop(before, after, which.tolist(), Question(0.0, 0.05, 0.05), statistic)
        else:  # p alone, without the bounds, which take a hundred times as long
            drop = drop_beyond(before, after, which.tolist(), int(statistic[1:]) / 100.0)
        if drop.p is None:
            return [None] * len(LEVELS)
        alarms += [drop.p <= level for level in LEVELS]
    return [100.0 * float(alarm) / repetitions for alarm in alarms]


def _cells(found: list[float | None], digits: tuple[int, ...]) -> list[str]:
    return ["–" if share is None else f"{share:.{places}f}" for share, places in zip(found, digits, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--samples", type=int, nargs="*", default=[320, 1000, 2000])
    parser.add_argument("--only", choices=WORLDS, nargs="*", default=[*WORLDS])
    parser.add_argument("--lines", choices=LINES, nargs="*", default=LINES)
    arguments = parser.parse_args()
    repetitions, samples, worlds = arguments.repetitions, arguments.samples, arguments.only
    print("| load | requests | line | alarms at 0.05 | at 0.05 / 20 | 10 % slower is seen |\n|---|---|---|---|---|---|")
    for world in worlds:
        for n in samples:
            for statistic in arguments.lines:
                level = shares(world, n, statistic, repetitions, 1.0)
                if level[0] is not None:
                    seen = shares(world, n, statistic, max(100, repetitions // 8), 1.1)
                    cells = [*_cells(level, (1, 2)), *_cells(seen[:1], (0,))]
                    print(f"| {world} | {n:,} | {statistic} | {' | '.join(cells)} |", flush=True)
    print("\n| load | requests | first one, then the other | requests apart |\n|---|---|---|---|")
    for world in worlds:
        for n in samples[:1]:
            beside = shares(world, n, "mean", repetitions // 2, 1.0, in_turns=False)[:1]
            apart = shares(world, n, "mean", repetitions // 2, 1.0, apart=True)[:1]
            print(f"| {world} | {n:,} | {' | '.join(_cells([*beside, *apart], (1, 1)))} |", flush=True)


if __name__ == "__main__":
    main()
