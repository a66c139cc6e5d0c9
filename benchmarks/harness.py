"""What the harness costs: 10,000 samples on distinct files, with a model that answers at once.

Run ``python benchmarks/harness.py [--samples N] [--rounds N]``. Each stage is a pytest process of its own:

- cold: no index and no store; every file is read and hashed, every answer asked for;
- first: the files' digests are known, no answer is;
- cached: every answer is known.

They are run for a model that does not listen, whose audio is hashed and never decoded, and for one that
does. A round runs each of them once, and takes away what the same process costs with an eval of one sample
in that round; what scorer the files costs one thread (hashing them, and for the listener decoding them)
is taken away where the line says so. Other packages' pytest plugins are left out. Limits: 0.25 ms a sample
for the deaf model's first run, 2 s for its cached run, 300 MB for any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile
from measure import Spent, here, keep, process, ratios, table_row, yardstick

LIMITS = {"deaf: first": 0.25, "deaf: cached": 2.0}
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


def run(folder: Path, name: str, model: str, *forgotten: str) -> Spent:
    """One pytest process over the eval ``name``, before which the named files are removed."""
    shutil.rmtree(folder / "reports", ignore_errors=True)
    for pattern in forgotten:
        for path in (folder / ".audiobench").glob(f"{pattern}*"):
            path.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_audiobench.plugin"]
    command += [f"test_{name}.py", f"--ab-model=instant:{model}"]
    return process(command, folder, folder / "bytecode", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def hash_all(files: Sequence[Path]) -> None:
    for path in files:
        hashlib.sha256(path.read_bytes()).digest()


def decode_all(files: Sequence[Path]) -> None:
    for path in files:
        soundfile.read(path, dtype="float32")


def one_round(folder: Path, files: Sequence[Path]) -> dict[str, Spent]:
    start = run(folder, "one", "deaf")
    hashing, decoding = here(lambda: hash_all(files)), here(lambda: decode_all(files))
    found = {"yardstick": yardstick(), "one sample": start, "hashing alone": hashing, "decoding alone": decoding}
    for model in ("deaf", "listening"):
        scorer = [decoding] if model == "listening" else []
        cold = run(folder, "all", model, "store", "audio").beyond(start)
        first = run(folder, "all", model, "store").beyond(start)
        found[f"{model}: cold"] = cold
        found[f"{model}: cold beyond scorer"] = cold.beyond(hashing, *scorer)
        found[f"{model}: first"] = first
        if scorer:
            found[f"{model}: first beyond scorer"] = first.beyond(*scorer)
        found[f"{model}: cached"] = run(folder, "all", model).beyond(start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = make(folder, options.samples)
        time.sleep(11)  # files younger than ten seconds are never remembered
        run(folder, "one", "deaf")
        rounds = [one_round(folder, files) for _ in range(options.rounds)]
    print(f"{options.samples} samples, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; median (min to max)")
    print(f"{'':43} {'wall time':30} {'CPU time':30}")
    stages = {name: [one[name] for one in rounds] for name in rounds[0]}
    for name, found in stages.items():
        whole = name in ("yardstick", "one sample") or name.endswith("cached")
        scale, unit = (1.0, "s") if whole else (1000 / options.samples, "ms/sample")
        print(table_row(name, found, scale, unit))
        keep(f"{name}, {options.samples:,} samples", found, scale, unit, LIMITS.get(name))
    print(ratios("deaf: first", stages["deaf: first"], 0.25e-3 * options.samples))
    print(ratios("deaf: cached", stages["deaf: cached"], 2.0))
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    keep("the largest process", [Spent(megabytes, 0.0)], 1.0, "MB", 300, cpu=False)
    print(f"largest process: {megabytes:.0f} MB of 300")


if __name__ == "__main__":
    main()
