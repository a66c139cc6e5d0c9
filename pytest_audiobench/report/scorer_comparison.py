"""Protocols side by side: one set of answers, each protocol's number, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.report.formatting import difference_text
from pytest_audiobench.report.scorer_sweep import Sweep, SweepRow, is_many, of_judge, scale, sweeps

Json = Mapping[str, Any]
Key: TypeAlias = tuple[str, str]
"""A scorer's name and signature."""


@dataclass(frozen=True)
class Side:
    """One protocol's number. ``at``, ``low`` and ``high`` are where it is drawn, in the unit in which it is read.

    ``skipped`` answers were left out by the protocol; ``unanswered`` were not read as an answer, ``why`` says how.
    """

    protocol: str
    signature: str
    headline: bool
    value: str
    interval: str
    at: float | None
    low: float | None
    high: float | None
    n: int
    skipped: int
    unanswered: int
    why: str
    difference: str


@dataclass(frozen=True)
class Sides:
    """A metric by several protocols, the best first; differences are to ``compared``, the first that yields it.

    A ``leading`` one is of the first metric of a scorer among the main figures; where it ``folds``, some of its
    protocols are not among these.
    """

    metric: str
    leading: bool
    folds: bool
    compared: str
    sentence: str
    rows: tuple[Side, ...]
    sweep: Sweep


def by_answers(suite: Json, items: Sequence[Json]) -> list[Json]:
    """A suite's record in parts, each of scorers that read the same answers; ``items`` are those that it pools.

    An eval read by letters and one read by words have pooled numbers, but these are no two views of one thing.
    """
    read: dict[Key, list[int]] = {}
    for number, item in enumerate(items):
        for scorer in item["scorers"]:
            read.setdefault(_key(scorer), []).append(number)
    scopes: dict[tuple[int, ...], list[Json]] = {}
    for scorer in suite["scorers"]:
        scopes.setdefault(tuple(read.get(_key(scorer), ())), []).append(scorer)
    parts: list[Json] = []
    for scorers in scopes.values():
        own = {_key(scorer) for scorer in scorers}
        parts.append({"scorers": scorers, "metrics": [m for m in suite["metrics"] if _key(m, "scorer") in own]})
    return parts


def sides(owner: Json) -> tuple[Sides, ...]:
    """The tables of an item, or of a suite's part: one for each metric that two protocols or more yield.

    What none of them has a number for has none.
    """
    found = [one for one in sweeps(owner) if len(one.rows) > 1 and any(row.value is not None for row in one.rows)]
    if not found:
        return ()
    yields, kept = _yields(owner), kept_scorers(owner)
    leading = {name for key in kept for name in yields[key][:1]}
    folds = len(kept) < len(yields)
    return tuple(_sides(one, owner["scorers"][0]["name"], one.metric in leading, folds) for one in found)


def kept_scorers(owner: Json) -> set[Key]:
    """The scorers of an item, or of a suite's part, that stand among the main figures, by name and signature.

    All, or where there are many, the first to yield a metric, what judges said, and beside a headline that skips
    answers, the first that keeps all. The others stand side by side only.
    """
    yields = _yields(owner)
    if not is_many(owner):
        return set(yields)
    kept: set[Key] = set()
    seen: set[str] = set()
    for key, names in yields.items():
        if not kept or not seen.issuperset(names) or of_judge(key[1]):
            kept.add(key)
        seen.update(names)
    skipping = {_key(scorer) for scorer in owner["scorers"] if scorer["coverage"].get("skipped")}
    headline = _key(owner["scorers"][0])
    if headline in skipping:
        keeping = (
            k for k, names in yields.items() if k not in skipping and not set(names).isdisjoint(yields[headline])
        )
        kept.update(islice(keeping, 1))
    return kept


def _key(record: Json, name: str = "name") -> Key:
    return record[name], record["signature"]


def _yields(owner: Json) -> dict[Key, list[str]]:
    """The names of each scorer's metrics, in its order; shares of what went wrong are left out."""
    found: dict[Key, list[str]] = {_key(scorer): [] for scorer in owner["scorers"]}
    for metric in owner["metrics"]:
        if not metric["group"] and metric["name"] not in SHARES and metric["scorer"] is not None:
            found[_key(metric, "scorer")].append(metric["name"])
    return found


def _sides(sweep: Sweep, headline: str, leading: bool, folds: bool) -> Sides:
    first = sweep.rows[0]
    known = [row for row in sweep.rows if row.value is not None]
    known.sort(key=lambda row: row.value or 0.0, reverse=sweep.direction == "higher")
    rows = (*known, *(row for row in sweep.rows if row.value is None))
    return Sides(
        metric=sweep.metric,
        leading=leading,
        folds=folds,
        compared=first.protocol,
        sentence=_sentence(sweep),
        rows=tuple(_side(row, first, row is first and row.protocol == headline, sweep.unit) for row in rows),
        sweep=replace(sweep, rows=rows),
    )


def _sentence(sweep: Sweep) -> str:
    what = f"{sweep.metric} by {len(sweep.rows)} protocols"
    known = [row for row in sweep.rows if row.value is not None]
    if sweep.spread is None:
        return f"{what}: {known[0].value_text} ({known[0].protocol}), no value by the others"
    if not sweep.spread:
        return f"{what}: {known[0].value_text} by each"
    # Among equals the earliest is named, which the headline is.
    low = min(known, key=lambda row: row.value or 0.0)
    high = max(known, key=lambda row: row.value or 0.0)
    return f"{what}: {_end(low)} to {_end(high)}, spread {sweep.spread_text}"


def _end(row: SweepRow) -> str:
    return f"{row.value_text} ({row.protocol}{f', {row.skipped} skipped' if row.skipped else ''})"


def _side(row: SweepRow, first: SweepRow, headline: bool, unit: str) -> Side:
    known = row is not first and row.value is not None and first.value is not None
    times = scale(unit)
    return Side(
        protocol=row.protocol,
        signature=row.signature,
        headline=headline,
        value=row.value_text,
        interval=row.interval_text,
        at=None if row.value is None else times * row.value,
        low=None if row.lower is None else times * row.lower,
        high=None if row.upper is None else times * row.upper,
        n=row.n,
        skipped=row.skipped,
        unanswered=row.unanswered,
        why=row.why,
        difference=difference_text((row.value or 0.0) - (first.value or 0.0), unit) if known else "",
    )
