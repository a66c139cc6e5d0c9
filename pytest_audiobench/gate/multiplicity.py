"""The p values of a run's regression lines, adjusted over all of them: for the report, and for no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_audiobench.stats.multiple_testing import holm


def adjust(regressions: Sequence[dict[str, Any]], lines: int) -> None:
    """Fill in ``p_holm`` of the run's regressions, as they are in its record; ``lines`` is the run's m.

    A test has the share of alpha that its verdict was held to (its own ``lines``), and lines that no test was made for
    keep theirs. So the smallest adjusted value is at most alpha exactly where a line regressed.
    """
    tested = [one for one in regressions if one["p"] is not None]
    weights = [lines / one["lines"] for one in tested]
    rest = lines - sum(weights)
    untested = [rest] if rest > 1e-9 else []
    found = holm([*(one["p"] for one in tested), *[1.0] * len(untested)], [*weights, *untested])
    for one, p_value in zip(tested, found, strict=False):
        one["p_holm"] = float(p_value)
