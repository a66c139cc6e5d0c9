"""BEANS-Next's numbers as it computes them, and a mAP of labels said or not that no order moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pytest_audiobench.metrics.classes import f1_by_label
from pytest_audiobench.metrics.estimates import mean_of, nothing, summed_kind
from pytest_audiobench.metrics.kinds.labels import of_labels
from pytest_audiobench.metrics.labels import cells, sample_f1
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.intervals import Floats, none

ROW = "row"
"""The statistic that says which row a sample was in BEANS-Next's order."""


def mean_where(metric: str, statistic: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean of a statistic over the samples that have it."""
    whole = mean_of(metric, statistic)

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        held = [statistic in one for one in statistics]
        kept = [one for one, has in zip(statistics, held, strict=True) if has]
        if statistics and not kept:
            return Estimate(math.nan, None, None, 0, none(f"no sample has the score {statistic}").method)
        of = None if clusters is None else [one for one, has in zip(clusters, held, strict=True) if has]
        return whole(kept, of)

    return estimate


def _where(statistic: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda one: (one.get(statistic, 0.0), float(statistic in one))


def decision_map(sums: Floats) -> Floats:
    """The mean over true labels of the average precision of labels that are said (score 1) or not (score 0).

    ``sums`` is as ``metrics.classes`` has it. With two scores there are two steps: recall among those said times
    their precision, and the rest times the label's share of all samples, as scikit-learn takes ties.
    """
    k = (sums.shape[1] - 2) // 3
    hits, said, true, n = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k], sums[:, -1:]
    known = true > 0.0
    recall = np.divide(hits, true, out=np.zeros_like(hits), where=known)
    precision = np.divide(hits, said, out=np.zeros_like(hits), where=said > 0.0)
    share = np.divide(true, n, out=np.zeros_like(hits), where=n > 0.0)
    each = np.where(known, recall * precision + (1.0 - recall) * share, 0.0)
    count = known.sum(axis=1).astype(np.float64)
    found: Floats = np.divide(each.sum(axis=1), count, out=np.full(len(sums), np.nan), where=count > 0.0)
    return found


def macro_f1_of_any(sums: Floats) -> Floats:
    """The mean of F1 over all labels that are said or true."""
    each = f1_by_label(sums)
    count = (~np.isnan(each)).sum(axis=1).astype(np.float64)
    found: Floats = np.divide(np.nansum(each, axis=1), count, out=np.full(len(sums), np.nan), where=count > 0.0)
    return found


def map_in_order(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    """BEANS-Next's mAP: samples of one score in the order of their rows, labels said or true, 0 where there is none."""
    if not statistics:
        return nothing()
    ordered = sorted(statistics, key=lambda one: one.get(ROW, 0.0))
    found = cells(ordered)
    if isinstance(found, str):
        return Estimate(math.nan, None, None, len(ordered), none(found).method)
    k, kinds = found.labels, found.kinds
    values = []
    for label in range(k):
        said, true = (kinds.column(first + label)[found.kind_of] for first in (k, 2 * k))
        if said.any() or true.any():
            values.append(_precision_in_order(said, true))
    whole = math.fsum(values) / len(values) if values else 0.0
    return Estimate(whole, None, None, len(ordered), none("the order of the rows moves it").method)


def _precision_in_order(said: Floats, true: Floats) -> float:
    ranked = true[np.argsort(-said, kind="stable")]
    found = np.flatnonzero(ranked)
    return float(((np.arange(len(found)) + 1) / (found + 1)).mean()) if len(found) else 0.0


_SKIPS = (
    "The mean over the samples that have the score: those whose asking failed and those without a target have none."
)

KINDS = (
    summed_kind(
        "decision_map",
        "higher",
        SHARE,
        of_labels(decision_map),
        "The mean average precision of labels that are said or not, over the labels that are true of a sample, "
        "equal scores being one step as in scikit-learn: the order of samples moves nothing. Saying nothing scores a "
        "label's share of all samples. NaN where no sample has a true label.",
        sample_f1,
    ),
    *(
        MetricKind(f"beans_{name}", "higher", SHARE, mean_where(*[f"beans_{name}"] * 2), _where(f"beans_{name}"), about)
        for name, about in (
            ("accuracy", f"BEANS-Next's accuracy of a detection: the answer is the target as it is written. {_SKIPS}"),
            ("top1_accuracy", f"BEANS-Next's accuracy against any part of the target between commas. {_SKIPS}"),
            (
                "precision",
                f"BEANS-Next's precision of a sample's labels; its accuracy where the target is a text. {_SKIPS}",
            ),
            ("recall", f"BEANS-Next's recall of a sample's labels; its accuracy where the target is a text. {_SKIPS}"),
            ("f1", f"BEANS-Next's F1 of a sample's labels; its accuracy where the target is a text. {_SKIPS}"),
            (
                "average_precision",
                "BEANS-Next's average precision within one sample, over the labels said or true of it: a missed label "
                f"costs nothing, and saying nothing scores 1. {_SKIPS}",
            ),
        )
    ),
    summed_kind(
        "beans_macro_f1",
        "higher",
        SHARE,
        of_labels(macro_f1_of_any, needs="more than there can be"),
        "BEANS-Next's macro F1: the mean over every text that is an answer or a target, so that each new wrong "
        "text lowers it.",
        sample_f1,
    ),
    MetricKind(
        "beans_map",
        "higher",
        SHARE,
        map_in_order,
        about="BEANS-Next's mAP over every label said or true: samples of equal score count in the order of their rows "
        "(by sample id), so that saying nothing scores anything up to 1. 0 where there is no label.",
    ),
)
