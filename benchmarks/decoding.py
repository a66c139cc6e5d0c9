"""Files of 48 kHz in stereo played at 16 kHz, beside soundfile, (left + right)/2 and soxr alone, in turns.

Run ``python benchmarks/decoding.py [--rounds N] [--hours H]``. Clips of 30 s: 20 files that are made, each round by
both ways; ours also checks every sample, takes the digest of what is played, and stores what it read, but finds
nothing that an earlier round stored. Limit: 1.1 times the peer. A recording of two hours: each way in a process of its
own, the clip read, resampled and handed on in pieces of 30 s; the peer streams blocks through soxr and stores nothing.
Limits: 10 s of CPU time and 100 MB beyond what the process had before. ``--hours 0`` leaves it out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile
import soxr
from measure import Spent, here, table_row, yardstick

from pytest_audiobench.audio import source_samples
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.source_samples import SETTLE_S, SoundMemory

RATE_HZ, PLAYED_HZ, CLIP_S, FILES = 48_000, 16_000, 30, 20
LIMIT, LONG_LIMIT_S, LONG_LIMIT_MB = 1.1, 10.0, 100.0
LONG = """
import resource, sys
from pathlib import Path
import numpy as np, soundfile, soxr
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.long_sound import pieces

def peak_mb():
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024

folder, name, way = sys.argv[1:]
before = peak_mb()
if way == "ours":
    played = decode(Clip(FileSource(DataRoot("made", Path(folder)), name)), 16_000, None)
    frames = sum(map(len, pieces(played.samples, 30 * 16_000)))
else:
    stream, frames = soxr.ResampleStream(48_000, 16_000, 1, dtype="float32", quality="HQ"), 0
    with soundfile.SoundFile(Path(folder) / name) as file:
        for block in file.blocks(1 << 18, dtype="float32"):
            frames += len(stream.resample_chunk((block[:, 0] + block[:, 1]) / 2, last=file.tell() == len(file)))
spent = resource.getrusage(resource.RUSAGE_SELF)
print(frames, spent.ru_utime + spent.ru_stime, before, peak_mb())
"""


def sound(seconds: int, seed: int) -> np.ndarray:
    """Speech-like: harmonics under a slow envelope, over noise of two channels of their own."""
    draw, time_s = np.random.default_rng(seed), np.arange(seconds * RATE_HZ) / RATE_HZ
    tones = sum(np.sin(2 * np.pi * (110 + 2 * seed) * k * time_s) / k for k in range(1, 8))
    swell = 0.5 + 0.5 * np.sin(2 * np.pi * 0.3 * time_s)
    return (np.outer(0.15 * swell * tones, [1, 0.8]) + 0.01 * draw.normal(size=(len(time_s), 2))).astype(np.float32)


def peer(path: Path) -> np.ndarray:
    samples, rate_hz = soundfile.read(path, dtype="float32")
    return soxr.resample((samples[:, 0] + samples[:, 1]) / 2, rate_hz, PLAYED_HZ, quality="HQ")


def short_clips(folder: Path, ending: str, rounds: int) -> None:
    names = [f"{number}.{ending}" for number in range(FILES)]
    for number, name in enumerate(names):
        soundfile.write(folder / name, sound(CLIP_S, number), RATE_HZ, subtype="PCM_16")
    root = DataRoot("made", folder)
    clips = [Clip(FileSource(root, name)) for name in names]
    if any(
        decode(clip, PLAYED_HZ, None).samples.tobytes() != peer(folder / clip.source.path).tobytes() for clip in clips
    ):
        sys.exit("the two ways give other samples")

    def ours() -> None:
        source_samples._FILES = SoundMemory(128 << 20)
        for clip in clips:
            decode(clip, PLAYED_HZ, None)

    def theirs() -> None:
        for name in names:
            peer(folder / name)

    time.sleep(SETTLE_S)  # younger files are not stored
    ways = {"ours": ours, "soundfile and soxr": theirs}
    taken: dict[str, list[Spent]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, play in ways.items():
            taken[way].append(here(play))
    for way, spent in taken.items():
        print(table_row(f"{ending}, {way}", spent, 1000 / FILES, "ms a clip"))
    ratios = [mine.cpu_s / other.cpu_s for mine, other in zip(*taken.values(), strict=True)]
    print(f"  CPU time {statistics.median(ratios):.2f} times the peer ({min(ratios):.2f} to {max(ratios):.2f})")


def long_recording(folder: Path, ending: str, hours: float, rounds: int) -> None:
    minute = sound(60, 1)
    name = f"long.{ending}"
    with soundfile.SoundFile(folder / name, "w", RATE_HZ, 2, "PCM_16") as file:
        for _ in range(round(60 * hours)):
            file.write(minute)
    for way in ("ours", "peer") * rounds:
        command = [sys.executable, "-c", LONG, str(folder), name, way]
        frames, cpu_s, before, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        beyond_mb = float(peak) - float(before)
        print(f"{ending}, {int(frames) / PLAYED_HZ / 3600:g} h, {way}: {float(cpu_s):.2f} s of CPU time, ", end="")
        print(f"{beyond_mb:.0f} MB beyond {float(before):.0f}")
    (folder / name).unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--hours", type=float, default=2.0)
    options = parser.parse_args()
    mark = yardstick()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, yardstick {mark.cpu_s:.3f} s; median (min to max)")
    with tempfile.TemporaryDirectory() as temporary:
        for ending in ("flac", "wav"):
            short_clips(Path(temporary), ending, options.rounds)
        for ending in ("flac", "wav") if options.hours else ():
            long_recording(Path(temporary), ending, options.hours, max(1, options.rounds // 5))
    print(f"limits: {LIMIT} times the peer for a clip; {LONG_LIMIT_S:g} s and {LONG_LIMIT_MB:g} MB for two hours")


if __name__ == "__main__":
    main()
