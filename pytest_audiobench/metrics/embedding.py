"""How alike two vectors point: the cosine, defined also where libraries overflow or disagree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_audiobench.errors import UsageError
from pytest_audiobench.stats.intervals import Floats


def cosines(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """The cosine of each row of ``first`` with the same row of ``second``, shapes (n, d), within -1 to 1.

    A vector of zeros has no direction: 0, as scikit-learn and sentence-transformers have it (SciPy says NaN). A NaN or
    an infinity gives NaN. Rows are scaled by their largest component before they are squared, so that none
    overflows: components of 1e200 are 0 or NaN in those libraries, and right here. Raises UsageError for other shapes.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.ndim != 2 or left.shape != right.shape:
        raise UsageError(f"cosines are of two arrays of one shape (n, d), not {left.shape} and {right.shape}")
    products = np.einsum("nd,nd->n", _directions(left), _directions(right))
    return np.asarray(np.clip(products, -1.0, 1.0), dtype=np.float64)


def _directions(rows: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        scaled: Floats = np.divide(rows, largest, where=largest > 0.0, out=rows * 0.0)
        lengths = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))[:, None]
        directions: Floats = np.divide(scaled, lengths, where=lengths > 0.0, out=scaled)
    return directions
