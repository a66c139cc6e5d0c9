"""Pieces of sound with what is known of each, in pools by the layer of a scene that they are drawn for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent, EventType
from pytest_audiobench.audio.scene import RATE_HZ, active, pcm16

TYPES: Mapping[str, EventType] = {
    "speech": "speech",
    "burst": "vocal_burst",
    "sfx": "sound_event",
    "music": "music",
    "ambience": "sound_event",
}
"""What a piece of each layer is heard as."""

LAYERS = tuple(TYPES)


@dataclass(frozen=True, slots=True)
class Piece:
    """A sound, and what is known of it; a text is "" where nothing is."""

    source: str
    """Its name, which no other piece of its layer has."""
    clip: Clip
    text: str = ""
    """The words of speech."""
    speaker: str = ""
    """The same for the same voice, of speech and bursts."""
    gender: str = ""
    language: str = ""
    how: str = ""
    """How speech or a burst is felt."""
    style: str = ""
    caption: str = ""
    label: str = ""
    also: tuple[str, ...] = ()
    """Types of events that are heard in it in addition to its own: a song with words."""
    licence: str = ""
    attribution: str = ""
    raw_caption: str = ""
    """What its publisher wrote, where ``caption`` is of our making."""

    def event(self, layer: str, start: int, end: int, speaker: str, loudness: str) -> AudioEvent:
        """What is true of it where it sounds from frame ``start`` to ``end``."""
        kind, times = TYPES[layer], (round(start / RATE_HZ, 3), round(end / RATE_HZ, 3))
        if kind == "speech":
            return AudioEvent(kind, *times, self.text, speaker, self.language, self.how, self.style)
        if kind == "vocal_burst":
            return AudioEvent(kind, *times, speaker_id=speaker, vocal_burst=self.caption, emotion=self.how)
        return AudioEvent(kind, *times, description=self.caption, loudness=loudness)

    def mixes_types(self, layer: str) -> bool:
        """Whether something of another type is heard in it, which a scene's reference would lack."""
        return any(kind in EVENT_TYPES and kind != TYPES[layer] for kind in self.also)


@dataclass(frozen=True)
class Pools:
    """Pieces by layer. ``name`` is in the names of data sets."""

    name: str
    layers: Mapping[str, tuple[Piece, ...]]
    note: str = ""
    needs_caption: Mapping[str, int] = field(default_factory=dict)
    """How many pieces of a layer have no caption but "the sound of" their label."""
    refused: tuple[str, ...] = ()
    """What was left out, and why."""


@lru_cache(maxsize=100_000)
def extent_of(clip: Clip, is_whole: bool = False) -> tuple[int, int] | None:
    """Where the clip sounds, in frames at 16 kHz: the first, and the one behind the last; None for silence.

    ``is_whole``: from its beginning to its end, as the published scenes take it. Raises AudioError.
    """
    samples = decode(clip, RATE_HZ, None).samples
    span = active(pcm16(samples))
    return span and ((0, len(samples)) if is_whole else span)
