"""What the installed plugin costs those who do not use it, and what collecting the benchmark costs.

Run ``python benchmarks/startup.py [--rounds N]``. The same pytest command runs with and without the plugin
in turn, so that the machine's drift falls on both; limits: 20 ms, 20 ms, and 1 s for collecting ``evals``.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent


def wall(folder: Path, *args: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def paired(folder: Path, rounds: int, *args: str) -> list[float]:
    """Seconds that the plugin adds, pair by pair."""
    return [wall(folder, *args) - wall(folder, "-p", "no:audiobench", *args) for _ in range(rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "test_foreign.py").write_text("\n".join(f"def test_{n}(): pass" for n in range(50)))
        wall(folder)
        for name, args in (("pytest --help", ("--help",)), ("a foreign suite of 50 tests", ("-q",))):
            added = paired(folder, rounds, *args)
            middle = 1000 * statistics.median(added)
            spread = f"min {1000 * min(added):.1f}, max {1000 * max(added):.1f}, n={rounds}"
            print(f"{name:30} +{middle:6.1f} ms of 20 (ratio {middle / 20:.2f}; {spread})")
    collecting = [wall(ROOT, "evals", "--collect-only", "-q") for _ in range(rounds)]
    middle = statistics.median(collecting)
    spread = f"min {min(collecting):.2f}, max {max(collecting):.2f}, n={rounds}"
    print(f"{'collecting evals':30} {middle:6.2f} s of 1 (ratio {middle:.2f}; {spread})")


if __name__ == "__main__":
    main()
