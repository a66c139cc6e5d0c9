"""Word errors where several talk: who said what is not asked, only what was said.

Errors of whole meetings are meeteval's. ORC-WER and MIMO-WER: Sklyar et al. 2021 and von Neumann et al. 2023;
tcpWER: von Neumann et al. 2023, "MeetEval". Their cost grows with a power of the number of hypothesis streams, so they
are for systems with a few, not for an answer that may hold any number of lines. Texts are taken as they are: normalise
them before.
"""

from __future__ import annotations

import heapq
import importlib.util
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.tokens import token_errors

Words: TypeAlias = Sequence[str]

MOST_TALKERS = 12
"""True talkers of one sample that an assignment is sought for; its cost doubles with each."""


class TalkerErrors(NamedTuple):
    """Counts over the best assignment of heard talkers to true ones.

    ``missed`` true talkers have no heard one (their words are deletions), ``extra`` heard ones no true one (their
    words are insertions). ``words`` is the number of words in the references.
    """

    substitutions: int
    deletions: int
    insertions: int
    words: int
    missed: int
    extra: int

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def statistics(self) -> dict[str, float]:
        """S, D, I and N, which a pooled rate is made of."""
        return {"S": self.substitutions, "D": self.deletions, "I": self.insertions, "N": self.words}


def cp_errors(references: Sequence[Words], heard: Sequence[Words]) -> TalkerErrors:
    """The fewest word errors over all assignments of ``heard`` talkers to ``references``, one to one.

    This is the concatenated minimum-permutation WER's count (cpWER; Watanabe et al. 2020, "CHiME-6 Challenge"), where
    the numbers of talkers may differ: who is left over on either side is deleted or inserted as a whole, as in
    meeteval (von Neumann et al. 2023), whose counts it equals. Among equally good assignments the one with the
    fewest substitutions counts, so that the order of talkers moves nothing.

    meeteval is an extra that needs a compiler; the assignment of a few talkers does not. Raises UsageError for more
    than 12 references.
    """
    if len(references) > MOST_TALKERS:
        raise UsageError(
            f"a sample has {len(references)} true talkers; cpWER is sought for at most {MOST_TALKERS}: cut it shorter"
        )
    words, spoken = sum(map(len, references)), sum(map(len, heard))
    # best[taken] is the least (errors, substitutions) with the references of the bit set ``taken`` given to talkers
    # seen so far; all other references are deleted, all other talkers inserted.
    best: dict[int, tuple[int, int]] = {0: (words + spoken, 0)}
    gains = [[_gain(reference, said) for reference in references] for said in heard]
    for gains_of_talker in (gains[talker] for talker in _worth_a_look(gains)):
        reached = dict(best)
        for taken, (errors, replaced) in best.items():
            for number, (fewer, substituted) in enumerate(gains_of_talker):
                if taken >> number & 1:
                    continue
                candidate = (errors + fewer, replaced + substituted)
                now = taken | 1 << number
                if now not in reached or candidate < reached[now]:
                    reached[now] = candidate
        best = reached
    errors, substitutions = min(best.values())
    # Whatever the alignment, deletions exceed insertions by as much as the references are longer.
    deletions = (errors - substitutions + words - spoken) // 2
    surplus = len(references) - len(heard)
    return TalkerErrors(
        substitutions,
        deletions,
        errors - substitutions - deletions,
        words,
        missed=max(0, surplus),
        extra=max(0, -surplus),
    )


def _gain(reference: Words, said: Words) -> tuple[int, int]:
    """Errors of the two together less those of each alone, and the substitutions: the less, the better they fit."""
    errors = token_errors(reference, said)
    return errors["S"] + errors["D"] + errors["I"] - len(reference) - len(said), errors["S"]


def _worth_a_look(gains: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """The heard talkers among the best for any reference, as many for each as there are references.

    Others could only take the place of a better one that is free, so that thousands of lines cost no more than a few.
    """
    references = len(gains[0]) if gains else 0
    candidates = {
        talker
        for number in range(references)
        for talker in heapq.nsmallest(references, range(len(gains)), key=lambda talker: gains[talker][number])
    }
    return sorted(candidates)


class Segment(NamedTuple):
    """What one talker said between two times."""

    talker: str
    words: str
    start_s: float
    end_s: float


def lacks_meeteval() -> str:
    if importlib.util.find_spec("meeteval") is not None:
        return ""
    return "the word errors of meetings need meeteval (and a compiler): pip install 'pytest-audiobench[meeting]'"


def orc_errors(references: Sequence[str], streams: Sequence[str]) -> TalkerErrors:
    """Optimal reference combination: every reference utterance goes to the stream that has it best, in their order.

    No stream at all is one without words: everything is deleted. Raises UsageError without meeteval.
    """
    with _meeteval() as wer:
        return _counts(wer.orc_word_error_rate(list(references), list(streams) or [""]))


def mimo_errors(references: Sequence[Sequence[str]], streams: Sequence[str]) -> TalkerErrors:
    """Several references, several streams: like ORC, where the order is kept only within each talker's utterances.

    No stream at all is one without words. Raises UsageError without meeteval.
    """
    with _meeteval() as wer:
        talkers = [list(utterances) for utterances in references]
        return _counts(wer.mimo_word_error_rate(talkers, list(streams) or [""]))


def segment_errors(
    reference: Sequence[Segment], heard: Sequence[Segment], collar_s: float | None = None
) -> TalkerErrors:
    """Over segments: cpWER, each talker's joined in the order of their starts; with ``collar_s`` tcpWER.

    Then words match only where their times come within ``collar_s`` seconds of each other. Nothing heard is one
    segment without words: everything is deleted. Raises UsageError without meeteval.
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
    if sentence := lacks_meeteval():
        raise UsageError(sentence)
    import meeteval.wer

    logger = logging.getLogger("preprocess")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield meeteval.wer
    finally:
        logger.setLevel(level)
