"""Scenes as files: audio and answer keys in the layout of SoundScape-Bench, and what is in a folder of them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import soundfile

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.scene import RATE_HZ, Pcm16, gain, pcm16
from pytest_audiobench.datasets.soundscape.plans import Item, Plan, Planner
from pytest_audiobench.datasets.soundscape.published import ClipDocument
from pytest_audiobench.datasets.soundscape.scenes import clip_of, event_facts, events_of, piece_document

_FORMATS = {"flac": ("FLAC", "PCM_16"), "mp3": ("MP3", "MPEG_LAYER_III")}


def write_scenes(planner: Planner, scenes: int, folder: Path, ending: Literal["flac", "mp3"]) -> None:
    """Writes ``clip_000.flac`` and ``clip_000.json`` and so on. Raises OSError where the folder cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    kind, subtype = _FORMATS[ending]
    for _ in range(scenes):
        plan = planner.plan()
        pcm = pcm16(decode(clip_of(plan), RATE_HZ, None).samples)
        stem = folder / f"clip_{plan.number:03d}"
        soundfile.write(stem.with_suffix(f".{ending}"), pcm, RATE_HZ, format=kind, subtype=subtype)
        text = json.dumps(document_of(plan, pcm), ensure_ascii=False, indent=1)
        stem.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def document_of(plan: Plan, pcm: Pcm16) -> dict[str, Any]:
    """The answer key of the scene that sounds as ``pcm``."""
    pairs = events_of(plan)
    facts = event_facts([event for event, _ in pairs], plan.frames / RATE_HZ)
    return {
        "clip_id": f"clip_{plan.number:03d}",
        "duration": plan.frames / RATE_HZ,
        "num_speakers": facts["speakers"],
        "languages": sorted({event.language for event, _ in pairs} - {""}),
        "events": [{**event.document(), **_provenance(item)} for event, item in pairs],
        "recipe": plan.document(),
        "audio_sha256": hashlib.sha256(pcm.astype("<i2").tobytes()).hexdigest(),
    }


def _provenance(item: Item) -> dict[str, Any]:
    known: dict[str, Any] = {**piece_document(item)}
    top: dict[str, Any] = {name: known.pop(name) for name in ("label", "bed") if name in known}
    place = item.place
    sound = pcm16(decode(item.piece.clip, RATE_HZ, None).samples)[place.offset : place.offset + place.extent]
    known["source_sha256"] = hashlib.sha256(sound.astype("<i2").tobytes()).hexdigest()
    known["gain"] = round(gain(sound, float(place.level)), 9)
    return {**top, "provenance": known}


def counts_of(documents: Sequence[ClipDocument]) -> Mapping[str, Counter[str]]:
    """How many clips and events are of which kind."""
    events = [event for document in documents for event in document.events]
    facts = [event_facts(document.events, document.duration_s) for document in documents]
    return {
        "clips": Counter(str(fact["length"]) for fact in facts),
        "events": Counter(event.type for event in events),
        "languages": Counter(event.language for event in events if event.type == "speech"),
        "overlap": Counter(str(fact["overlap"]) for fact in facts),
        "loudness": Counter(event.loudness for event in events if event.loudness),
        "speakers": Counter(str(fact["speakers"]) for fact in facts),
    }
