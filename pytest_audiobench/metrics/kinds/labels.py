"""Answers that name labels of a list: F1, recall and agreement over the task's own labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from pytest_audiobench.metrics import classes
from pytest_audiobench.metrics.estimates import mean_of, summed_kind
from pytest_audiobench.metrics.labels import labelled, sample_f1
from pytest_audiobench.metrics.metric import MetricKind, Statistics, Summed
from pytest_audiobench.metrics.units import AGREEMENT, CORRELATION, SHARE
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Sparse, Statistic, Sums
from pytest_audiobench.stats.intervals import Floats

Needs: TypeAlias = Literal["each label", "two labels", "nothing", "more than there can be"]
"""What an interval needs five samples of: each label, those beyond the most common one; nothing helps where each new
wrong answer adds a label."""


def of_labels(value: Statistic, one_label: bool = False, needs: Needs = "each label") -> Summed:
    """``value`` (see ``metrics.classes``) of all samples' labels.

    None for samples without a list of labels, of different lists and, where ``one_label`` is wanted of each, of several
    labels.
    """

    def summed(statistics: Sequence[Statistics]) -> Sums | str:
        found = labelled(statistics)
        if isinstance(found, str):
            return found
        if one_label and not found.single:
            return "a sample has several labels"
        return Sums(found.rows, value, _ends, partial(_lacking, needs))

    return summed


def _lacking(needs: Needs, found: Resampling) -> str | None:
    if needs == "more than there can be":
        return "each new wrong text adds a label, so the number falls as samples are added"
    assert isinstance(found.distinct, Sparse)
    kinds, what = found.distinct, found.what
    k = (kinds.shape[1] - 2) // 3
    here = (kinds.columns >= 2 * k) & (kinds.columns < 3 * k)
    units = np.bincount(kinds.columns[here] - 2 * k, weights=found.counts[kinds.rows[here]], minlength=k)
    if needs == "nothing" or not units.any():
        return None
    if needs == "two labels":
        beyond = int(found.units - units.max())
        if beyond < FEWEST_OF_LABEL:
            return f"{beyond} {what} beyond the most common label, {FEWEST_OF_LABEL} needed"
        return None
    # A label that no sample has by chance would be part of the mean in the next set.
    rarest = int(units.min())
    return f"a label is true of {rarest} {what}, {FEWEST_OF_LABEL} needed" if rarest < FEWEST_OF_LABEL else None


def _ends(own: Floats) -> Ends:
    """One more sample of any of the true labels: another of them is said, or it is."""
    k = (len(own) - 2) // 3
    true = np.flatnonzero(own[2 * k : 3 * k])
    worst, best = np.zeros((2, max(len(true), 1), len(own)))
    row = np.arange(len(true))
    worst[:, -1] = best[:, -1] = 1.0
    for column in (true, k + true, 2 * k + true):
        best[row, column] = 1.0
    worst[row, 2 * k + true] = 1.0
    worst[row, k + np.roll(true, 1) if len(true) > 1 else -2] = 1.0
    return Ends(worst, best)


def _of_one(name: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda one: (one[name], 1.0)


_ON_THE_LIST = (
    "The labels are the task's own list: a refusal, or a label beyond the list, adds no class. Samples of different "
    "lists cannot be taken together: NaN."
)
_TRUE_ONES = "the labels that are true of at least one sample (scikit-learn's labels= counts others as 0)"

_LABELLED: tuple[tuple[str, str, Statistic, bool, Needs, str], ...] = (
    (
        "macro_f1",
        SHARE,
        classes.macro_f1,
        False,
        "each label",
        f"The mean of 2 hits / (said + true) over {_TRUE_ONES}. NaN where no sample has a true label.",
    ),
    (
        "micro_f1",
        SHARE,
        classes.micro_f1,
        False,
        "nothing",
        "2 hits / (labels said + true labels) over all samples and labels; a label said beyond the list is a "
        "wrong one. NaN where nothing is said and nothing true.",
    ),
    (
        "weighted_f1",
        SHARE,
        classes.weighted_f1,
        False,
        "nothing",
        "The mean of F1 over labels, each as often as it is true. NaN where no sample has a true label.",
    ),
    (
        "micro_precision",
        SHARE,
        classes.micro_precision,
        False,
        "nothing",
        "Hits over labels said, those beyond the list among them. NaN where nothing is said.",
    ),
    (
        "micro_recall",
        SHARE,
        classes.micro_recall,
        False,
        "nothing",
        "Hits over true labels. NaN where nothing is true.",
    ),
    (
        "balanced_accuracy",
        SHARE,
        classes.balanced_accuracy,
        False,
        "each label",
        f"The mean of recall over {_TRUE_ONES}: a constant answer scores 1 / their number. "
        "NaN where no sample has a true label.",
    ),
    (
        "cohen_kappa",
        AGREEMENT,
        classes.cohen_kappa,
        True,
        "two labels",
        "Cohen's kappa (1960): agreement beyond chance; an unread answer agrees with nothing. "
        "NaN where all truths and answers are one label.",
    ),
    (
        "mcc",
        CORRELATION,
        classes.mcc,
        True,
        "two labels",
        "Matthews' correlation for several labels (Gorodkin 2004): an unread answer is a class of its own "
        "among the answers. 0 where either side is one label only.",
    ),
)

KINDS = (
    *(
        summed_kind(name, "higher", unit, of_labels(value, one_label, needs), f"{about} {_ON_THE_LIST}", sample_f1)
        for name, unit, value, one_label, needs, about in _LABELLED
    ),
    *(
        MetricKind(name, "higher", SHARE, mean_of(name, name), _of_one(name), about)
        for name, about in (
            ("set_precision", "The mean over samples of hits / labels said; 0 for a sample where nothing is said."),
            ("set_recall", "The mean over samples of hits / true labels; 0 for a sample where nothing is true."),
            ("set_f1", "The mean over samples of 2 hits / (labels said + true labels)."),
        )
    ),
)
"""Where nothing is true, the protocol says what a set is worth (``tagging``: "none" said is right, silence is not)."""
