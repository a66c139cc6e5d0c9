"""BLEU by every tokenizer, of texts as they are or normalised, keeping all answers or not; chrF, chrF++ and TER."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.translations import bleu_statistics, chrf_statistics, ter_statistics
from pytest_audiobench.metrics.tokenizers import TOKENIZERS, bleu_signature, lacking, library_version
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.transcription import whisper as normalisers
from pytest_audiobench.protocols.transcription.texts import cached_text

Rewrite: TypeAlias = Callable[[str], str]

_NO_WORD = re.compile(r"[^\w\s']|_|(?<!\w)'|'(?!\w)")
_CURLY = str.maketrans("’‘ʼ", "'''")
_KANA = re.compile("[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d]")
_NULLS = frozenset({"null", "none"})


class Norm(NamedTuple):
    """A way to rewrite both sides before BLEU, and its name in a signature."""

    name: str
    rewrite: Rewrite


def as_it_is(text: str) -> str:
    return text


@cached_text
def lower_nopunct(text: str) -> str:
    """``text`` in lower case without punctuation and symbols; an apostrophe stays between letters."""
    return " ".join(_NO_WORD.sub(" ", text.translate(_CURLY).lower()).split())


def whisper(code: str | None) -> Rewrite:
    """Whisper's normaliser for a target language: the English one for English, else the basic one.

    The basic one takes vowel signs of Indic scripts and Thai for punctuation.
    """
    return normalisers.english if code == "en" else normalisers.basic


def whisper_name(code: str | None) -> str:
    """How a signature calls :func:`whisper`, with the library's version."""
    return f"whisper-{'en' if code == 'en' else 'basic'}-{library_version('whisper-normalizer')}"


RAW = Norm("raw", as_it_is)
NOPUNCT = Norm("lower+nopunct", lower_nopunct)


def says_nothing(text: str) -> bool:
    """Whether an answer is empty or the word null (or None), as clients write for a failed call."""
    return text.strip().lower() in _NULLS or not text.strip()


def lacks_kana(text: str, references: Sequence[str], code: str | None) -> bool:
    """Whether Japanese is the target and ``text`` has no kana. Without a target it is if a reference has kana."""
    wanted = code == "ja" if code is not None else any(map(_KANA.search, references))
    return wanted and _KANA.search(text) is None


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
            yield _scorer(keeping, tokenizer, norm, None)
            yield _scorer(f"{keeping}-skip", tokenizer, norm, code or "", (keeping,))


def left_out(code: str | None, text: str, references: Sequence[str]) -> bool:
    """Whether the skip rule leaves an answer out: empty, null, or without kana where Japanese is the target."""
    return says_nothing(text) or lacks_kana(text, references, code)


def _scorer(name: str, tokenizer: str, norm: Norm, skips: str | None, companions: tuple[str, ...] = ()) -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if skips is not None and left_out(skips or None, answer.value or "", sample.truths):
            return None
        truths = [norm.rewrite(truth) for truth in sample.truths]
        return bleu_statistics(norm.rewrite(answer.value or ""), truths, tokenizer)

    skip = "none" if skips is None else f"empty+null+nokana[{skips or 'by-reference'}]"
    return Scorer(
        name,
        f"st:{name}|v:1|norm:{norm.name}|skip:{skip}|{bleu_signature(tokenizer)}",
        read_text,
        score,
        ("bleu",),
        companions=companions,
        missing_parts=partial(lacking, tokenizer),
    )


def other_scorers() -> Iterator[Scorer]:
    """``chrf`` (chrF2 and chrF++) and ``ter``, by sacrebleu as it comes."""
    version = f"nrefs:var|version:{library_version('sacrebleu')}"
    yield Scorer(
        "chrf",
        f"st:chrf|v:1|case:mixed|nc:6|nw:0,2|beta:2|space:no|{version}",
        read_text,
        lambda sample, answer: chrf_statistics(answer.value or "", sample.truths),
        ("chrf", "chrfpp"),
    )
    yield Scorer(
        "ter",
        f"st:ter|v:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|{version}",
        read_text,
        lambda sample, answer: ter_statistics(answer.value or "", sample.truths),
        ("ter",),
    )
