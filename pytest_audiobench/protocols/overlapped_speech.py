"""Overlapped speech: the words of each of several talkers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.multi_talker_errors import cp_errors
from pytest_audiobench.protocols.free_text import family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.spoken_questions.matching import NORMALISED, spoken_words

_LABEL = re.compile(
    r"""(?:^|(?<=[\s.!?。！？]))[*_\#>•-]{0,3}\s{0,3}
    ( (?:the\s)?(?:(?:first|second|third|fourth|fifth|other)\s(?:speaker|person|talker|voice|man|woman)
      | (?:speaker|person|talker|voice|spk)[\s_]{0,2}(?:\d{1,3}|[a-z](?![a-z]))
      | (?:man|woman|male|female)(?:\s?\d{1,3}|\s(?:speaker|voice))?) )
    [*_]{0,3} (?:\s(?:says?|said)\s{0,2}[:：,] | \s{0,2}[:：]) [*_]{0,3}""",
    re.I | re.X,
)
_LISTED = re.compile(r"\A\s{0,9}(?:[-*•]|\(?\d{1,3}[.)])\s{1,9}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？．])")
_MARKS = " \t\r\n\"'“”‘’*_"

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
    return family_protocol("overlapped_speech", (stage,), _READINGS, scorers, "all_words")


def _count(talkers: Sequence[str], sample: Sample) -> dict[str, float]:
    spoken = len(talkers)
    return {
        "one_talker": float(spoken == 1),
        "two_talkers": float(spoken == 2),
        "more_talkers": float(spoken > 2),
        "talkers_right": float(spoken == len(sample.truths)),
    }


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


def _cp_scores(sample: Sample, answer: Answer) -> Mapping[str, float]:
    talkers = [piece for piece in _pieces(answer) if piece.strip()]
    errors = cp_errors([_capitals(truth) for truth in sample.truths], [_capitals(said) for said in talkers])
    return errors.statistics | _count(talkers, sample)


def _two_only(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    return _cp_scores(sample, answer) if answer.status != "truncated" and len(_pieces(answer)) == 2 else None


_STUDY_TEXT = "nopunct:A-Z'|split:."

_COUNTS = ("one_talker", "two_talkers", "more_talkers", "talkers_right")


_READINGS = tuple(
    Scorer(name, f"osr:{name}|v:1|{rules}", read_ended_text, score, metrics, companions=companions)
    for name, rules, score, metrics, companions in (
        (
            "cpwer",
            f"norm:{NORMALISED}|split:labels,lines,sentences|talkers:best assignment|empty:deletions",
            _cpwer,
            ("cpwer", *_COUNTS),
            (),
        ),
        (
            "best-permutation",
            f"norm:upper+{_STUDY_TEXT}|talkers:best permutation|empty:deletions",
            _cp_scores,
            ("osr_wer", *_COUNTS),
            (),
        ),
        (
            "exactly-two-sentences",
            f"norm:upper+{_STUDY_TEXT}|talkers:best permutation|other counts:skipped|unended:skipped",
            _two_only,
            ("osr_wer",),
            ("best-permutation",),
        ),
    )
)


def talkers_of(text: str) -> list[str]:
    """What each talker says in ``text``, by the first of these that it offers:

    1. labels ("Speaker 1: …", "Person A says, …", "Woman: …"): a talker for each, its texts joined in order; what
       stands before the first is one talker more, since nothing that was said is left out;
    2. lines: a talker for each line that holds a letter or digit, list marks ("1.", "-") left out;
    3. sentences: a talker for each, at ``.``, ``!``, ``?`` and their wide forms.
    """
    if labels := list(_LABEL.finditer(text)):
        said = {"": [text[: labels[0].start()]]}
        for label, end in zip(labels, [*(label.start() for label in labels[1:]), len(text)], strict=True):
            said.setdefault(" ".join(label[1].lower().split()), []).append(text[label.end() : end].strip(_MARKS))
        return _pieces_with_words(" ".join(pieces) for pieces in said.values())
    lines = _pieces_with_words(_LISTED.sub("", line, count=1) for line in text.splitlines())
    return lines if len(lines) > 1 else _pieces_with_words(_SENTENCE_END.split(lines[0])) if lines else []


def _pieces_with_words(pieces: Iterable[str]) -> list[str]:
    return [piece for piece in map(str.strip, pieces) if re.search(r"\w", piece)]
