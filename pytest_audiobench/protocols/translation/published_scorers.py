"""Speech translation as papers and toolkits score it, each under its own name."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.translations import bleu_statistics, sentence_bleu
from pytest_audiobench.metrics.tokenizers import bleu_signature, lacking, library_version, tokenized
from pytest_audiobench.protocols.free_text import answer_of, read_ended_text, read_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer
from pytest_audiobench.protocols.transcription import published_scorers as transcript_scorers
from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.chinese import text_norm
from pytest_audiobench.protocols.transcription.multilingual import spoken_text
from pytest_audiobench.protocols.transcription.texts import cached_text, without_punctuation_words
from pytest_audiobench.protocols.transcription.transcript_scorer import needs
from pytest_audiobench.protocols.translation.bleu import RAW, Norm, Rewrite, as_it_is, lacks_kana, whisper_name


def published_scorers(code: str | None) -> Iterator[Scorer]:
    """The scorers of other projects for a target language, None when it is not known."""
    by_zh = "zh" if code == "zh" else "13a"
    by_mecab = {"ja": "ja-mecab", "zh": "zh"}.get(code or "", "13a")
    yield _scorer("audiobench", "raw|empty:word", "flores101", lambda text: text or "empty", _read_as_is)
    yield _ultraeval(by_zh)
    spelled = f"num2words-{library_version('num2words')}[{code or 'en'}]"
    yield replace(
        _scorer(
            "au-harness",
            f"nfc+{spelled}+{whisper_name(code or 'en')}+lower+nopunct",
            by_zh,
            transcript_scorers.au_harness_normaliser(code or "en"),
        ),
        missing_parts=needs("num2words", "au-harness", "asr"),
    )
    yield _scorer("qwen2-audio", "raw", by_mecab)
    yield _scorer("kimi", "raw", by_mecab)
    if code == "zh":
        yield _scorer("lmms-eval", "textnorm+zh-tokens+lower+nopunct", "zh", lmms_eval_chinese)
    else:
        yield _scorer("lmms-eval", f"{whisper_name('en')}+lower+nopunct", "13a", lmms_eval_english)
    for norm, suffix in ((RAW, ""), (NO_ASCII, "-nopunct")):
        yield _salmonn_repro(code, norm, suffix, skips=True)
        yield _salmonn_repro(code, norm, suffix, skips=False)


def _scorer(
    name: str,
    norm: str,
    tokenizer: str,
    rewrite: Rewrite = as_it_is,
    read: Callable[[Sample, Earlier], Answer] = read_text,
) -> Scorer:
    """BLEU against the first reference, both sides rewritten."""

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return bleu_statistics(rewrite(answer.value or ""), [rewrite(sample.reference)], tokenizer)

    signature = f"st:{name}|v:1|norm:{norm}|{bleu_signature(tokenizer, '1')}"
    return Scorer(name, signature, read, score, ("bleu",), missing_parts=partial(lacking, tokenizer))


def _ultraeval(tokenizer: str) -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        statistics = bleu_statistics(answer.value or "", [sample.reference], tokenizer)
        return {**statistics, "sentence_bleu": sentence_bleu(statistics, effective_order=False)}

    signature = f"st:ultraeval|v:1|norm:raw|mean:samples|{bleu_signature(tokenizer, '1')}"
    return Scorer("ultraeval", signature, read_text, score, ("bleu_mean", "bleu"))


@cached_text
def lmms_eval_english(text: str) -> str:
    """``text`` as lmms-eval normalises it for every target language but Chinese."""
    return without_punctuation_words(whisper.english(spoken_text(text))).lower()


@cached_text
def lmms_eval_chinese(text: str) -> str:
    """``text`` as lmms-eval normalises it for Chinese: its numbers in Chinese words, its characters apart."""
    return without_punctuation_words(tokenized("zh", text_norm(spoken_text(text)))).lower()


NO_ASCII = Norm(
    "lower+noascii-but-'-",
    lambda text: text.lower().translate(dict.fromkeys(set(map(ord, string.punctuation)) - {39, 45})),
)
"""The reproduction of SALMONN's: punctuation of other scripts stays."""


def _salmonn_repro(code: str | None, norm: Norm, suffix: str, skips: bool) -> Scorer:
    tokenizer = "char" if code in ("zh", "ja") else "13a"
    skip = f"unended+nokana[{code or 'by-reference'}]" if skips else "none"
    keeping = f"salmonn-repro{suffix}-keep"
    name = f"salmonn-repro{suffix}" if skips else keeping

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        text = answer.value or ""
        unended = answer.status == "truncated"
        if skips and (unended or lacks_kana(text, sample.truths, code)):
            return None
        return bleu_statistics(norm.rewrite(text), [norm.rewrite(truth) for truth in sample.truths], tokenizer)

    return Scorer(
        name,
        f"st:{name}|v:{2 if skips else 1}|norm:{norm.name}|skip:{skip}|{bleu_signature(tokenizer)}",
        read_ended_text,
        score,
        ("bleu",),
        companions=(keeping,) if skips else (),
    )


def _read_as_is(sample: Sample, earlier: Earlier) -> Answer:
    """As any text, but one of spaces only keeps its spaces: the rule replaces what has no character at all."""
    answer = read_text(sample, earlier)
    return answer if answer.value else Answer(answer.status, answer_of(earlier).text or None)
