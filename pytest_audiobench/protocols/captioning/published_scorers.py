"""Captions as papers and toolkits score them, each under its own name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions import captions
from pytest_audiobench.metrics.definitions.translations import bleu_statistics
from pytest_audiobench.metrics.meteor import lacks_data, meteor
from pytest_audiobench.metrics.tokenizers import bleu_signature, tokenized
from pytest_audiobench.protocols.captioning.words import (
    WORDNET,
    Scored,
    cider_of_words,
    distinct,
    made_with,
    spider_of_words,
    words_of,
)
from pytest_audiobench.protocols.free_text import read_ended_text, read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.transcription.published_scorers import salmonn_text
from pytest_audiobench.protocols.transcription.texts import jiwer_words
from pytest_audiobench.protocols.translation.bleu import Norm
from pytest_audiobench.protocols.translation.published_scorers import NO_ASCII

_PUNKT = "tokenizers/punkt_tab"
_WORDS = Norm("13a", partial(tokenized, "13a"))


def published_scorers() -> Iterator[Scorer]:
    """The scorers of other projects."""
    yield Scorer(
        "cmi-bench",
        f"cap:cmi-bench|v:1|tok:characters|stem:yes|{made_with('nltk', 'rouge_score')}",
        read_text,
        _score_cmi_bench,
        ("bleu_characters", "bleu4_characters", "rouge_l_recall"),
        missing_parts=lambda: captions.lacks_captions("nltk", "rouge_score"),
    )
    yield Scorer(
        "cmi-bench-meteor",
        f"cap:cmi-bench-meteor|v:1|tok:wordpunct|wordnet:yes|{made_with('nltk')}",
        read_text,
        partial(_score_meteor, "wordpunct_tokenize", False),
        ("meteor",),
        missing_parts=lambda: lacks_data(WORDNET),
    )
    yield Scorer(
        "nota",
        f"cap:nota|v:2|tok:whitespace|cider:set|{made_with('pycocoevalcap')}",
        read_text,
        lambda sample, answer: {},
        ("cider_d",),
        together=_cider_of_texts,
        missing_parts=lambda: captions.lacks_captions("pycocoevalcap"),
    )
    yield Scorer(
        "audiobench",
        f"cap:audiobench|v:1|tok:nltk-punkt|wordnet:yes|{made_with('nltk')}",
        read_text,
        partial(_score_meteor, "word_tokenize", False),
        ("meteor",),
        missing_parts=lambda: lacks_data(WORDNET, _PUNKT),
    )
    yield Scorer(
        "ultraeval",
        f"cap:ultraeval|v:2|tok:ptb-like|cider:set|{made_with('pycocoevalcap')}",
        read_text,
        _score_ultraeval,
        ("cider_d", "rouge_l", "coco_bleu1", "coco_bleu2", "coco_bleu3", "coco_bleu4"),
        together=cider_of_words,
        missing_parts=lambda: captions.lacks_captions("pycocoevalcap"),
    )
    yield Scorer(
        "salmonn-repro",
        "cap:salmonn-repro|v:2|tok:nltk-punkt+ptb-like|wordnet:yes|cider:set|spice:1.0|"
        + made_with("nltk", "pycocoevalcap"),
        read_text,
        partial(_score_meteor, "word_tokenize", True),
        ("meteor", "spider", "cider_d", "spice"),
        together=spider_of_words,
        missing_parts=lambda: lacks_data(WORDNET, _PUNKT) or captions.lacks_spice(),
    )
    for keep, name in ((False, "salmonn-repro-pairs"), (True, "salmonn-repro-pairs-keep")):
        yield Scorer(
            name,
            f"cap:{name}|v:1|norm:lower+nopunct+notags|skip:{'none' if keep else 'unended'}|wordnet:yes|"
            + made_with("nltk"),
            read_ended_text,
            partial(_score_pairs, keep),
            ("meteor",),
            companions=() if keep else ("salmonn-repro-pairs-keep",),
            missing_parts=lambda: lacks_data(WORDNET),
        )
    for norm, suffix in ((_WORDS, ""), (NO_ASCII, "-nopunct")):
        keeping = f"salmonn-repro-music{suffix}-keep"
        yield _salmonn_repro_music(f"salmonn-repro-music{suffix}", norm, (keeping,))
        yield _salmonn_repro_music(keeping, norm, ())


def _score_cmi_bench(sample: Sample, answer: Answer) -> Mapping[str, float]:
    candidate, true = answer.value or "", sample.reference
    return {
        "bleu_characters": character_bleu(candidate, true, (0.25, 0.25, 0.25, 0.25)),
        "bleu4_characters": character_bleu(candidate, true, (0.0, 0.0, 0.0, 1.0)),
        "rouge_l_recall": captions.rouge_google("rougeL", candidate, true, stemmed=True)[1],
    }


def character_bleu(candidate: str, reference: str, weights: Sequence[float]) -> float:
    """The sentence_bleu of nltk with texts in place of lists of words, 0 to 1; an empty side is 0."""
    from nltk.translate.bleu_score import sentence_bleu

    with warnings.catch_warnings():
        # It warns for every text without a common 4-gram.
        warnings.simplefilter("ignore")
        return float(sentence_bleu([reference], candidate, weights=weights)) if candidate and reference else 0.0


def _score_meteor(tokenizer: str, of_all: bool, sample: Sample, answer: Answer) -> Mapping[str, float]:
    """METEOR of the words that nltk's ``tokenizer`` finds, against all references or the first alone."""
    import nltk

    tokenize, truths = getattr(nltk, tokenizer), sample.truths if of_all else (sample.reference,)
    return {"meteor": meteor(tokenize(answer.value or ""), [tokenize(truth) for truth in truths])}


def _score_pairs(keep: bool, sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    """The mean METEOR against each reference, which the reproduction of SALMONN has as its own row."""
    if answer.status == "truncated" and not keep:
        return None
    words = jiwer_words(salmonn_text(answer.value or ""))
    values = [meteor(words, [jiwer_words(salmonn_text(truth))]) for truth in sample.truths]
    return {"meteor": sum(values) / len(values)}


def _cider_of_texts(scored: Scored) -> Sequence[Mapping[str, float]]:
    each = captions.cider_d([answer.value or "" for _, answer in scored], [[sample.reference] for sample, _ in scored])
    return [{"cider_d": value, captions.CIDER_SET: distinct(scored)} for value in each]


def _score_ultraeval(sample: Sample, answer: Answer) -> Mapping[str, float]:
    candidate, true = words_of(answer.value or ""), [words_of(truth) for truth in sample.truths]
    return {**bleu_statistics(candidate, true, "none"), "rouge_l": captions.rouge_l(candidate, true)}


def _salmonn_repro_music(name: str, norm: Norm, companions: tuple[str, ...]) -> Scorer:
    rule = f"norm:{norm.name}|skip:{'unended' if companions else 'none'}|rouge:stems+{made_with('rouge_score')}"
    return Scorer(
        name,
        f"cap:{name}|v:2|{rule}|{bleu_signature('13a', '1')}",
        read_ended_text,
        partial(_score_music, norm, bool(companions)),
        ("bleu", "rouge_l_google"),
        companions=companions,
        missing_parts=lambda: captions.lacks_captions("rouge_score"),
    )


def _score_music(norm: Norm, skips: bool, sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    if skips and answer.status == "truncated":
        return None
    candidate, true = norm.rewrite(answer.value or ""), norm.rewrite(sample.reference)
    return {
        **bleu_statistics(candidate, [true], "13a"),
        "rouge_l_google": captions.rouge_google("rougeL", candidate, true, stemmed=True)[2],
    }
