"""Cases of the schema ``soundscape-cases/1``: answers read, clips scored, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.soundscape.columns import NO_OTHER, clip_statistics
from pytest_audiobench.protocols.soundscape.matching import Cosine, ordered, speaker_map
from pytest_audiobench.protocols.soundscape.reading import Reading, read_lenient, read_strict

from ..table import Case, Json, same

OUT = {"mix": "scenes are mixed by their data set, whose tests have these cases"}

_STATISTICS = {
    "n_true": ("truths",),
    "n_pred": ("guesses",),
    "speech_matched": ("matched_speech",),
    "err_all": ("word_errors", "character_errors"),
    "units_all": ("words", "characters"),
}
_METRICS = {
    "f1": "scene_f1",
    "precision": "scene_precision",
    "recall": "scene_recall",
    "pred": "events_guessed",
    "true": "events_true",
}
_LONG = 10_000.0


def cases_of(document: Mapping[str, Json]) -> Iterator[Case]:
    for case in document["cases"]:
        kind, expected = case["kind"], case["expected"]
        if kind in OUT:
            yield Case(case["id"], kind, "out", OUT[kind])
            continue
        got = _KINDS[kind](case["input"], expected)
        agrees = same(expected, got, document["tolerance"])
        yield Case(case["id"], kind, "agrees" if agrees else "differs", f"expected {expected}, got {got}")


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
    truths, guesses = _events(inputs["truth"]), _events(inputs["guesses"])
    statistics = _statistics(inputs, inputs["similarity"])
    numbers: dict[str, Json] = {
        name: sum(statistics[statistic] for statistic in _STATISTICS.get(name, (name,)))
        for name in expected
        if name != "speaker_map"
    }
    if not statistics["guesses"]:
        numbers["halluc"] = None
    return {**numbers, "speaker_map": speaker_map(ordered(truths), ordered(guesses))}


def _table(inputs: Json, expected: Mapping[str, Json]) -> Json:
    clips = [{**_statistics(clip, inputs["similarity"]), **NO_OTHER} for clip in inputs["clips"]]
    return {name: value_of(metric_kind(_METRICS.get(name, name)), clips) for name in expected}


_KINDS: Mapping[str, Callable[[Json, Mapping[str, Json]], Json]] = {"parse": _parse, "score": _score, "table": _table}


def _statistics(clip: Json, similarity: Mapping[str, float]) -> dict[str, float]:
    truths, guesses = _events(clip["truth"]), _events(clip["guesses"])
    ends = [event.end_time for event in (*truths, *guesses)]
    invalid = clip.get("invalid_guesses", 0)
    return clip_statistics(truths, guesses, invalid, max(ends, default=_LONG), _cosine(similarity))


def _events(documents: Sequence[Json]) -> list[AudioEvent]:
    return [AudioEvent(**document) for document in documents]


def _cosine(similarity: Mapping[str, float]) -> Cosine:
    values = {frozenset(pair.split(" | ")): value for pair, value in similarity.items()}
    return lambda first, second: values.get(frozenset((first, second)), 0.0)
