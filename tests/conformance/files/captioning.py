"""Caption metrics of pycocoevalcap, rouge_score, nltk and BEANS-Next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_audiobench.metrics.caption_words import caption_words
from pytest_audiobench.metrics.definitions.captions import CIDER_SET, cider_beans_next, cider_d, rouge_google, rouge_l
from pytest_audiobench.metrics.meteor import meteor_nosyn
from pytest_audiobench.metrics.registry import metric_kind

Json = Any


def _corpus(metric: str, values: list[float]) -> float:
    return metric_kind(metric).estimate([{metric: value} for value in values], None).value


def _cider(params: Mapping[str, Json], inputs: Json) -> Json:
    values = cider_d(inputs["candidates"], inputs["references"])
    rows = [{"cider_d": value, CIDER_SET: len(values)} for value in values]
    return {"corpus": metric_kind("cider_d").estimate(rows, None).value, "per_item": values}


def _cider_beans_next(params: Mapping[str, Json], inputs: Json) -> float:
    return _corpus("cider_beans_next", cider_beans_next(inputs["predictions"], inputs["targets"]))


def _rouge(params: Mapping[str, Json], inputs: Json) -> Json:
    values = [rouge_l(*pair) for pair in zip(inputs["candidates"], inputs["references"], strict=True)]
    return {"corpus": _corpus("rouge_l", values), "per_item": values}


def _rouge_google(params: Mapping[str, Json], inputs: Json) -> Json:
    texts = inputs["hypothesis"], inputs["reference"], params["use_stemmer"]
    return {kind: dict(zip("prf", rouge_google(kind, *texts), strict=True)) for kind in ("rouge1", "rouge2", "rougeL")}


def _meteor(params: Mapping[str, Json], inputs: Json) -> float:
    return meteor_nosyn(inputs["hypothesis"].split(), [inputs["reference"].split()])


def _words(params: Mapping[str, Json], inputs: Json) -> str:
    return " ".join(caption_words(inputs["text"]))


SCORERS = {
    "cider_beans_next": _cider_beans_next,
    "cider_d": _cider,
    "meteor_nltk_nosyn": _meteor,
    "ptb_tokenize_coco": _words,
    "rouge_l_coco": _rouge,
    "rouge_score": _rouge_google,
}
OUT = {"meteor_1_5_jar": "a Java program that is never run; METEOR here is nltk's, under other names"}
DIFFERS: dict[str, str] = {}
