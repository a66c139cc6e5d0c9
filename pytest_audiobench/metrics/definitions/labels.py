"""Answers that name labels of a list: F1, recall and agreement over the task's own labels; and BEANS-Next's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.metrics.estimates import mean_kind, mean_of, nothing, quotient, summed_kind
from pytest_audiobench.metrics.label_statistics import (
    balanced_accuracy,
    cohen_kappa,
    labelled,
    macro_f1,
    mcc,
    mean_where,
    micro_f1,
    micro_precision,
    micro_recall,
    sample_f1,
    weighted_f1,
)
from pytest_audiobench.metrics.metric import (
    AGREEMENT,
    CORRELATION,
    SHARE,
    Clusters,
    Estimate,
    MetricKind,
    Statistics,
    Summed,
)
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Sparse, Statistic, Sums, distinct
from pytest_audiobench.stats.intervals import Floats, none

Needs: TypeAlias = Literal["each label", "two labels", "nothing", "more than there can be"]
"""What an interval needs five samples of: those beyond the most common label; of "each label" one more sample is
taken into account where there are fewer; nothing helps where each new wrong answer adds a label."""


def of_labels(value: Statistic, one_label: bool = False, needs: Needs = "each label") -> Summed:
    """``value`` (see ``metrics.labels``) of all samples' labels.

    None for samples without a list of labels, of different lists and, if each needs ``one_label``, of several
    labels.
    """

    def summed(statistics: Sequence[Statistics]) -> Sums | str:
        samples = labelled(statistics)
        if isinstance(samples, str):
            return samples
        if one_label and not samples.single:
            return "a sample has several labels"
        rare = _rare if needs == "each label" else None
        return Sums(samples.rows, value, _ends, partial(_lacking, needs), rare)

    return summed


def _lacking(needs: Needs, resampling: Resampling) -> str | None:
    if needs == "more than there can be":
        return "each new wrong text adds a label, so the number falls as samples are added"
    units = _units_of_labels(resampling)
    if needs == "two labels" and units.any() and (beyond := int(resampling.units - units.max())) < FEWEST_OF_LABEL:
        return f"{beyond} {resampling.what} above the most common label, {FEWEST_OF_LABEL} needed"
    return None


def _units_of_labels(resampling: Resampling) -> Floats:
    """Of how many samples or clusters each label is true, shape (k,)."""
    assert isinstance(resampling.distinct, Sparse)
    kinds = resampling.distinct
    k = (kinds.shape[1] - 2) // 3
    true = (kinds.columns >= 2 * k) & (kinds.columns < 3 * k)
    weights = resampling.counts[kinds.rows[true]]
    return np.bincount(kinds.columns[true] - 2 * k, weights=weights, minlength=k).astype(np.float64)


def _rare(resampling: Resampling) -> Ends | None:
    """One more sample of each label that is true of few: one that no sample has by chance would be part of the mean in
    the next set.
    """
    units = _units_of_labels(resampling)
    rare = np.flatnonzero(units < FEWEST_OF_LABEL)
    return _ends_of(rare, 3 * len(units) + 2) if len(rare) and units.any() else None


def _ends(mean_sample: Floats) -> Ends:
    """One more sample of any of the true labels: another of them is said, or it is."""
    k = (len(mean_sample) - 2) // 3
    return _ends_of(np.flatnonzero(mean_sample[2 * k : 3 * k]), len(mean_sample))


def _ends_of(true: npt.NDArray[np.intp], width: int) -> Ends:
    """A sample of each of the ``true`` labels."""
    k = (width - 2) // 3
    worst, best = np.zeros((2, max(len(true), 1), width))
    row = np.arange(len(true))
    worst[:, -1] = best[:, -1] = 1.0
    for column in (true, k + true, 2 * k + true):
        best[row, column] = 1.0
    worst[row, 2 * k + true] = 1.0
    worst[row, k + np.roll(true, 1) if len(true) > 1 else -2] = 1.0
    return Ends(worst, best)


_ON_THE_LIST = (
    "The labels are the task's own list: a refusal, or a label outside the list, adds no class. Samples of different "
    "lists cannot be taken together: NaN."
)
_TRUE_ONES = "the labels that are true of at least one sample (scikit-learn's labels= counts others as 0)"

_LABELLED: Mapping[tuple[str, str, Statistic, bool, Needs], str] = {
    ("macro_f1", SHARE, macro_f1, False, "each label"): f"The mean of 2 hits / (said + true) over {_TRUE_ONES}. NaN "
    "where no sample has a true label.",
    ("micro_f1", SHARE, micro_f1, False, "nothing"): "2 hits / (labels said + true labels) over all samples and "
    "labels; a label said beyond the list is a wrong one. NaN where nothing is said and nothing true.",
    ("weighted_f1", SHARE, weighted_f1, False, "nothing"): "The mean of F1 over labels, each as often as it is true. "
    "NaN where no sample has a true label.",
    ("micro_precision", SHARE, micro_precision, False, "nothing"): "Hits over labels said, those beyond the list "
    "among them. NaN where nothing is said.",
    ("micro_recall", SHARE, micro_recall, False, "nothing"): "Hits over true labels. NaN where nothing is true.",
    ("balanced_accuracy", SHARE, balanced_accuracy, False, "each label"): f"The mean of recall over {_TRUE_ONES}: a "
    "constant answer scores 1 / their number. NaN where no sample has a true label.",
    ("cohen_kappa", AGREEMENT, cohen_kappa, True, "two labels"): "Cohen's kappa (1960): agreement beyond chance; an "
    "unread answer agrees with nothing. NaN where all truths and answers are one label.",
    ("mcc", CORRELATION, mcc, True, "two labels"): "Matthews' correlation for several labels (Gorodkin 2004): an "
    "unread answer is a class of its own among the answers. 0 where either side is one label only.",
}


ROW = "row"
"""The statistic that says which row a sample was in BEANS-Next's order."""


def _running_sum(values: Sequence[float] | Floats) -> float:
    """The sum of one value after another, as BEANS-Next's numbers are added: fsum ends in another digit."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def mean_of_scored(statistic: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean of a statistic, which is called as the metric, over the samples that have it, added row by row."""
    whole = mean_of(statistic, statistic)

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        scored = [place for place, sample in enumerate(statistics) if statistic in sample]
        if statistics and not scored:
            return Estimate(math.nan, None, None, 0, none(f"no sample has the score {statistic}").method)
        estimate = whole(
            [statistics[place] for place in scored], None if clusters is None else [clusters[place] for place in scored]
        )
        if not scored:
            return estimate
        in_order = sorted((statistics[place] for place in scored), key=lambda sample: sample.get(ROW, 0.0))
        return estimate._replace(value=_running_sum([sample[statistic] for sample in in_order]) / len(scored))

    return estimate


def _where(statistic: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda sample: (sample.get(statistic, 0.0), float(statistic in sample))


def decision_map(sums: Floats) -> Floats:
    """The mean over true labels of the average precision of labels that are said (score 1) or not (score 0).

    ``sums`` is as ``metrics.labels`` has it. With two scores there are two steps: recall among those said times
    their precision, and the rest times the label's share of all samples, as scikit-learn takes ties.
    """
    k = (sums.shape[1] - 2) // 3
    hits, said, true, n = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k], sums[:, -1:]
    known = true > 0.0
    recall = np.divide(hits, true, out=np.zeros_like(hits), where=known)
    precision = np.divide(hits, said, out=np.zeros_like(hits), where=said > 0.0)
    share = np.divide(true, n, out=np.zeros_like(hits), where=n > 0.0)
    return mean_where(recall * precision + (1.0 - recall) * share, known)


def macro_f1_of_any(sums: Floats) -> Floats:
    """The mean over all labels that are said or true of F1, made of precision and recall and added as published."""
    k = (sums.shape[1] - 2) // 3
    hits, said, true = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k]
    precision, recall = (np.nan_to_num(quotient(hits, of)) for of in (said, true))
    values = np.nan_to_num(quotient(2.0 * precision * recall, precision + recall))
    return quotient(np.cumsum(values, axis=1)[:, -1], ((said > 0.0) | (true > 0.0)).sum(axis=1).astype(np.float64))


def map_in_order(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    """BEANS-Next's mAP: samples of one score in the order of their rows, labels said or true, 0 where there is none."""
    if not statistics:
        return nothing()
    ordered = sorted(statistics, key=lambda sample: sample.get(ROW, 0.0))
    samples = labelled(ordered)
    if isinstance(samples, str):
        without_labels = all(sample.get("labels") == 0.0 for sample in ordered)
        return Estimate(0.0 if without_labels else math.nan, None, None, len(ordered), none(samples).method)
    k = samples.labels
    rows, row_of = distinct(*samples.rows)
    values = []
    for label in range(k):
        said, true = (rows.column(first + label)[row_of] for first in (k, 2 * k))
        if said.any() or true.any():
            hits = np.flatnonzero(true[np.argsort(-said, kind="stable")])
            seen = np.arange(len(hits) + 1)
            recall = seen / max(len(hits), 1)
            values.append(_running_sum(seen[1:] / (hits + 1) * np.diff(recall)))
    whole = _running_sum(values) / len(values) if values else 0.0
    return Estimate(whole, None, None, len(ordered), none("the order of the rows moves it").method)


_SKIPS = (
    "The mean over the samples that have the score: those whose asking failed and those without a target have none."
)

KINDS = (
    *(
        summed_kind(name, "higher", unit, of_labels(value, one_label, needs), f"{about} {_ON_THE_LIST}", sample_f1)
        for (name, unit, value, one_label, needs), about in _LABELLED.items()
    ),
    *(
        mean_kind(name, "higher", SHARE, name, about)
        for name, about in (
            ("set_precision", "The mean over samples of hits / labels said; 0 for a sample where nothing is said."),
            ("set_recall", "The mean over samples of hits / true labels; 0 for a sample where nothing is true."),
            ("set_f1", "The mean over samples of 2 hits / (labels said + true labels)."),
            ("ordered_f1", "set_f1 of those hits alone that are in the true order, the most of them that do."),
            ("count_f1", "set_f1 where a hit is a name together with its number, within the scorer's tolerance."),
        )
    ),
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
        MetricKind(name, "higher", SHARE, mean_of_scored(name), _where(name), f"BEANS-Next's {about}. {_SKIPS}")
        for name, about in {
            "beans_accuracy": "accuracy of a detection: the answer is the target as it is written",
            "beans_top1_accuracy": "accuracy against any part of the target between commas",
            "beans_precision": "precision of a sample's labels; its accuracy where the target is a text",
            "beans_recall": "recall of a sample's labels; its accuracy where the target is a text",
            "beans_f1": "F1 of a sample's labels; its accuracy where the target is a text",
            "beans_average_precision": "average precision within one sample, over the labels said or true of it: a "
            "missed label costs nothing, and saying nothing scores 1",
        }.items()
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
