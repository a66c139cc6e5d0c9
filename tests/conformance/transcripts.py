"""Reference cases of transcripts, whose inputs are one pair of texts or rows of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import rate
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, errors

from .table import Scorer

NO_REFERENCE = (
    "a set whose references hold nothing has no pooled rate: NaN, where jiwer gives the number of insertions; an "
    "utterance's own rate (wer_mean, cer_mean) is that number"
)


def counts(normaliser: Normaliser, inputs: Mapping[str, Any]) -> list[dict[str, float]]:
    """The error counts of each pair."""
    references = inputs["references"] if "references" in inputs else [inputs["reference"]]
    answers = inputs["hypotheses"] if "hypotheses" in inputs else [inputs["hypothesis"]]
    return [errors(normaliser, reference, said) for reference, said in zip(references, answers, strict=True)]


def pooled(metric: str, normaliser: Normaliser) -> Scorer:
    """The registry's ``metric`` over all pairs."""
    return lambda params, inputs: metric_kind(metric).estimate(counts(normaliser, inputs), None).value


def own_rate(normaliser: Normaliser, prefix: str = "") -> Scorer:
    """A single pair's own rate; ``prefix`` is "C" for characters."""
    return lambda params, inputs: rate(counts(normaliser, inputs)[0], prefix)
