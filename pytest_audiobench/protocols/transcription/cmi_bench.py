"""CMI-Bench's texts of sung lyrics (github nicolaus625/CMI-bench, evaluate.py, compute_wer_cer)."""

from __future__ import annotations

import functools
import re
import string

from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.protocols.protocol import Scorer
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, needs, transcript_scorer
from pytest_audiobench.protocols.transcription.word_memory import remembered

_PREFACES = ((" lyrics ", "are"), (" content ", "is"), (" transcription ", "is"), (" text ", "is"))
_PUNCTUATION = str.maketrans("", "", string.punctuation.replace("'", ""))


@remembered
def answer(text: str) -> str:
    """``text`` without what introduces it ("… lyrics … are …:"), then as a reference."""
    for named, verb in _PREFACES:
        text = "\n".join(_without_preface(line, named, verb) for line in text.split("\n")).strip()
    for token in ("<s>", "</s>"):
        text = text.replace(token, "").strip()
    return reference(text)


@remembered
def reference(text: str) -> str:
    """Lower case, no ASCII punctuation but apostrophes, words of digits spelled out (99 is ninety-nine, one word).

    Needs num2words.
    """
    words = text.translate(_PUNCTUATION).lower().replace("\n", " ").split()
    return " ".join(_spelled(word) if word.isdigit() else word for word in words)


def _without_preface(line: str, named: str, verb: str) -> str:
    """What the pattern ``.*? named .*?verb.*?:`` leaves of a line, found without going back: lyrics can be long."""
    while True:
        place = line.find(named)
        place = line.find(verb, place + len(named)) if place >= 0 else -1
        place = line.find(":", place + len(verb)) if place >= 0 else -1
        if place < 0:
            return line
        line = line[place + 1 :]


@functools.lru_cache(maxsize=4096)
def _spelled(number: str) -> str:
    from num2words import num2words

    # CMI-Bench itself fails on what Python calls a digit and is none (²), and on numbers beyond any name.
    if not re.fullmatch(r"\d{1,300}", number):
        return number
    spelled: str = num2words(int(number))
    return spelled


def scorer() -> Scorer:
    """``cmi-bench``: the mean of utterances' own rates first."""
    return transcript_scorer(
        "cmi-bench",
        f"v:1|norm:cmi-bench+num2words-{library_version('num2words')}|empty:deletions|agg:mean|align:levenshtein",
        Normaliser(reference, answer),
        metrics=("wer_mean", "cer_mean", "wer", "wer_capped", "wer_over_one"),
        lacking=needs("num2words", "cmi-bench", "asr"),
    )
