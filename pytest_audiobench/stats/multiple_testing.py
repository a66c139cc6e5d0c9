"""p values of many tests, adjusted for their number by Holm's method, which scipy has not; their order stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pytest_audiobench.stats.intervals import Floats


def holm(p_values: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Floats:
    """Holm's step-down adjustment (Holm 1979): what is at most alpha is so with any false alarm held at alpha.

    ``weights``, shape (m,) and above 0, give each test its share of alpha; equal ones where they are left out.
    """
    p = np.asarray(p_values, dtype=np.float64)
    shares = np.ones_like(p) if weights is None else np.asarray(weights, dtype=np.float64)
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("a p value lies between 0 and 1")
    order = np.argsort(p / shares, kind="stable")
    remaining = np.cumsum(shares[order][::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] / shares[order] * remaining), 1.0)
    return adjusted


def holm_of_known(p_values: Sequence[float | None]) -> list[float | None]:
    """:func:`holm` where some tests have no p: they count as tests that showed nothing, and stay without."""
    adjusted = holm([1.0 if p is None else p for p in p_values]).tolist() if p_values else []
    return [None if before is None else p for before, p in zip(p_values, adjusted, strict=True)]
