"""BLEU by every tokenizer, each on texts as they are or normalised, and keeping all answers or leaving some out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.tokenizers import TOKENIZERS, bleu_signature, lacking
from pytest_audiobench.metrics.translations import bleu_statistics
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.translation.texts import (
    NOPUNCT,
    RAW,
    Norm,
    lacks_kana,
    says_nothing,
    whisper,
    whisper_name,
)

_WHISPERED = ("13a", "zh")


def bleu_scorers(code: str | None) -> Iterator[Scorer]:
    """``bleu-<tokenizer>``, with ``-nopunct`` or ``-whisper`` where texts are normalised, with ``-skip`` where some
    answers are left out. ``code`` is the target language, None when it is not known.
    """
    norms = {"": RAW, "-nopunct": NOPUNCT}
    whispered = {**norms, "-whisper": Norm(whisper_name(code), whisper(code))}
    for tokenizer in TOKENIZERS:
        for suffix, norm in (whispered if tokenizer in _WHISPERED else norms).items():
            keeping = f"bleu-{tokenizer}{suffix}"
            yield _reading(keeping, tokenizer, norm, None)
            yield _reading(f"{keeping}-skip", tokenizer, norm, code or "", (keeping,))


def score_bleu(tokenizer: str, rewrite: Callable[[str], str], sample: Sample, answer: Answer) -> Mapping[str, float]:
    """The statistics of one answer against all its references, both sides rewritten."""
    return bleu_statistics(rewrite(answer.value or ""), [rewrite(truth) for truth in sample.truths], tokenizer)


def left_out(code: str | None, text: str, references: Sequence[str]) -> bool:
    """Whether the skip rule leaves an answer out: empty, null, or without kana where Japanese is wanted."""
    return says_nothing(text) or lacks_kana(text, references, code)


def _reading(name: str, tokenizer: str, norm: Norm, skips: str | None, beside: tuple[str, ...] = ()) -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if skips is not None and left_out(skips or None, answer.value or "", sample.truths):
            return None
        return score_bleu(tokenizer, norm.rewrite, sample, answer)

    skip = "none" if skips is None else f"empty+null+nokana[{skips or 'by-reference'}]"
    return Scorer(
        name,
        f"st:{name}|v:1|norm:{norm.name}|skip:{skip}|{bleu_signature(tokenizer)}",
        read_text,
        score,
        ("bleu",),
        beside=beside,
        lacking=partial(lacking, tokenizer),
    )
