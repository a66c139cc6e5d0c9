"""What many samples cost: distinct questions about 200 short files, asked of a model that answers at once.

Run ``python benchmarks/scale.py [--samples N N] [--phases first cached verify compare load score]``. Each phase is a
process of its own; printed are its CPU time in seconds and its peak of resident memory, for each N and as a slope
between the first and the last. ``--folder`` keeps what was made, so that phases can be measured again.

- first: no answer is known; cached: every one is;
- verify, compare: ``audiobench verify`` of the run, ``audiobench compare`` of the first run and the cached one;
- load: ``load(run).rows()``, one sample after another; score: ``audiobench score`` of the run's answers, with its page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
from harness import CONFTEST, EVAL
from measure import yardstick

FILES = 200
PHASES = ("first", "cached", "verify", "compare", "load", "score")
LIMIT_MB = 300
_LOAD = "import sys; from pytest_audiobench import load_run; print(sum(1 for _ in load_run(sys.argv[1]).rows()))"


class Cost(NamedTuple):
    """Of one process: CPU time in seconds, peak in MB, wall time in seconds."""

    cpu_s: float
    peak_mb: float
    wall_s: float


def make(folder: Path, samples: int) -> None:
    """An eval of ``samples`` questions about the same few files."""
    (folder / "audio").mkdir(parents=True)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_all.py").write_text(EVAL.format(name="all"))
    noise = np.random.default_rng(0)
    for number in range(FILES):
        sound = noise.normal(0, 0.1, 8000).astype(np.float32)
        soundfile.write(folder / "audio" / f"{number}.wav", sound, 16000, subtype="PCM_16")
    with (folder / "all.jsonl").open("w") as file:
        for number in range(samples):
            choices = [f"option {number} {letter}" for letter in "pqrs"]
            line = {
                "id": f"s{number}",
                "audio": f"audio/{number % FILES}.wav",
                "question": f"Which of these options fits what is heard in clip {number} best?",
                "choices": choices,
                "answer": choices[number % 4],
                "metadata": {"kind": "odd" if number % 2 else "even"},
            }
            file.write(json.dumps(line) + "\n")


def command(phase: str) -> list[str]:
    """What a phase runs, in the folder of its eval."""
    cli = [sys.executable, "-m", "pytest_audiobench.cli"]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_audiobench.plugin"]
    return {
        "first": [*pytest, "test_all.py", "--ab-model=instant:deaf", "--ab-run=first"],
        "cached": [*pytest, "test_all.py", "--ab-model=instant:deaf", "--ab-run=cached"],
        "verify": [*cli, "verify", "reports/first"],
        "compare": [*cli, "compare", "reports/first", "reports/cached"],
        "load": [sys.executable, "-c", _LOAD, "reports/first"],
        "score": [*cli, "score", "reports/first", "--out", "reports/scored"],
    }[phase]


def cost(folder: Path, phase: str) -> Cost:
    """Runs a phase, from whose earlier output nothing is left."""
    made = {"first": "first", "cached": "cached", "score": "scored"}.get(phase)
    if made:
        shutil.rmtree(folder / "reports" / made, ignore_errors=True)
    for path in (folder / ".audiobench").glob("store*") if phase == "first" else ():
        path.unlink()
    started = time.perf_counter()
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with (folder / f"{phase}.txt").open("w") as output:
        to_output = [(os.POSIX_SPAWN_DUP2, output.fileno(), stream) for stream in (1, 2)]
        # A process of its own, so that wait4 says what this one took, and no other before it.
        call = [sys.executable, "-c", "import os, sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"]
        arguments = [*call, str(folder), *command(phase)]
        child = os.posix_spawn(sys.executable, arguments, environment, file_actions=to_output)
        _, status, used = os.wait4(child, 0)
    if status:
        sys.exit(f"{phase} failed:\n{(folder / f'{phase}.txt').read_text()[-3000:]}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    parser.add_argument("--folder", type=Path, help="where what was made stays")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, yardstick {yardstick().cpu_s:.3f} s, n=1")
    print(f"{'samples':>10} {'phase':8} {'processor':>11} {'a sample':>10} {'peak':>9} {'clock':>9}")
    found: dict[str, list[tuple[int, Cost]]] = {phase: [] for phase in options.phases}
    with tempfile.TemporaryDirectory() as temporary:
        for samples in options.samples:
            folder = (options.folder or Path(temporary)) / str(samples)
            if not folder.exists():
                make(folder, samples)
                time.sleep(11)  # files younger than ten seconds are never remembered
            for phase in options.phases:
                spent = cost(folder, phase)
                found[phase].append((samples, spent))
                each_ms = 1000 * spent.cpu_s / samples
                print(
                    f"{samples:10} {phase:8} {spent.cpu_s:9.1f} s {each_ms:7.3f} ms {spent.peak_mb:6.0f} MB "
                    f"{spent.wall_s:7.1f} s",
                    flush=True,
                )
    for phase, costs in found.items():
        (fewest, first), (most, last) = costs[0], costs[-1]
        if most > fewest:
            slope = (last.peak_mb - first.peak_mb) / (most - fewest)
            print(f"{phase:8} {1000 * slope:6.3f} kB a sample more; {last.peak_mb / LIMIT_MB:.2f} of {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
