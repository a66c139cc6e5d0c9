"""Chains of jiwer's plain transforms, which small evaluators are written with, and what one of them leaves out."""

from __future__ import annotations

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.free_text import read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.transcription.brackets import without_tags
from pytest_audiobench.protocols.transcription.punctuation import jiwer_words, without_punctuation
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, transcript_scorer


def lower_nopunct(text: str) -> str:
    """Lower case, no punctuation."""
    return without_punctuation(text.lower())


def salmonn(text: str) -> str:
    """The same without what then stands in ``<…>``; square brackets are gone by then, and their words stay."""
    return without_tags(lower_nopunct(text))


def scorers() -> tuple[Scorer, ...]:
    """``lower-nopunct``, ``salmonn-skip`` and ``salmonn-keep``."""
    return (
        transcript_scorer(
            "lower-nopunct",
            "v:1|norm:lower+nopunct|empty:deletions|align:levenshtein",
            Normaliser(lower_nopunct, tokens=jiwer_words),
        ),
        _salmonn(
            "salmonn-skip",
            "Answers that do not end with `</s>` (the limit of tokens cut them) and utterances whose reference holds "
            "nothing but a tag (`<MUSIC>`, `<NOISE>`) are left out.",
            skip=True,
        ),
        _salmonn("salmonn-keep", "Nothing is left out.", skip=False),
    )


def _salmonn(name: str, leaves_out: str, skip: bool) -> Scorer:
    return transcript_scorer(
        name,
        f"v:1|norm:lower+nopunct+notags|skip:{'no-eos+empty-reference' if skip else 'none'}|empty:deletions|"
        "align:levenshtein",
        Normaliser(salmonn, tokens=jiwer_words),
        parse=read_ended_text,
        skips=_is_left_out if skip else None,
        beside=("salmonn-keep",) if skip else (),
    )


def _is_left_out(sample: Sample, answer: Answer) -> bool:
    return answer.status == "truncated" or not without_tags(sample.reference.strip())
