"""Several people at once, the words of each wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.talkers import MOST_TALKERS, cp_errors
from pytest_audiobench.protocols.free_text import choose, free_stage, read_ended_text
from pytest_audiobench.protocols.overlapped_speech.speaker_turns import talkers_of
from pytest_audiobench.protocols.protocol import Answer, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.spoken_questions.matching import NORMALISED, spoken_words

INSTRUCTION = "Please write down what you hear each person says."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""

_OTHER = re.compile(r"[^A-Z' ]")


@with_recorded_options
def overlapped_speech(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for what each talker says, in the sample's question's words or else in ``prompt``'s.

    A sample's ``references`` are one text for each talker. The scorers are ``cpwer`` (the default; ours),
    ``best-permutation`` and ``exactly-two-sentences`` (those of the reproduction of SALMONN).
    Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens, task="transcription")
    protocol = Protocol("overlapped_speech", (stage,), (_READINGS["cpwer"],), _READINGS, expects="all_words")
    return choose(protocol, scorers)


def _count(talkers: Sequence[str], sample: Sample) -> dict[str, float]:
    spoken = len(talkers)
    return {
        "one_talker": float(spoken == 1),
        "two_talkers": float(spoken == 2),
        "more_talkers": float(spoken > 2),
        "talkers_right": float(spoken == len(sample.truths)),
    }


def _too_many(sample: Sample) -> str:
    if len(sample.truths) <= MOST_TALKERS:
        return ""
    return (
        f"sample {sample.id!r} has {len(sample.truths)} true talkers, and an assignment is sought for at most "
        f"{MOST_TALKERS}: cut it shorter"
    )


def _cpwer(sample: Sample, answer: Answer) -> Mapping[str, float]:
    talkers = talkers_of(answer.value or "")
    errors = cp_errors([spoken_words(truth) for truth in sample.truths], [spoken_words(said) for said in talkers])
    return errors.statistics | _count(talkers, sample)


def _pieces(answer: Answer) -> list[str]:
    """The reproduction's: what lies between full stops, those at either end of the text aside."""
    text = (answer.value or "").strip().strip(".")
    return text.split(".") if text else []


def _capitals(text: str) -> list[str]:
    """The reproduction's: capital letters, apostrophes and spaces, nothing else."""
    return _OTHER.sub("", text.upper()).split()


def _permuted(sample: Sample, answer: Answer) -> Mapping[str, float]:
    talkers = [piece for piece in _pieces(answer) if piece.strip()]
    errors = cp_errors([_capitals(truth) for truth in sample.truths], [_capitals(said) for said in talkers])
    return errors.statistics | _count(talkers, sample)


def _two_only(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    two = answer.status != "truncated" and len(_pieces(answer)) == 2
    return _permuted(sample, answer) if two else None


_STUDY_TEXT = "nopunct:A-Z'|split:."

_COUNTS = ("one_talker", "two_talkers", "more_talkers", "talkers_right")


def _scorer(
    name: str,
    rules: str,
    score: Callable[[Sample, Answer], Mapping[str, float] | None],
    metrics: tuple[str, ...],
    companions: tuple[str, ...] = (),
) -> Scorer:
    return Scorer(
        name,
        f"osr:{name}|v:1|{rules}",
        read_ended_text,
        score,
        metrics,
        companions=companions,
        sample_problem=_too_many,
    )


_READINGS: Mapping[str, Scorer] = MappingProxyType(
    {
        "cpwer": _scorer(
            "cpwer",
            f"norm:{NORMALISED}|split:labels,lines,sentences|talkers:best assignment|empty:deletions",
            _cpwer,
            ("cpwer", *_COUNTS),
        ),
        "best-permutation": _scorer(
            "best-permutation",
            f"norm:upper+{_STUDY_TEXT}|talkers:best permutation|empty:deletions",
            _permuted,
            ("osr_wer", *_COUNTS),
        ),
        "exactly-two-sentences": _scorer(
            "exactly-two-sentences",
            f"norm:upper+{_STUDY_TEXT}|talkers:best permutation|other counts:skipped|unended:skipped",
            _two_only,
            ("osr_wer",),
            companions=("best-permutation",),
        ),
    }
)
