"""Word errors of several talkers, and how many talkers an answer has."""

from __future__ import annotations

from collections.abc import Callable

from pytest_audiobench.metrics.estimates import mean_of, ratio_of
from pytest_audiobench.metrics.metric import MetricKind, Statistics
from pytest_audiobench.metrics.units import SHARE, WORD_ERRORS


def _of_one(name: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda one: (one[name], 1.0)


KINDS = (
    *(
        MetricKind(
            name,
            "lower",
            WORD_ERRORS,
            ratio_of(name, ("S", "D", "I"), ("N",), "the references hold no words"),
            lambda one: (one["S"] + one["D"] + one["I"], one["N"]),
            about,
        )
        for name, about in {
            "cpwer": "Concatenated minimum-permutation word error rate: sum(S + D + I) / sum(N) over the best "
            "assignment of heard to true talkers in every sample; talkers left over are deleted or inserted whole "
            "(CHiME-6; meeteval). An answer without words is all deletions; no words in all references is NaN.",
            "osr_wer": "Word error rate of overlapped speech: sum(S + D + I) / sum(N) over the best permutation in "
            "every sample that the protocol scores. No words in all references is NaN.",
        }.items()
    ),
    *(
        MetricKind(name, "higher", SHARE, mean_of(name, name), _of_one(name), about)
        for name, about in {
            "one_talker": "The share of scored answers that were split into one talker.",
            "two_talkers": "The share of scored answers that were split into two talkers.",
            "more_talkers": "The share of scored answers that were split into three talkers or more.",
            "talkers_right": "The share of scored answers with as many talkers as there are.",
        }.items()
    ),
)
