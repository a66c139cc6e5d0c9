"""Errors per word, from the counts of an alignment."""

from __future__ import annotations

from pytest_audiobench.metrics.estimates import ratio_of
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.units import WORD_ERRORS

KINDS = (
    MetricKind(
        "wer",
        "lower",
        WORD_ERRORS,
        ratio_of("wer", ("S", "D", "I"), ("N",), "the references hold no words"),
        lambda one: (one["S"] + one["D"] + one["I"], one["N"]),
        "Corpus word error rate: sum(S + D + I) / sum(N), not the mean of the samples' rates. No words in all "
        "references is no rate: NaN.",
    ),
)
