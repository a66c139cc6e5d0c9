"""Scenes on the page, as a browser shows them: timeline, pairs, orders and tables of events. Needs Chromium."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import soundfile
from msgspec.structs import replace

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.protocols.soundscape.columns import clip_statistics, other_statistics
from pytest_audiobench.protocols.soundscape.task import soundscape
from pytest_audiobench.records.lines import AudioRow, ExcerptRow, PredictionRow, ProcessedRow, ScoredRow
from pytest_audiobench.records.run import ItemRecord

from .conftest import Made

SECONDS = 24.0
TRUTHS: list[dict[str, Any]] = [
    {"type": "music", "start_time": 0.0, "end_time": 24.0, "description": "slow waltz on an accordion, wistful"},
    {
        "type": "speech",
        "start_time": 0.9,
        "end_time": 5.6,
        "transcription": "Anyone can pull a muscle because of overuse, muscle fatigue, or through a fall.",
        "speaker_id": "speaker_1",
        "language": "en",
        "emotion": "matter-of-fact",
        "speaking_style": "even, clear",
    },
    {
        "type": "speech",
        "start_time": 4.1,
        "end_time": 9.1,
        "transcription": "因为我礼拜天的时候已经去看过了。",
        "speaker_id": "speaker_2",
        "language": "zh",
        "emotion": "content",
    },
    {"type": "vocal_burst", "start_time": 9.2, "end_time": 9.9, "speaker_id": "speaker_1", "vocal_burst": "a sigh"},
    {
        "type": "sound_event",
        "start_time": 9.8,
        "end_time": 18.8,
        "description": "a cat meows",
        "loudness": "moderate",
    },
]
GUESSES: list[dict[str, Any]] = [
    {"type": "music", "start_time": 0.0, "end_time": 20.0, "description": "accordion", "loudness": "quiet"},
    {
        "type": "speech",
        "start_time": 1.2,
        "end_time": 7.1,
        "transcription": "Anyone can pull a mussel because of muscle fatigue",
        "speaker_id": "A",
        "language": "en",
        "emotion": "slightly annoyed",
    },
    {
        "type": "speech",
        "start_time": 7.1,
        "end_time": 9.8,
        "transcription": "我禮拜天的时候去看过了",
        "speaker_id": "A",
        "language": "zh",
        "emotion": "surprised",
    },
    {"type": "sound_event", "start_time": 8.7, "end_time": 9.8, "description": "a high electronic tone"},
    {"type": "sound_event", "start_time": 10.0, "end_time": 18.0, "description": "meowing", "loudness": "loud"},
    {"type": "sound_event", "start_time": 10.5, "end_time": 12.0, "description": "a door slams"},
]


def pair(truth: int, guess: int, score: float, accuracy: float | None = None, right: bool | None = None) -> Any:
    return {
        "truth": truth,
        "guess": guess,
        "iou": 0.8,
        "accuracy": accuracy,
        "cosine": 0.6,
        "speaker_right": right,
        "score": score,
    }


PAIRS = [pair(0, 0, 0.5), pair(1, 1, 0.31, 0.64, True), pair(2, 2, 0.0, 0.5, False), pair(4, 4, 0.72)]


def details(truths: Any = TRUTHS, guesses: Any = GUESSES, pairs: Any = PAIRS, **changes: Any) -> str:
    counts = {"invalid": {"time": 1}, "repairs": {"prose": 1, "key": 2}}
    scene = {"duration": SECONDS, "truths": truths, "guesses": guesses, "pairs": pairs, **counts, **changes}
    return json.dumps(scene)


_EVENTS = [[AudioEvent(**event) for event in events] for events in (TRUTHS, GUESSES)]
STATISTICS = {
    **clip_statistics(*_EVENTS, 1, SECONDS, lambda first, second: 0.5)[1],
    **other_statistics(*_EVENTS, SECONDS, lambda first, second: 0.1),
}
METRICS = soundscape().scorers[0].metrics


@dataclass
class MadeScenes(Made):
    """An item whose scorers tell ``details`` of its samples; the statistics are those of ``rewards``."""

    details: Sequence[str | None] = ()
    rewards: Sequence[float] = ()

    def _processed(self) -> Iterator[ProcessedRow]:
        for row, own in zip(super()._processed(), self.details, strict=True):
            yield replace(row, details=own, value='{"events": []}')

    def _scored(self) -> Iterator[ScoredRow]:
        for row, scores in zip(super()._scored(), self._statistics(), strict=True):
            yield replace(row, scores=scores)

    def _statistics(self) -> list[dict[str, float]]:
        return [{**STATISTICS, "reward": 5.0 * reward} for reward in self.rewards or [0.4] * len(self.details)]

    @property
    def record(self) -> ItemRecord:
        metrics = [self._metric(name, "letters", self._statistics()) for name in METRICS]
        known = [metric if math.isfinite(metric.value) else replace(metric, value=None) for metric in metrics]
        return replace(super().record, metrics=known)


def scenes(*own: str | None, **changes: Any) -> MadeScenes:
    def amend(number: int, row: PredictionRow) -> PredictionRow:
        clip = AudioRow(f"scene {number}", "0" * 64, SECONDS, 0.0)
        bed = ("music", "none")[number % 2]
        return replace(row, question="", choices=[], reference=json.dumps(TRUTHS), metadata={"bed": bed}, audio=[clip])

    answers = [(f"Sure! {json.dumps(GUESSES)}", "parsed", False)] * len(own)
    return MadeScenes(0, "scenes", answers, suite="soundscape", details=own, amend=amend, **changes)


def sound(item: MadeScenes, number: int = 0) -> ExcerptRow:
    file = io.BytesIO()
    tone = 0.1 * np.sin(np.arange(int(SECONDS * 16_000)) / 16_000 * 2 * np.pi * 220)
    soundfile.write(file, tone, 16_000, format="MP3", subtype="MPEG_LAYER_III")
    mp3 = base64.b64encode(file.getvalue()).decode()
    return ExcerptRow(
        eval=item.eval,
        model=item.model,
        sample_id=f"s{number:05d}",
        clip=0,
        version="",
        rank=2,
        seconds=SECONDS,
        whole_s=SECONDS,
        mp3=mp3,
    )
