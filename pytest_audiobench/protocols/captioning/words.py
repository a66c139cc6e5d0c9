"""Captions compared word by word: our default, and what else COCO's words serve for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.caption_words import caption_words
from pytest_audiobench.metrics.definitions.captions import (
    CIDER_SET,
    cider_d,
    lacks_captions,
    lacks_spice,
    rouge_google,
    rouge_l,
    spice,
)
from pytest_audiobench.metrics.meteor import lacks_data, meteor, meteor_nosyn
from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer

WORDNET = "corpora/wordnet"

Scored = Sequence[tuple[Sample, Answer]]


def word_scorers() -> Iterator[Scorer]:
    """``captions`` (the default), ``rouge-google``, ``meteor`` and ``spider``."""
    yield Scorer(
        "captions",
        f"cap:captions|v:2|tok:ptb-like|cider:set|{made_with('pycocoevalcap', 'nltk')}",
        read_text,
        _score_words,
        ("cider_d", "rouge_l", "meteor_nosyn"),
        together=cider_of_words,
        missing_parts=lambda: lacks_captions("pycocoevalcap", "nltk"),
    )
    yield Scorer(
        "rouge-google",
        f"cap:rouge-google|v:1|stem:no|{made_with('rouge_score')}",
        read_text,
        _score_rouge,
        ("rouge_l_google",),
        missing_parts=lambda: lacks_captions("rouge_score"),
    )
    yield Scorer(
        "meteor",
        f"cap:meteor|v:2|tok:ptb-like|wordnet:yes|{made_with('nltk')}",
        read_text,
        lambda sample, answer: {
            "meteor": meteor(caption_words(answer.value or ""), [caption_words(truth) for truth in sample.truths])
        },
        ("meteor",),
        missing_parts=lambda: lacks_data(WORDNET),
    )
    yield Scorer(
        "spider",
        f"cap:spider|v:2|tok:ptb-like|cider:set|spice:1.0|{made_with('pycocoevalcap')}",
        read_text,
        lambda sample, answer: {},
        ("spider", "cider_d", "spice"),
        together=spider_of_words,
        missing_parts=lacks_spice,
    )


def words_of(text: str) -> str:
    """A caption's words with single spaces between."""
    return " ".join(caption_words(text))


def distinct(scored: Scored) -> int:
    """How many samples are scored: those of a second epoch say nothing of how rare a word is."""
    return len({(sample.id, sample.truths) for sample, _ in scored})


def cider_of_words(scored: Scored) -> Sequence[Mapping[str, float]]:
    """CIDEr-D of each, over the set."""
    return [{"cider_d": value, CIDER_SET: distinct(scored)} for value in cider_d(*_pairs(scored))]


def spider_of_words(scored: Scored) -> Sequence[Mapping[str, float]]:
    """CIDEr-D, SPICE and their mean of each, over the set."""
    consensus = cider_d(*_pairs(scored))
    meaning = spice([answer.value or "" for _, answer in scored], [sample.truths for sample, _ in scored])
    return [
        {"cider_d": cider, "spice": spice_value, "spider": (cider + spice_value) / 2.0, CIDER_SET: distinct(scored)}
        for cider, spice_value in zip(consensus, meaning, strict=True)
    ]


def made_with(*packages: str) -> str:
    """Names and versions of the libraries behind a number, as they are in a signature."""
    return "|".join(f"{package}:{library_version(package)}" for package in packages)


def _pairs(scored: Scored) -> tuple[list[str], list[list[str]]]:
    candidate = [words_of(answer.value or "") for _, answer in scored]
    return candidate, [[words_of(truth) for truth in sample.truths] for sample, _ in scored]


def _score_words(sample: Sample, answer: Answer) -> Mapping[str, float]:
    candidate, true = caption_words(answer.value or ""), [caption_words(truth) for truth in sample.truths]
    return {
        "rouge_l": rouge_l(" ".join(candidate), [" ".join(words) for words in true]),
        "meteor_nosyn": meteor_nosyn(candidate, true),
    }


def _score_rouge(sample: Sample, answer: Answer) -> Mapping[str, float]:
    scores = (rouge_google("rougeL", answer.value or "", truth, stemmed=False) for truth in sample.truths)
    return {"rouge_l_google": max(fscore for _, _, fscore in scores)}
