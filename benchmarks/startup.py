"""What the installed plugin costs those who do not use it, and what starting costs those who do.

Run ``python benchmarks/startup.py [--rounds N]``. The same pytest command runs with and without the plugin
in turn, so that the machine's drift falls on both, and other packages' plugins are left out of both. Collecting
``evals``, with nothing known and with what pytest's cache knows of declarations, and a whole run of one sample stand
beside a *bare* pytest in the same round, without this plugin, over one test that imports numpy, soundfile, soxr and
scipy.special. Limits: 20 ms for those who do not use it; over the bare pytest 0.3 s for collecting, and 0.2 s for one
sample.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import harness
from measure import Spent, keep, process, ratios, table_row, yardstick

ROOT = Path(__file__).parent.parent
OTHERS = ("hypothesispytest", "anyio", "xdist", "xdist.looponfail")
BARE = "import numpy, scipy.special, soundfile, soxr\n\ndef test_bare(): pass\n"


def pytest(folder: Path, bytecode: Path, *args: str) -> Spent:
    command = [sys.executable, "-m", "pytest"]
    for name in OTHERS:
        command += ["-p", f"no:{name}"]
    return process([*command, *args], folder, bytecode)


class Scene:
    """A folder with an eval of one sample, and within it one with a foreign suite and a bare test."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bytecode, self._foreign = folder, folder / "bytecode", folder / "foreign"
        harness.make(folder, 1)
        self._foreign.mkdir()
        (self._foreign / "pytest.ini").write_text("[pytest]\n")
        (self._foreign / "test_foreign.py").write_text("\n".join(f"def test_{n}(): pass" for n in range(50)))
        (self._foreign / "test_bare.py").write_text(BARE)

    def added(self, *args: str) -> Spent:
        """What the plugin adds."""
        args = ("-p", "no:cacheprovider", *args)
        return self._here(*args).beyond(self._here("-p", "no:audiobench", *args))

    def bare(self) -> Spent:
        return self._here("-p", "no:cacheprovider", "-p", "no:audiobench", "-q", "test_bare.py")

    def collecting(self, *cache: str) -> Spent:
        return pytest(ROOT, self.bytecode, "evals", "--collect-only", "-q", *cache)

    def _here(self, *args: str) -> Spent:
        return pytest(self._foreign, self.bytecode, "--confcutdir=.", *args)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        scene = Scene(Path(temporary))
        unknown, known = ("-p", "no:cacheprovider"), ("-o", f"cache_dir={temporary}/cache")
        over_bare: dict[str, tuple[Callable[[], Spent], float]] = {
            "collecting evals, nothing known": (lambda: scene.collecting(*unknown), 0.3),
            "collecting evals again": (lambda: scene.collecting(*known), 0.3),
            "a run of one sample": (lambda: harness.run(scene.folder, "one", "deaf"), 0.2),
        }
        added: dict[str, tuple[Callable[[], Spent], float]] = {
            "pytest --help, added": (lambda: scene.added("--help"), 0.020),
            "foreign suite of 50, added": (lambda: scene.added("-q", "test_foreign.py"), 0.020),
        }
        for action, _ in over_bare.values():
            action()
        scene.bare()
        found: dict[str, list[Spent]] = {}
        sticks = []
        for _ in range(rounds):
            sticks.append(yardstick())
            bare = scene.bare()
            found.setdefault("bare pytest", []).append(bare)
            for name, (action, _) in over_bare.items():
                found.setdefault(f"{name}, over bare pytest", []).append(action().beyond(bare))
            for name, (action, _) in added.items():
                found.setdefault(name, []).append(action())
    limits = {f"{name}, over bare pytest": limit for name, (_, limit) in over_bare.items()}
    limits |= {name: limit for name, (_, limit) in added.items()}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; median (min to max)")
    print(f"{'':43} {'wall time':30} {'CPU time':30}")
    print(table_row("yardstick", sticks, 1000, "ms"))
    for name, times in found.items():
        print(table_row(name, times, 1000, "ms"))
        keep(name, times, 1000, "ms", 1000 * limits[name] if name in limits else None)
    for name, limit_s in limits.items():
        print(ratios(name, found[name], limit_s))


if __name__ == "__main__":
    main()
