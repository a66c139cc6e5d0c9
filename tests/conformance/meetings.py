"""The word errors of whole meetings by meeteval, called so that a silent system is scored and nothing is logged.

ORC-WER and MIMO-WER: Sklyar et al. 2021 and von Neumann et al. 2023; tcpWER: von Neumann et al. 2023, "MeetEval".
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pytest_audiobench.metrics.multi_talker_errors import TalkerErrors

LACKING = (
    ""
    if importlib.util.find_spec("meeteval")
    else "the word errors of meetings need meeteval (and a compiler): pip install 'pytest-audiobench[meeting]'"
)
"""What must be installed, in a sentence; nothing where it is there."""


class Segment(NamedTuple):
    """What one talker said between two times."""

    talker: str
    words: str
    start_s: float
    end_s: float


def orc_errors(references: Sequence[str], streams: Sequence[str]) -> TalkerErrors:
    """Optimal reference combination: every reference utterance goes to the stream that has it best, in their order.

    No stream at all is one without words: everything is deleted.
    """
    with _meeteval() as wer:
        return _counts(wer.orc_word_error_rate(list(references), list(streams) or [""]))


def mimo_errors(references: Sequence[Sequence[str]], streams: Sequence[str]) -> TalkerErrors:
    """Several references, several streams: like ORC, where the order is kept only within each talker's utterances.

    No stream at all is one without words.
    """
    with _meeteval() as wer:
        talkers = [list(utterances) for utterances in references]
        return _counts(wer.mimo_word_error_rate(talkers, list(streams) or [""]))


def segment_errors(
    reference: Sequence[Segment], heard: Sequence[Segment], collar_s: float | None = None
) -> TalkerErrors:
    """Over segments: cpWER, each talker's joined in the order of their starts; with ``collar_s`` tcpWER.

    Then words match only where their times come within ``collar_s`` seconds of each other. Nothing heard is one
    segment without words: everything is deleted.
    """
    silence = [Segment("nobody", "", 0.0, 0.0)]
    with _meeteval() as wer:
        sides = _rows(reference), _rows(heard or silence)
        rates = wer.cpwer(*sides) if collar_s is None else wer.tcpwer(*sides, collar=collar_s)
    (rate,) = rates.values()
    return _counts(rate)


def _rows(segments: Sequence[Segment]) -> Any:
    from meeteval.io import SegLST

    return SegLST(
        [
            {
                "session_id": "one",
                "speaker": segment.talker,
                "words": segment.words,
                "start_time": segment.start_s,
                "end_time": segment.end_s,
            }
            for segment in segments
        ]
    )


def _counts(rate: Any) -> TalkerErrors:
    return TalkerErrors(
        rate.substitutions,
        rate.deletions,
        rate.insertions,
        rate.length,
        missed=getattr(rate, "missed_speaker", 0),
        extra=getattr(rate, "falarm_speaker", 0),
    )


@contextmanager
def _meeteval() -> Iterator[Any]:
    """meeteval.wer, without the line on missing time stamps that it logs at every call."""
    import meeteval.wer

    logger = logging.getLogger("preprocess")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield meeteval.wer
    finally:
        logger.setLevel(level)
