"""Scenes: what a scorer of events tells of one sample, as its card shows it, and events counted over all of an eval."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from pytest_audiobench.audio.events import EVENT_TYPES, LOUDNESS, AudioEvent
from pytest_audiobench.protocols.soundscape.matching import is_unspaced, units
from pytest_audiobench.records.fields import Count, Number, Record
from pytest_audiobench.records.lines import Field
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.joined_samples import Joined
from pytest_audiobench.report.page.word_diff import LONGEST_WORD, MOST_WORDS, runs

LONGEST_S = 1e6
"""Seconds beyond which nothing is drawn: such a time was written by hand."""
MOST_EVENTS = 120
"""Of either list that are drawn; what was matched comes first."""
LONGEST_TEXT = 600
"""Characters of one text of an event."""
LONGEST_LABEL = 60
MOST_KINDS = 20
"""Kinds of repairs, and reasons for leaving an event out, that are listed."""
LONGEST_VALUE = 40
"""Characters of a language, the one value of a table that is free text."""
MOST_LANGUAGES = 12
_BED_TYPES = ("music", "sound_event")
_AT_THE_EDGE_S = 0.1
LENGTHS = ("under 1 s", "1 to 5 s", "over 5 s")


class ScenePair(Record, frozen=True):
    """A true event and the guess that was matched with it, by their places in the lists of both."""

    truth: Count
    guess: Count
    iou: Number
    accuracy: Number | None
    """Of the words; None where nothing is spoken."""
    cosine: Number
    speaker_right: bool | None
    """None where no speaker is asked for."""
    score: Number

    @property
    def content(self) -> float:
        """How well words and captions agree, independent of the event's times and speaker."""
        return self.cosine if self.accuracy is None else (self.cosine + self.accuracy) / 2


class Scene(Record, frozen=True, forbid_unknown_fields=False):
    """The details of one sample: both lists of events in order, what was matched, what was mended or refused."""

    duration: Number
    truths: Sequence[AudioEvent]
    guesses: Sequence[AudioEvent]
    pairs: Sequence[ScenePair]
    invalid: Mapping[str, Count] = {}
    repairs: Mapping[str, Count] = {}

    @property
    def missed(self) -> list[int]:
        """The places of the true events that nothing was matched with."""
        return sorted(set(range(len(self.truths))) - {pair.truth for pair in self.pairs})

    @property
    def invented(self) -> list[int]:
        """The places of the guesses that were matched with nothing."""
        return sorted(set(range(len(self.guesses))) - {pair.guess for pair in self.pairs})

    @property
    def invented_share(self) -> float | None:
        """Of all guesses, those that cannot be read among them; None without any."""
        invalid = sum(self.invalid.values())
        guesses = len(self.guesses) + invalid
        return (len(self.invented) + invalid) / guesses if guesses else None

    def card(self, longest: int) -> dict[str, Any]:
        """What scenes.js draws, no text longer than ``longest``. Places are those of the events that are kept."""
        truths = _kept(len(self.truths), [pair.truth for pair in self.pairs])
        guesses = _kept(len(self.guesses), [pair.guess for pair in self.pairs])
        pairs = [pair for pair in self.pairs if pair.truth in truths and pair.guess in guesses]
        cut = min(longest, LONGEST_TEXT)
        return {
            "seconds": round(self.duration, 3),
            "truths": [_event(self.truths[place], cut) for place in truths],
            "guesses": [_event(self.guesses[place], cut) for place in guesses],
            "more": [len(self.truths) - len(truths), len(self.guesses) - len(guesses)],
            "pairs": [[truths[pair.truth], guesses[pair.guess], *_pair(pair, self)] for pair in pairs],
            "counts": [
                [[name[:LONGEST_LABEL], count] for name, count in list(counts.items())[:MOST_KINDS]]
                for counts in (self.repairs, self.invalid)
            ],
        }


# The tables and the card of one sample are made one after the other.
@lru_cache(maxsize=4)
def scene_of(details: str | None) -> Scene | None:
    """The scene that a row's ``details`` tell; None where they tell of none: the files are open to anyone's edits."""
    if details is None:
        return None
    try:
        scene = msgspec.convert(json.loads(details), Scene)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None
    events = (*scene.truths, *scene.guesses)
    in_place = all(0 <= event.start_time <= event.end_time <= LONGEST_S for event in events)
    known = all(pair.truth < len(scene.truths) and pair.guess < len(scene.guesses) for pair in scene.pairs)
    return scene if in_place and known and 0 < scene.duration <= LONGEST_S else None


class EventRow(NamedTuple):
    """The true events of one kind, as a row of a table."""

    value: str
    n: int
    matched: int
    score: float
    """The mean over all of them, nothing for those that were missed."""
    guesses: int | None
    """All guesses of the kind, and those that were matched with nothing; None where a guess is of no such kind."""
    invented: int | None


class EventTable(NamedTuple):
    """The true events of an eval by one thing that is known of each."""

    title: str
    rows: tuple[EventRow, ...]


class ItemEvents(NamedTuple):
    """The tables of one item, by its headline scorer."""

    item: int
    scenes: int
    tables: tuple[EventTable, ...]


@dataclass
class _Sum:
    n: int = 0
    matched: int = 0
    score: float = 0.0
    guesses: int = 0
    invented: int = 0


_Sums: TypeAlias = defaultdict[tuple[str, str], _Sum]


@dataclass
class _ItemSums:
    number: int
    scorer: str
    scenes: int = 0
    sums: _Sums = field(default_factory=lambda: defaultdict(_Sum))


class EventCounts:
    """Counts the events of every item whose headline scorer tells of them."""

    def __init__(self, items: Sequence[ItemRecord]) -> None:
        self._by_item = {
            (item.eval, item.model): _ItemSums(number, item.scorers[0].name)
            for number, item in reversed(list(enumerate(items)))
            if item.scorers
        }

    def watch(self, samples: Iterable[Joined]) -> Iterator[Joined]:
        """``samples`` as they are, each counted before it is passed on."""
        for sample in samples:
            first = sample.predictions[0]
            sums = self._by_item.get((first.eval, first.model))
            details = next((row.details for row in sample.processed if sums and row.scorer == sums.scorer), None)
            scene = scene_of(details)
            if sums is not None and scene is not None:
                sums.scenes += 1
                _count(scene, first.metadata, sums.sums)
            yield sample

    def tables(self) -> list[ItemEvents]:
        """Those of each item that has any, in the items' order."""
        items = sorted(self._by_item.values(), key=lambda sums: sums.number)
        return [ItemEvents(sums.number, sums.scenes, _tables(sums.sums)) for sums in items if sums.scenes]


def _count(scene: Scene, metadata: Mapping[str, Field], sums: _Sums) -> None:
    pairs = {pair.truth: pair for pair in scene.pairs}
    for place, truth in enumerate(scene.truths):
        pair = pairs.get(place)
        for kind in _kinds(truth, scene, metadata):
            total = sums[kind]
            total.n += 1
            if pair is not None:
                total.matched += 1
                total.score += pair.score
    invented = set(scene.invented)
    for place, guess in enumerate(scene.guesses):
        total = sums["Type", guess.type]
        total.guesses += 1
        total.invented += place in invented


def _kinds(event: AudioEvent, scene: Scene, metadata: Mapping[str, Field]) -> Iterator[tuple[str, str]]:
    """The tables that an event stands in, and its row in each."""
    yield "Type", event.type
    if event.type == "speech":
        yield "Language", event.language[:LONGEST_VALUE] or "not given"
    is_overlapped = any(
        other.type == "speech"
        and other is not event
        and other.start_time < event.end_time
        and event.start_time < other.end_time
        for other in scene.truths
    )
    yield "Under other speech", "yes" if is_overlapped else "no"
    bed = metadata.get("bed")
    if bed in ("music", "ambience", "none") and not _is_bed(event, scene):
        yield "Over a bed", str(bed)
    if event.loudness in LOUDNESS:
        yield "Loudness", event.loudness
    length = event.end_time - event.start_time
    yield "Length", LENGTHS[(length >= 1) + (length > 5)]


def _is_bed(event: AudioEvent, scene: Scene) -> bool:
    whole = event.start_time <= _AT_THE_EDGE_S and event.end_time >= scene.duration - _AT_THE_EDGE_S
    return whole and event.type in _BED_TYPES


_ORDERS: Mapping[str, Sequence[str]] = {
    "Type": EVENT_TYPES,
    "Language": (),
    "Under other speech": ("yes", "no"),
    "Over a bed": ("music", "ambience", "none"),
    "Loudness": LOUDNESS,
    "Length": LENGTHS,
}
"""The tables, and the order of each one's rows; without one, the most frequent come first."""


def _tables(sums: _Sums) -> tuple[EventTable, ...]:
    tables = []
    for title, order in _ORDERS.items():
        own = {value: total for (of, value), total in sums.items() if of == title}
        values = [value for value in order if value in own]
        values = values or sorted(own, key=lambda value: (-own[value].n, value))[:MOST_LANGUAGES]
        tables.append(EventTable(title, tuple(_row(value, own[value], title == "Type") for value in values)))
    return tuple(table for table in tables if table.rows)


def _row(value: str, total: _Sum, tells_guesses: bool) -> EventRow:
    guesses = (total.guesses, total.invented) if tells_guesses else (None, None)
    score = round(total.score / total.n, 4) if total.n else 0.0
    return EventRow(value.replace("_", " "), total.n, total.matched, score, *guesses)


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
