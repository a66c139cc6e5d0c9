"""Answers that name labels of a list: F1, recall and agreement over the task's own labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_audiobench.metrics import classes
from pytest_audiobench.metrics.estimates import mean_of, summed_kind
from pytest_audiobench.metrics.labels import labelled, sample_f1
from pytest_audiobench.metrics.metric import MetricKind, Statistics, Summed
from pytest_audiobench.metrics.units import AGREEMENT, CORRELATION, SHARE
from pytest_audiobench.stats.bootstrap import Statistic, Sums


def of_labels(value: Statistic, one_label: bool = False) -> Summed:
    """``value`` (see ``metrics.classes``) of all samples' labels.

    None for samples without a list of labels, of different lists and, where ``one_label`` is wanted of each, of several
    labels.
    """

    def summed(statistics: Sequence[Statistics]) -> Sums | str:
        found = labelled(statistics)
        if isinstance(found, str):
            return found
        return "a sample has several labels" if one_label and not found.single else Sums(found.rows, value)

    return summed


def _of_one(name: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda one: (one[name], 1.0)


_ON_THE_LIST = (
    "The labels are the task's own list: a refusal, or a label beyond the list, adds no class. Samples of different "
    "lists cannot be taken together: NaN."
)
_TRUE_ONES = "the labels that are true of at least one sample (scikit-learn's labels= counts others as 0)"

KINDS = (
    *(
        summed_kind(name, "higher", unit, of_labels(value, one_label), f"{about} {_ON_THE_LIST}", sample_f1)
        for name, unit, value, one_label, about in (
            (
                "macro_f1",
                SHARE,
                classes.macro_f1,
                False,
                f"The mean of 2 hits / (said + true) over {_TRUE_ONES}. NaN where no sample has a true label.",
            ),
            (
                "micro_f1",
                SHARE,
                classes.micro_f1,
                False,
                "2 hits / (labels said + true labels) over all samples and labels; a label said beyond the list is a "
                "wrong one. NaN where nothing is said and nothing true.",
            ),
            (
                "weighted_f1",
                SHARE,
                classes.weighted_f1,
                False,
                "The mean of F1 over labels, each as often as it is true. NaN where no sample has a true label.",
            ),
            (
                "micro_precision",
                SHARE,
                classes.micro_precision,
                False,
                "Hits over labels said, those beyond the list among them. NaN where nothing is said.",
            ),
            (
                "micro_recall",
                SHARE,
                classes.micro_recall,
                False,
                "Hits over true labels. NaN where nothing is true.",
            ),
            (
                "balanced_accuracy",
                SHARE,
                classes.balanced_accuracy,
                False,
                f"The mean of recall over {_TRUE_ONES}: a constant answer scores 1 / their number. "
                "NaN where no sample has a true label.",
            ),
            (
                "cohen_kappa",
                AGREEMENT,
                classes.cohen_kappa,
                True,
                "Cohen's kappa (1960): agreement beyond chance; an unread answer agrees with nothing. "
                "NaN where all truths and answers are one label.",
            ),
            (
                "mcc",
                CORRELATION,
                classes.mcc,
                True,
                "Matthews' correlation for several labels (Gorodkin 2004): an unread answer is a class of its own "
                "among the answers. 0 where either side is one label only.",
            ),
        )
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
