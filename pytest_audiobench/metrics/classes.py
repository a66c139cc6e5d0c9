"""Numbers of a classification, as functions of the sums that ``metrics.labels`` tells of each label.

``sums`` has the shape (r, 3k + 2) of r samples or resamples: for each of k labels how often it was both true and said,
said, and true; then labels said beyond the list, and the number of samples. Every function gives r values.

A mean over labels is over those that are true of a sample: what the mean is over then depends on the data and not on
the answers. (scikit-learn's ``labels=`` counts a listed label that is never true as 0.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import Floats


def f1_by_label(sums: Floats) -> Floats:
    """F1 of each label, 2 hits / (said + true), shape (r, k); NaN for one that was neither said nor true."""
    hits, said, true = _parts(sums)
    return _over(2.0 * hits, said + true)


def macro_f1(sums: Floats) -> Floats:
    """The mean of F1 over the labels that are true of a sample."""
    _, _, true = _parts(sums)
    return _mean(f1_by_label(sums), true > 0.0)


def weighted_f1(sums: Floats) -> Floats:
    """The mean of F1 over labels, each as often as it is true."""
    _, _, true = _parts(sums)
    return _over((np.nan_to_num(f1_by_label(sums)) * true).sum(axis=1), true.sum(axis=1))


def micro_precision(sums: Floats) -> Floats:
    """Hits over labels said, labels beyond the list among them."""
    hits, said, _ = _parts(sums)
    return _over(hits.sum(axis=1), said.sum(axis=1) + sums[:, -2])


def micro_recall(sums: Floats) -> Floats:
    """Hits over true labels."""
    hits, _, true = _parts(sums)
    return _over(hits.sum(axis=1), true.sum(axis=1))


def micro_f1(sums: Floats) -> Floats:
    """2 hits / (labels said + true labels), all labels together."""
    hits, said, true = _parts(sums)
    return _over(2.0 * hits.sum(axis=1), said.sum(axis=1) + sums[:, -2] + true.sum(axis=1))


def balanced_accuracy(sums: Floats) -> Floats:
    """The mean of recall over the labels that are true of a sample."""
    hits, _, true = _parts(sums)
    return _mean(_over(hits, true), true > 0.0)


def cohen_kappa(sums: Floats) -> Floats:
    """(observed - expected) / (1 - expected) agreement (Cohen 1960); NaN where all is one label on both sides."""
    hits, said, true = _parts(sums)
    n = sums[:, -1]
    expected = _over((said * true).sum(axis=1), n * n)
    return _over(_over(hits.sum(axis=1), n) - expected, 1.0 - expected)


def mcc(sums: Floats) -> Floats:
    """Matthews' correlation for k labels (Gorodkin 2004, R_k); 0 where either side is one label only.

    No label said is a class of its own among the answers.
    """
    hits, said, true = _parts(sums)
    n = sums[:, -1]
    unsaid = n - said.sum(axis=1)
    covariance = hits.sum(axis=1) * n - (said * true).sum(axis=1)
    of_said = n * n - (said * said).sum(axis=1) - unsaid * unsaid
    of_true = n * n - (true * true).sum(axis=1)
    spread = np.sqrt(np.maximum(of_said * of_true, 0.0))
    return np.where(
        spread > 0.0, _over(covariance, np.where(spread > 0.0, spread, 1.0)), np.where(n > 0.0, 0.0, np.nan)
    )


def _parts(sums: Floats) -> tuple[Floats, Floats, Floats]:
    k = (sums.shape[1] - 2) // 3
    return sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k]


def _over(top: Floats, bottom: Floats) -> Floats:
    found: Floats = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom != 0.0)
    return found


def _mean(values: Floats, which: npt.NDArray[np.bool_]) -> Floats:
    return _over(np.where(which, np.nan_to_num(values), 0.0).sum(axis=1), which.sum(axis=1).astype(np.float64))
