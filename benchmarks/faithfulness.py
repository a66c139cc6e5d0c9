"""The grid of the faithfulness suite over 400 real clips, asked of a model that is played each and answers at once.

Run ``python benchmarks/faithfulness.py [--data FOLDER] [--rounds N]`` where SAKURA lies (``data/<Track>/audio``: 400
clips of four tracks). All masks, noise and controls are conditions of one eval; every answer is asked for, by two
workers. The time is that of the whole pytest process, its start, the hashing of the files and the report included.
Beside it: how often a file was decoded, the largest process, and the same for the clean clips alone, which is what the
grid's memory would be if it were flat. Limits: 60 s by the clock; each file decoded once a worker.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from measure import Spent, process, ratios, table_row, yardstick

LIMIT_S = 60.0
WORKERS = 2
CONFTEST = """
import atexit, json, os, resource
from collections import Counter
from pathlib import Path
from pytest_audiobench.audio import sources
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

class Instant:
    batching, device, listens, spec, limits = "planned", "cpu", True, "instant:one", Limits()
    def __init__(self, target, options): pass
    def fingerprint(self): return {"instant": "1"}
    def load(self): pass
    def close(self): pass
    def ask(self, batch):
        return [Response.of("ABCD"[int(request.key[0], 16) % len(request.choices)]) for request, audio in batch]

def pytest_audiobench_register(registration):
    registration.model("instant", Instant)

decoded, played, read_file = Counter(), Counter(), sources.read_file

def counted(source, *rest):
    decoded[str(source)] += 1
    return read_file(source, *rest)

sources.read_file = counted

@atexit.register
def told():
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Path(f"told-{os.getpid()}.json").write_text(json.dumps({"decoded": decoded, "mb": kilobytes / 1024}))
"""
EVAL = """
import pytest
from pytest_audiobench import conditions, controls, masks, multiple_choice, noises, sakura, under

STEPS = [
    *conditions("clean"),
    *masks(), *masks(mode="start"), *masks(mode="end"), *masks(mode="scattered"), *masks(fill="noise"),
    *noises(20, 10, 0, -10, -20),
    *controls(),
]

@pytest.mark.parametrize("condition", STEPS, ids=str)
@pytest.mark.parametrize("track", ["animal", "emotion", "gender", "language"])
def test_grid(evaluate, track, condition):
    evaluate(under(sakura(track, "single"), condition), multiple_choice())
"""


class Round(NamedTuple):
    """What one run took; ``decoded`` counts the workers that decoded a file, by how many times each of them did."""

    spent: Spent
    items: int
    decoded: Counter[int]
    files: int
    mb: float


def run(folder: Path, data: Path, *arguments: str) -> Round:
    """One pytest run in which nothing is known, not even the files' digests."""
    for left in ("reports", ".audiobench"):
        shutil.rmtree(folder / left, ignore_errors=True)
    for left in folder.glob("told-*.json"):
        left.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", f"-n{WORKERS}"]
    command += ["-p", "pytest_audiobench.plugin", "--ab-model=instant:one", "--ab-run=r", f"--ab-data=sakura={data}"]
    spent = process([*command, *arguments], folder, folder / "bytecode", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    told = [json.loads(file.read_text()) for file in folder.glob("told-*.json")]
    times = Counter(times for one in told for times in one["decoded"].values())
    files = len({name for one in told for name in one["decoded"]})
    items = len(json.loads((folder / "reports" / "r" / "run.json").read_text())["items"])
    return Round(spent, items, times, files, max(one["mb"] for one in told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "sakura")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not (options.data / "data").is_dir():
        sys.exit(f"{options.data} has no folder data; name SAKURA's folder with --data")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "conftest.py").write_text(CONFTEST)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_grid.py").write_text(EVAL)
        data = options.data.resolve()
        clean, grid, marks = [], [], []
        for _ in range(options.rounds):
            marks.append(yardstick())
            clean.append(run(folder, data, "-k", "clean"))
            grid.append(run(folder, data))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {WORKERS} workers; median (min to max)")
    print(table_row("yardstick", marks, 1.0, "s"))
    for name, rounds in (("clean clips alone", clean), ("the grid", grid)):
        print(table_row(name, [one.spent for one in rounds], 1.0, "s"))
        last = rounds[-1]
        often = ", ".join(f"{times} times by {n} workers" for times, n in sorted(last.decoded.items()))
        print(f"  {last.items} items, {last.files} files decoded: {often} (a file and a worker count once)")
        print(f"  largest process: {statistics.median(one.mb for one in rounds):.0f} MB")
    print(ratios("the grid", [one.spent for one in grid], LIMIT_S))


if __name__ == "__main__":
    main()
