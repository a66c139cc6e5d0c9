"""What the listener hears in a whole scene: the bed, and stretches that stand out, each named or transcribed.

Its thresholds and words were chosen on scenes of bundled pieces, of other seeds than the one that is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.audio.events import AudioEvent, EventType, events_text
from pytest_audiobench.models.bundled.features import RATE_HZ, Array, features
from pytest_audiobench.models.bundled.trained import Trained

_EXCITED = ("excited", "high and lively, fast")
_NEUTRAL = ("calm, neutral", "plain even voice at a moderate pace")
_SUBDUED = ("subdued", "low and soft, slow")
_EXCITED_FROM, _SUBDUED_TO = 6.5, 1.5
"""Of how far the score of excited delivery is above that of calm delivery."""

_SOUNDS = {
    "siren": "a siren wailing",
    "alarm": "an alarm beeping",
    "bell": "a bell ringing",
    "engine": "an engine running",
    "rain": "rain falling",
    "knocking": "knocking on a door",
    "clock": "a clock ticking",
    "bird": "a bird chirping",
    "telephone": "a telephone ringing",
    "thunder": "thunder rumbling",
}
_SPEECH_FROM = 6.0
"""The log-odds of speech: sounds that the head was not trained on are often taken for it."""

_FRAME = RATE_HZ // 50
_BANDS, _TOP = 24, 8
_SILENT_DB = -75.0
_BED_DB = -55.0
_GAP_S, _LEAST_S = 0.3, 0.16
_SAME_GAP_S = 1.5
_NEAR = 0.75


class SceneListener:
    """Lists the events of scenes at 16 kHz."""

    def __init__(self, trained: Trained, transcript: Callable[[Samples], str]) -> None:
        self._trained, self._transcript = trained, transcript

    def answer(self, samples: Samples) -> str:
        """The events as a JSON array; two digits behind the point."""
        return events_text(self.events(samples))

    def events(self, samples: Samples) -> list[AudioEvent]:
        """What is heard, in the order of their beginnings but for the bed, which is first."""
        levels = band_levels(samples)
        if not len(levels):
            return []
        total = 10.0 * np.log10(np.sum(10.0 ** (levels / 10.0), axis=1))
        has_bed = float(np.percentile(total, 20)) > _BED_DB
        events = [_bed(levels[total <= np.percentile(total, 40)], samples)] if has_bed else []
        voices: list[Array] = []
        for start, end in _stretches(levels, has_bed):
            event = self._event(samples[start * _FRAME : end * _FRAME], start / 50, end / 50, voices)
            last = events[-1] if events else None
            if last and _is_same(last, event):
                events[-1] = replace(last, end_time=event.end_time)
            else:
                events.append(event)
        return events

    def _event(self, samples: Samples, start: float, end: float, voices: list[Array]) -> AudioEvent:
        vector = features(samples)
        if self._margin("speech", "yes", "no", vector) < _SPEECH_FROM:
            head = self._trained.head("sounds")
            label = head.labels[self._trained.choose(head, head.labels, vector)]
            return AudioEvent("sound_event", start, end, description=_SOUNDS[label])
        excitement = self._margin("delivery", "excited", "calm", vector)
        how = _EXCITED if excitement > _EXCITED_FROM else _SUBDUED if excitement < _SUBDUED_TO else _NEUTRAL
        speaker = f"speaker_{_number_of_voice(samples, voices) + 1}"
        return AudioEvent("speech", start, end, self._transcript(samples), speaker, "en", *how)

    def _margin(self, name: str, label: str, other: str, vector: Array) -> float:
        head = self._trained.head(name)
        scores = self._trained.scores(head, vector)
        return float(scores[head.labels.index(label)] - scores[head.labels.index(other)])


def band_levels(samples: Samples) -> Array:
    """Levels in dB of full scale, of shape (frames of 20 ms, bands)."""
    count = len(samples) // _FRAME
    frames = samples[: count * _FRAME].astype(np.float64).reshape(count, _FRAME)
    power = np.abs(np.fft.rfft(frames * np.hanning(_FRAME), axis=1)) ** 2 * (4.0 / _FRAME**2)
    edges = np.unique(np.round(np.geomspace(3, _FRAME // 2, _BANDS + 1)).astype(int))
    bands = np.stack([power[:, first:last].sum(axis=1) for first, last in pairwise(edges)], axis=1)
    return np.asarray(10.0 * np.log10(bands + 1e-12))


def _stretches(levels: Array, has_bed: bool) -> list[tuple[int, int]]:
    """First and last frame of each stretch in which some bands stand out of what they are for most of the time."""
    floor = np.maximum(np.percentile(levels, 75 if has_bed else 30, axis=0), _SILENT_DB)
    excess = np.sort(np.clip(levels - floor, 0.0, 40.0), axis=1)[:, -_TOP:].mean(axis=1)
    joined: list[tuple[int, int]] = []
    for frame in np.flatnonzero(excess > (5.0 if has_bed else 3.0)).tolist():
        if joined and frame - joined[-1][1] < _GAP_S * 50:
            joined[-1] = joined[-1][0], frame + 1
        else:
            joined.append((frame, frame + 1))
    return [(start, end) for start, end in joined if end - start >= _LEAST_S * 50]


def _bed(levels: Array, samples: Samples) -> AudioEvent:
    """What sounds all the time, by how much it moves and how tonal it is."""
    steadiness = float(levels.std(axis=0).mean())
    blocks = samples[: len(samples) // 1024 * 1024].reshape(-1, 1024)
    spectrum = np.abs(np.fft.rfft(blocks * np.hanning(1024), axis=1))[:, 3:300] ** 2 + 1e-12
    spectrum = spectrum[spectrum.sum(axis=1) <= np.median(spectrum.sum(axis=1))]
    flatness = float(np.median(np.log(spectrum).mean(axis=1) - np.log(spectrum.mean(axis=1))))
    peak = float(np.sort(levels.mean(axis=0))[-3:].mean() - levels.mean())
    type_: EventType = "sound_event"
    if flatness > -1.5:
        words = "murmur of many voices"
    elif steadiness < 4.2:
        words = "steady electrical hum" if flatness < -8.0 else "quiet hiss of an empty room"
    else:
        type_ = "music"
        words = "a wavering synthesiser chord, calm" if peak > 34.0 else "a plucked arpeggio over a soft bass"
    return AudioEvent(type_, 0.0, round(len(samples) / RATE_HZ, 2), description=words)


def _is_same(event: AudioEvent, later: AudioEvent) -> bool:
    is_near = later.start_time - event.end_time < _SAME_GAP_S
    return event.type == "sound_event" and event.caption == later.caption and is_near and event.start_time > 0.0


def _number_of_voice(samples: Samples, voices: list[Array]) -> int:
    """The voice whose mean spectrum is nearest; another where none is near."""
    levels = band_levels(samples)
    loud = levels[levels.mean(axis=1) >= np.median(levels.mean(axis=1))].mean(axis=0)
    voice = (loud - loud.mean()) / 10.0
    distances = [float(np.sqrt(((voice - other) ** 2).mean())) for other in voices]
    if distances and min(distances) < _NEAR:
        return int(np.argmin(distances))
    voices.append(voice)
    return len(voices) - 1
