"""How well scores rank labels: average precision and the area under the ROC curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pytest_audiobench.metrics import ranking
from pytest_audiobench.metrics.estimates import nothing
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.intervals import Floats, none


def of_ranks(value: Callable[[Floats, Floats], float]) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """``value`` of all samples' truth and scores (see ``metrics.ranking``), without an interval: ranks are no sums."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        found = ranking.matrices(statistics)
        if not isinstance(found, str) and not np.isfinite(found[1]).all():
            found = "a score is not finite"
        reason = found if isinstance(found, str) else "ranks of samples are no sums"
        whole = math.nan if isinstance(found, str) else value(*found)
        return Estimate(whole, None, None, len(statistics), none(reason).method)

    return estimate


_TIES = (
    "Samples of equal score count as one step (scikit-learn), so their order moves nothing. NaN where a score is not "
    "finite. Needs scikit-learn."
)

KINDS = tuple(
    MetricKind(name, "higher", SHARE, of_ranks(value), about=f"{about} {_TIES}")
    for name, value, about in (
        (
            "mean_average_precision",
            ranking.mean_average_precision,
            "The mean of average precision over the labels that are true of a sample; NaN where none is. "
            "(Labels without a positive would make a perfect answer score less than 1.)",
        ),
        (
            "average_precision_all_labels",
            ranking.average_precision_all_labels,
            "The mean of average precision over all labels of the list, 0 for one that is true of no sample: "
            "scikit-learn's macro mean, as published scripts take it.",
        ),
        (
            "micro_average_precision",
            ranking.micro_average_precision,
            "The average precision of all pairs of sample and label in one ranking; NaN where nothing is true.",
        ),
        (
            "roc_auc",
            ranking.macro_roc_auc,
            "The mean of the area under the ROC curve over the labels that some samples have and some have not; "
            "NaN where there is none.",
        ),
    )
)
