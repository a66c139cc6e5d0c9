"""Events as models write them: the names and forms of their fields."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent, EventType

MOST_CHARACTERS = 2_000
"""How much of an event's text is read."""
_MOST_TIME = 60

TEXTS = tuple(field.name for field in fields(AudioEvent) if field.name not in ("type", "start_time", "end_time"))
Json: TypeAlias = Any


class InvalidEvent(Exception):
    """Why an object is not an event, in the word that it is counted by."""


def plain_name(name: str) -> str:
    """``name`` in small letters, blanks and hyphens as ``_``, camelCase split."""
    return re.sub(r"[\s\-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())).lower()


_TYPES: Mapping[EventType, str] = {
    "speech": "speech speech_segment utterance dialogue dialog spoken talking voice",
    "vocal_burst": "vocal_burst vocalburst burst vocalization vocalisation vocal_sound nonverbal non_verbal "
    "nonverbal_vocalization paralinguistic",
    "sound_event": "sound_event soundevent sound sound_effect soundeffect sfx effect noise ambience ambient "
    "ambient_sound background background_sound environment environmental_sound",
    "music": "music background_music music_bed song musical",
}
TYPES: Mapping[str, EventType] = {alias: type_ for type_, aliases in _TYPES.items() for alias in aliases.split()}
"""What a type is called, and the type."""

KEYS: Mapping[str, tuple[str, ...]] = {
    name: (name, *aliases.split())
    for name, aliases in {
        "type": "event_type kind category class event_class",
        "start_time": "start starttime start_s start_sec start_seconds begin begin_time onset from t_start t0",
        "end_time": "end endtime end_s end_sec end_seconds stop stop_time offset to t_end t1",
        "transcription": "transcript text words content utterance",
        "speaker_id": "speaker speakerid spk speaker_label",
        "language": "lang language_code",
        "emotion": "how emotion_caption tone delivery",
        "speaking_style": "style",
        "vocal_burst": "burst burst_type vocalization",
        "description": "caption label sound event name",
        "loudness": "volume level",
    }.items()
}
"""The names of each field, its own first."""

SPANS = ("time", "timestamp", "timestamps", "interval", "span", "time_range")
"""Fields that hold both times."""


def strict_event(value: Mapping[str, Json]) -> AudioEvent:
    """The event, as the prompt asks for one. Raises InvalidEvent."""
    type_ = value.get("type")
    if not isinstance(type_, str) or type_ not in EVENT_TYPES:
        raise InvalidEvent("type")
    start, end = (_number(value.get(name)) for name in ("start_time", "end_time"))
    if start is None or end is None or not 0 <= start < end:
        raise InvalidEvent("time")
    texts = {name: value[name] for name in TEXTS if value.get(name) is not None}
    if not all(isinstance(given, str) for given in texts.values()):
        raise InvalidEvent("field")
    return AudioEvent(type_, start, end, **{name: _bounded(given) for name, given in texts.items()})


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


_UNIT = re.compile(r"\s*(?:s|secs?|seconds?)\.?\Z")
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)")
_CLOCK = re.compile(r"(?:(\d{1,2}):)?(\d{1,3}):(\d{1,2}(?:[.,]\d+)?)")
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
class LenientEvents:
    """Makes events of objects, under whatever names their fields go, and counts what it repairs."""

    duration: float
    """The clip's seconds."""
    repairs: Counter[str]

    def event(self, value: Mapping[str, Json]) -> AudioEvent:
        """The event. Raises InvalidEvent."""
        given: dict[str, Json] = {}
        for key, each in value.items():
            given.setdefault(plain_name(key), each)
        name = self._taken(given, "type")
        if not isinstance(name, str) or (type_ := TYPES.get(plain_name(name))) is None:
            raise InvalidEvent("type")
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
            raise InvalidEvent("time")
        self.repairs["time text"] += isinstance(first, str) or isinstance(last, str)
        if start > end:
            start, end = end, start
            self.repairs["swapped"] += 1
        if start >= self.duration or end <= 0:
            raise InvalidEvent("outside")
        if start < 0 or end > self.duration:
            start, end = max(0.0, start), min(end, self.duration)
            self.repairs["clipped"] += 1
        if end <= start:
            raise InvalidEvent("time")
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
