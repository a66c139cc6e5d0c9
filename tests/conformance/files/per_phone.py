"""Phone error rates after folding, by jiwer over speechbrain's map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import PhoneSet, folded, phone_tokens, token_errors

from ..table import Json, Scorer


def _rate(phones: PhoneSet, references: Sequence[str], answers: Sequence[str]) -> float:
    counts = [
        token_errors(folded(phone_tokens(reference), phones), folded(phone_tokens(answer), phones))
        for reference, answer in zip(references, answers, strict=True)
    ]
    return metric_kind("per").estimate(counts, None).value


def _one(phones: PhoneSet, params: Mapping[str, Json], inputs: Json) -> Json:
    return _rate(phones, [inputs["reference"]], [inputs["hypothesis"]])


def _corpus(params: Mapping[str, Json], inputs: Json) -> Json:
    return _rate(39, inputs["references"], inputs["hypotheses"])


SCORERS: Mapping[str, Scorer] = {
    "per_39": partial(_one, 39),
    "per_48": partial(_one, 48),
    "per_61": partial(_one, 61),
    "per_39_corpus": _corpus,
}
OUT: Mapping[str, str] = {}
DIFFERS: Mapping[str, str] = dict.fromkeys(
    ("per_phone/per_39-007", "per_phone/per_48-007", *(f"per_phone/per_{phones}-010" for phones in (39, 48, 61))),
    "jiwer calls an empty reference with an empty answer a rate of 0; no phones are no rate here",
)
