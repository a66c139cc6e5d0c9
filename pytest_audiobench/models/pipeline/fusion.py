"""What parts report of a clip, and how one list of events is made of it: by a template, or by a model of texts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, get_args

from pytest_audiobench.audio.events import AudioEvent as Event
from pytest_audiobench.audio.events import EventType, events_text
from pytest_audiobench.models.pipeline.file import PartDeclaration

FUSION = (
    "You cannot hear the clip. Below are reports of programs that did. Combine them into one list of events in the "
    "format described. Keep their times and words. Where two reports describe the same event, write it once. Do not "
    "add anything that no report mentions."
)
_LANGUAGE = "en"
"""Of words whose transcriber says none."""
_TIMES = ("start_time", "end_time")
_TEXTS = ("transcription", "speaker_id", "language", "emotion", "speaking_style", "vocal_burst", "description")


class Window(NamedTuple):
    """A span of the clip that a part is played; ``whole`` is the place that it was cut out of."""

    start: float
    end: float
    whole: tuple[float, float]


class Report(NamedTuple):
    """What a part says of a span of the clip; times in seconds."""

    part: PartDeclaration
    start: float
    end: float
    text: str
    whole: tuple[float, float] | None = None
    """The place of which the span is a window, where it is one."""

    @property
    def line(self) -> str:
        """As a model of texts reads it."""
        said = f"speaker {self.text or 'unknown'}" if self.part.step == "segment" else " ".join(self.text.split())
        return f"[{self.start:.2f}-{self.end:.2f}] {self.part.name}: {said}"

    @property
    def events(self) -> list[Event]:
        """What it describes, at times of the clip: the events that it lists, else one of its part's type."""
        if self.part.task != "events":
            return [_described(self)] if self.text.strip() else []
        return list(_listed(self))


def fusion_prompt(task: str, prompt: str, reports: Sequence[Report]) -> str:
    """The one text that a model of texts is asked; ``task`` describes the format."""
    return "\n\n".join([task, prompt or FUSION, "\n".join(report.line for report in reports)])


def fused_by_template(reports: Sequence[Report]) -> str:
    """Each segment with its words as speech, and all else that was described: nothing is weighed or left out.

    Of several transcripts of a segment the last counts, which is that of the most special part. How it is said is taken
    from the described speech that overlaps it most. Without segments the words of a place are one event.
    """
    described = [event for report in reports if report.part.step == "describe" for event in report.events]
    voices = [event for event in described if event.type == "speech"]
    segments = [report for report in reports if report.part.step == "segment"]
    transcripts = [report for report in reports if report.part.step == "transcribe" and report.text.strip()]
    if not segments:
        wholes = dict.fromkeys(transcript.whole for transcript in transcripts if transcript.whole)
        segments = [Report(transcripts[0].part, start, end, "", (start, end)) for start, end in wholes]
    speech = [_speech(segment, _words(segment, transcripts), voices) for segment in segments]
    others = [event for event in described if event.type != "speech" or not speech]
    return events_text([*speech, *others])


def places(only: str, duration: float, reports: Sequence[Report], window_s: float | None) -> list[Window]:
    """The spans of a clip that a part is asked about, cut into windows of ``window_s``."""
    segments = sorted({(report.start, report.end, report.text) for report in reports if report.part.step == "segment"})
    spans: list[tuple[float, float]]
    if only == "clip":
        spans = [(0.0, duration)]
    elif only == "music":
        events = (event for report in reports if report.part.step == "describe" for event in report.events)
        spans = [(event.start_time, event.end_time) for event in events if _is_music(event)]
    elif only == "gaps":
        spans = list(_gaps(segments, duration))
    else:
        spans = [
            (start, end)
            for start, end, voice in segments
            if only == "speech"
            or any(first < end and last > start and voice != other for first, last, other in segments)
        ]
    return [window for span in sorted(set(spans)) for window in _windows(span, window_s)]


def _gaps(segments: Sequence[tuple[float, float, str]], duration: float) -> Iterator[tuple[float, float]]:
    end = 0.0
    for start, last, _ in (*segments, (duration, duration, "")):
        if start > end:
            yield end, start
        end = max(end, last)


def _windows(span: tuple[float, float], window_s: float | None) -> Iterator[Window]:
    start, end = span
    while window_s is not None and end - start > window_s:
        yield Window(start, start + window_s, span)
        start += window_s
    if end > start:
        yield Window(start, end, span)


def _words(segment: Report, transcripts: Sequence[Report]) -> str:
    """Those of the last part that was asked about it, in as many windows as it was cut into."""
    about = [transcript for transcript in transcripts if transcript.whole == (segment.start, segment.end)]
    return " ".join(transcript.text.strip() for transcript in about if transcript.part == about[-1].part)


def _speech(segment: Report, words: str, voices: Sequence[Event]) -> Event:
    def shared_s(event: Event) -> float:
        return min(event.end_time, segment.end) - max(event.start_time, segment.start)

    nearest = max(voices, key=shared_s, default=None)
    like = nearest if nearest is not None and shared_s(nearest) > 0 else None
    how = (like.emotion, like.speaking_style) if like else ("", "")
    language = (like.language if like else "") or _LANGUAGE
    return Event("speech", segment.start, segment.end, words.strip(), segment.text, language, *how)


def _described(report: Report) -> Event:
    words = " ".join(report.text.split())
    if report.part.type == "vocal_burst":
        return Event("vocal_burst", report.start, report.end, vocal_burst=words)
    return Event("music" if report.part.type == "music" else "sound_event", report.start, report.end, description=words)


def _is_music(event: Event) -> bool:
    return event.type == "music" or "music" in event.description.lower()


def _listed(report: Report) -> Iterator[Event]:
    values: Any = []
    with suppress(ValueError, RecursionError):
        values = json.loads(report.text[report.text.find("[") : report.text.rfind("]") + 1])
    for value in values if isinstance(values, list) else []:
        if not isinstance(value, dict) or value.get("type") not in get_args(EventType):
            continue
        first, last = (_time(value.get(key), report) for key in _TIMES)
        texts = {key: text for key in _TEXTS if isinstance(text := value.get(key), str)}
        if first < last:
            yield Event(value["type"], round(first, 3), round(last, 3), **texts)


def _time(value: object, report: Report) -> float:
    """Of the clip, within the report's span; not a number where ``value`` is none."""
    with suppress(TypeError, ValueError, OverflowError):
        seconds = float(value) if isinstance(value, int | float) else math.nan
        return min(max(report.start + seconds, report.start), report.end) if math.isfinite(seconds) else math.nan
    return math.nan
