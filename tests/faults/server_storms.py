"""Storms of servers as a class of the campaign; each seed is tried by both kinds of models behind HTTP."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from .tally import Tally
from .test_storms import troubles

NAME = "storms"
PROMISE = (
    "A server that misbehaves in any way costs no answer, gives no wrong one, and ends the asking in a sentence with "
    "its address."
)


def run(seeds: Iterable[int]) -> Tally:
    """A storm for each seed and kind."""
    tally, started, seeds = Tally(), time.monotonic(), list(seeds)
    # A key of the user's own would be sent to the storm.
    os.environ.pop("OPENAI_API_KEY", None)
    for kind in ("openai", "http"):
        for seed, text in troubles(kind, seeds, megabytes=1).items():
            tally.mistakes.append(f"AUDIOBENCH_FAULT={seed}: {kind}: {text}")
            tally.lost += text.startswith("wrong answers") or text.endswith("answers lost")
            tally.raw += text.startswith(("raw", "no sentence"))
        tally.tried += len(seeds)
    tally.seconds = time.monotonic() - started
    return tally
