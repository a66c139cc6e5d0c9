"""How varied the words of a text are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def moving_average_ratio(words: Sequence[str], window: int) -> float:
    """The mean share of different words over all stretches of ``window`` words: between 1 / window and 1.

    The moving-average type-token ratio (MATTR; Covington and McFall 2010, Journal of Quantitative Linguistics 17(2)):
    unlike the number of different words, or its share of all words, it does not move with the text's length. 0 for a
    text shorter than the window, which has no such stretch.
    """
    if len(words) < window:
        return 0.0
    counts = Counter(words[:window])
    different = total = len(counts)
    for gone, come in zip(words, words[window:], strict=False):
        counts[gone] -= 1
        different -= counts[gone] == 0
        different += counts[come] == 0
        counts[come] += 1
        total += different
    return total / ((len(words) - window + 1) * window)
