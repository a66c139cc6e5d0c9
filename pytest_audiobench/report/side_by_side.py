"""Protocols side by side: one set of answers, each protocol's number, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_audiobench.report.figures import difference_text
from pytest_audiobench.report.sweep import Sweep, SweepRow, scale, sweeps

Json = Mapping[str, Any]


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

    ``named`` are the protocols that ``sentence`` names.
    """

    metric: str
    compared: str
    sentence: str
    named: tuple[str, ...]
    rows: tuple[Side, ...]


def sides(owner: Json) -> tuple[Sides, ...]:
    """The tables of an item or a suite: one for each metric that two protocols or more yield."""
    return tuple(_sides(sweep, owner["readings"][0]["name"]) for sweep in sweeps(owner) if len(sweep.rows) > 1)


def _sides(sweep: Sweep, headline: str) -> Sides:
    first = sweep.rows[0]
    known = [row for row in sweep.rows if row.value is not None]
    known.sort(key=lambda row: row.value or 0.0, reverse=sweep.direction == "higher")
    rows = [*known, *(row for row in sweep.rows if row.value is None)]
    text, named = _sentence(sweep, known)
    return Sides(
        metric=sweep.metric,
        compared=first.protocol,
        sentence=text,
        named=named,
        rows=tuple(_side(row, first, row is first and row.protocol == headline, sweep.unit) for row in rows),
    )


def _sentence(sweep: Sweep, known: list[SweepRow]) -> tuple[str, tuple[str, ...]]:
    what = f"{sweep.metric} by {len(sweep.rows)} protocols"
    if sweep.spread is None:
        return f"{what}: {'one has' if known else 'none has'} a value", ()
    if not sweep.spread:
        return f"{what}: {known[0].value_text} by each", ()
    low, high = sorted((known[0], known[-1]), key=lambda row: row.value or 0.0)
    ends = f"{low.value_text} ({low.protocol}) to {high.value_text} ({high.protocol})"
    return f"{what}: {ends}, spread {sweep.spread_text}", (low.protocol, high.protocol)


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
