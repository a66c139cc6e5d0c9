"""Parts of pipelines for tests, each of which writes down what it was asked."""

import json
from pathlib import Path

LOG = Path(__file__).with_name("asked.jsonl")
PIPELINE = """
[segment]
use = "python:parts:voices"
[transcribe]
use = "python:parts:words"
[describe]
use = "python:parts:sounds"
[fuse]
use = "template"
"""
"""Of parts that are all here."""


def _note(part, what):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps([part, what]) + "\n")


def voices(samples):
    """Two that overlap from 1.0 to 1.5 s, one alone from 3 s on."""
    _note("voices", len(samples))
    return [(0.5, 1.5, "a"), (1.0, 2.0, "b"), (3.0, 4.0, "a")]


def words(samples):
    _note("words", len(samples))
    return "so many words"


def other_words(samples):
    _note("other_words", len(samples))
    return "other words"


def sounds(samples):
    _note("sounds", len(samples))
    return "soft music and rain"


def bell(samples):
    _note("bell", len(samples))
    return "a bell"


def fails(samples):
    raise RuntimeError("no more memory")


def fails_at_long_clips(samples):
    if len(samples) > 3 * 16_000:
        raise ValueError("too long")
    return "a bell"


def gives_three(given):
    return 3


def reader(text):
    _note("reader", text)
    return json.dumps([{"type": "sound_event", "start_time": 0, "end_time": 1, "description": "as reported"}])
