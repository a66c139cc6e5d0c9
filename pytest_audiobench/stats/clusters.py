"""Which samples belong together: clips of one speaker, of one recording, of one family of questions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Clusters: TypeAlias = Sequence[Hashable] | None
"""Each sample's cluster; None where each is its own."""


def repeat(clusters: Clusters) -> bool:
    """Whether a cluster holds two samples; clusters that never repeat are the same as none."""
    return clusters is not None and len(set(clusters)) < len(clusters)


def numbered(clusters: Clusters, samples: int) -> npt.NDArray[np.intp]:
    """Each sample's cluster by its number, from 0 in the order of their first samples, shape (samples,)."""
    if clusters is None:
        return np.arange(samples, dtype=np.intp)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    return np.fromiter(map(numbers.__getitem__, clusters), dtype=np.intp, count=len(clusters))
