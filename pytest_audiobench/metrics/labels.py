"""What samples with labels tell of a list of labels: how often each was true, was said, and both.

A sample's statistics are sparse: ``labels`` (the list's length), ``label_list`` (the list's own number, so that two
lists are never mixed), ``true_3`` and ``said_5`` for the places in the sorted list, ``said_other`` for labels beyond
it. One label a sample and several are told in the same way. A refusal is a sample without ``said``: it costs recall
and never adds a class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.stats.intervals import Floats

TRUE, SAID = "true_", "said_"
OTHER = "said_other"


def label_statistics(
    labels: Collection[str], true: Collection[str], said: Collection[str], others: int = 0
) -> dict[str, float]:
    """A sample's statistics: its ``true`` and ``said`` labels among ``labels``, and how many ``others`` were said.

    Raises ValueError for a label that is not among ``labels``.
    """
    places, number = _listed(tuple(sorted(set(labels))))
    if unknown := [label for label in (*true, *said) if label not in places]:
        raise ValueError(f"{unknown[0]!r} is not among the labels {sorted(places)}")
    found: dict[str, float] = {"labels": float(len(places)), "label_list": number}
    found |= {f"{TRUE}{places[label]}": 1.0 for label in true}
    found |= {f"{SAID}{places[label]}": 1.0 for label in said}
    return found | ({OTHER: float(others)} if others else {})


@lru_cache(maxsize=4096)
def _listed(labels: tuple[str, ...]) -> tuple[dict[str, int], float]:
    told = "\0".join(labels).encode("utf-8", "surrogatepass")
    # 48 bits, which a float holds exactly.
    number = float(int.from_bytes(hashlib.sha256(told).digest()[:6], "big"))
    return {label: place for place, label in enumerate(labels)}, number


class Cells(NamedTuple):
    """Samples by their labels: ``kinds`` (d, 3k + 2) of distinct samples, ``kind_of`` (n,) each sample's.

    A row holds, for each of the k labels, whether it was both true and said, whether it was said and whether it was
    true; then the number of labels said beyond the list, and a 1 that counts samples.
    """

    labels: int
    kinds: Floats
    kind_of: npt.NDArray[np.intp]
    single: bool


def cells(statistics: Sequence[Statistics]) -> Cells | str:
    """The samples by their labels, or why they cannot be taken together."""
    if any("label_list" not in one for one in statistics):
        return "a sample has no list of labels"
    lists = {(one["label_list"], one["labels"]) for one in statistics}
    if len(lists) > 1:
        return f"the samples have {len(lists)} different lists of labels"
    count = int(next(iter(lists))[1])
    places: dict[tuple[tuple[str, float], ...], int] = {}
    kind_of = [places.setdefault(_kind(one), len(places)) for one in statistics]
    # Distinct samples in an order of their own, so that no sum or seed depends on the samples'.
    found = list(places)
    order = sorted(range(len(found)), key=found.__getitem__)
    renamed = np.argsort(np.array(order, dtype=np.intp))
    kinds = np.zeros((len(found), 3 * count + 2))
    for row, old in enumerate(order):
        _fill(kinds[row], count, dict(found[old]))
    return Cells(count, kinds, renamed[np.array(kind_of, dtype=np.intp)], _is_single(kinds, count))


def _kind(one: Statistics) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((name, value) for name, value in one.items() if name.startswith((TRUE, SAID)) and value))


def _fill(row: Floats, count: int, kind: dict[str, float]) -> None:
    for name, value in kind.items():
        if name == OTHER:
            row[-2] = value
        elif name.startswith(SAID):
            row[count + int(name[len(SAID) :])] = 1.0
        else:
            row[2 * count + int(name[len(TRUE) :])] = 1.0
    row[:count] = row[count : 2 * count] * row[2 * count : 3 * count]
    row[-1] = 1.0


def _is_single(kinds: Floats, count: int) -> bool:
    said = kinds[:, count : 2 * count].sum(axis=1) + kinds[:, -2]
    return bool((said <= 1.0).all() and (kinds[:, 2 * count : 3 * count].sum(axis=1) == 1.0).all())


def confusion_matrix(statistics: Sequence[Statistics]) -> npt.NDArray[np.int64]:
    """How often each true label (row) met each answer (column), shape (k, k + 1), the last column for no label.

    Labels are in sorted order. For samples with one true label. Raises ValueError where a sample has several, or where
    the samples' lists of labels differ.
    """
    found = cells(statistics) if statistics else "no samples"
    if isinstance(found, str):
        raise ValueError(f"no confusion matrix: {found}")
    if not found.single:
        raise ValueError("no confusion matrix: a sample has several labels")
    k = found.labels
    counts = np.bincount(found.kind_of, minlength=len(found.kinds))
    said, true = found.kinds[:, k : 2 * k], found.kinds[:, 2 * k : 3 * k]
    column = np.where(said.any(axis=1), said.argmax(axis=1), k)
    matrix = np.zeros((k, k + 1), dtype=np.int64)
    np.add.at(matrix, (true.argmax(axis=1), column), counts)
    return matrix
