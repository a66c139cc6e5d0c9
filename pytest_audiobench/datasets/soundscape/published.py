"""Soundscapes on disk: LAION's SoundScape-Bench, and what ``audiobench soundscape make`` writes.

A folder with a document for each clip (``clip_000.json``) next to its audio (``clip_000.mp3``), or a JSONL of documents
each of which has the path of its ``audio``::

    {"clip_id": "clip_000", "duration": 24.6, "num_speakers": 2, "languages": ["en", "zh"], "events": [...]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.events import EVENT_TYPES, LOUDNESS, AudioEvent, events_text
from pytest_audiobench.audio.file_facts import read_facts
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.soundscape.scenes import GROUPS, event_facts
from pytest_audiobench.datasets.table_rows import jsonl_rows
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.io.user_documents import read_document

NOTE = (
    "times of SoundScape-Bench are those of the files that were pasted, not of what sounds in them; some captions of "
    "other languages are not in English; published answers were compared by google/embeddinggemma-300m"
)
AUDIO = (".mp3", ".wav", ".flac", ".ogg")
SHORT = "its audio is shorter than its answer key says"

_SOURCES = ("*.json", "*.jsonl", "*/*.json")
_REQUIRED: Mapping[str, Sequence[str]] = {
    "speech": ("transcription", "speaker_id", "language"),
    "vocal_burst": ("speaker_id", "vocal_burst"),
    "sound_event": ("description",),
    "music": ("description",),
}
_TEXTS = ("transcription", "speaker_id", "language", "emotion", "speaking_style", "vocal_burst", "description", "label")
_AGES = "baby toddler child teenager young_adult_20s adult_30s adult_40s middle_aged_50s senior_60s elderly_70s_plus"
_CLOSED: Mapping[str, Sequence[str]] = {
    "loudness": LOUDNESS,
    "age": _AGES.split(),
    "gender": ("male", "female", "nonbinary", "unclear"),
    "speaking_rate": ("very_slow", "slow", "normal", "fast", "very_fast"),
}
_KEYS = ("start_time", "end_time", "type", *(name for name in _TEXTS if name != "label"), "loudness")
_TOLERANCE_S = 0.1
"""Published times are rounded: an end as far behind the clip's is its end."""


class ClipDocument(NamedTuple):
    """A clip's answer key."""

    clip_id: str
    duration_s: float
    events: tuple[AudioEvent, ...]
    others: tuple[Mapping[str, Any], ...]
    """Of each event what a model is not asked for: its piece's label and provenance, fields that are not known."""
    audio: str
    """Below the folder."""


def soundscape(name: str = "soundscape") -> Dataset:
    """Soundscapes as SoundScape-Bench publishes them (hub: laion/soundscape-bench): ``--ab-data=soundscape=FOLDER``.

    Samples are as those of ``soundscape_scenes``. Where the folder is absent an eval is skipped; a document that is not
    as published is a UsageError, which names the file and the field of all mistakes. A clip whose audio is shorter than
    its answer key says is played and counted.
    """
    return Dataset(name, partial(_samples, name), groups=GROUPS, note=NOTE, is_timed=True)


def _samples(name: str, places: Places) -> Sequence[Sample]:
    root = places.find(name, *_SOURCES)
    mistakes = Mistakes()
    documents = list(clip_documents(root.folder, mistakes))
    mistakes.check("audiobench soundscape look FOLDER names all")
    return [_sample(root, document) for document in documents]


def clip_documents(folder: Path, mistakes: Mistakes) -> Iterator[ClipDocument]:
    """The answer keys in a folder; what is wrong with others is added to ``mistakes``."""
    first: dict[str, str] = {}
    for where, beside, content, audio in _documents(folder, mistakes):
        document = _document(where, content, audio, mistakes)
        if document is not None:
            other = first.setdefault(document.clip_id, where)
            if other != where:
                mistakes.add(f"{where}: its clip_id {document.clip_id[:80]!r} is that of {other}, too; rename one")
            elif not (folder / document.audio).is_file():
                mistakes.add(f"{where} has no audio beside it ({beside}); put it there")
            else:
                yield document


def _documents(folder: Path, mistakes: Mistakes) -> Iterator[tuple[str, str, Any, Any]]:
    """Of each document its place, how its audio may be called, what it holds, and its audio's path."""
    for file in sorted(folder.glob("*.jsonl")):
        for number, row in jsonl_rows(file, mistakes.add):
            yield f"{file}, line {number}", repr(row.get("audio")), row, row.get("audio")
    for file in sorted([*folder.glob("*.json"), *folder.glob("*/*.json")]):
        inner = file.relative_to(folder).with_suffix("")
        audio = next((end for end in AUDIO if (folder / f"{inner}{end}").is_file()), AUDIO[0])
        with mistakes.catching():
            content = read_document(file)
            yield str(file), f"{inner}{{{','.join(AUDIO)}}}", content, f"{inner.as_posix()}{audio}"


def _document(where: str, content: Any, audio: Any, mistakes: Mistakes) -> ClipDocument | None:
    if not isinstance(content, dict):
        mistakes.add(f"{where} is not a JSON object; write one clip's answer key")
        return None
    before = len(mistakes)
    clip_id, written, events = content.get("clip_id"), content.get("duration"), content.get("events")
    duration_s = _seconds(written) or math.inf
    if not isinstance(clip_id, str) or not clip_id or not clip_id.isprintable():
        mistakes.add(f"{where}: clip_id is not text; name the clip")
    if not 0 < duration_s < math.inf:
        mistakes.add(f"{where}: duration is not a number of seconds above 0; write one")
    speakers = content.get("num_speakers", 0)
    if type(speakers) is not int or speakers < 0:
        mistakes.add(f"{where}: num_speakers is not a whole number; count the speakers")
    if not _are_texts(content.get("languages", [])):
        mistakes.add(f"{where}: languages is not a list of texts; list two-letter codes")
    if not isinstance(events, list):
        mistakes.add(f"{where}: events is not a list; list what is heard, [] for nothing")
        events = []
    try:
        audio = relative_path(audio if isinstance(audio, str) else "")
    except ValueError as error:
        mistakes.add(f"{where}: audio cannot be used: {error}")
    pairs = [_event(f"{where}: events[{number}]", event, duration_s, mistakes) for number, event in enumerate(events)]
    pairs.sort(key=lambda pair: pair[0].place)
    if len(mistakes) > before:
        return None
    return ClipDocument(str(clip_id), duration_s, tuple(e for e, _ in pairs), tuple(o for _, o in pairs), audio)


def _event(where: str, written: Any, duration_s: float, mistakes: Mistakes) -> tuple[AudioEvent, Mapping[str, Any]]:
    """An event and all its further fields; any where it is wrong."""
    before = len(mistakes)
    event: Mapping[str, Any] = written if isinstance(written, dict) else {}
    if event is not written:
        mistakes.add(f"{where} is not an object; write what is heard and when")
    kind = event.get("type")
    if kind not in EVENT_TYPES:
        mistakes.add(f"{where}.type is {kind!r:.80}; write one of {', '.join(EVENT_TYPES)}")
    start, end = _seconds(event.get("start_time")), _seconds(event.get("end_time"))
    for name, time_s in (("start_time", start), ("end_time", end)):
        if time_s is None:
            mistakes.add(f"{where}.{name} is not a number of seconds; write one")
    if start is None or end is None:
        start, end = 0.0, 0.0
    elif not 0 <= start < end <= duration_s + _TOLERANCE_S:
        mistakes.add(f"{where}.end_time: {start:g} to {end:g} is no time within the {duration_s:g} s of the clip")
    for name in _REQUIRED.get(str(kind), ()):
        if not isinstance(event.get(name), str):
            mistakes.add(f"{where}.{name} is not there or no text, which every {kind} has; write it")
    for name in _TEXTS:
        if not isinstance(event.get(name) or "", str):
            mistakes.add(f"{where}.{name} is not text; write one")
    for name, allowed in _CLOSED.items():
        if (value := event.get(name)) is not None and value not in allowed:
            mistakes.add(f"{where}.{name} is {value!r:.80}; write one of {', '.join(allowed)}")
    if len(mistakes) > before:
        return AudioEvent("speech", start, end), {}
    names = [name for name in _KEYS[3:] if name != "loudness" or "description" in _REQUIRED[event["type"]]]
    texts = {name: event[name] for name in names if event.get(name)}
    others = {name: value for name, value in event.items() if name not in texts and name not in _KEYS[:3]}
    return AudioEvent(event["type"], start, min(end, duration_s), **texts), others


def _sample(root: DataRoot, document: ClipDocument) -> Sample:
    clip = Clip(FileSource(root, document.audio))
    length_s = read_facts(str(root.folder / document.audio)).facts.duration_s
    is_short = length_s is not None and length_s < document.duration_s - _TOLERANCE_S
    return Sample(
        document.clip_id,
        (clip,),
        "",
        reference=events_text(document.events),
        metadata={
            **event_facts(document.events, document.duration_s),
            "bed": _bed(document),
            "pieces": json.dumps(document.others, ensure_ascii=False),
        },
        doubt=SHORT if is_short else "",
    )


def _bed(document: ClipDocument) -> str:
    """What lies under the clip: what its maker calls a bed, else music that lasts as long as it."""
    for event, other in zip(document.events, document.others, strict=True):
        lasts = event.start_time <= _TOLERANCE_S and event.end_time >= document.duration_s - _TOLERANCE_S
        if other.get("bed") or (event.type == "music" and lasts and "bed" not in other):
            return "music" if event.type == "music" else "ambience"
    return "none"


def _seconds(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and math.isfinite(value) else None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
