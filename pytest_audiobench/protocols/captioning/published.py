"""Captions as papers and toolkits score them, each under its own name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.kinds.captions import (
    CIDER_SET,
    cider_d,
    lacks_captions,
    lacks_spice,
    rouge_google,
    rouge_l,
)
from pytest_audiobench.metrics.kinds.translations import bleu_statistics
from pytest_audiobench.metrics.meteor import lacks_data, meteor
from pytest_audiobench.metrics.tokenizers import bleu_signature
from pytest_audiobench.protocols.captioning.words import (
    A_DOG,
    EMPTY,
    WORDNET,
    WORDS,
    Scored,
    cider_of_words,
    distinct,
    made_with,
    spider_of_words,
    words_of,
)
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import About, Answer, Example, Scorer
from pytest_audiobench.protocols.spoken_questions.completeness import ended
from pytest_audiobench.protocols.translation.texts import NOPUNCT, RAW, Norm, says_nothing

_ONE_REFERENCE = Example("A dog is barking loudly.", "a dog barks loudly")
_LONG = Example("a dog barks loudly and a man speaks and rain falls and a car passes by", "a dog barks loudly")
_PUNKT = "tokenizers/punkt_tab"
_CMI_BENCH = "github nicolaus625/CMI-bench, evaluate.py (music_captioning)"


def published_scorers() -> Iterator[Scorer]:
    """The scorers of other projects."""
    yield _cmi_bench()
    yield _cmi_bench_meteor()
    yield _nota()
    yield _audiobench()
    yield _ultraeval()
    yield _salmonn_repro()
    for norm, suffix in ((RAW, ""), (NOPUNCT, "-nopunct")):
        keeping = f"salmonn-repro-music{suffix}-keep"
        yield _salmonn_repro_music(f"salmonn-repro-music{suffix}", norm, (keeping,))
        yield _salmonn_repro_music(keeping, norm, ())


def _cmi_bench() -> Scorer:
    return Scorer(
        "cmi-bench",
        f"cap:cmi-bench|v:1|tok:characters|stem:yes|{made_with('nltk', 'rouge_score')}",
        read_text,
        _score_cmi_bench,
        ("bleu_characters", "bleu4_characters", "rouge_l_recall"),
        About(
            "nltk's sentence_bleu of the two texts as they are, with equal weights for 1- to 4-grams and with all "
            "weight on 4-grams, not smoothed; and the recall of google's ROUGE-L with stems. One reference; means "
            "over samples.",
            _CMI_BENCH,
            (_ONE_REFERENCE, _LONG),
            "sentence_bleu takes lists of words and is given texts, so its n-grams are of characters: 23.40 where word "
            "BLEU is 1.93. Recall alone rewards length. Our default compares words, and by an F-score.",
        ),
        lacking=lambda: lacks_captions("nltk", "rouge_score"),
    )


def _score_cmi_bench(sample: Sample, answer: Answer) -> Mapping[str, float]:
    said, true = answer.value or "", sample.reference
    return {
        "bleu_characters": character_bleu(said, true, (0.25, 0.25, 0.25, 0.25)),
        "bleu4_characters": character_bleu(said, true, (0.0, 0.0, 0.0, 1.0)),
        "rouge_l_recall": rouge_google("rougeL", said, true, stemmed=True)[1],
    }


def character_bleu(candidate: str, reference: str, weights: Sequence[float]) -> float:
    """The sentence_bleu of nltk with texts in place of lists of words, 0 to 1; an empty side is 0."""
    from nltk.translate.bleu_score import sentence_bleu

    with warnings.catch_warnings():
        # It warns for every text without a common 4-gram.
        warnings.simplefilter("ignore")
        return float(sentence_bleu([reference], candidate, weights=weights)) if candidate and reference else 0.0


def _cmi_bench_meteor() -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        from nltk.tokenize import wordpunct_tokenize

        return {"meteor": meteor(wordpunct_tokenize(answer.value or ""), [wordpunct_tokenize(sample.reference)])}

    return Scorer(
        "cmi-bench-meteor",
        f"cap:cmi-bench-meteor|v:1|tok:wordpunct|wordnet:yes|{made_with('nltk')}",
        read_text,
        score,
        ("meteor",),
        About(
            "nltk's METEOR with WordNet's synonyms against one reference, on nltk's wordpunct tokens: runs of letters "
            "and digits, and runs of marks. The mean over samples.",
            _CMI_BENCH,
            (_ONE_REFERENCE,),
            "Marks count as words.",
        ),
        lacking=lambda: lacks_data(WORDNET),
    )


def _nota() -> Scorer:
    def together(scored: Scored) -> Sequence[Mapping[str, float]]:
        found = cider_d([answer.value or "" for _, answer in scored], [[sample.reference] for sample, _ in scored])
        return [{"cider_d": value, CIDER_SET: distinct(scored)} for value in found]

    return Scorer(
        "nota",
        f"cap:nota|v:1|tok:whitespace|cider:set|{made_with('pycocoevalcap')}",
        read_text,
        lambda sample, answer: {},
        ("cider_d",),
        About(
            "CIDEr-D of what spaces divide in the texts as they are, against one reference, over the set.",
            "github nota-github/audiolm-evaluator, metrics.py (compute_spider)",
            (_ONE_REFERENCE,),
            "The project prints 100 times this and calls it SPIDEr; its code computes no SPICE, so the number is no "
            "SPIDEr. Case and punctuation count, and one of AudioCaps' five references is used. Our default is "
            "lower case without marks.",
        ),
        together=together,
        lacking=lambda: lacks_captions("pycocoevalcap"),
    )


def _audiobench() -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        from nltk import word_tokenize

        return {"meteor": meteor(word_tokenize(answer.value or ""), [word_tokenize(sample.reference)])}

    return Scorer(
        "audiobench",
        f"cap:audiobench|v:1|tok:nltk-punkt|wordnet:yes|{made_with('nltk')}",
        read_text,
        score,
        ("meteor",),
        About(
            "nltk's METEOR with WordNet's synonyms against one reference, on nltk's word_tokenize, by the evaluate "
            "library; the mean over samples.",
            "github AudioLLMs/AudioBench, src/dataset_src/audiocaps_test.py",
            (_ONE_REFERENCE,),
            "One reference where AudioCaps has five, and about twice the Java program's METEOR. The recorded runs "
            "keep no predictions, so the published numbers cannot be computed again.",
        ),
        lacking=lambda: lacks_data(WORDNET, _PUNKT),
    )


def _ultraeval() -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        said, true = words_of(answer.value or ""), [words_of(truth) for truth in sample.truths]
        return {**bleu_statistics(said, true, "none"), "rouge_l": rouge_l(said, true)}

    return Scorer(
        "ultraeval",
        f"cap:ultraeval|v:1|tok:ptb-like|cider:set|{made_with('pycocoevalcap')}",
        read_text,
        score,
        ("cider_d", "rouge_l", "coco_bleu1", "coco_bleu2", "coco_bleu3", "coco_bleu4"),
        About(
            "COCO's evaluation without its Java programs: BLEU-1 to -4, ROUGE-L and CIDEr-D against all references. "
            f"{WORDS}.",
            "github OpenBMB/UltraEval-Audio, audio_evals/agg/base.py (Coco), by pycocoevalcap",
            (A_DOG, EMPTY),
            "The original also gives METEOR 1.5, SPICE and SPIDEr, all by Java, and divides words by Stanford's own "
            "tokenizer; SPIDEr is the scorer spider here.",
        ),
        together=cider_of_words,
        lacking=lambda: lacks_captions("pycocoevalcap"),
    )


def _salmonn_repro() -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        from nltk import word_tokenize

        return {"meteor": meteor(word_tokenize(answer.value or ""), [word_tokenize(truth) for truth in sample.truths])}

    return Scorer(
        "salmonn-repro",
        "cap:salmonn-repro|v:1|tok:nltk-punkt+ptb-like|wordnet:yes|cider:set|spice:1.0|"
        + made_with("nltk", "pycocoevalcap"),
        read_text,
        score,
        ("meteor", "spider", "cider_d", "spice"),
        About(
            "nltk's METEOR with WordNet on nltk's word_tokenize, and SPIDEr, against all references, for AudioCaps.",
            "a laboratory's reproduction of SALMONN (Tang et al. 2024), table 3, eval_aac.py",
            (A_DOG,),
            "METEOR came out as .216 by nltk and as .108 by the Java program on the same outputs, where the paper has "
            ".240; SPIDEr as .233 (CIDEr-D .354, SPICE .111), where the paper has .403.",
        ),
        together=spider_of_words,
        lacking=lambda: lacks_data(WORDNET, _PUNKT) or lacks_spice(),
    )


def _salmonn_repro_music(name: str, norm: Norm, beside: tuple[str, ...]) -> Scorer:
    skip = "unended+empty+null" if beside else "none"
    return Scorer(
        name,
        f"cap:{name}|v:1|norm:{norm.name}|skip:{skip}|rouge:{made_with('rouge_score')}|{bleu_signature('13a', '1')}",
        ended,
        partial(_score_music, norm, bool(beside)),
        ("bleu", "rouge_l_google"),
        About(
            f"Corpus BLEU by 13a and the mean F1 of google's ROUGE-L, both {norm.says}, against one reference, for "
            "MusicCaps, but for a written end token </s>. "
            + (
                "Answers that did not end by themselves, empty ones, and the word null or None are left out."
                if beside
                else "All answers count."
            ),
            "a laboratory's reproduction of SALMONN (Tang et al. 2024), table 3",
            (_ONE_REFERENCE, Example("a dog barks and", "a dog barks loudly", finish="length"), EMPTY),
            "306 of 2,828 answers were left out: BLEU-4 and ROUGE-L 4.31 and 22.65, 3.78 and 21.86 with all; "
            "normalised 3.53 and 22.62, 3.07 and 21.83 with all. The paper has 5.5 and 21.8. Which ROUGE-L was used "
            "is not printed. Whether an answer ended is read from the finish reason, or from a written </s>.",
        ),
        beside=beside,
        lacking=lambda: lacks_captions("rouge_score"),
    )


def _score_music(norm: Norm, skips: bool, sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    text = answer.value or ""
    if skips and (answer.status == "truncated" or says_nothing(text)):
        return None
    said, true = norm.rewrite(text), norm.rewrite(sample.reference)
    return {
        **bleu_statistics(said, [true], "13a"),
        "rouge_l_google": rouge_google("rougeL", said, true, stemmed=False)[2],
    }
