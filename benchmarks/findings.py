"""How often findings are false, and how often a true one is found; beside the rule that they replace.

    python benchmarks/findings.py                          # 2,000 runs of each kind, some seven minutes
    python benchmarks/findings.py --runs 300 --only power  # null, recordings, harder, power, coverage

"Theirs" is the rule of audiobench's ASR hallucination suite (github THENIROCK/audiobench, src/audiobench/findings.py
and statistics.py): clips split one by one at 0.3, both groups recentred to their common mean and resampled 2,000
times, two clips a side enough for the discovery and one for the holdout. Its resamples of equal counts are drawn from
binomial distributions here, which is what resampling zeros and ones is; nothing else differs.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from scipy.stats import false_discovery_control

from pytest_audiobench.stats import finding_tests
from pytest_audiobench.stats.finding_tests import Unit, uplift_interval, weigh

SIZES = {10: (3, 3, 4), 60: (20, 20, 20), 180: (60, 60, 60)}
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
RESAMPLES = 2_000
Statuses = dict[str, str]


def drawn(
    generator: np.random.Generator, rates: Sequence[float], sizes: Sequence[int], clips: int = 1, alike: float = 0.0
) -> list[Unit]:
    """Clusters of ``clips`` clips each; with ``alike`` their rates vary, so that clips of one have that correlation."""
    units = []
    for number, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
        spread = (1.0 - alike) / alike if alike else 0.0
        for cluster in range(size // clips):
            own = generator.beta(rate * spread, (1.0 - rate) * spread) if alike else rate
            hits = int(generator.binomial(clips, own))
            units.append(Unit(f"d{number}/{cluster}", f"d{number}", hits, clips))
    return units


def ours(units: Sequence[Unit], seed: int) -> Statuses:
    return {one.part: one.status for one in weigh(units, str(seed))}


def theirs(units: Sequence[Unit], seed: int) -> Statuses:
    """Each clip by itself, whatever recording it is cut from."""
    halves: dict[bool, list[tuple[str, int]]] = {False: [], True: []}
    for unit in units:
        for clip in range(unit.clips):
            token = f"{unit.cluster}/{clip}|{seed}|ab-asr-hallucination-holdout"
            draw = int(hashlib.sha256(token.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
            halves[draw < 0.3].append((unit.part, int(clip < unit.hits)))
    parts = sorted({unit.part for unit in units})
    sides = {part: [_counts(halves[kept], part) for kept in (False, True)] for part in parts}
    tested = {part: min(sides[part][0][1], sides[part][0][3]) >= 2 for part in parts}
    found = {part: [_bootstrap(*side) for side in sides[part]] for part in parts}
    q = dict(zip(parts, false_discovery_control([found[p][0][2] if tested[p] else 1.0 for p in parts]), strict=True))
    statuses = {}
    for part in parts:
        (effect, lower, _), (again, again_lower, again_p) = found[part]
        first = tested[part] and effect > 0 and lower > 0 and q[part] <= 0.05
        second = min(sides[part][1][1], sides[part][1][3]) >= 1 and again > 0 and again_lower > 0 and again_p <= 0.05
        statuses[part] = ("validated" if second else "candidate") if first else "rejected"
    return statuses


def _counts(half: Sequence[tuple[str, int]], part: str) -> tuple[int, int, int, int]:
    own, others = [hit for name, hit in half if name == part], [hit for name, hit in half if name != part]
    return sum(own), len(own), sum(others), len(others)


@cache
def _bootstrap(hits: int, clips: int, others_hits: int, others: int) -> tuple[float, float, float]:
    """Effect, lower end of the 95 % interval and p of ``bootstrap_mean_difference``."""
    if not clips or not others:
        return 0.0, 0.0, 1.0
    generator = np.random.default_rng(hits + 1_000 * clips + 1_000_000 * others_hits)
    left = generator.binomial(clips, hits / clips, RESAMPLES) / clips
    right = generator.binomial(others, others_hits / others, RESAMPLES) / others
    effect = hits / clips - others_hits / others
    null = (left - hits / clips) - (right - others_hits / others)
    p = (np.count_nonzero(np.abs(null) >= abs(effect)) + 1) / (RESAMPLES + 1)
    return effect, float(np.percentile(left - right, 2.5)), float(p)


RULES: dict[str, Callable[[Sequence[Unit], int], Statuses]] = {"ours": ours, "theirs": theirs}


def runs_of(rule: str, runs: int, draw: Callable[[np.random.Generator], list[Unit]]) -> Iterator[Statuses]:
    generator = np.random.default_rng(2026)
    for run in range(runs):
        yield RULES[rule](draw(generator), run)


def false_rates(rule: str, runs: int, draw: Callable[[np.random.Generator], list[Unit]], nulls: set[str]) -> str:
    """How often any of ``nulls`` was validated, and how often it was a candidate or better, in percent."""
    validated = better = 0
    for found in runs_of(rule, runs, draw):
        own = {status for part, status in found.items() if part in nulls}
        validated += "validated" in own
        better += bool(own & {"validated", "candidate"})
    return f"{100 * validated / runs:6.2f} {100 * better / runs:6.2f}"


def power(rule: str, runs: int, draw: Callable[[np.random.Generator], list[Unit]]) -> str:
    validated = sum(found["d0"] == "validated" for found in runs_of(rule, runs, draw))
    return f"{100 * validated / runs:6.1f}"


def _null_table(runs: int) -> None:
    print(f"no domain differs, three domains, {runs} runs: any false validated, any false candidate or better, in %")
    print("clips  rate     ours           theirs")
    for clips, sizes in SIZES.items():
        for rate in RATES:
            cells = [
                false_rates(rule, runs, lambda g, r=rate, s=sizes: drawn(g, [r] * 3, s), {"d0", "d1", "d2"})
                for rule in RULES
            ]
            print(f"{clips:5}  {rate:.1f}  {'  '.join(cells)}", flush=True)


def _clustered_table(runs: int) -> None:
    print("\nthe same, four clips cut from each recording, correlation 0.5 within it")
    for clips in (60, 180):
        for rate in (0.1, 0.5):
            cells = [
                false_rates(
                    rule, runs, lambda g, r=rate, s=SIZES[clips]: drawn(g, [r] * 3, s, 4, 0.5), {"d0", "d1", "d2"}
                )
                for rule in RULES
            ]
            print(f"{clips:5}  {rate:.1f}  {'  '.join(cells)}", flush=True)


def _harder_nulls(runs: int) -> None:
    def mixed(generator: np.random.Generator) -> list[Unit]:
        """Recordings of one domain that are all or nothing, among others whose clips are independent."""
        alike = drawn(generator, [0.5], [60], 4, 0.95)
        apart = [
            Unit(f"d{part}/{n}", f"d{part}", int(generator.binomial(4, 0.5)), 4) for part in (1, 2) for n in range(15)
        ]
        return alike + apart

    def unlike(rate: float) -> Callable[[np.random.Generator], list[Unit]]:
        """Few recordings of one domain that are all or nothing, many of another whose clips are independent."""
        return lambda g: (
            drawn(g, [rate], [120], 10, 0.999)
            + [Unit(f"d1/{n}", "d1", int(g.binomial(10, rate)), 10) for n in range(60)]
        )

    print("\nother nulls at 180 clips (720 in 72 recordings): any false validated, any false candidate or better, in %")
    middle = (0.5, 0.9, 0.1)
    for name, draw, nulls in (
        ("a domain in the middle of others (0.9, 0.1)", lambda g: drawn(g, middle, SIZES[180]), {"d0"}),
        ("one domain of all-or-nothing recordings", mixed, {"d0", "d1", "d2"}),
        ("12 recordings of all-or-nothing, 60 of others", unlike(0.5), {"d0", "d1"}),
        ("the same at a rate of 0.9", unlike(0.9), {"d0", "d1"}),
        ("eight domains", lambda g: drawn(g, [0.5] * 8, [22] * 8), {f"d{n}" for n in range(8)}),
    ):
        cells = [false_rates(rule, runs, draw, nulls) for rule in RULES]
        print(f"{name:45}  {'  '.join(cells)}", flush=True)


def _power_table(runs: int) -> None:
    print("\none domain 0.30 above the others: how often it is validated, in %")
    print("clips  domains  rate    ours  theirs")
    for clips, domains in ((60, 3), (180, 3), (180, 5), (180, 8), (480, 8)):
        for rate in (0.1, 0.2, 0.3, 0.4, 0.5, 0.7) if (clips, domains) == (180, 3) else (0.1, 0.35):
            rates, sizes = [rate + 0.3] + [rate] * (domains - 1), [clips // domains] * domains
            cells = [power(rule, runs, lambda g, r=rates, s=sizes: drawn(g, r, s)) for rule in RULES]
            print(f"{clips:5}  {domains:7}  {rate:.2f}  {'  '.join(cells)}", flush=True)


def _coverage_table(runs: int) -> None:
    print("\nhow often the interval holds the true uplift, in % (95 or more is asked)")
    for own, others in ((5, 10), (12, 24), (36, 72)):
        for rates in ((0.5, 0.2), (0.95, 0.05), (0.1, 0.1), (1.0, 0.0)):
            generator = np.random.default_rng(7)
            held = 0
            for run in range(runs):
                units = drawn(generator, rates, (own, others))
                found = uplift_interval(
                    [one for one in units if one.part == "d0"], [one for one in units if one.part == "d1"], str(run)
                )
                assert found.lower is not None
                assert found.upper is not None
                held += found.lower - 1e-9 <= rates[0] - rates[1] <= found.upper + 1e-9
            print(
                f"{own:3} against {others:3} clips, {rates[0]:.2f} and {rates[1]:.2f}: {100 * held / runs:5.1f}",
                flush=True,
            )


TABLES = {
    "null": _null_table,
    "recordings": _clustered_table,
    "harder": _harder_nulls,
    "power": _power_table,
    "coverage": lambda runs: _coverage_table(max(runs // 4, 50)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--only", choices=TABLES)
    options = parser.parse_args()
    began = time.monotonic()
    levels = ", ".join(f"{finding_tests.holdout_level(parts):.4g} among {parts}" for parts in (2, 3, 5, 8))
    print(
        f"levels: discovery q <= {finding_tests.DISCOVERY:g}, holdout p <= {levels} domains; any false validated <= "
        f"{finding_tests.ALPHA:g}\n"
    )
    for name, table in TABLES.items():
        if options.only in (None, name):
            table(options.runs)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
