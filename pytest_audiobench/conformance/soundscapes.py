"""Reference cases of soundscapes (schema ``soundscape-cases/1``): how runs read, score, tabulate and mix them.

The cosines of captions are a case's own, where the scorers' come of an encoder; so it is their parts that answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pytest_audiobench.audio import scene
from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.conformance.cases import Json, ReferenceCase
from pytest_audiobench.datasets.soundscape.plans import draw
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.protocols.soundscape.columns import NO_OTHER, clip_statistics
from pytest_audiobench.protocols.soundscape.matching import Cosine, ordered, speaker_map
from pytest_audiobench.protocols.soundscape.reading import Reading, read_lenient, read_strict

_STATISTICS = {
    "n_true": ("truths",),
    "n_pred": ("guesses",),
    "burst_matched": ("matched_vocal_burst",),
    "err_all": ("word_errors", "character_errors"),
    "snd_true": ("truths_sound_event", "truths_music"),
    "speech_matched": ("matched_speech",),
    "speech_true": ("truths_speech",),
    "units_all": ("words", "characters"),
}
_METRICS = {
    "f1": "scene_f1",
    "lang": "language_right",
    "precision": "scene_precision",
    "pred": "events_guessed",
    "recall": "scene_recall",
    "speech_found": "found_speech",
    "true": "events_true",
    "wer": "matched_wer",
}
_LONG_S = 10_000.0


def _parse(inputs: Json, expected: Mapping[str, Json]) -> Json:
    readings = {"strict": read_strict(inputs["text"]), "lenient": read_lenient(inputs["text"], inputs["duration"])}
    return {name: _document(readings[name]) for name in expected}


def _document(reading: Reading) -> Json:
    return {
        "status": reading.status,
        "events": [event.document() for event in reading.events],
        "invalid": reading.invalid,
        "repairs": reading.repairs,
        "n_guesses": reading.guesses,
    }


def _score(inputs: Json, expected: Mapping[str, Json]) -> Json:
    statistics = _statistics(inputs, inputs.get("similarity", {}))
    numbers: dict[str, Json] = {
        name: sum(statistics[statistic] for statistic in _STATISTICS.get(name, (name,)))
        for name in expected
        if name != "speaker_map"
    }
    if not statistics["guesses"]:
        numbers["halluc"] = None
    if "speaker_map" in expected:
        truths, guesses = _events(inputs["truth"]), _events(inputs["guesses"])
        numbers["speaker_map"] = speaker_map(ordered(truths), ordered(guesses))
    return {name: numbers[name] for name in expected}


def _table(inputs: Json, expected: Mapping[str, Json]) -> Json:
    clips = [{**_statistics(clip, inputs.get("similarity", {})), **NO_OTHER} for clip in inputs["clips"]]
    names = {name: _METRICS.get(name, name) for name in expected}
    return {name: value_of(metric_kind(metric), clips) for name, metric in names.items() if is_known(metric)}


def _mix(inputs: Json, expected: Mapping[str, Json]) -> Json:
    if "pcm16" in inputs:
        return {"gain": scene.gain(np.array(inputs["pcm16"], dtype=np.int16), inputs["target_rms"])}
    if "spans" in inputs:
        spans = [(first, last) for first, last in inputs["spans"]]
        return {"envelope": scene.envelope(inputs["frames"], spans, inputs["floor"], inputs["fade_frames"]).tolist()}
    return {"draw": draw(*inputs["identity"])}


def _of_kind(run: Callable[[Json, Mapping[str, Json]], Json]) -> Callable[[ReferenceCase], Json]:
    return lambda case: run(case.inputs, case.expected)


KINDS: Mapping[str, Callable[[ReferenceCase], Json]] = {
    f"soundscape {kind}": _of_kind(run)
    for kind, run in {"parse": _parse, "score": _score, "table": _table, "mix": _mix}.items()
}
"""By the metric under which cases of a kind are read."""


def _statistics(clip: Json, similarity: Mapping[str, float]) -> dict[str, float]:
    truths, guesses = _events(clip["truth"]), _events(clip["guesses"])
    ends = [event.end_time for event in (*truths, *guesses)]
    invalid = clip.get("invalid_guesses", 0)
    return clip_statistics(truths, guesses, invalid, max(ends, default=_LONG_S), _cosine(similarity))


def _events(documents: Sequence[Mapping[str, Json]]) -> list[AudioEvent]:
    return [AudioEvent(**document) for document in documents]


def _cosine(similarity: Mapping[str, float]) -> Cosine:
    values = {frozenset(pair.split(" | ")): value for pair, value in similarity.items()}
    return lambda first, second: values.get(frozenset((first, second)), 0.0)
