"""Instructions whose following can be checked by a rule, and the scorers that count them (IFEval; Zhou et al. 2023).

A sample's metadata "instruction_id_list" and "kwargs" are JSON: the names of its instructions, and for each an object
of its arguments, of which those with nothing in them count as absent. The rules are those of google-research's
instruction_following_eval as VoiceBench has them (github MatthewCYM/VoiceBench at
533815410e3f4d602bd15a1de7105aea4acd828c: src/evaluator/ifeval.py), with two draws left out: languages are detected
with a seed, and an argument that is absent, for which the published code draws one, makes the sample unusable.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.protocols.free_text import read_ended_text, read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer

Arguments: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[str, Arguments], bool]

LIST, ARGUMENTS = "instruction_id_list", "kwargs"
"""The fields of a sample's metadata."""

_OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_ENDS_WORD = re.compile(r"""[.,?!'"]""")
_WORD = re.compile(r"\w+")


def _compares(count: Callable[[str, Arguments], int], relation: str, threshold: str) -> Check:
    def check(text: str, arguments: Arguments) -> bool:
        number = count(text, arguments)
        return bool((number < arguments[threshold]) == (arguments[relation] == "less than"))

    return check


def _language(text: str) -> str | None:
    """The language that langdetect takes ``text`` for; None where it has nothing to go by."""
    from langdetect import DetectorFactory, LangDetectException, detect

    DetectorFactory.seed = 0
    try:
        return str(detect(text))
    except LangDetectException:
        return None


def sentence_count(text: str) -> int:
    """How many sentences nltk takes ``text`` for."""
    from nltk.tokenize import sent_tokenize

    return len(sent_tokenize(text))


def _capital_words(text: str) -> int:
    from nltk.tokenize import word_tokenize

    return sum(word.isupper() for word in word_tokenize(text))


def _paragraphs(text: str, arguments: Arguments) -> bool:
    first, *middle = re.split(r"\s?\*\*\*\s?", text)
    last = middle.pop() if middle else None
    outer = sum(bool(paragraph.strip()) for paragraph in (first, last) if paragraph is not None)
    return bool(all(map(str.strip, middle)) and outer + len(middle) == arguments["num_paragraphs"])


def _first_word(text: str, arguments: Arguments) -> bool:
    paragraphs = text.split("\n\n")
    number, place = sum(bool(paragraph.strip()) for paragraph in paragraphs), arguments["nth_paragraph"]
    if place > number or not (paragraph := paragraphs[place - 1].strip()):
        return False
    word = _ENDS_WORD.split(paragraph.split()[0].lstrip("'").lstrip('"'), maxsplit=1)[0].lower()
    return bool(number == arguments["num_paragraphs"] and word == arguments["first_word"].lower())


def _postscript(text: str, arguments: Arguments) -> bool:
    marker = arguments["postscript_marker"].strip()
    patterns = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
    return bool(re.search(patterns.get(marker, marker.lower()), text.lower()))


def _bullets(text: str) -> int:
    # Without runs of empty lines, over which the published patterns would go from each of these lines.
    text = re.sub(r"(?:[^\S\n]*+\n){3,}+", "\n\n", text)
    return len(re.findall(r"^\s*\*[^\*].*$", text, re.M)) + len(re.findall(r"^\s*-.*$", text, re.M))


def _placeholders(text: str) -> int:
    """How often a bracket is opened and closed in a line, by scans that go over a text once."""
    number = 0
    for line in text.split("\n"):
        end = -1
        while (start := line.find("[", end + 1)) >= 0 and (end := line.find("]", start)) >= 0:
            number += 1
    return number


def _has_title(text: str) -> bool:
    for line in text.split("\n"):
        start, end = line.find("<<"), line.rfind(">>")
        if 0 <= start <= end - 3 and line[start:end].lstrip("<").rstrip(">").strip():
            return True
    return False


def _highlights(text: str) -> int:
    single = (part.strip("*").strip() for part in re.findall(r"\*[^\n\*]*\*", text))
    double = (part[2:-2].strip() for part in re.findall(r"\*\*[^\n\*]*\*\*", text))
    return sum(map(bool, (*single, *double)))


def _is_json(text: str) -> bool:
    body = text.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        body = body.removeprefix(fence)
    try:
        json.loads(body.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def _two_responses(text: str) -> bool:
    first, *others = text.split("******")
    if not others or not all(map(str.strip, others[:-1])):
        return False
    responses = [response.strip() for response in (first, *others) if response.strip()]
    return len(responses) == 2 and responses[0] != responses[1]


def _sections(text: str, arguments: Arguments) -> int:
    return len(re.split(rf"\s?{arguments['section_spliter'].strip()}\s?\d+\s?", text)) - 1


def _in_english(text: str, in_case: bool) -> bool:
    return in_case and _language(text) in ("en", None)


_CHECKS: Mapping[str, tuple[Check, tuple[str, ...]]] = {
    "keywords:existence": (
        lambda text, given: all(re.search(word, text, re.I) for word in given["keywords"]),
        ("keywords",),
    ),
    "keywords:frequency": (
        _compares(lambda text, given: len(re.findall(given["keyword"].strip(), text, re.I)), "relation", "frequency"),
        ("keyword", "frequency", "relation"),
    ),
    "keywords:forbidden_words": (
        lambda text, given: not any(re.search(rf"\b{word}\b", text, re.I) for word in given["forbidden_words"]),
        ("forbidden_words",),
    ),
    "keywords:letter_frequency": (
        _compares(
            lambda text, given: text.lower().count(given["letter"].strip().lower()), "let_relation", "let_frequency"
        ),
        ("letter", "let_frequency", "let_relation"),
    ),
    "language:response_language": (lambda text, given: _language(text) in (given["language"], None), ("language",)),
    "length_constraints:number_sentences": (
        _compares(lambda text, _: sentence_count(text), "relation", "num_sentences"),
        ("num_sentences", "relation"),
    ),
    "length_constraints:number_paragraphs": (_paragraphs, ("num_paragraphs",)),
    "length_constraints:number_words": (
        _compares(lambda text, _: len(_WORD.findall(text)), "relation", "num_words"),
        ("num_words", "relation"),
    ),
    "length_constraints:nth_paragraph_first_word": (_first_word, ("num_paragraphs", "nth_paragraph", "first_word")),
    "detectable_content:number_placeholders": (
        lambda text, given: bool(_placeholders(text) >= given["num_placeholders"]),
        ("num_placeholders",),
    ),
    "detectable_content:postscript": (_postscript, ("postscript_marker",)),
    "detectable_format:number_bullet_lists": (
        lambda text, given: _bullets(text) == given["num_bullets"],
        ("num_bullets",),
    ),
    "detectable_format:constrained_response": (lambda text, _: any(option in text for option in _OPTIONS), ()),
    "detectable_format:number_highlighted_sections": (
        lambda text, given: _highlights(text) >= given["num_highlights"],
        ("num_highlights",),
    ),
    "detectable_format:multiple_sections": (
        lambda text, given: _sections(text, given) >= given["num_sections"],
        ("section_spliter", "num_sections"),
    ),
    "detectable_format:json_format": (lambda text, _: _is_json(text), ()),
    "detectable_format:title": (lambda text, _: _has_title(text), ()),
    "combination:two_responses": (lambda text, _: _two_responses(text), ()),
    "combination:repeat_prompt": (
        lambda text, given: text.strip().lower().startswith(given["prompt_to_repeat"].strip().lower()),
        ("prompt_to_repeat",),
    ),
    "startend:end_checker": (
        lambda text, given: text.strip().strip('"').lower().endswith(given["end_phrase"].strip().lower()),
        ("end_phrase",),
    ),
    "startend:quotation": (lambda text, _: len(text.strip()) > 1 and text.strip()[0] == text.strip()[-1] == '"', ()),
    "change_case:capital_word_frequency": (
        _compares(lambda text, _: _capital_words(text), "capital_relation", "capital_frequency"),
        ("capital_frequency", "capital_relation"),
    ),
    "change_case:english_capital": (lambda text, _: _in_english(text, text.isupper()), ()),
    "change_case:english_lowercase": (lambda text, _: _in_english(text, text.islower()), ()),
    "punctuation:no_comma": (lambda text, _: "," not in text, ()),
}
"""The rule of each instruction, and the arguments that it needs."""

_DETECTING = ("language:response_language", "change_case:english_capital", "change_case:english_lowercase")
_SPLITTING = ("length_constraints:number_sentences", "change_case:capital_word_frequency")


def instructions_of(sample: Sample, detects_languages: bool = True) -> Iterator[tuple[str, Arguments]]:
    """The instructions of ``sample`` with their arguments. Raises UsageError where they are not what they should be."""
    if problem := instruction_problem(sample, detects_languages):
        raise UsageError(problem)
    names, arguments = (json.loads(str(sample.metadata[field])) for field in (LIST, ARGUMENTS))
    yield from zip(names, arguments, strict=True)


def instruction_problem(sample: Sample, detects_languages: bool = True) -> str:
    """What keeps ``sample``'s instructions from being checked, in a sentence; "" for nothing."""
    try:
        names, arguments = (json.loads(str(sample.metadata.get(field))) for field in (LIST, ARGUMENTS))
        pairs = list(zip(names, arguments, strict=True))
        lacking = {name: [key for key in _CHECKS[name][1] if not given.get(key)] for name, given in pairs}
    except (ValueError, TypeError, KeyError, AttributeError):
        return (
            f'sample {sample.id!r} has no metadata "{LIST}" and "{ARGUMENTS}" with the names of IFEval\'s instructions '
            "and as many objects of arguments, in JSON: add them to the data set, or leave this scorer out"
        )
    if not pairs or any(lacking.values()):
        name = next((name for name in lacking if lacking[name]), "")
        what = f"the instruction {name!r} without {', '.join(lacking[name])}" if name else "no instruction"
        return f"sample {sample.id!r} has {what}: correct the data set"
    if (
        detects_languages
        and any(name in _DETECTING for name in names)
        and importlib.util.find_spec("langdetect") is None
    ):
        return f"{names} needs langdetect: {install_command('ifeval')}"
    if any(name in _SPLITTING for name in names):
        return splitter_problem("IFEval", install_command("ifeval"))
    return ""


def splitter_problem(whose: str, install: str) -> str:
    """What keeps sentences from being counted, in a sentence; "" for nothing."""
    try:
        sentence_count("One.")
    except ImportError:
        return f"{whose}'s sentences are counted by nltk: {install}"
    except LookupError:
        return f"{whose}'s sentences are counted by nltk's punkt_tab: python -m nltk.downloader punkt_tab"
    return ""


def follows(text: str, name: str, arguments: Arguments, checks: Mapping[str, Check] | None = None) -> bool:
    """Whether ``text`` follows the instruction, by IFEval's ``checks`` or others; an empty one follows none."""
    check = checks[name] if checks else _CHECKS[name][0]
    return bool(text.strip()) and check(text, arguments)


def loosened(text: str) -> list[str]:
    """``text`` as it is, without its first line, its last, or both, and each of these without asterisks."""
    lines = text.split("\n")
    parts = [text, *("\n".join(rest).strip() for rest in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*parts, *(part.replace("*", "") for part in parts)]


def without_turn_marks(text: str) -> str:
    """``text`` without the marks of turns that VoiceBench takes off."""
    body = text[3:].strip() if text.startswith(("<1>", "<2>", "<3>")) else text
    return body[:-8].strip() if body.endswith("<|user|>") else body


def _statistics(sample: Sample, answer: Answer, text: str) -> dict[str, float]:
    strict, loose = [], []
    for name, arguments in instructions_of(sample):
        strict.append(follows(text, name, arguments))
        loose.append(any(follows(part, name, arguments) for part in loosened(text)))
    counts = {"strict": strict, "loose": loose}
    return {
        "correct": float(all(strict)),
        "requests": 1.0,
        "instructions": float(len(strict)),
        **{f"{way}_prompt": float(all(each)) for way, each in counts.items()},
        **{f"{way}_instructions": float(sum(each)) for way, each in counts.items()},
    }


_METRICS = ("instruction_accuracy", "prompt_accuracy_loose", "instruction_accuracy_loose")


def instruction_scorers(family: str) -> tuple[Scorer, Scorer]:
    """``instructions``, whose headline is the share of requests that are followed strictly and in all, and
    ``voicebench-ifeval``, whose headline is VoiceBench's mean of four shares.
    """
    rule = "rules:ifeval|languages:langdetect seed 0|sentences:punkt_tab"
    return (
        Scorer(
            "instructions",
            f"{family}:instructions|v:1|{rule}|strict",
            read_ended_text,
            lambda sample, answer: _statistics(sample, answer, answer.value or ""),
            ("accuracy", *_METRICS),
            sample_problem=instruction_problem,
        ),
        Scorer(
            "voicebench-ifeval",
            f"{family}:voicebench-ifeval|v:1|{rule}|mean of strict and loose, of requests and instructions",
            read_ended_text,
            lambda sample, answer: _statistics(sample, answer, without_turn_marks(answer.value or "")),
            ("instruction_following", "accuracy", *_METRICS),
            sample_problem=instruction_problem,
        ),
    )


# Speech-IFEval's rules, which are IFEval's but for five: github kehanlu/Speech-IFEval at e2e9c14d3609:
# instruction_following_eval/instructions.py.

_SPEECH_BULLETS = [re.compile(pattern, re.M) for pattern in (r"^\s*\*[^*].*$", r"^\s*-.*$", r"^\s*•.*$", r"^\s*\d.*$")]
_SPEECH_PARAGRAPH = re.compile(r"\s*\*\*\*\s*|\n+")


def _speech_bullets(text: str, given: Arguments) -> bool:
    lines = text.replace("\\n", "\n")
    return bool(sum(len(pattern.findall(lines)) for pattern in _SPEECH_BULLETS) == given["num_bullets"])


def _speech_paragraphs(text: str, given: Arguments) -> bool:
    parts = [part.strip() for part in _SPEECH_PARAGRAPH.split(text.strip())]
    return all(parts[1:-1]) and bool(sum(map(bool, parts)) == given["num_paragraphs"])


_SPEECH_CHECKS: Mapping[str, Check] = {
    **{name: check for name, (check, _) in _CHECKS.items()},
    "detectable_format:number_bullet_lists": _speech_bullets,
    "length_constraints:number_paragraphs": _speech_paragraphs,
    "change_case:english_capital": lambda text, _: text.isupper(),
    "change_case:english_lowercase": lambda text, _: text.islower(),
    "combination:repeat_prompt": lambda text, given: (
        text.strip().lower().strip("\"'").startswith(given["prompt_to_repeat"].strip().lower())
    ),
}


def speech_ifeval_scorer(family: str) -> Scorer:
    """``speech-ifeval``: the share of requests whose instructions are all followed."""

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        text, instructions = answer.value or "", instructions_of(sample, detects_languages=False)
        return {"correct": float(all(follows(text, name, given, _SPEECH_CHECKS) for name, given in instructions))}

    return Scorer(
        "speech-ifeval",
        f"{family}:speech-ifeval|v:1|rules:speech-ifeval|sentences:punkt_tab",
        read_text,
        score,
        ("accuracy",),
        sample_problem=partial(instruction_problem, detects_languages=False),
    )
