"""Other names under which models write the fields and types of events, once :func:`plain_name` has simplified them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_audiobench.audio.events import EventType


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
