"""Who said what, as meetings are scored: errors of talkers' words, and of who speaks when.

The rates that other packages compute (extra ``meeting``) are there where those are installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.protocols.spoken_questions.matching import spoken_words

COLLAR_S = 5.0
"""How far apart words may be that are the same, in tcpWER."""

_MISSING = "{} needs {}: pip install 'pytest-audiobench[meeting]'"


@cache
def missing_packages() -> list[str]:
    """What rates cannot be had on this machine, a sentence for each package."""
    return [_MISSING.format(rates, package) for package, rates, *_ in _PACKAGES if not _is_installed(package)]


@cache
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
    """The statistics of the rates; zeros, which make no rate, of those whose package is not installed."""
    statistics: dict[str, float] = {}
    true, said = ([event for event in events if event.type == "speech"] for events in (truths, guesses))
    for package, _, names, function in _PACKAGES:
        values = function(true, said, duration) if _is_installed(package) else [0.0] * len(names)
        statistics |= dict(zip(names, values, strict=True))
    return statistics


def _timed_words(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], duration: float) -> list[float]:
    true, said = (sum(map(len, talker_words(events))) for events in (truths, guesses))
    # meeteval has no session to score where a side has no words.
    errors = _timed_errors(truths, guesses) if true and said else true + said
    return [float(errors), float(true)]


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


def _diarisation(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], duration: float) -> list[float]:
    core: Any = importlib.import_module("pyannote.core")
    rates: Any = importlib.import_module("pyannote.metrics.diarization")

    def annotation(events: Sequence[AudioEvent]) -> Any:
        speakers = core.Annotation()
        for number, event in enumerate(events):
            speakers[core.Segment(event.start_time, event.end_time), number] = event.speaker_id
        return speakers

    sides, uem = (annotation(truths), annotation(guesses)), core.Timeline([core.Segment(0.0, duration)])
    errors = rates.DiarizationErrorRate().compute_components(*sides, uem=uem)
    jaccard = rates.JaccardErrorRate().compute_components(*sides, uem=uem)
    wrong = sum(errors[name] for name in ("false alarm", "missed detection", "confusion"))
    return list(map(float, (wrong, errors["total"], jaccard["speaker error"], jaccard["speaker count"])))


_PACKAGES: tuple[tuple[str, str, tuple[str, ...], Callable[..., list[float]]], ...] = (
    ("meeteval", "tcpwer", ("timed_errors", "timed_words"), _timed_words),
    (
        "pyannote.metrics",
        "der and jer",
        ("diarisation_errors", "spoken_seconds", "jaccard_errors", "jaccard_speakers"),
        _diarisation,
    ),
)
