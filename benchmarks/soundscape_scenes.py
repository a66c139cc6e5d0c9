"""Scenes of 30 seconds at 16 kHz, planned and rendered one after another in one process.

Pieces as long as those of recordings (speech of 3 to 12 s, sounds of .8 to 10, beds of 10 to 30) are noise in memory;
the bundled pools are those that ``pytest evals -k soundscape`` plays. A scene is played as a model is: planned, its key
found, decoded, mixed, checked and digested. The first pass decodes and measures every piece, the second remembers them.
Run with OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 for one core.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.scene import RATE_HZ
from pytest_audiobench.datasets.soundscape.bundled_pools import bundled_pools
from pytest_audiobench.datasets.soundscape.pieces import Piece, Pools
from pytest_audiobench.datasets.soundscape.plans import PROFILES, plans
from pytest_audiobench.datasets.soundscape.scenes import clip_of

LIMIT_A_SECOND = 20
LENGTHS_S = {
    "speech": (60, 3, 12),
    "burst": (20, 0.3, 2),
    "sfx": (60, 0.8, 10),
    "music": (20, 10, 30),
    "ambience": (10, 5, 20),
}


def noise_pools() -> Pools:
    """Noise of realistic lengths."""
    layers = {}
    for layer, (count, shortest_s, longest_s) in LENGTHS_S.items():
        pieces = []
        for number in range(count):
            draw = np.random.RandomState(number)
            pcm = np.rint(draw.randn(round(draw.uniform(shortest_s, longest_s) * RATE_HZ)) * 3000) / 32768
            clip = Clip(ArraySource.of(pcm, RATE_HZ, f"{layer}{number}"))
            known = {"text": "a", "speaker": f"{number % 12}", "language": "en", "caption": "a", "label": f"{number}"}
            pieces.append(Piece(f"{layer}{number}", clip, **known))
        layers[layer] = tuple(pieces)
    return Pools("noise", layers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=100)
    options = parser.parse_args()
    for pools in (noise_pools(), bundled_pools()):
        for pass_ in ("first", "second"):
            begin = time.process_time()
            made = plans(pools, PROFILES["large"], options.scenes, f"{pass_}", 30, 30)
            planned = time.process_time()
            for plan in made:
                decode(clip_of(plan), RATE_HZ, None)
            end = time.process_time()
            items = sum(len(plan.items) for plan in made) / len(made)
            planning, rendering = (options.scenes / spent for spent in (planned - begin, end - planned))
            both = options.scenes / (end - begin)
            print(
                f"{pools.name:<8} {pass_:<6} {items:.1f} pieces a scene: {planning:6.0f} planned, {rendering:6.1f} "
                f"rendered, {both:6.1f} scenes a second of one core (limit {LIMIT_A_SECOND})"
            )


if __name__ == "__main__":
    main()
