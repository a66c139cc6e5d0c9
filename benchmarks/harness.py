"""What the harness costs: 10,000 samples on distinct files, with a model that answers at once.

Run ``python benchmarks/harness.py [--samples N] [--rounds N]``. Three stages, each a pytest process of its own:

- cold: no index and no store; every file is read and hashed, every answer asked for;
- first: the files' digests are known, no answer is;
- cached: every answer is known.

From each, the time of the same pytest process with an eval of one sample is taken away, and from the cold
one also the time to read and hash the files alone. The limit for the first run is 0.25 ms a sample
(inspect_ai's mock model on the machine of docs/performance.md: 0.84 ms), for the cached run 2 s in all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

CONFTEST = """
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

class Instant:
    batching, device = "planned", "cpu"
    def __init__(self, target, options):
        self.spec, self.limits, self.listens = f"instant:{target}", Limits(), target == "listening"
    def fingerprint(self, *_):
        return {"instant": self.spec}
    def load(self): pass
    def close(self): pass
    def ask(self, batch):
        return [Response.of("ABCD"[int(request.key[0], 16) % 4]) for request, audio in batch]

def pytest_audiobench_register(registration):
    registration.model("instant", Instant)
"""
EVAL = """
from pytest_audiobench import manifest, multiple_choice

def test_{name}(evaluate):
    evaluate(manifest("{name}.jsonl"), multiple_choice())
"""


def make(folder: Path, samples: int) -> list[Path]:
    """A suite of ``samples`` distinct files of half a second."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    noise = np.random.default_rng(0)
    files, lines = [], []
    for number in range(samples):
        path = folder / "audio" / f"{number % 100:02d}" / f"{number}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, noise.normal(0, 0.1, 8000).astype(np.float32), 16000, subtype="PCM_16")
        files.append(path)
        choices = [f"option {number} {letter}" for letter in "pqrs"]
        line = {
            "id": f"s{number}",
            "audio": str(path.relative_to(folder)),
            "question": "Which of these options fits what is heard in the clip best?",
            "choices": choices,
            "answer": choices[number % 4],
            "metadata": {"kind": "odd" if number % 2 else "even"},
        }
        lines.append(json.dumps(line))
    for name, kept in (("all", lines), ("one", lines[:1])):
        (folder / f"{name}.jsonl").write_text("\n".join(kept) + "\n")
        (folder / f"test_{name}.py").write_text(EVAL.format(name=name))
    return files


def run(folder: Path, name: str, model: str) -> float:
    """Wall seconds of one pytest process over the eval ``name``."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"test_{name}.py",
        f"--ab-model=instant:{model}",
    ]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def forget(folder: Path, *names: str) -> None:
    for name in names:
        for path in (folder / ".audiobench").glob(f"{name}*"):
            path.unlink()


def measured(folder: Path, model: str, rounds: int, *forgotten: str) -> list[float]:
    """Seconds of each of ``rounds`` runs over all samples, before each of which the named files are removed."""
    times = []
    for _ in range(rounds):
        forget(folder, *forgotten)
        times.append(run(folder, "all", model))
    return times


def read_and_hash(files: list[Path]) -> float:
    start = time.perf_counter()
    for path in files:
        hashlib.sha256(path.read_bytes()).digest()
    return time.perf_counter() - start


def median(name: str, times: list[float], unit_s: float, unit: str) -> float:
    middle = statistics.median(times) / unit_s
    print(
        f"{name:34} {middle:8.3f} {unit}   "
        f"(min {min(times) / unit_s:.3f}, max {max(times) / unit_s:.3f}, n={len(times)})"
    )
    return middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = make(folder, options.samples)
        time.sleep(11)  # files younger than ten seconds are never remembered
        n, ms = options.samples, options.samples / 1000
        run(folder, "one", "deaf")
        base = [run(folder, "one", "deaf") for _ in range(options.rounds)]
        start = statistics.median(base)
        median("one sample (interpreter, pytest)", base, 1, "s")
        hashing = [read_and_hash(files) for _ in range(options.rounds)]
        median("reading and hashing alone", hashing, ms, "ms/sample")
        for model in ("deaf", "listening"):
            print(f"\nmodel {model}, {n} samples")
            cold = measured(folder, model, options.rounds, "store", "audio")
            first = measured(folder, model, options.rounds, "store")
            cached = measured(folder, model, options.rounds)
            beyond = [seconds - start - statistics.median(hashing) for seconds in cold]
            median("cold", [seconds - start for seconds in cold], ms, "ms/sample")
            median("cold beyond reading and hashing", beyond, ms, "ms/sample")
            one = median("first run", [seconds - start for seconds in first], ms, "ms/sample")
            all_ = median("cached", [seconds - start for seconds in cached], 1, "s")
            print(f"{'ratio to the limits':34} first {one / 0.25:.2f}, cached {all_ / 2.0:.2f} (below 1 is within)")
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(
            f"\nlargest process {children / 1024:.0f} MB of 300; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
