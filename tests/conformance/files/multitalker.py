"""Several talkers: meeteval's numbers. cpWER is our own count, the others are calls on meeteval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_audiobench.metrics.multi_talker_errors import TalkerErrors, cp_errors

from ..meetings import Segment, mimo_errors, orc_errors, segment_errors
from ..table import Json, Scorer


def _counts(errors: TalkerErrors) -> dict[str, Json]:
    """The counts as the cases show them; no words in the references is no rate."""
    return {
        "errors": errors.errors,
        "length": errors.words,
        "insertions": errors.insertions,
        "deletions": errors.deletions,
        "substitutions": errors.substitutions,
        "error_rate": errors.errors / errors.words if errors.words else None,
    }


def _cp(params: Mapping[str, Json], inputs: Json) -> Json:
    references = [text.split() for text in inputs["reference_streams"]]
    errors = cp_errors(references, [text.split() for text in inputs["hypothesis_streams"]])
    talkers = {"missed_speaker": errors.missed, "falarm_speaker": errors.extra, "scored_speaker": len(references)}
    return _counts(errors) | talkers


def _orc(params: Mapping[str, Json], inputs: Json) -> Json:
    return _counts(orc_errors(inputs["reference_utterances"], inputs["hypothesis_streams"]))


def _mimo(params: Mapping[str, Json], inputs: Json) -> Json:
    return _counts(mimo_errors(inputs["reference_streams_of_utterances"], inputs["hypothesis_streams"]))


def _segments(params: Mapping[str, Json], inputs: Json) -> Json:
    collar_s = params.get("collar")
    return _counts(segment_errors(_of(inputs["reference"]), _of(inputs["hypothesis"]), collar_s))


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
