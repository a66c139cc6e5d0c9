"""Who said what, as meetings are scored: errors of talkers' words, and of who speaks when.

The rates that other packages compute (extra ``meeting``) are there where those are installed.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.protocols.spoken_questions.matching import spoken_words

COLLAR_S = 5.0
"""How far apart words may be that are the same, in tcpWER."""

_PACKAGES = {"tcpwer": "meeteval", "der": "pyannote.metrics", "jer": "pyannote.metrics"}


@cache
def lacking_parts() -> dict[str, str]:
    """The metrics that cannot be had on this machine, with the reason in a sentence."""
    return {
        metric: f"{metric} needs {package}: pip install 'pytest-audiobench[meeting]'"
        for metric, package in _PACKAGES.items()
        if not _is_installed(package)
    }


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def talker_words(events: Sequence[AudioEvent]) -> list[list[str]]:
    """The words of each talker, in the order in which they begin to say them; events in order."""
    talkers: dict[str, list[str]] = {}
    for event in events:
        if event.type == "speech":
            talkers.setdefault(event.speaker_id, []).extend(spoken_words(event.transcription))
    return list(talkers.values())


def meeting_statistics(
    truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], duration: float
) -> dict[str, float]:
    """The statistics of those of the rates that this machine has the packages for."""
    lacking, statistics = lacking_parts(), dict[str, float]()
    true, said = ([event for event in events if event.type == "speech"] for events in (truths, guesses))
    for metrics, function in _FUNCTIONS:
        if not lacking.keys() & metrics:
            statistics |= function(true, said, duration)
    return statistics


def _timed_words(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], duration: float) -> dict[str, float]:
    true, said = (sum(map(len, talker_words(events))) for events in (truths, guesses))
    # meeteval has no session to score where a side has no words.
    errors = _timed_errors(truths, guesses) if true and said else true + said
    return {"timed_errors": float(errors), "timed_words": float(true)}


def _timed_errors(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent]) -> int:
    from meeteval.io import SegLST
    from meeteval.wer import tcpwer

    def segments(events: Sequence[AudioEvent]) -> Any:
        return SegLST(
            [
                {
                    "session_id": "clip",
                    "speaker": event.speaker_id,
                    "words": " ".join(spoken_words(event.transcription)),
                    "start_time": event.start_time,
                    "end_time": event.end_time,
                }
                for event in events
            ]
        )

    # It warns of words that are longer than the collar.
    logger = logging.getLogger("preprocess")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        (rate,) = tcpwer(segments(truths), segments(guesses), collar=COLLAR_S).values()
    finally:
        logger.setLevel(level)
    return int(rate.errors)


def _diarisation(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], duration: float) -> dict[str, float]:
    from pyannote.core import Annotation, Segment, Timeline
    from pyannote.metrics.diarization import DiarizationErrorRate, JaccardErrorRate

    def annotation(events: Sequence[AudioEvent]) -> Any:
        speakers = Annotation()
        for number, event in enumerate(events):
            speakers[Segment(event.start_time, event.end_time), number] = event.speaker_id
        return speakers

    sides, uem = (annotation(truths), annotation(guesses)), Timeline([Segment(0.0, duration)])
    errors = DiarizationErrorRate().compute_components(*sides, uem=uem)
    jaccard = JaccardErrorRate().compute_components(*sides, uem=uem)
    wrong = ("false alarm", "missed detection", "confusion")
    return {
        "diarisation_errors": float(sum(errors[name] for name in wrong)),
        "spoken_seconds": float(errors["total"]),
        "jaccard_errors": float(jaccard["speaker error"]),
        "jaccard_speakers": float(jaccard["speaker count"]),
    }


_FUNCTIONS: tuple[tuple[set[str], Callable[..., dict[str, float]]], ...] = (
    ({"tcpwer"}, _timed_words),
    ({"der", "jer"}, _diarisation),
)
