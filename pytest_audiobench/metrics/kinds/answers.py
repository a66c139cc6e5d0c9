"""Right answers, and how the others came about."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_audiobench.metrics.estimates import average, mean_of, nothing
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.intervals import proportion


def share_of(status: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The estimate of the share of samples whose statistics say ``status`` is 1; absent is 0."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        values = [one.get(status, 0.0) for one in statistics]
        if not values:
            return nothing()
        interval = proportion(values, clusters)
        return Estimate(average(values), interval.lower, interval.upper, len(values), interval.method)

    return estimate


def _part(status: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda one: (one.get(status, 0.0), 1.0)


KINDS = (
    MetricKind(
        "accuracy",
        "higher",
        SHARE,
        mean_of("accuracy", "correct"),
        lambda one: (one["correct"], 1.0),
        'The mean of "correct": right answers, or points within [0, 1], over all samples that were asked.',
    ),
    MetricKind(
        "coverage", "higher", SHARE, share_of("parsed"), _part("parsed"), "The share of samples whose answer was read."
    ),
    *(
        MetricKind(status, "lower", SHARE, share_of(status), _part(status), about)
        for status, about in {
            "unparsed": "The share of samples whose answer could not be read.",
            "refused": "The share of samples that the model declined to answer.",
            "empty": "The share of samples with no answer in words.",
            "out_of_range": "The share of samples answered with an option that was not offered.",
            "truncated": "The share of samples whose answer the limit of tokens cut before it could be read.",
            "errors": "The share of samples whose asking failed; all other metrics leave them out.",
            "skipped": "The share of samples that the protocol leaves out of its score.",
            "wrong_task": "The share of answers in phones where words were wanted: 70 % or more of three or more "
            "tokens are ARPAbet symbols, and the reference's are not.",
            "wrong_script": "The share of answers most of whose letters are in no script of the reference, nor, where "
            "options were offered, of these and the question. Han and kana are one, but Han without kana is wrong "
            "where the reference has kana. Another language in the same script is not seen.",
            "loop": "The share of answers that repeat up to 20 words (characters, where no spaces are written) four "
            "times or more in a row, where no reference does.",
            "runaway": "The share of answers longer than three times the longest reference and five words more.",
        }.items()
    ),
)
