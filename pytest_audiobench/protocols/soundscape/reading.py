"""Lists of events in what models write: strictly as asked for, or leniently, every repair counted.

Neither reading fails on any text: what is read is bounded, and no step takes more time than a text's length is worth.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent, in_order
from pytest_audiobench.protocols.soundscape.aliases import KEYS, SPANS, TYPES, plain_name

MOST_TEXT, MOST_BRACKETS, MOST_EVENTS, MOST_CHARACTERS = 200_000, 2_000, 500, 2_000
"""Characters of an answer, brackets tried, events, and characters of an event's text: what is read of more."""
_MOST_SCANNED = 20 * MOST_TEXT
_MOST_TIME = 60

TEXTS = tuple(field.name for field in fields(AudioEvent) if field.name not in ("type", "start_time", "end_time"))
Json: TypeAlias = Any


class _Invalid(Exception):
    """Why an object is no event."""


@dataclass
class Reading:
    """The events of an answer, why others are none, and what had to be repaired."""

    status: Literal["parsed", "unparsed", "empty", "truncated"]
    events: Sequence[AudioEvent] = ()
    invalid: Counter[str] = field(default_factory=Counter)
    """How many objects are no events, by reason."""
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
        """What :meth:`text` wrote; nothing for None, which is no answer."""
        value = json.loads(text) if text else {"events": [], "invalid": {}, "repairs": {}}
        events = [AudioEvent(**event) for event in value["events"]]
        return cls("parsed", events, Counter(value["invalid"]), Counter(value["repairs"]))

    def _add(self, objects: Sequence[Json], event_of: Callable[[Mapping[str, Json]], AudioEvent]) -> Reading:
        events = []
        for value in objects[:MOST_EVENTS]:
            try:
                if not isinstance(value, dict):
                    raise _Invalid("no object")
                events.append(event_of(value))
            except _Invalid as reason:
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
    return Reading("parsed")._add(objects, _strict_event) if isinstance(objects, list) else Reading("unparsed")


def _strict_event(value: Mapping[str, Json]) -> AudioEvent:
    type_ = value.get("type")
    if not isinstance(type_, str) or type_ not in EVENT_TYPES:
        raise _Invalid("type")
    start, end = (_number(value.get(name)) for name in ("start_time", "end_time"))
    if start is None or end is None or not 0 <= start < end:
        raise _Invalid("time")
    texts = {name: value[name] for name in TEXTS if value.get(name) is not None}
    if not all(isinstance(given, str) for given in texts.values()):
        raise _Invalid("field")
    return AudioEvent(type_, start, end, **{name: _bounded(given) for name, given in texts.items()})


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
    return reading._add(objects, _LenientReader(duration, reading.repairs))


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
    lists = {key: each for key, each in value.items() if isinstance(each, list)}
    if typed := [(type_, each) for key, each in lists.items() if (type_ := _type_of_list(key))]:
        return [{"type": type_, **item} if isinstance(item, dict) else item for type_, each in typed for item in each]
    of_objects = [each for each in lists.values() if not each or any(isinstance(item, dict) for item in each)]
    return of_objects[0] if len(of_objects) == 1 else None


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


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


_UNIT = re.compile(r"\s*(?:s|secs?|seconds?)\.?\Z")
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)", re.ASCII)
_CLOCK = re.compile(r"(?:(\d{1,2}):)?(\d{1,3}):(\d{1,2}(?:[.,]\d+)?)", re.ASCII)
_RANGE = re.compile(r"\s*(?:-|–|—|to|\.\.)\s*")


def seconds(value: Json) -> float | None:
    """A number or a text such as "3,2", "3.2 s" or "1:02.5" in seconds; None where it is no time."""
    if not isinstance(value, str) or len(value) > _MOST_TIME:
        return _number(value)
    text = _UNIT.sub("", unicodedata.normalize("NFKC", value).strip().lower())
    if _DECIMAL.fullmatch(text):
        return _number(float(text.replace(",", ".")))
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, rest = clock.groups()
        last = float(rest.replace(",", "."))
        if last < 60 and (hours is None or int(minutes) < 60):
            return int(hours or 0) * 3600 + int(minutes) * 60 + last
    return None


def _bounded(text: str) -> str:
    # JSON can escape halves of characters, which no file can hold.
    return text[:MOST_CHARACTERS].strip().encode("utf-8", "replace").decode()


@dataclass
class _LenientReader:
    """Makes an event of an object; raises _Invalid where it is none."""

    duration: float
    repairs: Counter[str]

    def __call__(self, value: Mapping[str, Json]) -> AudioEvent:
        given: dict[str, Json] = {}
        for key, each in value.items():
            given.setdefault(plain_name(key), each)
        name = self._taken(given, "type")
        if not isinstance(name, str) or (type_ := TYPES.get(plain_name(name))) is None:
            raise _Invalid("type")
        self.repairs["type"] += name != type_
        start, end = self._times(given)
        texts = {text: self._text(self._taken(given, text)) for text in TEXTS if text != "vocal_burst" or type_ == text}
        return AudioEvent(type_, start, end, **texts)

    def _taken(self, given: Mapping[str, Json], name: str) -> Json:
        alias = next((alias for alias in KEYS[name] if given.get(alias) is not None), name)
        self.repairs["key"] += alias != name
        return given.get(alias)

    def _times(self, given: Mapping[str, Json]) -> tuple[float, float]:
        first, last = self._taken(given, "start_time"), self._taken(given, "end_time")
        span = next((given[name] for name in SPANS if name in given), None)
        if first is None and last is None and span is not None:
            ends = _RANGE.split(span, maxsplit=1) if isinstance(span, str) and len(span) <= _MOST_TIME else span
            if isinstance(ends, list) and len(ends) == 2:
                first, last = ends
                self.repairs["key"] += 1
        start, end = seconds(first), seconds(last)
        if last is None and start is not None and (length := seconds(given.get("duration"))) is not None:
            end = start + length
            self.repairs["key"] += 1
        if start is None or end is None:
            raise _Invalid("time")
        self.repairs["time text"] += isinstance(first, str) or isinstance(last, str)
        if start > end:
            start, end = end, start
            self.repairs["swapped"] += 1
        if start >= self.duration or end <= 0:
            raise _Invalid("outside")
        if start < 0 or end > self.duration:
            start, end = max(0.0, start), min(end, self.duration)
            self.repairs["clipped"] += 1
        if end <= start:
            raise _Invalid("time")
        return start, end

    def _text(self, value: Json) -> str:
        if value is None or isinstance(value, str):
            return _bounded(value or "")
        self.repairs["field"] += 1
        try:
            if isinstance(value, list):
                return _bounded(", ".join(map(str, value)))
            if isinstance(value, dict):
                return _bounded(", ".join(f"{name}: {each}" for name, each in value.items()))
            return _bounded(str(value))
        except RecursionError:
            return ""
