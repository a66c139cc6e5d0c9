"""What it costs to read and score lists of events: 200 clips of ten true events each, answered by ten.

Run ``python benchmarks/soundscape.py [--clips 200] [--events 10] [--encoder static]``. Reading is lenient, of plain
JSON; matching is everything but cosines, which the encoder's line counts; the rates of meetings are counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from typing import TypeVar

from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent
from pytest_audiobench.protocols.soundscape import columns, meeting
from pytest_audiobench.protocols.soundscape.reading import read_lenient
from pytest_audiobench.protocols.text_encoders import encoder

WORDS = ("river", "stone", "engine", "door", "laughter", "piano", "slow", "bright", "rain", "wind", "crowd", "bell")
T = TypeVar("T")


def scene(rng: random.Random, events: int, duration: float) -> list[AudioEvent]:
    drawn = []
    for _ in range(events):
        start = round(rng.uniform(0.0, duration - 1.0), 1)
        words = " ".join(rng.choices(WORDS, k=12))
        end = round(min(duration, start + rng.uniform(0.5, 9.0)), 1)
        drawn.append(
            AudioEvent(
                rng.choice(EVENT_TYPES), start, end, words, f"S{rng.randint(1, 3)}", "en", words[:20], "", words, words
            )
        )
    return drawn


def timed(what: str, function: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = function()
    print(f"{what:<44}{time.perf_counter() - start:>8.3f} s")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=200)
    parser.add_argument("--events", type=int, default=10)
    parser.add_argument("--encoder", default="static")
    options = parser.parse_args()
    rng = random.Random(7)
    duration = 30.0
    truths = [scene(rng, options.events, duration) for _ in range(options.clips)]
    texts = [
        json.dumps([event.document() for event in scene(rng, options.events, duration)]) for _ in range(options.clips)
    ]
    columns.clip_statistics(truths[0], truths[0], 0, duration, lambda first, second: 0.0)
    meeting_statistics, columns.meeting_statistics = columns.meeting_statistics, lambda *_: {}
    guesses = timed("reading", lambda: [read_lenient(text, duration).events for text in texts])
    clips = list(zip(truths, guesses, truths[1:] + truths[:1], strict=True))
    pairs = timed(
        "captions to compare",
        lambda: sorted(
            {
                pair
                for true, said, other in clips
                for pair in (*columns.needed_captions(true, said), *columns.needed_captions(other, said))
            }
        ),
    )
    cosines = timed(
        f"cosines of {len(pairs)} pairs ({options.encoder})",
        lambda: dict(zip(pairs, encoder(options.encoder).cosines(pairs), strict=True)),
    )

    def cosine(first: str, second: str) -> float:
        return cosines[first, second]

    timed(
        "matching and counting, the next clip too",
        lambda: [
            columns.clip_statistics(true, said, 0, duration, cosine)
            | columns.other_statistics(other, said, duration, cosine)
            for true, said, other in clips
        ],
    )
    timed(
        f"rates of meetings, but {meeting.missing_packages() or 'none'}",
        lambda: [meeting_statistics(true, said, duration) for true, said, _ in clips],
    )


if __name__ == "__main__":
    main()
