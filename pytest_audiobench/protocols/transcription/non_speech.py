"""Words where nobody speaks, counted clip by clip: ours, and the rule of the audiobench tool (github THENIROCK)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.free_text import answer_of
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer
from pytest_audiobench.protocols.transcription.basic import basic_text
from pytest_audiobench.protocols.transcription.jiwer_chains import lower_nopunct
from pytest_audiobench.protocols.transcription.punctuation import jiwer_words
from pytest_audiobench.protocols.transcription.silence import what_is_said


def scorers(characters: bool) -> tuple[Scorer, ...]:
    """``non-speech`` and ``non-speech-thenirock``; ``characters`` where the language writes no spaces."""
    return _ours(list if characters else str.split, "character" if characters else "word"), _published()


def _ours(tokens: Callable[[str], Sequence[str]], unit: str) -> Scorer:
    return Scorer(
        "non-speech",
        f"asr:non-speech|v:1|norm:nfkc+lower+nopunct+marks|unit:{unit}|markers:none|statements:declined",
        _parsed,
        partial(_scored, tokens),
        ("hallucination_rate", "inserted_tokens", "silent_rate", "declined_rate"),
        unfit=_speaks,
    )


def _published() -> Scorer:
    return Scorer(
        "non-speech-thenirock",
        "asr:non-speech-thenirock|v:1|norm:lower+nopunct|unit:word|markers:words|statements:words",
        _as_it_is,
        _scored_as_published,
        ("hallucination_rate", "inserted_tokens", "silent_rate"),
        unfit=_speaks,
    )


def _speaks(sample: Sample) -> str:
    if not basic_text(sample.reference):
        return ""
    return f"somebody speaks in {sample.id!r}, whose reference has words: use insertions, or wer-basic"


def _parsed(sample: Sample, earlier: Earlier) -> Answer:
    """An answer without words is a right one here, and no empty one; one that declines says so."""
    response = answer_of(earlier)
    heard = what_is_said(response.text)
    if heard.said == "declined":
        return Answer("refused", response.text)
    return Answer("truncated" if heard.words and response.finish == "length" else "parsed", response.text)


def _scored(tokens: Callable[[str], Sequence[str]], sample: Sample, answer: Answer) -> Mapping[str, float]:
    heard = what_is_said(answer.value or "")
    return {
        "hallucinated": float(heard.said == "words"),
        "inserted": float(len(tokens(heard.words))),
        "silent": float(heard.said == "nothing"),
        "declined": float(heard.said == "declined"),
    }


def _as_it_is(sample: Sample, earlier: Earlier) -> Answer:
    return Answer("parsed", answer_of(earlier).text)


def _scored_as_published(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = len(jiwer_words(lower_nopunct(answer.value or "")))
    return {"hallucinated": float(words > 0), "inserted": float(words), "silent": float(words == 0)}
