"""How well one set stands for another: precision, recall and F1 of a single sample."""

from __future__ import annotations

from typing import NamedTuple


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
