"""The units of metrics: which are kept as fractions of one, and between what they lie."""

import math
from collections.abc import Mapping
from types import MappingProxyType

SHARE = "share"
"""The unit of metrics that lie between 0 and 1."""

WORD_ERRORS = "errors per word"
CHARACTER_ERRORS = "errors per character"
PHONE_ERRORS = "errors per phone"
ERROR_RATES = frozenset({WORD_ERRORS, CHARACTER_ERRORS, PHONE_ERRORS})
"""The units of error rates, which may exceed 1 and are kept as fractions of one like shares."""

POINTS = "points"
"""The unit of differences between shares or error rates, kept as fractions of one like these."""

FRACTIONS = ERROR_RATES | {SHARE, POINTS}
"""The units that a percentage can be written for."""

AGREEMENT, CORRELATION, COSINE = "agreement", "correlation", "cosine"
BLEU, CHRF, CHRF_WORDS = "BLEU", "chrF", "chrF++"

RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        SHARE: (0.0, 1.0),
        POINTS: (-1.0, 1.0),
        **dict.fromkeys((AGREEMENT, CORRELATION, COSINE), (-1.0, 1.0)),
        **dict.fromkeys((BLEU, CHRF, CHRF_WORDS), (0.0, 100.0)),
    }
)
"""Between what metrics of these units lie, both ends among them."""


def span(unit: str) -> float:
    """What a metric of this unit can lose; infinite where it has no end.

    An error rate has none: it can lose what answers no worse than empty ones lose, which is 1.
    """
    if unit in ERROR_RATES:
        return 1.0
    least, most = RANGES.get(unit, (-math.inf, math.inf))
    return most - least
