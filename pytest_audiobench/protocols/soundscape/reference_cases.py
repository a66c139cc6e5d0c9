"""Reference cases of soundscapes (schema ``soundscape-cases/1``), through the reading, scoring and mixing of runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.audio import scene
from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.datasets.soundscape.plans import draw
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.protocols.soundscape.columns import NO_OTHER, clip_statistics
from pytest_audiobench.protocols.soundscape.matching import Cosine, ordered, speaker_map
from pytest_audiobench.protocols.soundscape.reading import Reading, read_lenient, read_strict

SCHEMA = "soundscape-cases/1"
TOLERANCE = 1e-6
Json: TypeAlias = Any

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


class CaseResult(NamedTuple):
    """What became of a case: where the two differ, in ``detail``."""

    id: str
    kind: str
    agrees: bool
    detail: str


def case_results(path: Path) -> Iterator[CaseResult]:
    """Each case of the file. Raises UsageError for a file without any of this schema, and for an incomplete one."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as reference cases: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path} holds no reference cases of the schema {SCHEMA!r}")
    for case in document.get("cases", ()):
        try:
            run, inputs, expected = _KINDS[case["kind"]], case["input"], case["expected"]
            computed = run(inputs, expected)
        except (KeyError, TypeError) as error:
            raise UsageError(f"{path}: the case {str(case)[:80]} lacks or does not know {error}") from None
        agrees = same(expected, computed, document.get("tolerance", TOLERANCE))
        detail = "" if agrees else f"expected {expected}, computed {computed}"
        yield CaseResult(case["id"], case["kind"], agrees, detail)


def same(expected: Json, computed: Json, tolerance: float) -> bool:
    """Whether both have one shape and its numbers are within the absolute ``tolerance``; NaN is no number, as null."""
    if isinstance(expected, Mapping):
        return (
            isinstance(computed, Mapping)
            and expected.keys() == computed.keys()
            and all(same(value, computed[name], tolerance) for name, value in expected.items())
        )
    if isinstance(expected, list):
        return len(expected) == len(computed) and all(
            same(value, other, tolerance) for value, other in zip(expected, computed, strict=True)
        )
    if isinstance(computed, float) and math.isnan(computed):
        return expected is None
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return isinstance(computed, int | float) and abs(expected - computed) <= tolerance
    return bool(expected == computed)


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


_KINDS: Mapping[str, Callable[[Json, Mapping[str, Json]], Json]] = {
    "parse": _parse,
    "score": _score,
    "table": _table,
    "mix": _mix,
}


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
