"""The same question in several wordings: how far the answers agree, and how far the headline moves."""

from __future__ import annotations

from pytest_audiobench.metrics.estimates import mean_of
from pytest_audiobench.metrics.kinds.asking import not_of_samples
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.units import POINTS, SHARE

SPREAD, DEVIATION = "wording_spread", "wording_sd"

KINDS = (
    MetricKind(
        "wording_agreement",
        "higher",
        SHARE,
        mean_of("wording_agreement", "wordings_agreeing"),
        lambda one: (one["wordings_agreeing"], 1.0),
        "The mean share of wordings in the largest camp: those that read as one value, or those that could not be "
        "read. 1 where all wordings of every question have one answer.",
    ),
    MetricKind(
        SPREAD,
        "lower",
        POINTS,
        not_of_samples,
        about="The largest less the smallest value that the headline metric has over the wordings, in its own unit; "
        "in points where that is a share. No interval: the range of several noisy values is too large in resamples.",
        poolable=False,
    ),
    MetricKind(
        DEVIATION,
        "lower",
        POINTS,
        not_of_samples,
        about="The sample standard deviation of the headline metric over the wordings, in its own unit; in points "
        "where that is a share. No interval: the wordings are no sample of all there could be.",
        poolable=False,
    ),
)
