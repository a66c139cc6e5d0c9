"""How varied the words of told stories are."""

from __future__ import annotations

import math

from pytest_audiobench.metrics.estimates import mean_of
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.units import SHARE

KINDS = (
    MetricKind(
        "diversity",
        "higher",
        "words",
        mean_of("diversity", "types", (0.0, math.inf)),
        lambda one: (one["types"], 1.0),
        "The mean number of different words in an answer (SALMONN's diversity of stories). An empty answer has 0. It "
        "grows with the answer's length.",
    ),
    MetricKind(
        "mattr",
        "higher",
        SHARE,
        mean_of("mattr", "mattr"),
        lambda one: (one["mattr"], 1.0),
        "The mean over answers of their moving-average type-token ratio: the share of different words in a stretch of "
        "50, averaged over all such stretches (Covington and McFall 2010). An answer of fewer words has 0.",
    ),
)
