"""Damaged audio files as a class of the campaign, played in their own process, since a decoder in C may end it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from . import audio_damage
from .tally import Tally

NAME = "audio"
PROMISE = "An audio file that is damaged in any way is played as finite sound or refused in a sentence."
_HANGS = "Timeout"


def run(seeds: Iterable[int]) -> Tally:
    """Plays a damaged file for each seed; the seeds follow each other."""
    tally, started, numbers = Tally(), time.monotonic(), list(seeds)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, audio_damage.__file__, folder, str(numbers[0]), str(numbers[-1] + 1)]
        process = subprocess.run(command, capture_output=True, check=False)
        rows = [json.loads(line) for line in Path(folder, "outcomes.jsonl").read_text().splitlines()]
    for row in rows:
        if "outcome" in row:
            tally.tried += 1
            tally.notes.append(row["outcome"].partition(":")[0])
            if row["outcome"] not in ("played", "refused"):
                tally.lost += row["outcome"].startswith("silent")
                tally.raw += row["outcome"].startswith(("raw", "no sentence"))
                tally.mistakes.append(f"AUDIOBENCH_FAULT={row['seed']}: {row['damage']}: {row['outcome']}")
    if process.returncode:
        tally.hangs += _HANGS in process.stderr.decode(errors="replace")
        tally.mistakes.append(f"AUDIOBENCH_FAULT={rows[-1].get('seed')}: the process ended with {process.returncode}")
    tally.seconds = time.monotonic() - started
    return tally
