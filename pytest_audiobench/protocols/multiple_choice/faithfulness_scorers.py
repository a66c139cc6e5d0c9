r"""The parsers of "Investigating Faithfulness in Large Audio Language Models" (arXiv 2509.22363), with their defects.

They are kept to repeat that study's numbers, not to be used for new ones. Run-time parsers:

- the first letter A to J in parentheses; else the whole text equals a choice (without punctuation and case);
  else the first letter followed by ``.`` or ``:``; else the first (Audio Flamingo 3) or last (Qwen2.5-Omni) letter
  that stands alone, in either case. Alone is what no letter A to Z touches, so that Chinese characters and accented
  letters end a word. So the article "a" reads as A, the pronoun "I" as I, and on texts without a parenthesis a
  refusal reads as an option;
- Audio Flamingo 3 with reasoning: only the last sentence is read; without reasoning the whole text;
- Qwen2.5-Omni: a ``<Conclusion>`` of a single letter, A to Z, comes before all (the study looked for one in answers
  with reasoning alone; all of its recorded ones without are read alike);
- on MMAU no text equals a choice: the study's manifest has no list of them (``..._mmau``);
- Qwen2-Audio and SALMONN: the first letter in parentheses, else before a closing one ("audio)" is O), else behind an
  opening one ("(none" is N), else the whole text, of SALMONN's without full stops around it. Letters are compared with
  capitals as they stand, so that "(b)" is always wrong; certain phrases without such a letter are a refusal.

Recovery afterwards, over all rows, made for the texts of Audio Flamingo 3:

- SAKURA: the last letter in parentheses; else the longest choice whose stemmed words the last sentence holds (joined
  with the one before it when under four words); else a letter after "answer", "choice", "option" or "is" in the last 50
  characters;
- MMAR and MMAU: the last letter in parentheses in the last 300 characters; else a letter after such a word there;
  else the choice that shares most words, without stop words, with the last three sentences; else a letter at the end,
  not A or I. The study's MMAU manifest has no list of choices, so there the overlap never spoke: ``recovered_mmau``
  sees none.

No letter at all (the study's "null") is unparsed, or empty where there is no text; a letter beyond the options, which
the study counted as wrong but not null, is out of range. Where the description of a rule leaves a detail open (the list
of stop words, ties), the variant is one that repeats the published accuracies and null counts exactly.
"""

from __future__ import annotations

import re

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.multiple_choice.published_scorers import unanswered
from pytest_audiobench.protocols.protocol import Answer

_BRACKETED = re.compile(r"\(([A-J])\)", re.I)
_POINTED = re.compile(r"(?:^|[^a-zA-Z])([A-J])[.:]", re.I)
# The character on either side is used up: "I'd" gives I and not D.
_STANDALONE = re.compile(r"(?:^|[^a-zA-Z])([A-J])(?:[^a-zA-Z]|$)", re.I)
_CONCLUSION = re.compile(r"\n|<Conclu|>(?=\s*([A-Z])\s*</Conclu.*?>)", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_ANNOUNCED = re.compile(r"(?:answer|choice|option|is)[\s:]*\(?([A-J])\b", re.I)
_ANNOUNCED_BARE = re.compile(r"(?:answer|option|choice|is)[\s:]*([A-J])\b", re.I)
_AT_THE_END = re.compile(r"\b([B-HJ])\W*$")
_WORD = re.compile(r"\w+")
_PUNCTUATION = re.compile(r"[^\w\s]")
_IN_PARENTHESES = tuple(re.compile(pattern) for pattern in (r"\(([a-zA-Z])\)", r"([a-zA-Z])\)", r"\(([a-zA-Z])"))
_REFUSALS = (
    *("cannot be determined", "none of the choices", "ambiguous"),
    *("not enough information", "no definitive answer"),
)
_REFUSALS_QWEN2 = (*_REFUSALS, "not have enough information", "cannot determine")
_CRASHED = "CRASH:"

_SUFFIXES = (
    *("ness", "ment", "tion", "sion", "able", "ible", "ance", "ence", "ous", "ity", "ing", "ive", "ful", "less"),
    *("est", "ed", "ly", "er", "es", "s", "y"),
)
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an the and or but if of to in on at by for with from as is are was were be been being it its this that "
        "these those i you he she they we his her their our my your not no do does did has have had will would can "
        "could should may might than then so such there here what which who whom how when where why"
    )
)


def runtime_af3(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """Audio Flamingo 3 with reasoning: the run-time rule on the last sentence."""
    return _answer(_runtime(sentences(text)[-1], choices, last=False), text, choices, finish)


def runtime_af3_direct(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """Audio Flamingo 3 without reasoning: the run-time rule on the whole text."""
    return _answer(_runtime(text, choices, last=False), text, choices, finish)


def runtime_af3_direct_mmau(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The same as it was run on MMAU, without a list of choices."""
    return _answer(_runtime(text, (), last=False), text, choices, finish)


def runtime_qwen(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """Qwen2.5-Omni, with and without reasoning."""
    return _answer(_concluded(text) or _runtime(text, choices, last=True), text, choices, finish)


def runtime_qwen_mmau(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The same as it was run on MMAU, without a list of choices."""
    return _answer(_concluded(text) or _runtime(text, (), last=True), text, choices, finish)


def runtime_qwen2_audio(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """Qwen2-Audio, in both turns and without reasoning (qwen_utils.py)."""
    return _parenthesised(text.strip(), _REFUSALS_QWEN2, text, choices, finish)


def runtime_salmonn(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """SALMONN, the same (salmonn_utils.py)."""
    return _parenthesised(text.strip().strip(".").strip(), _REFUSALS, text, choices, finish)


def recovered(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The recovery made for SAKURA (repair_and_save_final.py)."""
    return _answer(_recovered_letter(text, choices), text, choices, finish)


def recovered_mm(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The recovery made for MMAR (repair_and_save_final_mm.py)."""
    return _answer(_recovered_mm(text, choices), text, choices, finish)


def recovered_mmau(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The same recovery as it was run on MMAU, without a list of choices."""
    return _answer(_recovered_mm(text, ()), text, choices, finish)


def _answer(letter: str | None, text: str, choices: tuple[str, ...], finish: Finish) -> Answer:
    # In place of an answer that was never given the study's runner wrote what had gone wrong, and a null.
    if letter is not None and not text.startswith(_CRASHED):
        return Answer("parsed", letter) if letter in LETTERS[: len(choices)] else Answer("out_of_range")
    return unanswered(text, finish)


def _parenthesised(
    shown: str, refusals: tuple[str, ...], text: str, choices: tuple[str, ...], finish: Finish
) -> Answer:
    matches = (pattern.search(shown) for pattern in _IN_PARENTHESES)
    letter = next((match[1] for match in matches if match), None)
    if letter is None and len(shown) == 1 and shown.isalpha():
        letter = shown.upper()
    if letter is None and any(words in shown.lower() for words in refusals):
        return Answer("refused")
    return _answer(letter, text, choices, finish)


def _concluded(text: str) -> str | None:
    """The letter in the first ``<Conclu…>`` element; its opening tag ends on its line, wherever a ``>`` stands."""
    opened = False
    for mark in _CONCLUSION.finditer(text):
        if mark[0] != ">":
            opened = mark[0] != "\n"
        elif opened:
            return mark[1].upper()
    return None


def _runtime(text: str, choices: tuple[str, ...], *, last: bool) -> str | None:
    if bracketed := _BRACKETED.search(text):
        return bracketed[1].upper()
    shown = _simplified(text)
    for letter, choice in zip(LETTERS, choices, strict=False):
        if shown == _simplified(choice):
            return letter
    if pointed := _POINTED.search(text):
        return pointed[1].upper()
    standalone: list[str] = _STANDALONE.findall(text)
    return standalone[-1 if last else 0].upper() if standalone else None


def _recovered_letter(text: str, choices: tuple[str, ...]) -> str | None:
    bracketed: list[str] = _BRACKETED.findall(text)
    if bracketed:
        return bracketed[-1].upper()
    said = sentences(text)
    conclusion = " ".join(said[-2:] if len(said) > 1 and len(said[-1].split()) < 4 else said[-1:]).lower()
    for letter, choice in sorted(zip(LETTERS, choices, strict=False), key=lambda option: -len(option[1])):
        words = r"\s+".join(re.escape(_stem(word)) + "[a-z]*" for word in _WORD.findall(choice.lower()))
        if re.compile(rf"\b{words}\b").search(conclusion):
            return letter
    announced = _ANNOUNCED.search(text[-50:])
    return announced[1].upper() if announced else None


def _recovered_mm(text: str, choices: tuple[str, ...]) -> str | None:
    bracketed: list[str] = _BRACKETED.findall(text[-300:])
    if bracketed:
        return bracketed[-1].upper()
    if announced := _ANNOUNCED_BARE.search(text[-300:]):
        return announced[1].upper()
    said = _content_words(" ".join(sentences(text)[-3:]))
    lettered = zip(LETTERS, choices, strict=False)
    overlaps = [(_overlap(_content_words(choice), said), letter) for letter, choice in lettered]
    most, letter = max(overlaps, key=lambda overlap: overlap[0], default=(0.0, ""))
    if most > 0:
        return letter
    at_the_end = _AT_THE_END.search(text[-300:])
    return at_the_end[1] if at_the_end else None


def _overlap(choice: frozenset[str], words: frozenset[str]) -> float:
    shared = len(choice & words)
    return shared + shared / len(choice) if choice else 0.0


def _content_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _STOP_WORDS


def sentences(text: str) -> list[str]:
    """The study's sentences: cut where white space follows a full stop, an exclamation or a question mark."""
    return _SENTENCE_END.split(text.strip())


def _simplified(text: str) -> str:
    return _PUNCTUATION.sub("", text).strip().lower()


def _stem(word: str) -> str:
    """A word without its suffix, six letters at most when long; words of up to three letters stay."""
    if len(word) <= 3:
        return word
    suffix = next((suffix for suffix in _SUFFIXES if word.endswith(suffix)), "")
    core = word.removesuffix(suffix)
    if len(core) < 3:
        return word
    return core[:6] if len(core) > 7 else core
