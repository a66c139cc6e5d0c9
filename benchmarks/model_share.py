"""How much of a run's wall time the model is at work: a listening model that takes 20 ms a sample.

Run ``python benchmarks/model_share.py [--samples N] [--rounds N] [--clip-s S] [--devices N,N,…]``. Clips are distinct
WAV files of 5 seconds at 16 kHz, which are hashed, decoded, and handed over in planned batches of 32; no answer is
known before. Two shares: of the asking itself (the run's own figure ``model_share``), and of the whole pytest process,
its start, the report and the hashing of the files included. The limit is 95 % of the asking.

With ``--devices`` the same eval is asked on so many devices ("cpu", so many times), the first number being what the
others are held against: seconds from the first to the last answer, the starts of the devices' processes left out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import soundfile
from measure import Spent, process, yardstick

MS_A_SAMPLE = 20.0
CONFTEST = f"""
import time
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

class Slow:
    batching, device, listens, spec, limits, in_process = "planned", "cpu", True, "slow:one", Limits(), True
    def __init__(self, target, options): pass
    def fingerprint(self): return {{"slow": "1"}}
    def load(self): pass
    def close(self): pass
    def ask(self, batch):
        time.sleep({MS_A_SAMPLE / 1000} * len(batch))
        return [Response.of("A") for _ in batch]

def pytest_audiobench_register(registration):
    registration.model("slow", Slow)
"""
EVAL = """
from pytest_audiobench import manifest, multiple_choice

def test_clips(evaluate):
    evaluate(manifest("clips.jsonl"), multiple_choice())
"""


def make(folder: Path, samples: int, clip_s: float) -> None:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_clips.py").write_text(EVAL)
    noise, lines = np.random.default_rng(0), []
    for number in range(samples):
        soundfile.write(folder / f"{number}.wav", noise.normal(0, 0.1, int(16_000 * clip_s)).astype(np.float32), 16_000)
        row = {"id": f"s{number}", "audio": f"{number}.wav", "question": "?", "choices": ["a", "b"], "answer": "a"}
        lines.append(json.dumps(row))
    (folder / "clips.jsonl").write_text("\n".join(lines) + "\n")


def asking_s(folder: Path, devices: int, workers: int) -> float:
    """Seconds from the first to the last answer on so many devices."""
    _asked(folder, f"--ab-devices={','.join(['cpu'] * devices)}", f"-n{workers}")
    (item,) = json.loads((folder / "reports" / "r" / "run.json").read_text())["items"]
    seconds: float = item["taken"]["asking_s"]
    return seconds


def _asked(folder: Path, *options: str) -> Spent:
    """What a run takes that knows nothing yet."""
    for left in ("reports", ".audiobench"):
        shutil.rmtree(folder / left, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_audiobench.plugin"]
    command += ["-p", "xdist", "--ab-model=slow:one", "--ab-run=r", *options]
    return process(command, folder, folder / "bytecode", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def shares(folder: Path, samples: int) -> tuple[float, float]:
    spent = _asked(folder)
    (model,) = json.loads((folder / "reports" / "r" / "run.json").read_text())["models"]
    (asking,) = (figure["value"] for figure in model["speed"] if figure["name"] == "model_share")
    return asking, samples * MS_A_SAMPLE / 1000 / spent.wall_s


def compare_devices(folder: Path, options: argparse.Namespace) -> None:
    found: dict[int, list[float]] = {devices: [] for devices in options.devices}
    for _ in range(options.rounds):
        for devices, seconds in found.items():
            seconds.append(asking_s(folder, devices, options.workers))
    first, *_ = found.values()
    print(f"{options.samples} samples of {MS_A_SAMPLE:g} ms, {options.workers} workers, load {os.getloadavg()[0]:.1f}")
    for devices, seconds in found.items():
        times = sorted(one / here for one, here in zip(first, seconds, strict=True))
        print(
            f"{devices} devices: {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}), "
            f"{statistics.median(times):.2f} times ({times[0]:.2f} to {times[-1]:.2f}) n={options.rounds}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clip-s", type=float, default=5.0)
    parser.add_argument("--devices", type=lambda text: [int(number) for number in text.split(",")])
    parser.add_argument("--workers", type=int, default=0, help="of xdist, with --devices")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, options.samples, options.clip_s)
        if options.devices:
            compare_devices(folder, options)
            return
        found = [shares(folder, options.samples) for _ in range(options.rounds)]
    stick = yardstick().wall_s
    print(f"{options.samples} samples, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, yardstick {stick:.3f} s")
    for name, values in zip(("of the asking", "of the whole process"), zip(*found, strict=True), strict=True):
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"share {name:21} {100 * middle:.1f} % ({100 * low:.1f} to {100 * high:.1f}) n={len(values)}")
    print(f"in units of the limit: {statistics.median(one for one, _ in found) / 0.95:.3f} (above 1 is within)")


if __name__ == "__main__":
    main()
