"""How well scores rank labels: average precision and the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pytest_audiobench.metrics import ranking
from pytest_audiobench.metrics.estimates import of_whole
from pytest_audiobench.metrics.metric import MetricKind, Statistics, Whole
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.bootstrap import Table
from pytest_audiobench.stats.intervals import Floats


def table_of(value: Callable[[Floats, Floats], float]) -> Whole:
    """``value`` of all samples' truth and scores (see ``metrics.ranking``), which stand side by side in a row."""

    def whole(statistics: Sequence[Statistics]) -> Table | str:
        found = ranking.matrices(statistics)
        if isinstance(found, str):
            return found
        if not np.isfinite(found[1]).all():
            return "a score is not finite"
        labels = found[0].shape[1]
        return Table(
            np.hstack(found),
            lambda rows: value(rows[:, :labels], rows[:, labels:]),
            # Each resample would rank all samples anew.
            lacking="ranks of samples are no sums",
        )

    return whole


_TIES = (
    "Samples of equal score count as one step (scikit-learn), so their order moves nothing. NaN where a score is not "
    "finite. Needs scikit-learn."
)

KINDS = tuple(
    MetricKind(name, "higher", SHARE, of_whole(whole), about=f"{about} {_TIES}", whole=whole)
    for name, whole, about in (
        (
            "mean_average_precision",
            table_of(ranking.mean_average_precision),
            "The mean of average precision over the labels that are true of a sample; NaN where none is. "
            "(Labels without a positive would make a perfect answer score less than 1.)",
        ),
        (
            "average_precision_all_labels",
            table_of(ranking.average_precision_all_labels),
            "The mean of average precision over all labels of the list, 0 for one that is true of no sample: "
            "scikit-learn's macro mean, as published scripts take it.",
        ),
        (
            "micro_average_precision",
            table_of(ranking.micro_average_precision),
            "The average precision of all pairs of sample and label in one ranking; NaN where nothing is true.",
        ),
        (
            "roc_auc",
            table_of(ranking.macro_roc_auc),
            "The mean of the area under the ROC curve over the labels that some samples have and some have not; "
            "NaN where there is none.",
        ),
    )
)
