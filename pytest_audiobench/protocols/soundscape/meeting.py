"""Who said what, as meetings are scored: errors of talkers' words, and of who speaks when.

They are computed by other packages (extra ``meeting``), and by their own scorer: what is installed moves no
other number.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.errors import install_command
from pytest_audiobench.protocols.spoken_questions.matching import spoken_words

COLLAR_S = 5.0
"""How far apart words may be that are the same, in tcpWER."""

_MOST_TALKERS, _MOST_WORDS = 20, 10_000
_MOST_STEPS = 100_000_000
"""Of aligning utterances with streams, which takes meeteval some 2 s."""

_MISSING = "{}, which computes {}, is not installed: " + install_command("meeting")


def missing_packages() -> str:
    """Which rates are not available on this machine, in a sentence; "" where all are."""
    missing = [_MISSING.format(package, rates) for package, rates, *_ in _PACKAGES if not _is_installed(package)]
    return "; ".join(missing)


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
    """The statistics of the rates. Both lists are in order."""
    statistics: dict[str, float] = {}
    true, said = (_numbered([event for event in events if event.type == "speech"]) for events in (truths, guesses))
    for _, _, names, function in _PACKAGES:
        statistics |= dict(zip(names, function(true, said, duration), strict=True))
    return statistics


def _numbered(events: Sequence[AudioEvent]) -> list[AudioEvent]:
    """The events with speakers in order of their first: packages choose between equals by the labels' own order."""
    labels = list(dict.fromkeys(event.speaker_id for event in events))
    return [replace(event, speaker_id=f"{labels.index(event.speaker_id):04}") for event in events]


def _timed_words(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent], duration: float) -> list[float]:
    true, said = (sum(map(len, talker_words(events))) for events in (truths, guesses))
    # meeteval has no session to score where a side has no words; and aligning 100,000 words takes it seconds.
    if not true or not said or said > _MOST_WORDS:
        return [float(true + said), float(true)]
    (leading_truths, missed), (leading_guesses, inserted) = map(_leading_talkers, (truths, guesses))
    return [float(_timed_errors(leading_truths, leading_guesses) + missed + inserted), float(true)]


def _leading_talkers(events: Sequence[AudioEvent]) -> tuple[list[AudioEvent], int]:
    """What the talkers with the most words say, as many as meeteval takes, and how many words the others say."""
    words: Counter[str] = Counter()
    for event in events:
        words[event.speaker_id] += len(spoken_words(event.transcription))
    leading = {label for label, _ in words.most_common(_MOST_TALKERS)}
    return [event for event in events if event.speaker_id in leading], words.total() - sum(
        words[label] for label in leading
    )


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

    with ExitStack() as levels:
        for name in _LOGGERS:
            levels.enter_context(_only_errors(logging.getLogger(name)))
        (rate,) = tcpwer(segments(truths), segments(guesses), collar=COLLAR_S).values()
    return int(rate.errors)


_LOGGERS = ("preprocess", "error_rate")
"""Where meeteval warns of what answers are free to say: a talker who overlaps himself, words longer than the collar."""


@contextmanager
def _only_errors(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def lacks_meeteval() -> str:
    """Why the rates of streams are not available on this machine, in a sentence; "" where they are."""
    return "" if _is_installed("meeteval") else _MISSING.format("meeteval", "orcwer and mimower")


def stream_statistics(truths: Sequence[AudioEvent], guesses: Sequence[AudioEvent]) -> dict[str, float]:
    """Errors and words with the words of each listed speaker as one stream, independent of the true one.

    Of ORC every utterance, in their order, goes to the stream that has it best; of MIMO the order is kept within each
    true speaker's utterances alone. Both lists are in order.
    """
    talkers: dict[str, list[str]] = {}
    utterances = []
    for event in truths:
        if event.type == "speech":
            utterances.append(" ".join(spoken_words(event.transcription)))
            talkers.setdefault(event.speaker_id, []).append(utterances[-1])
    streams = [" ".join(words) for words in talker_words(guesses)] or [""]
    words, said = (sum(len(text.split()) for text in texts) for texts in (utterances, streams))
    steps = max(words, 1) * len(talkers) * math.prod(len(stream.split()) + 1 for stream in streams)
    if words and said and steps <= _MOST_STEPS:
        from meeteval.wer import mimo_word_error_rate, orc_word_error_rate

        with ExitStack() as levels:
            for name in _LOGGERS:
                levels.enter_context(_only_errors(logging.getLogger(name)))
            rates = orc_word_error_rate(utterances, streams), mimo_word_error_rate(list(talkers.values()), streams)
        orc, mimo = (float(rate.errors) for rate in rates)
    else:
        # meeteval has no session to score where a side has no words.
        orc = mimo = float(words + said)
    return {"orc_errors": orc, "orc_words": float(words), "mimo_errors": mimo, "mimo_words": float(words)}


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
