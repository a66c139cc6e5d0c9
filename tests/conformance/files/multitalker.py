"""Several talkers: meeteval's numbers. cpWER is our own count, the others are calls on meeteval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_audiobench.metrics.talkers import Segment, TalkerErrors, cp_errors, mimo_errors, orc_errors, segment_errors

from ..table import Json, Scorer


def _shown(found: TalkerErrors) -> dict[str, Json]:
    """The counts as the cases show them; no words in the references is no rate."""
    return {
        "errors": found.errors,
        "length": found.words,
        "insertions": found.insertions,
        "deletions": found.deletions,
        "substitutions": found.substitutions,
        "error_rate": found.errors / found.words if found.words else None,
    }


def _cp(params: Mapping[str, Json], inputs: Json) -> Json:
    references = [text.split() for text in inputs["reference_streams"]]
    found = cp_errors(references, [text.split() for text in inputs["hypothesis_streams"]])
    talkers = {"missed_speaker": found.missed, "falarm_speaker": found.extra, "scored_speaker": len(references)}
    return _shown(found) | talkers


def _orc(params: Mapping[str, Json], inputs: Json) -> Json:
    return _shown(orc_errors(inputs["reference_utterances"], inputs["hypothesis_streams"]))


def _mimo(params: Mapping[str, Json], inputs: Json) -> Json:
    return _shown(mimo_errors(inputs["reference_streams_of_utterances"], inputs["hypothesis_streams"]))


def _segments(params: Mapping[str, Json], inputs: Json) -> Json:
    collar_s = params.get("collar")
    return _shown(segment_errors(_of(inputs["reference"]), _of(inputs["hypothesis"]), collar_s))


def _of(rows: Sequence[Json]) -> list[Segment]:
    return [Segment(*row) for row in rows]


SCORERS: Mapping[str, Scorer] = {
    "cpwer": _cp,
    "orcwer": _orc,
    "mimower": _mimo,
    "tcpwer": _segments,
    "cpwer_seglst": _segments,
}
OUT: Mapping[str, str] = {}
DIFFERS: Mapping[str, str] = dict.fromkeys(
    (f"multitalker/{metric}-006" for metric in ("orcwer", "mimower", "tcpwer", "cpwer_seglst")),
    "meeteval fails where a system said nothing at all; a silent system is scored here, with every word deleted",
)
