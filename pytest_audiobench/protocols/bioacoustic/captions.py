"""BEANS-Next's CIDEr over a data set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

ORDERS = (1, 2, 3, 4)
_SIGMA = 6.0


def cider_each(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    raise NotImplementedError


def cider(candidates: Sequence[str], references: Sequence[str]) -> float:
    raise NotImplementedError
