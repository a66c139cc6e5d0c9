"""BLEU, chrF, chrF++ and TER of sacrebleu 2.6.0."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.translations import (
    bleu_statistics,
    chrf_statistics,
    sentence_bleu,
    ter_statistics,
)
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.tokenizers import bleu_signature

Json = Any


def _corpus_bleu(params: Mapping[str, Json], inputs: Json) -> float:
    cased = str.lower if params.get("lowercase") else str
    rows = [
        bleu_statistics(cased(hypothesis), [cased(reference) for reference in references], params["tokenize"])
        for hypothesis, *references in zip(inputs["hypotheses"], *inputs["references"], strict=True)
    ]
    return metric_kind("bleu").estimate(rows, None).value


def _corpus_chrf(params: Mapping[str, Json], inputs: Json) -> float:
    pairs = zip(inputs["hypotheses"], *inputs["references"], strict=True)
    return metric_kind("chrf").estimate([chrf_statistics(text, refs) for text, *refs in pairs], None).value


def _sentence_bleu(tokenizer: str, params: Mapping[str, Json], inputs: Json) -> float:
    return sentence_bleu(bleu_statistics(inputs["hypothesis"], inputs["references"], tokenizer), effective_order=True)


def _sentence_chrf(name: str, params: Mapping[str, Json], inputs: Json) -> float:
    return metric_kind(name).estimate([chrf_statistics(inputs["hypothesis"], inputs["references"])], None).value


def _sentence_ter(params: Mapping[str, Json], inputs: Json) -> float:
    rate = metric_kind("ter").estimate([ter_statistics(inputs["hypothesis"], inputs["references"])], None).value
    return 100.0 * rate


def _signature(params: Mapping[str, Json], inputs: Json) -> str:
    if params.get("lowercase") or params.get("smooth_method", "exp") != "exp":
        raise UsageError("no protocol lower-cases within BLEU, or smooths but exponentially")
    return bleu_signature(params["tokenize"], references="1")


SCORERS = {
    "bleu_corpus": _corpus_bleu,
    "bleu_corpus_multiref": _corpus_bleu,
    **{
        f"bleu_sentence_{tokenizer}": partial(_sentence_bleu, tokenizer)
        for tokenizer in ("13a", "char", "intl", "ja-mecab", "none", "zh")
    },
    "bleu_signature": _signature,
    "chrf_corpus": _corpus_chrf,
    "chrf_sentence": partial(_sentence_chrf, "chrf"),
    "chrfpp_sentence": partial(_sentence_chrf, "chrfpp"),
    "ter_sentence": _sentence_ter,
}
OUT: dict[str, str] = {}
DIFFERS = {
    **{
        f"bleu_chrf/bleu_signature-{number}": "no protocol lower-cases within BLEU or smooths but exponentially, so "
        "there is no signature of that"
        for number in ("007", "009", "011")
    },
    **{
        f"bleu_chrf/ter_sentence-{number}": "a reference without words is no rate: NaN; sacrebleu says 0 where the "
        "answer is empty too, else 100"
        for number in ("005", "006")
    },
}
