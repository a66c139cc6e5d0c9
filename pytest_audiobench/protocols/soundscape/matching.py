"""Lists of events compared with the answer key: how well times, contents and speakers agree, and which belong together.

Nothing depends on the order of the lists, or on how speakers are called.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from rapidfuzz.distance import Levenshtein

from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent, EventType
from pytest_audiobench.stats.intervals import Floats
from pytest_audiobench.stats.special import scipy_module

Cosine: TypeAlias = Callable[[str, str], float]
"""The cosine of a true and a guessed caption, neither of them empty."""

VOICED = ("speech", "vocal_burst")
"""The types that have a speaker."""
_UNSPACED = frozenset(("zh", "yue", "cmn", "ja"))
_LEAST = 1e-6
"""What a pair's overlap weighs compared with its score, so that pairs of score 0 are those that overlap most."""


def ordered(events: Sequence[AudioEvent]) -> list[AudioEvent]:
    """The events in an order that neither theirs nor their speakers' labels move: by all else that is said of them."""
    places: dict[str, list[tuple[float | str, ...]]] = {}
    for event in sorted(events, key=lambda event: event.place):
        places.setdefault(event.speaker_id, []).append(event.place)
    # Events that differ in their labels alone are as those labels' other events are.
    rank = {label: number for number, (label, _) in enumerate(sorted(places.items(), key=lambda item: item[1]))}
    return sorted(events, key=lambda event: (event.place, rank[event.speaker_id], event.loudness))


def overlap(first: AudioEvent, second: AudioEvent) -> float:
    """The seconds during which both are heard."""
    return max(0.0, min(first.end_time, second.end_time) - max(first.start_time, second.start_time))


def iou(first: AudioEvent, second: AudioEvent) -> float:
    """The seconds of both over the seconds of either; 0 where they only touch."""
    if (both := overlap(first, second)) == 0.0:
        return 0.0
    return both / (first.end_time - first.start_time + second.end_time - second.start_time - both)


def is_unspaced(language: str) -> bool:
    """Whether errors in the language are counted by character."""
    return _base(language) in _UNSPACED


@lru_cache(maxsize=8192)
def units(text: str, language: str) -> tuple[str, ...]:
    """The words of ``text``, or its characters in languages written without spaces; no case, no punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = "".join(" " if unicodedata.category(character)[0] in "PSZC" else character for character in folded).split()
    return tuple("".join(words)) if is_unspaced(language) else tuple(words)


class UnitErrors(NamedTuple):
    """The fewest errors in ``said`` units against the ``true`` ones."""

    errors: int
    true: int
    said: int

    @property
    def rate(self) -> float:
        """At most 1; where nothing is true, 1 for anything said."""
        return min(1.0, self.errors / self.true) if self.true else float(self.said > 0)


@lru_cache(maxsize=8192)
def unit_errors(true: str, said: str, language: str) -> UnitErrors:
    """The errors of one transcription, in units of the true one's language."""
    truth, guess = units(true, language), units(said, language)
    return UnitErrors(Levenshtein.distance(truth, guess), len(truth), len(guess))


def same_language(first: str, second: str) -> bool:
    return _base(first) == _base(second)


def _base(language: str) -> str:
    return language.lower().partition("-")[0]


def speaker_map(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent]) -> dict[str, str]:
    """The true speaker of each guessed label, one to one, so that they speak together longest; both lists in order."""
    true = [event for event in truths if event.type in VOICED and event.speaker_id]
    guessed = [event for event in guesses if event.type in VOICED]
    people = list(dict.fromkeys(event.speaker_id for event in true))
    labels = list(dict.fromkeys(event.speaker_id for event in guessed))
    seconds = np.zeros((len(labels), len(people)))
    for guess in guessed:
        for truth in true:
            seconds[labels.index(guess.speaker_id), people.index(truth.speaker_id)] += overlap(truth, guess)
    return {labels[row]: people[column] for row, column in assignment(seconds) if seconds[row, column] > 0.0}


def assignment(weights: Floats) -> list[tuple[int, int]]:
    """The rows and columns, one to one, whose weights add up to the most."""
    if 0 in weights.shape:
        return []
    rows, columns = _linear_sum_assignment()(weights, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


@lru_cache(maxsize=1)
def _linear_sum_assignment() -> Any:
    return scipy_module("optimize").linear_sum_assignment


class Pair(NamedTuple):
    """A true event and a guess of its type that overlap; ``truth`` and ``guess`` count within the lists in order."""

    truth: int
    guess: int
    iou: float
    accuracy: float | None
    """Of the words, at least 0; None for what is no speech."""
    cosine: float
    content: float
    speaker_right: bool | None
    """None where the true event has no speaker."""

    @property
    def reward(self) -> float:
        return self.iou * self.content

    @property
    def score(self) -> float:
        return 0.0 if self.speaker_right is False else self.reward


@dataclass(frozen=True)
class Matching:
    """What belongs together in an answer key and a list of guesses, both in order."""

    truths: Sequence[AudioEvent]
    guesses: Sequence[AudioEvent]
    best: Mapping[int, Pair]
    """Of each truth that any guess overlaps, the pair with the largest reward, then overlap; a guess may serve many."""
    pairs: Sequence[Pair]
    """One to one, so that the scores add up to the most, in order of truths."""
    one_to_one: float
    """The largest sum of rewards one to one, for any speakers."""

    @property
    def score(self) -> float:
        return sum(pair.score for pair in self.pairs)


def overlapping(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent]) -> Iterator[tuple[int, int]]:
    """The numbers of truths and guesses of one type that overlap."""
    for row, truth in enumerate(truths):
        for column, guess in enumerate(guesses):
            if truth.type == guess.type and overlap(truth, guess) > 0.0:
                yield row, column


def caption_pairs(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent]) -> Iterator[tuple[str, str]]:
    """The true and guessed captions whose cosines are asked for."""
    for row, column in overlapping(truths, guesses):
        captions = truths[row].caption, guesses[column].caption
        if all(captions) and captions[0] != captions[1]:
            yield captions


def total_reward(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], cosine: Cosine) -> float:
    """The sum over truths of the reward of the best guess."""
    return sum(pair.reward for pair in _best(_pairs(ordered(truths), ordered(guesses), cosine, {})).values())


def _best(pairs: Iterable[Pair]) -> dict[int, Pair]:
    best: dict[int, Pair] = {}
    for pair in pairs:
        if pair.truth not in best or (pair.reward, pair.iou) > (best[pair.truth].reward, best[pair.truth].iou):
            best[pair.truth] = pair
    return best


def match(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], cosine: Cosine) -> Matching:
    """The events put in order and matched."""
    true, guessed = ordered(truths), ordered(guesses)
    by_type: dict[EventType, list[Pair]] = {type_: [] for type_ in EVENT_TYPES}
    overlapping_pairs = list(_pairs(true, guessed, cosine, speaker_map(true, guessed)))
    for pair in overlapping_pairs:
        by_type[true[pair.truth].type].append(pair)
    matched, one_to_one = [], 0.0
    for type_, pairs in by_type.items():
        if not pairs:
            continue
        rows = [row for row, event in enumerate(true) if event.type == type_]
        columns = [column for column, event in enumerate(guessed) if event.type == type_]
        place_of_row = {row: place for place, row in enumerate(rows)}
        place_of_column = {column: place for place, column in enumerate(columns)}
        rewards, weights = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
        at = {(place_of_row[pair.truth], place_of_column[pair.guess]): pair for pair in pairs}
        for place, pair in at.items():
            rewards[place], weights[place] = pair.reward, pair.score + _LEAST * pair.iou
        one_to_one += sum(float(rewards[place]) for place in assignment(rewards))
        matched += [at[place] for place in assignment(weights) if place in at]
    return Matching(true, guessed, _best(overlapping_pairs), sorted(matched), one_to_one)


def _pairs(
    truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], cosine: Cosine, speakers: Mapping[str, str]
) -> Iterator[Pair]:
    true_captions, captions = [event.caption for event in truths], [event.caption for event in guesses]
    for row, column in overlapping(truths, guesses):
        truth, guess = truths[row], guesses[column]
        meaning = 0.0
        if (wanted := true_captions[row]) and (said := captions[column]):
            meaning = 1.0 if wanted == said else min(1.0, max(0.0, cosine(wanted, said)))
        accuracy, content, right = None, meaning, None
        if truth.type == "speech":
            errors = unit_errors(truth.transcription, guess.transcription, truth.language)
            accuracy = 1.0 - errors.rate
            content = 0.5 * meaning + 0.5 * accuracy if wanted else accuracy
        if truth.type in VOICED and truth.speaker_id:
            right = speakers.get(guess.speaker_id) == truth.speaker_id
        yield Pair(row, column, iou(truth, guess), accuracy, meaning, content, right)
