"""The card of a scene: events, matched pairs and the differences of their words, as short JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent
from pytest_audiobench.protocols.soundscape.matching import is_unspaced, units
from pytest_audiobench.report.page.word_diff import LONGEST_WORD, MOST_WORDS, runs
from pytest_audiobench.report.scenes import Scene, ScenePair

MOST_EVENTS = 120
"""Of either list that are drawn; what was matched comes first."""
LONGEST_TEXT = 600
"""Characters of one text of an event."""
LONGEST_LABEL = 60
MOST_KINDS = 20
"""Kinds of repairs, and reasons for leaving an event out, that are listed."""


def scene_card(scene: Scene, longest: int) -> dict[str, Any]:
    """What scenes.js draws. Places in the lists are those of the events that are kept."""
    truths = _kept(len(scene.truths), [pair.truth for pair in scene.pairs])
    guesses = _kept(len(scene.guesses), [pair.guess for pair in scene.pairs])
    pairs = [pair for pair in scene.pairs if pair.truth in truths and pair.guess in guesses]
    cut = min(longest, LONGEST_TEXT)
    return {
        "seconds": round(scene.duration, 3),
        "truths": [_event(scene.truths[place], cut) for place in truths],
        "guesses": [_event(scene.guesses[place], cut) for place in guesses],
        "more": [len(scene.truths) - len(truths), len(scene.guesses) - len(guesses)],
        "pairs": [[truths[pair.truth], guesses[pair.guess], *_pair(pair, scene)] for pair in pairs],
        "counts": [
            [[name[:LONGEST_LABEL], count] for name, count in list(counts.items())[:MOST_KINDS]]
            for counts in (scene.repairs, scene.invalid)
        ],
    }


def _kept(n: int, matched: Sequence[int]) -> dict[int, int]:
    """The places that are drawn, in order, and the place of each among these."""
    wanted = sorted(range(n), key=lambda place: place not in set(matched)) if n > MOST_EVENTS else range(n)
    return {place: number for number, place in enumerate(sorted(wanted[:MOST_EVENTS]))}


def _event(event: AudioEvent, longest: int) -> list[Any]:
    texts = (event.transcription, event.caption)
    labels = (event.speaker_id, event.language, event.loudness)
    return [
        EVENT_TYPES.index(event.type),
        round(event.start_time, 3),
        round(event.end_time, 3),
        *(text if len(text) <= longest else text[:longest] + "…" for text in texts),
        *(label[:LONGEST_LABEL] for label in labels),
    ]


def _pair(pair: ScenePair, scene: Scene) -> list[Any]:
    numbers = (pair.iou, pair.accuracy, pair.cosine, pair.content, pair.score)
    iou, accuracy, cosine, content, score = (None if number is None else round(number, 4) for number in numbers)
    truth, guess = scene.truths[pair.truth], scene.guesses[pair.guess]
    diff = _diff(truth, guess) if truth.type == "speech" else None
    return [iou, accuracy, cosine, pair.speaker_right, content, score, diff]


def _diff(truth: AudioEvent, guess: AudioEvent) -> list[Any] | None:
    longest = LONGEST_WORD * MOST_WORDS
    expected, actual = (units(event.transcription[:longest], truth.language) for event in (truth, guess))
    if max(len(expected), len(actual)) > MOST_WORDS:
        return None
    joint = "" if is_unspaced(truth.language) else " "
    return ["the scorer", joint, [part for run in runs(expected, actual, joint) for part in run]]
