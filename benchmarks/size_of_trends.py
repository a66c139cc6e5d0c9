"""How often the trend test finds what is not there, and what is: python benchmarks/size_of_trends.py.

Right and wrong answers under six doses, of samples of their own difficulty, alone or in clusters (a recording with
several questions) that share it. Rows with a fall of 0 are a curve that is flat in truth: the share of repetitions with
p at most 0.05 is the test's size, and must not be above 5 %. The other rows are its power.
"""

from __future__ import annotations

import argparse

import numpy as np

from pytest_audiobench.stats.weighted_sums import Points, slope_weights, trend_p

DOSES = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
"""% masked."""


def answers(rng: np.random.Generator, units: int, most: int, fall: float) -> Points:
    """``units`` clusters of 1 to ``most`` samples; the mean share of right answers falls from 60 % by ``fall``."""
    names = np.repeat(np.arange(units), rng.integers(1, most + 1, units))
    # A cluster is heard, or not, under each dose as a whole, beside what each sample does by itself.
    easy = rng.beta(3.0, 2.0, units)[:, None] + rng.normal(0.0, 0.25, (units, len(DOSES)))
    rates = np.clip(easy[names] - fall * np.array(DOSES)[None, :] / 100.0, 0.0, 1.0)
    tops = (rng.random(rates.shape) < rates).astype(float)
    return Points(tops, np.ones_like(tops), names.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2_000)
    repetitions = parser.parse_args().repetitions
    weights = slope_weights(DOSES)
    print(f"{'clusters':>8}  {'of':>6}  {'fall':>5}  {'one-sided':>9}  {'two-sided':>9}")
    for units, most in ((12, 1), (40, 1), (100, 1), (400, 1), (12, 6), (40, 6), (100, 6)):
        for fall in (0.0, 0.1, 0.3):
            rng, found = np.random.default_rng([units, most]), np.zeros(2)
            for _ in range(repetitions):
                points = answers(rng, units, most, fall)
                tests = (trend_p(points, weights, worse=-1), trend_p(points, weights))
                found += [p is not None and p <= 0.05 for p in tests]
            shares = "  ".join(f"{100 * one / repetitions:>7.1f} %" for one in found)
            print(f"{units:>8}  {f'1 to {most}' if most > 1 else '1':>6}  {100 * fall:>5.0f}  {shares}")


if __name__ == "__main__":
    main()
