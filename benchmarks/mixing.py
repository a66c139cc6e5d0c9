"""Mixtures of four sounds of five seconds at 16 kHz, rendered one after another in one process.

A pack of sounds is written as WAV files, and mixtures of four drawn from it at levels drawn too are rendered as a model
would be played them: every file looked up, its samples read or remembered, mixed, checked, digested. The peer is the
plain loop that a script would run over the same sounds, already in memory: the published mixer's steps in NumPy's
float32, without a check, a digest or a file system. Run with OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 for one core.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile
from measure import here, yardstick

from pytest_audiobench.audio import combining, source_samples
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode

RATE_HZ, DURATION_S = 16_000, 5
LIMIT_A_SECOND = 400


def pack(folder: Path, sounds: int) -> list[Clip]:
    """Files that are older than the memory of files demands."""
    for number in range(sounds):
        noise = np.random.RandomState(number).uniform(-0.3, 0.3, RATE_HZ * DURATION_S)
        soundfile.write(folder / f"{number:03d}.wav", noise * np.hanning(len(noise)), RATE_HZ)
    time.sleep(source_samples.SETTLE_S + 1)
    root = DataRoot("pack", folder)
    return [Clip(FileSource(root, f"{number:03d}.wav")) for number in range(sounds)]


def plain(waves: list[np.ndarray], levels_db: list[float]) -> np.ndarray:
    """The published mixer as it is usually written."""
    peaked = [wave / np.max(np.abs(wave)) * np.float32(0.95) for wave in waves]
    target = np.sqrt(np.mean(peaked[0] ** 2))
    total = np.zeros_like(peaked[0])
    for wave, level_db in zip(peaked, levels_db, strict=True):
        total += wave * np.float32(target * 10 ** (level_db / 20) / np.sqrt(np.mean(wave**2)))
    return total / np.max(np.abs(total)) * np.float32(0.95)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixtures", type=int, default=10_000)
    parser.add_argument("--sounds", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        clips = pack(Path(folder), options.sounds)
        waves = [decode(clip, RATE_HZ, None).samples for clip in clips]
        drawn = [
            (draw.sample(range(options.sounds), 4), [0.0, *(draw.uniform(-6, 6) for _ in range(3))])
            for _ in range(options.mixtures)
        ]
        mixtures = [combining.mixture([clips[place] for place in places], levels) for places, levels in drawn]
        portion = -(-options.mixtures // options.rounds)
        rates: dict[str, list[float]] = {"rendered": [], "rendered (processor)": [], "plain loop": []}
        marks = [yardstick().wall_s]
        for start in range(0, options.mixtures, portion):
            part = slice(start, start + portion)
            ours = here(lambda part=part: [decode(clip, RATE_HZ, None) for clip in mixtures[part]])
            theirs = here(lambda part=part: [plain([waves[i] for i in at], levels) for at, levels in drawn[part]])
            count = len(mixtures[part])
            rates["rendered"].append(count / ours.wall_s)
            rates["rendered (processor)"].append(count / ours.cpu_s)
            rates["plain loop"].append(count / theirs.cpu_s)
            marks.append(yardstick().wall_s)
        places, levels = drawn[0]
        difference = np.max(
            np.abs(plain([waves[i] for i in places], levels) - decode(mixtures[0], RATE_HZ, None).samples)
        )
    print(f"yardstick {statistics.median(marks):.3f} s ({min(marks):.3f} to {max(marks):.3f})")
    for name, found in rates.items():
        print(
            f"{name:22} {statistics.median(found):7.0f} a second ({min(found):.0f} to {max(found):.0f})  n={len(found)}"
        )
    own, peer = (statistics.median(rates[name]) for name in ("rendered (processor)", "plain loop"))
    print(f"share of the limit of {LIMIT_A_SECOND} a second: {LIMIT_A_SECOND / own:.2f}, CPU time")
    print(f"time beside the plain loop: {peer / own:.2f}; largest difference of a sample from it: {difference:.1e}")


if __name__ == "__main__":
    main()
