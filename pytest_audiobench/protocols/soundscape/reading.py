"""Lists of events in what models write: strictly as asked for, or leniently, every repair counted.

Neither reading fails on any text: what is read is bounded, and no step takes more time than a text's length is worth.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pytest_audiobench.audio.events import AudioEvent, in_order
from pytest_audiobench.protocols.soundscape.event_fields import (
    KEYS,
    TYPES,
    InvalidEvent,
    Json,
    LenientEvents,
    plain_name,
    strict_event,
)

MOST_TEXT, MOST_BRACKETS, MOST_EVENTS = 200_000, 2_000, 500
"""Characters of an answer, brackets tried, and events that are read of more."""
_MOST_SCANNED = 20 * MOST_TEXT


@dataclass
class Reading:
    """The events of an answer, why others are none, and what had to be repaired."""

    status: Literal["parsed", "unparsed", "empty", "truncated"]
    events: Sequence[AudioEvent] = ()
    invalid: Counter[str] = field(default_factory=Counter)
    """How many objects are not events, by reason."""
    repairs: Counter[str] = field(default_factory=Counter)

    @property
    def guesses(self) -> int:
        """Events that match nothing are guesses, too."""
        return len(self.events) + self.invalid.total()

    def text(self) -> str:
        """The reading as the value of an answer, in JSON."""
        events = [event.document() for event in in_order(self.events)]
        counts = {"invalid": dict(sorted(self.invalid.items())), "repairs": dict(sorted(self.repairs.items()))}
        return json.dumps({"events": events, **counts}, ensure_ascii=False)

    @classmethod
    def of_text(cls, text: str | None) -> Reading:
        """What :meth:`text` wrote; nothing for None, which is not an answer."""
        value = json.loads(text) if text else {"events": [], "invalid": {}, "repairs": {}}
        events = [AudioEvent(**event) for event in value["events"]]
        return cls("parsed", events, Counter(value["invalid"]), Counter(value["repairs"]))

    def _add(self, objects: Sequence[Json], event_of: Callable[[Mapping[str, Json]], AudioEvent]) -> Reading:
        events = []
        for value in objects[:MOST_EVENTS]:
            try:
                if not isinstance(value, dict):
                    raise InvalidEvent("no object")
                events.append(event_of(value))
            except InvalidEvent as reason:
                self.invalid[str(reason)] += 1
        if len(objects) > MOST_EVENTS:
            self.invalid["too many"] = len(objects) - MOST_EVENTS
        self.events, self.repairs = events, +self.repairs
        return self


def read_strict(text: str) -> Reading:
    """JSON alone, or in one code fence: an array, or an object whose ``events`` is one; nothing is repaired."""
    if not (body := text.strip()):
        return Reading("empty")
    try:
        value = json.loads(_unfenced(body), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Reading("unparsed")
    objects = value.get("events") if isinstance(value, dict) else value
    return Reading("parsed")._add(objects, strict_event) if isinstance(objects, list) else Reading("unparsed")


def read_lenient(text: str, duration: float) -> Reading:
    """The list of events wherever it is in ``text`` and whatever its fields are called; times within ``duration``."""
    if not (body := text[:MOST_TEXT].lstrip("\ufeff").strip()):
        return Reading("empty")
    reading = Reading("parsed")
    if (answer := _without_thinking(body)) != body:
        reading.repairs["thinking"] += 1
    if _THINKING.match(answer):
        reading.status = "truncated"
        return reading
    try:
        objects = _listed(json.loads(_unfenced(answer)))
    except (ValueError, RecursionError):
        objects = _searched(answer, reading)
    if objects is None:
        reading.status = "unparsed"
        return reading
    return reading._add(objects, LenientEvents(duration, reading.repairs).event)


def _no_constant(name: str) -> Json:
    raise ValueError(name)


_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\n?")


def _unfenced(text: str) -> str:
    """What is within the one code fence around everything; else the text."""
    inner = text[3:-3]
    if len(text) < 6 or not (text.startswith("```") and text.endswith("```")) or "```" in inner:
        return text
    opening = _FENCE.match(text)
    assert opening is not None
    return text[opening.end() : -3].strip() if opening.end() <= len(text) - 3 else ""


_THINKING, _THOUGHT = re.compile(r"<think(?:ing)?>", re.I), re.compile(r"</think(?:ing)?>", re.I)


def _without_thinking(text: str) -> str:
    pieces, place = [], 0
    # Not one expression for both tags: of many that open and none that closes, each would be looked for to the end.
    while (opening := _THINKING.search(text, place)) and (closing := _THOUGHT.search(text, opening.end())):
        pieces.append(text[place : opening.start()])
        place = closing.end()
    return "".join((*pieces, text[place:])).strip()


def _resembles_event(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    keys = {plain_name(key) for key in value}
    return not keys.isdisjoint((*KEYS["start_time"], "time", "type", "event_type"))


def _listed(value: Json) -> list[Json] | None:
    """The events of a decoded value: a list, an object with one or with lists by type, or one event; None for none."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if _resembles_event(value):
        return [value]
    if isinstance(value.get("events"), list):
        return list(value["events"])
    lists = {
        key: each
        for key, each in value.items()
        if isinstance(each, list) and (not each or any(isinstance(item, dict) for item in each))
    }
    if typed := [(type_, each) for key, each in lists.items() if (type_ := _type_of_list(key))]:
        return [{"type": type_, **item} if isinstance(item, dict) else item for type_, each in typed for item in each]
    return next(iter(lists.values())) if len(lists) == 1 else None


def _type_of_list(key: str) -> str | None:
    name = plain_name(key)
    return TYPES.get(name) or TYPES.get(name.removesuffix("s"))


class _Values(NamedTuple):
    """What JSON there is in a text: lists of events, single events, and whether a list was not closed."""

    lists: list[list[Json]]
    events: list[Json]
    unclosed: bool


def _searched(text: str, reading: Reading) -> list[Json] | None:
    """The list with the most events that is somewhere in ``text``; else its single events; None for neither."""
    values = _values(text)
    if longest := _longest(values.lists):
        reading.repairs["prose"] += 1
        return longest
    mended = re.sub(r",(\s*[\]}])", r"\1", text)
    if mended != text and (longest := _longest(_values(mended).lists)):
        reading.repairs["comma"] += 1
        return longest
    if values.events:
        reading.repairs["objects"] += 1
        reading.status = "truncated" if values.unclosed else "parsed"
        return values.events
    if values.lists:
        reading.repairs["prose"] += 1
        return []
    return None


def _longest(lists: Sequence[list[Json]]) -> list[Json]:
    """The list with the most objects that look like events, the last of equals; empty where none has any."""
    return max(reversed(lists), key=lambda each: sum(map(_resembles_event, each)), default=[])


_BRACKET = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder()


def _values(text: str) -> _Values:
    values = _Values([], [], False)
    for value in _decoded(text):
        if value is _UNCLOSED:
            values = values._replace(unclosed=True)
        elif _resembles_event(value):
            values.events.append(value)
        elif (objects := _listed(value)) is not None and (not objects or any(map(_resembles_event, objects))):
            values.lists.append(objects)
    return values


_UNCLOSED = object()


def _decoded(text: str) -> Iterator[Json]:
    """Each complete value that a bracket opens, outermost first; ``_UNCLOSED`` for a list that is none."""
    place = scanned = 0
    for _ in range(MOST_BRACKETS):
        bracket = _BRACKET.search(text, place)
        if bracket is None or scanned > _MOST_SCANNED:
            return
        place = bracket.end()
        try:
            value, place = _DECODER.raw_decode(text, bracket.start())
        except (ValueError, RecursionError) as error:
            # Brackets that all fail at the text's end would make a search of its length squared.
            scanned += getattr(error, "pos", place) - bracket.start()
            if bracket[0] == "[":
                yield _UNCLOSED
        else:
            yield value
