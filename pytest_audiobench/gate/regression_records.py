"""The regression lines of a run, adjusted for one another."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pytest_audiobench.records.run import ItemRecord, RegressionRecord
from pytest_audiobench.stats.multiple_testing import holm


def with_adjusted_p_values(items: Sequence[ItemRecord], lines: int) -> list[ItemRecord]:
    """``items`` with ``p_holm`` and ``q_better`` of their regression lines; ``lines`` is the run's m.

    A test has the share of alpha that its verdict had (its own ``lines``), and lines that no test was made for
    keep theirs. So the smallest adjusted value is at most alpha exactly where a line regressed.
    """
    places = [(place, number) for place, item in enumerate(items) for number in range(len(item.regressions))]
    records = [items[place].regressions[number] for place, number in places]
    worse = dict(zip(places, _adjusted([line.p for line in records], records, lines), strict=True))
    better = dict(zip(places, _adjusted([line.p_better for line in records], records, lines), strict=True))
    return [
        replace(
            item,
            regressions=[
                replace(line, p_holm=worse[place, number], q_better=better[place, number])
                for number, line in enumerate(item.regressions)
            ],
        )
        for place, item in enumerate(items)
    ]


def _adjusted(p_values: Sequence[float | None], records: Sequence[RegressionRecord], lines: int) -> list[float | None]:
    known = [(p, lines / line.lines) for p, line in zip(p_values, records, strict=True) if p is not None]
    rest = lines - sum(weight for _, weight in known)
    untested = [(1.0, rest)] if rest > 1e-9 else []
    tests = [*known, *untested]
    adjusted = iter(holm([p for p, _ in tests], [weight for _, weight in tests]).tolist())
    return [None if p is None else next(adjusted) for p in p_values]
