"""What is heard in a clip, and when: a list of events, as an answer key has it and as a model writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

EventType: TypeAlias = Literal["speech", "vocal_burst", "sound_event", "music"]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
LOUDNESS = ("very_quiet", "quiet", "moderate", "loud", "very_loud")


@dataclass(frozen=True, slots=True)
class AudioEvent:
    """One thing that is heard, from ``start_time`` to ``end_time``, in seconds from the beginning of the clip.

    The names are those of SoundScape-Bench's documents; a text is "" where it is not given or does not apply.
    """

    type: EventType
    start_time: float
    end_time: float
    transcription: str = ""
    """The words of speech, in the language spoken."""
    speaker_id: str = ""
    """Of speech and vocal bursts: the same label for the same person within a clip."""
    language: str = ""
    """Of speech, by ISO 639-1."""
    emotion: str = ""
    speaking_style: str = ""
    vocal_burst: str = ""
    """What a vocal burst is: a laugh, a sigh."""
    description: str = ""
    """Of sounds and music."""
    loudness: str = ""

    @property
    def caption(self) -> str:
        """What is compared by meaning: how speech is said, what a burst, a sound or music is."""
        parts: tuple[str, ...]
        if self.type == "speech":
            parts = (self.emotion, self.speaking_style)
        elif self.type == "vocal_burst":
            parts = (self.vocal_burst or self.description, self.emotion)
        else:
            parts = (self.description,)
        return ". ".join(part.strip() for part in parts if part.strip())

    @property
    def place(self) -> tuple[float | str, ...]:
        """By which events are put in order: all that is said of one but its speaker's label, which is arbitrary."""
        words = (self.transcription, self.language, self.emotion, self.speaking_style, self.vocal_burst)
        return (self.start_time, self.end_time, self.type, *words, self.description)

    def document(self) -> dict[str, float | str]:
        """The event as a JSON object, without its empty texts."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != ""}


def in_order(events: Iterable[AudioEvent]) -> list[AudioEvent]:
    """The events in the one order that does not depend on how they were listed."""
    return sorted(events, key=lambda event: event.place)


def events_text(events: Sequence[AudioEvent]) -> str:
    """The events as a JSON array, in order."""
    return json.dumps([event.document() for event in in_order(events)], ensure_ascii=False)
