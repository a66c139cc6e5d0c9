"""What the installed plugin costs those who do not use it, and what collecting the benchmark costs.

Run ``python benchmarks/startup.py [--rounds N]``. The same pytest command runs with and without the plugin
in turn, so that the machine's drift falls on both, and other packages' plugins are left out of both. Limits:
20 ms for each, and 1 s for collecting ``evals``, the interpreter's and pytest's own start included.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from measure import Spent, process, ratios, table_row, yardstick

ROOT = Path(__file__).parent.parent
OTHERS = ("hypothesispytest", "anyio", "xdist", "xdist.looponfail")


def pytest(folder: Path, bytecode: Path, *args: str) -> Spent:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    for name in OTHERS:
        command += ["-p", f"no:{name}"]
    return process([*command, *args], folder, bytecode)


def added(folder: Path, rounds: int, *args: str) -> list[Spent]:
    """What the plugin adds, pair by pair."""
    keep = folder / "bytecode"
    return [
        pytest(folder, keep, *args).beyond(pytest(folder, keep, "-p", "no:audiobench", *args)) for _ in range(rounds)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    collect = ("evals", "--collect-only", "-q")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "test_foreign.py").write_text("\n".join(f"def test_{n}(): pass" for n in range(50)))
        pytest(folder, folder / "bytecode")
        pytest(ROOT, folder / "bytecode", *collect)
        found = [
            ("pytest --help, added", added(folder, rounds, "--help"), 0.020),
            ("foreign suite of 50, added", added(folder, rounds, "-q"), 0.020),
            ("collecting evals", [pytest(ROOT, folder / "bytecode", *collect) for _ in range(rounds)], 1.0),
        ]
        sticks = [yardstick() for _ in range(rounds)]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; median (min to max)")
    print(f"{'':43} {'by the clock':30} {'of the processor':30}")
    print(table_row("yardstick", sticks, 1000, "ms"))
    for name, times, _ in found:
        print(table_row(name, times, 1000, "ms"))
    for name, times, limit_s in found:
        print(ratios(name, times, limit_s))


if __name__ == "__main__":
    main()
