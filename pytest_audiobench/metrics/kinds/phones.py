"""Errors per phone."""

from __future__ import annotations

from pytest_audiobench.metrics.estimates import ratio_of
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.units import PHONE_ERRORS, SHARE

KINDS = (
    MetricKind(
        "per",
        "lower",
        PHONE_ERRORS,
        ratio_of("per", ("S", "D", "I"), ("N",), "the references hold no phones"),
        lambda one: (one["S"] + one["D"] + one["I"], one["N"]),
        "Corpus phone error rate: sum(S + D + I) / sum(N) over phone tokens; the scorer says which set they are "
        "folded to. An answer without phones is all deletions; no phones in all references is NaN.",
    ),
    MetricKind(
        "other_tokens",
        "lower",
        SHARE,
        ratio_of("other_tokens", ("other",), ("said",), "the answers hold no tokens", most=1.0),
        lambda one: (one["other"], one["said"]),
        "The share of all answers' tokens that are no phones (words, letters of another alphabet): near 1 where "
        "another task was done. No tokens in all answers is NaN.",
    ),
)
