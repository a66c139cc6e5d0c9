"""What one clip's answer adds to each number: sums and counts, of which metrics are made over clips or over events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent
from pytest_audiobench.metrics.multi_talker_errors import cp_errors
from pytest_audiobench.protocols.soundscape.matching import (
    VOICED,
    Cosine,
    Matching,
    assignment,
    caption_pairs,
    is_unspaced,
    match,
    ordered,
    overlap,
    same_language,
    total_reward,
    unit_errors,
)
from pytest_audiobench.protocols.soundscape.meeting import talker_words

SEGMENT_S = 0.1
ONSET_COLLAR, OFFSET_SHARE = 0.5, 0.2
"""Seconds by which an event's beginning may be off; its end by the same, or by this share of its length."""
LEAST_COVERED = 0.7
REPEAT_IOU, REPEAT_COSINE = 0.5, 0.9
_ROUNDING = 1e-9


def clip_statistics(
    truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], invalid: int, duration: float, cosine: Cosine
) -> dict[str, float]:
    """All that is counted of guesses, of which ``invalid`` more are not events."""
    matching = match(truths, guesses, cosine)
    within = list(clipped(matching.guesses, duration))
    return {
        **_scores(matching, len(guesses) + invalid),
        **_contents(matching),
        **_words(matching),
        **_inventions(matching, invalid, cosine),
        **_speakers(matching),
        **_detections(matching, within),
        **_parts(matching, duration),
        **cp_errors(talker_words(matching.truths), talker_words(matching.guesses)).statistics,
    }


def other_statistics(
    truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], duration: float, cosine: Cosine
) -> dict[str, float]:
    """The reward of guesses for another clip's events, and how many there are."""
    reward = total_reward(truths, list(clipped(guesses, duration)), cosine)
    return {"other_reward": reward, "other_truths": float(len(truths))}


NO_OTHER = {"other_reward": 0.0, "other_truths": 0.0}
"""The same of a set of one clip."""


def clipped(events: Iterable[AudioEvent], duration: float) -> Iterator[AudioEvent]:
    """What of the events is within a clip."""
    for event in events:
        if event.start_time < duration:
            yield event if event.end_time <= duration else replace(event, end_time=duration)


def needed_captions(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent]) -> Iterator[tuple[str, str]]:
    """The captions of which :func:`clip_statistics` wants cosines."""
    yield from caption_pairs(truths, guesses)
    yield from (captions for _, captions in _repeated_times(ordered(guesses)) if captions[0] != captions[1])


def _scores(matching: Matching, guesses: int) -> dict[str, float]:
    truths, matched, score = len(matching.truths), len(matching.pairs), matching.score
    best = matching.best.values()
    return {
        "truths": truths,
        "guesses": guesses,
        "matched": matched,
        "reward": sum(pair.reward for pair in best),
        "iou_cos": sum(pair.iou * pair.cosine for pair in best),
        "iou": sum(pair.iou for pair in best),
        "reward_1to1": matching.one_to_one,
        "f1": 2.0 * score / (truths + guesses) if truths + guesses else 1.0,
        "precision": score / guesses if guesses else float(not truths),
        "recall": score / truths if truths else float(not guesses),
        "guessed": float(guesses > 0),
        "halluc": (guesses - matched) / guesses if guesses else 0.0,
        "unmatched": guesses - matched,
    }


def _contents(matching: Matching) -> dict[str, float]:
    counts = dict.fromkeys(("how", "snd", "snd_matched", "burst", "rate", "speaker_right", "language_right"), 0.0)
    for type_ in EVENT_TYPES:
        counts |= {f"matched_{type_}": 0.0, f"truths_{type_}": _count(matching.truths, type_)}
    for pair in matching.pairs:
        truth, guess = matching.truths[pair.truth], matching.guesses[pair.guess]
        counts[f"matched_{truth.type}"] += 1.0
        if truth.type == "speech":
            counts["how"] += pair.cosine
            counts["rate"] += unit_errors(truth.transcription, guess.transcription, truth.language).rate
            counts["speaker_right"] += pair.speaker_right is not False
            counts["language_right"] += same_language(truth.language, guess.language)
        elif truth.type == "vocal_burst":
            counts["burst"] += pair.cosine
        else:
            counts["snd"] += pair.cosine
            counts["snd_matched"] += 1.0
    return counts


def _count(events: Sequence[AudioEvent], type_: str) -> float:
    return float(sum(event.type == type_ for event in events))


def _words(matching: Matching) -> dict[str, float]:
    """Errors of all that is said, what was missed too: of words, and apart from them of characters."""
    counts = dict.fromkeys(("word_errors", "words", "character_errors", "characters"), 0.0)
    guess_of = {pair.truth: matching.guesses[pair.guess].transcription for pair in matching.pairs}
    for number, truth in enumerate(matching.truths):
        if truth.type == "speech":
            unit = "character" if is_unspaced(truth.language) else "word"
            errors = unit_errors(truth.transcription, guess_of.get(number, ""), truth.language)
            counts[f"{unit}_errors"] += errors.errors
            counts[f"{unit}s"] += errors.true
    return counts


def _inventions(matching: Matching, invalid: int, cosine: Cosine) -> dict[str, float]:
    overlaps = {(truth.type, truth.start_time, truth.end_time) for truth in matching.truths}
    apart = sum(
        not any(
            type_ == guess.type and start < guess.end_time and guess.start_time < end for type_, start, end in overlaps
        )
        for guess in matching.guesses
    )
    repeats = {
        later
        for later, (first, second) in _repeated_times(matching.guesses)
        if first == second or cosine(first, second) >= REPEAT_COSINE
    }
    return {"no_overlap": apart + invalid, "repeats": len(repeats)}


def _repeated_times(guesses: Sequence[AudioEvent]) -> Iterator[tuple[int, tuple[str, str]]]:
    """The number of each guess that sounds when an earlier one of its type does, with both captions."""
    captions = [event.caption for event in guesses]
    for type_ in EVENT_TYPES:
        numbers = [number for number, event in enumerate(guesses) if event.type == type_ and captions[number]]
        starts, ends = (
            np.array([getattr(guesses[number], name) for number in numbers], dtype=np.float64)
            for name in ("start_time", "end_time")
        )
        both = np.minimum.outer(ends, ends) - np.maximum.outer(starts, starts)
        either = np.maximum.outer(ends, ends) - np.minimum.outer(starts, starts)
        # Of two that overlap, the seconds of either are those from the first's beginning to the last's end.
        for later, earlier in np.argwhere(np.tril(both >= REPEAT_IOU * either, -1)).tolist():
            first, second = sorted((captions[numbers[earlier]], captions[numbers[later]]))
            yield numbers[later], (first, second)


def _speakers(matching: Matching) -> dict[str, float]:
    counts = [
        len({event.speaker_id for event in events if event.type in VOICED})
        for events in (matching.truths, matching.guesses)
    ]
    return {"speakers_error": abs(counts[0] - counts[1])}


def _detections(matching: Matching, within: Sequence[AudioEvent]) -> dict[str, float]:
    """By type: seconds and segments that sound, and how many events are where the answer key has them."""
    counts: dict[str, float] = {}
    for type_ in EVENT_TYPES:
        true, guessed, inside = (
            [event for event in events if event.type == type_] for events in (matching.truths, matching.guesses, within)
        )
        segments, claimed = (active_segments(events) for events in (true, inside))
        covered, uncovered = covered_events(true, guessed)
        counts |= {
            f"guesses_{type_}": len(guessed),
            f"seconds_{type_}": _length(spans(true)),
            f"claimed_{type_}": _length(spans(inside)),
            f"active_{type_}": len(segments),
            f"active_claimed_{type_}": len(claimed),
            f"active_both_{type_}": len(segments & claimed),
            f"on_time_{type_}": events_on_time(true, guessed),
            f"covered_{type_}": covered,
            f"uncovered_{type_}": uncovered,
        }
    return counts


def active_segments(events: Iterable[AudioEvent], seconds: float = SEGMENT_S) -> set[int]:
    """The numbers of the segments, of so many seconds, in which any of the events is heard."""
    numbers: set[int] = set()
    for start, end in spans(events):
        first, last = (round(time / seconds, 6) for time in (start, end))
        numbers.update(range(math.floor(first), math.ceil(last)))
    return numbers


def events_on_time(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], collar: float = ONSET_COLLAR) -> int:
    """How many guesses begin and end when a true event does, one to one."""
    near = np.array([[_is_on_time(truth, guess, collar) for guess in guesses] for truth in truths], dtype=np.float64)
    return sum(int(near[place]) for place in assignment(near.reshape(len(truths), len(guesses))))


def _is_on_time(truth: AudioEvent, guess: AudioEvent, collar: float) -> bool:
    late = max(collar, OFFSET_SHARE * (truth.end_time - truth.start_time))
    # Times are decimals: a tenth of a second off is not to be more than that.
    return (
        abs(truth.start_time - guess.start_time) <= collar + _ROUNDING
        and abs(truth.end_time - guess.end_time) <= late + _ROUNDING
    )


def covered_events(
    truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], least: float = LEAST_COVERED
) -> tuple[int, int]:
    """How many true events such guesses cover as true events cover; and how many other guesses there are."""
    true = spans(truths)
    relevant = [guess for guess in guesses if _is_covered(guess, true, least)]
    claimed = spans(relevant)
    return sum(_is_covered(truth, claimed, least) for truth in truths), len(guesses) - len(relevant)


def _parts(matching: Matching, duration: float) -> dict[str, float]:
    """What is counted of true events of one kind: by type, language, loudness, length and what sounds meanwhile."""
    counts: dict[str, float] = {}
    matched = {pair.truth for pair in matching.pairs}
    for number, truth in enumerate(matching.truths):
        others = [other for other in matching.truths if other is not truth and overlap(truth, other) > 0.0]
        reward = matching.best[number].reward if number in matching.best else 0.0
        for part in _parts_of(truth, others, duration):
            for name, value in (("truths", 1.0), ("matched", float(number in matched)), ("reward", reward)):
                key = f"{name}@{part}"
                counts[key] = counts.get(key, 0.0) + value
    return counts


def _parts_of(truth: AudioEvent, others: Sequence[AudioEvent], duration: float) -> Iterator[str]:
    """The kinds of a true event, during which others sound; a bed is a sound or music that fills the clip."""
    seconds = truth.end_time - truth.start_time
    over_speech = any(other.type == "speech" for other in others)
    over_bed = any(
        other.type in ("music", "sound_event") and other.end_time - other.start_time > duration - SEGMENT_S
        for other in others
    )
    yield f"type={truth.type}"
    yield f"over_speech={'yes' if over_speech else 'no'}"
    yield f"over_bed={'yes' if over_bed else 'no'}"
    yield f"event_length={'below-1s' if seconds < 1.0 else 'above-5s' if seconds > 5.0 else '1-to-5s'}"
    if truth.loudness:
        yield f"loudness={truth.loudness}"
    if truth.language:
        yield f"language={truth.language}"


def spans(events: Iterable[AudioEvent]) -> list[tuple[float, float]]:
    """The times at which any of the events is heard, apart and in order."""
    apart: list[tuple[float, float]] = []
    for start, end in sorted((event.start_time, event.end_time) for event in events):
        if apart and start <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return apart


def _length(times: Sequence[tuple[float, float]]) -> float:
    return math.fsum(end - start for start, end in times)


def _is_covered(event: AudioEvent, times: Sequence[tuple[float, float]], least: float) -> bool:
    """Whether the event is heard at these times for the least share of its length."""
    both = math.fsum(max(0.0, min(event.end_time, end) - max(event.start_time, start)) for start, end in times)
    return both >= least * (event.end_time - event.start_time) - _ROUNDING
