"""MMAU-Pro's instructions: one constraint on the form of an answer, checked by a rule.

A sample's metadata "constraint" is the constraint's name, and "arguments" are its arguments as a JSON object. The rules
are those of ``evaluate_aif_sample`` in github sonalkum/MMAUPro at 960e93a415e2: evaluate_mmau_pro_comprehensive.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.spoken_questions.instructions import Arguments, Check, sentence_count, splitter_problem

CONSTRAINT, ARGUMENTS = "constraint", "arguments"
"""The fields of a sample's metadata."""

Count: TypeAlias = Callable[[str], int]

_NO_LETTERS = re.compile(r"[^a-zA-Z]")
_NO_LETTERS_OR_SPACES = re.compile(r"[^a-zA-Z ]")
_RESPONSES = "******"


def _words(text: str) -> int:
    return len(text.split())


def _capital_words(text: str) -> int:
    return sum(map(str.isupper, text.split()))


def _at_least(count: Count) -> Check:
    return lambda text, given: bool(count(text) >= given.get("N", 0))


def _at_most(count: Count) -> Check:
    return lambda text, given: bool(count(text) <= given.get("N", 0))


def _within(count: Count) -> Check:
    return lambda text, given: bool(given.get("N1", 0) <= count(text) <= given.get("N2", 999))


def _exactly(count: Callable[[str, Arguments], int]) -> Check:
    return lambda text, given: bool(count(text, given) == given.get("N", 0))


def _says_each(text: str, given: Arguments) -> bool:
    return all(word.lower() in text.lower() for word in given.get("keywords", "").split(", "))


def _says_none(text: str, given: Arguments) -> bool:
    return not any(word.lower() in text.lower() for word in given.get("forbidden_words", "").split(", "))


def _times_said(text: str, given: Arguments) -> int:
    return len(re.findall(rf"\b{re.escape(given.get('keyword', '').lower())}\b", text.lower()))


def _paragraphs(text: str, _: Arguments) -> int:
    return sum(map(bool, map(str.strip, text.split("***"))))


def _bullets(text: str, _: Arguments) -> int:
    return len(re.findall(r"(?:^|\n)\s*\*\s+", text))


def _sections(text: str, given: Arguments) -> int:
    parts = re.split(rf"\s*{re.escape(given.get('section_splitter', ''))}\s*", text.strip())
    return sum(map(bool, map(str.strip, parts)))


def _postscript(text: str, given: Arguments) -> bool:
    return _letters(given.get("postscript_marker", "")) in _letters(text)


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text).lower()


def _spaced(text: str) -> str:
    return _NO_LETTERS_OR_SPACES.sub("", text).lower()


def _two_responses(text: str, _: Arguments) -> bool:
    parts = [part.lower().strip() for part in text.split(_RESPONSES)]
    return len(parts) == 2 and parts[0] != parts[1]


_QUESTION = "question"
_CHECKS: Mapping[str, Check] = {
    "Include Keywords": _says_each,
    "Keyword Frequency": _exactly(_times_said),
    "Forbidden Words": _says_none,
    "Number Paragraphs": _exactly(_paragraphs),
    "Number Words (at least)": _at_least(_words),
    "Number Words (at most)": _at_most(_words),
    "Number Words (range)": _within(_words),
    "Number Sentences (at least)": _at_least(sentence_count),
    "Number Sentences (at most)": _at_most(sentence_count),
    "Number Sentences (range)": _within(sentence_count),
    "Postscript": _postscript,
    "Number Placeholder": _at_least(lambda text: len(re.findall(r"\[[^\]]+\]", text))),
    "Number Bullets": _exactly(_bullets),
    "Title": lambda text, _: bool(re.search(r"<<[^>]+>>", text)),
    "Minimum Number Highlighted Section": _at_least(lambda text: len(re.findall(r"\*([^*]+)\*", text))),
    "Multiple Sections": _exactly(_sections),
    "Repeat Prompt": lambda text, given: text.strip().lower().startswith(given[_QUESTION].strip().lower()),
    "Two Responses": _two_responses,
    "All Uppercase": lambda text, _: text.isupper(),
    "All Lowercase": lambda text, _: text.islower(),
    "All-capital Words (at least)": _at_least(_capital_words),
    "All-capital Words (at most)": _at_most(_capital_words),
    "All-capital Words (range)": _within(_capital_words),
    "Start Checker": lambda text, given: _spaced(text).startswith(_spaced(given.get("start_phrase", ""))),
    "End Checker": lambda text, given: _spaced(text).endswith(_spaced(given.get("end_phrase", ""))),
    "Quotation": lambda text, _: text.strip().startswith('"') and text.strip().endswith('"'),
    "No Commas": lambda text, _: "," not in text,
}


def audio_instruction_scorer(family: str) -> Scorer:
    """``mmau-pro-instructions``: whether the answer keeps to the one constraint that its sample is about."""
    return Scorer(
        "mmau-pro-instructions",
        f"{family}:mmau-pro-instructions|v:1|rules:mmau-pro|sentences:punkt_tab",
        read_text,
        _score,
        ("accuracy",),
        sample_problem=_problem,
    )


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    given = {**_arguments(sample), _QUESTION: sample.question}
    return {"correct": float(_CHECKS[_constraint(sample)](answer.value or "", given))}


def _constraint(sample: Sample) -> str:
    """The constraint's name. Raises UsageError for one that there is not."""
    name = str(sample.metadata.get(CONSTRAINT))
    if name not in _CHECKS:
        raise UsageError(f"sample {sample.id!r}: its {CONSTRAINT} {name[:80]!r} is not one of MMAU-Pro's")
    return name


def _arguments(sample: Sample) -> Arguments:
    """The constraint's arguments; those with nothing in them are absent."""
    try:
        arguments = json.loads(str(sample.metadata.get(ARGUMENTS) or "{}"))
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise UsageError(f"sample {sample.id!r}: its {ARGUMENTS} are not a JSON object; correct the data set")
    return {name: value for name, value in arguments.items() if value is not None}


def _problem(sample: Sample) -> str:
    try:
        name = _constraint(sample)
        _arguments(sample)
    except UsageError as error:
        return str(error)
    return splitter_problem("MMAU-Pro", "pip install nltk") if "Sentences" in name else ""
