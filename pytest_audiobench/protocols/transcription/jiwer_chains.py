"""Chains of jiwer's plain transforms, which small evaluators are written with, and what one of them leaves out."""

from __future__ import annotations

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.protocol import About, Answer, Example, Scorer
from pytest_audiobench.protocols.spoken_questions.completeness import ended
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
            About(
                "Lower case; punctuation (Unicode's categories P) deleted with nothing in its place; words are what "
                "lies between spaces. Word errors pooled over all utterances.",
                "github THENIROCK/audiobench, src/audiobench/metrics.py; many small evaluators built on jiwer",
                (Example("A well-known “fact”.", "a well known fact"), Example("it's 5 o'clock", "its five oclock")),
                "Punctuation joins what it separated: well-known is wellknown, and 3.5 is 35. That project's headline "
                "is the mean of the rates of its perturbations, each pooled. wer-basic puts a space in its place.",
            ),
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
        About(
            "Lower case; punctuation deleted with nothing in its place; what stands in `<…>` deleted; words are what "
            f"lies between spaces. Word errors pooled over all utterances. {leaves_out}",
            "github jaeeewon/project-multimodal, dist_eval/eval_wer.py (a reproduction of SALMONN's tables)",
            (
                Example("What's <unk> that [laugh]", "what is that"),
                Example("thank you for watching", "<MUSIC>"),
            ),
            "On GigaSpeech's test set (25,619 utterances) the rule leaves out 1,165 cut answers and 4,577 references "
            "and makes 11.56 % of 56.39 % (the paper says 10.0 %): what it leaves out is where the model ran away. It "
            "was applied to GigaSpeech's references only; answers without an end were left out everywhere. Square "
            "brackets are punctuation and go first, so that the word in [laugh] is counted. wer-basic leaves nothing "
            "out.",
        ),
        parse=ended,
        skips=_is_left_out if skip else None,
        beside=("salmonn-keep",) if skip else (),
    )


def _is_left_out(sample: Sample, answer: Answer) -> bool:
    return answer.status == "truncated" or not without_tags(sample.reference.strip())
