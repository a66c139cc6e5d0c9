"""What samples with labels show of a list of labels: how often each was true, was said, and both.

A sample's statistics are sparse: ``labels`` (the list's length), ``label_list`` (the list's own number, so that two
lists are never mixed), ``true_3`` and ``said_5`` for the places in the sorted list, ``said_other`` for labels beyond
it. One label a sample and several are told in the same way. A refusal is a sample without ``said``: it costs recall
and never adds a class.

Numbers of a classification are functions of ``sums``, shape (r, 3k + 2) of r samples or resamples: for each of k
labels how often it was both true and said, said, and true; then labels said beyond the list, and the number of samples.
A mean over labels is over those that are true of a sample, which depends on the data and not on the answers.
(scikit-learn's ``labels=`` counts a listed label that is never true as 0.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_audiobench.metrics.estimates import quotient
from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.stats.bootstrap import Row, Rows
from pytest_audiobench.stats.intervals import Floats

TRUE, SAID = "true_", "said_"
OTHER = "said_other"
MOST_LABELS = 100_000


def label_statistics(
    labels: Collection[str], true: Collection[str], said: Collection[str], others: int = 0
) -> dict[str, float]:
    """A sample's statistics: its ``true`` and ``said`` labels among ``labels``, and how many ``others`` were said.

    Raises ValueError for a label that is not among ``labels``.
    """
    places, number = _label_places(tuple(sorted(set(labels))))
    if unknown := [label for label in (*true, *said) if label not in places]:
        raise ValueError(f"{unknown[0]!r} is not among the labels {sorted(places)}")
    statistics: dict[str, float] = {"labels": float(len(places)), "label_list": number}
    statistics |= {f"{TRUE}{places[label]}": 1.0 for label in true}
    statistics |= {f"{SAID}{places[label]}": 1.0 for label in said}
    return statistics | ({OTHER: float(others)} if others else {})


@lru_cache(maxsize=4096)
def _label_places(labels: tuple[str, ...]) -> tuple[dict[str, int], float]:
    text = "\0".join(labels).encode("utf-8", "surrogatepass")
    # 48 bits, which a float holds exactly.
    number = float(int.from_bytes(hashlib.sha256(text).digest()[:6], "big"))
    return {label: place for place, label in enumerate(labels)}, number


class Labelled(NamedTuple):
    """Samples by their labels.

    A sample's row, of 3k + 2, counts for each of the k labels how often it was both true and said, was said and was
    true; then the labels said beyond the list, and 1 for the sample.
    """

    labels: int
    rows: Rows
    single: bool
    """Whether every sample has one true label and at most one was said."""


def labelled(statistics: Sequence[Statistics]) -> Labelled | str:
    """The samples by their labels, or why they cannot be taken together."""
    count = listed(statistics, (TRUE, SAID))
    if isinstance(count, str):
        return count
    entries_of: dict[tuple[tuple[str, float], ...], Row] = {}
    units = []
    for sample in statistics:
        entries = tuple(
            sorted((name, value) for name, value in sample.items() if name.startswith((TRUE, SAID)) and value)
        )
        if entries not in entries_of:
            entries_of[entries] = _entries(count, dict(entries))
        units.append(entries_of[entries])
    single = all(_is_single(entries, count) for entries in entries_of.values())
    return Labelled(count, Rows(units, 3 * count + 2), single)


def listed(statistics: Sequence[Statistics], prefixes: tuple[str, ...]) -> int | str:
    """How many labels the samples' one list has, or why they have none: they may come from a file of someone else's.

    The names of statistics that begin with one of ``prefixes`` must end with a place in the list.
    """
    if any("label_list" not in sample or "labels" not in sample for sample in statistics):
        return "a sample has no list of labels"
    lists = {(sample["label_list"], sample["labels"]) for sample in statistics}
    if len(lists) > 1:
        return f"the samples have {len(lists)} different lists of labels"
    count = next(iter(lists))[1]
    if not (0 < count <= MOST_LABELS and count == int(count)):
        return f"a list cannot have {count} labels"
    endings = {
        name[len(prefix) :]
        for sample in statistics
        for name in sample
        for prefix in prefixes
        if name.startswith(prefix)
    }
    places = [int(place) if place.isascii() and place.isdigit() else -1 for place in endings - {"other"}]
    if places and not 0 <= min(places) <= max(places) < count:
        return "a sample names a label that is not on its list"
    return int(count)


def sample_f1(sample: Statistics) -> float:
    """2 hits / (labels said + true labels) of one sample; 1 where nothing is said and nothing true."""
    true, said = (
        {name[len(side) :] for name, value in sample.items() if value and name.startswith(side)} - {"other"}
        for side in (TRUE, SAID)
    )
    whole = len(true) + len(said) + sample.get(OTHER, 0.0)
    return 2.0 * len(true & said) / whole if whole else 1.0


def _entries(count: int, statistics: Mapping[str, float]) -> Row:
    said = {int(name[len(SAID) :]) for name in statistics if name.startswith(SAID) and name != OTHER}
    true = {int(name[len(TRUE) :]) for name in statistics if name.startswith(TRUE)}
    places = [*(said & true), *(count + place for place in said), *(2 * count + place for place in true)]
    beyond = [(3 * count, statistics[OTHER])] if OTHER in statistics else []
    return (*((place, 1.0) for place in sorted(places)), *beyond, (3 * count + 1, 1.0))


def _is_single(entries: Row, count: int) -> bool:
    said = sum(value for place, value in entries if count <= place < 2 * count or place == 3 * count)
    return said <= 1.0 and sum(value for place, value in entries if 2 * count <= place < 3 * count) == 1.0


def f1_by_label(sums: Floats) -> Floats:
    """F1 of each label, 2 hits / (said + true), shape (r, k); NaN for one that was neither said nor true."""
    hits, said, true = _parts(sums)
    return quotient(2.0 * hits, said + true)


def macro_f1(sums: Floats) -> Floats:
    """The mean of F1 over the labels that are true of a sample."""
    _, _, true = _parts(sums)
    return mean_where(f1_by_label(sums), true > 0.0)


def weighted_f1(sums: Floats) -> Floats:
    """The mean of F1 over labels, each as often as it is true."""
    _, _, true = _parts(sums)
    return quotient((np.nan_to_num(f1_by_label(sums)) * true).sum(axis=1), true.sum(axis=1))


def micro_precision(sums: Floats) -> Floats:
    """Hits over labels said, labels beyond the list among them."""
    hits, said, _ = _parts(sums)
    return quotient(hits.sum(axis=1), said.sum(axis=1) + sums[:, -2])


def micro_recall(sums: Floats) -> Floats:
    """Hits over true labels."""
    hits, _, true = _parts(sums)
    return quotient(hits.sum(axis=1), true.sum(axis=1))


def micro_f1(sums: Floats) -> Floats:
    """2 hits / (labels said + true labels), all labels together."""
    hits, said, true = _parts(sums)
    return quotient(2.0 * hits.sum(axis=1), said.sum(axis=1) + sums[:, -2] + true.sum(axis=1))


def balanced_accuracy(sums: Floats) -> Floats:
    """The mean of recall over the labels that are true of a sample."""
    hits, _, true = _parts(sums)
    return mean_where(quotient(hits, true), true > 0.0)


def cohen_kappa(sums: Floats) -> Floats:
    """(observed - expected) / (1 - expected) agreement (Cohen 1960); NaN where all truths and answers are one label."""
    hits, said, true = _parts(sums)
    n = sums[:, -1]
    expected = quotient((said * true).sum(axis=1), n * n)
    return quotient(quotient(hits.sum(axis=1), n) - expected, 1.0 - expected)


def mcc(sums: Floats) -> Floats:
    """Matthews' correlation for k labels (Gorodkin 2004, R_k); 0 where either side is one label only.

    No label said is its own class among the answers.
    """
    hits, said, true = _parts(sums)
    n = sums[:, -1]
    unsaid = n - said.sum(axis=1)
    covariance = hits.sum(axis=1) * n - (said * true).sum(axis=1)
    of_said = n * n - (said * said).sum(axis=1) - unsaid * unsaid
    of_true = n * n - (true * true).sum(axis=1)
    spread = np.sqrt(np.maximum(of_said * of_true, 0.0))
    return np.where(
        spread > 0.0, quotient(covariance, np.where(spread > 0.0, spread, 1.0)), np.where(n > 0.0, 0.0, np.nan)
    )


def _parts(sums: Floats) -> tuple[Floats, Floats, Floats]:
    k = (sums.shape[1] - 2) // 3
    return sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k]


def mean_where(values: Floats, which: npt.NDArray[np.bool_]) -> Floats:
    """The mean of each row's ``values`` at the places ``which`` are true; NaN where none is."""
    return quotient(np.where(which, np.nan_to_num(values), 0.0).sum(axis=1), which.sum(axis=1).astype(np.float64))


class SetScores(NamedTuple):
    """Precision, recall and F1 of an answer that is a set."""

    precision: float
    recall: float
    f1: float


def set_scores(hits: float, said: float, true: float) -> SetScores:
    """``hits`` / ``said``, ``hits`` / ``true`` and 2 ``hits`` / (``said`` + ``true``), each 0 where it divides by 0.

    Nothing true and nothing said is 0 too: whether that is a right answer is the protocol's to say.
    """
    return SetScores(
        hits / said if said else 0.0, hits / true if true else 0.0, 2.0 * hits / (said + true) if said + true else 0.0
    )
