"""The regression lines of a run, adjusted for one another."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.stats.multiple_testing import holm


def with_adjusted_p_values(items: Sequence[ItemRecord], lines: int) -> list[ItemRecord]:
    """``items`` with ``p_holm`` of their regression lines; ``lines`` is the run's m.

    A test has the share of alpha that its verdict had (its own ``lines``), and lines that no test was made for
    keep theirs. So the smallest adjusted value is at most alpha exactly where a line regressed.
    """
    p_values = {
        (place, number): (line.p, lines / line.lines)
        for place, item in enumerate(items)
        for number, line in enumerate(item.regressions)
        if line.p is not None
    }
    rest = lines - sum(weight for _, weight in p_values.values())
    untested = [rest] if rest > 1e-9 else []
    adjusted = holm(
        [*(p for p, _ in p_values.values()), *[1.0] * len(untested)],
        [*(weight for _, weight in p_values.values()), *untested],
    )
    by_line = dict(zip(p_values, map(float, adjusted), strict=False))
    return [
        replace(
            item,
            regressions=[
                replace(line, p_holm=by_line.get((place, number), line.p_holm))
                for number, line in enumerate(item.regressions)
            ],
        )
        for place, item in enumerate(items)
    ]
