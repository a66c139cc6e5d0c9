"""One metric of an eval held against a baseline's: by how much it dropped, and whether that is a regression.

Verdicts, by formula:

- pass: the one-sided upper bound of the drop (at 1 - alpha) is below the margin,
- regressed: the test of "the drop is at most the margin" gives p <= alpha / lines,
- inconclusive: neither,
- not comparable: the two sides do not match, or their asking failed, past the limit.

Only "regressed" needs the correction over many lines: a pass is a bound's, and a bound on each line errs in each alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.grammar import Group
from pytest_audiobench.gate.margins import margin_of
from pytest_audiobench.gate.pairing import (
    AUDIO,
    ERRORS,
    ONLY_HERE,
    ONLY_IN_BASELINE,
    PROMPT,
    SKIPPED,
    Pairs,
    paired,
)
from pytest_audiobench.metrics.drops import drop_of, moved
from pytest_audiobench.metrics.metric import MetricKind, Statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.units import FRACTIONS
from pytest_audiobench.runs.record import RegressionRecord, RegressionStatus
from pytest_audiobench.runs.scoring import SHARES, WITHOUT
from pytest_audiobench.runs.sides import Side, SideRow
from pytest_audiobench.stats.drops import Drop, Question, no_drop

ALPHA = 0.05
MARGIN = "1pp"
MOST_UNMATCHED = 0.05


class Line(NamedTuple):
    """One regression line: the metric (None: the first of the headline), the group, and the margin as it was written.

    ``group`` may name another reading as ``protocol``.
    """

    metric: str | None = None
    group: Group = ()
    margin: str = MARGIN


class Terms(NamedTuple):
    """What all lines of a run share: ``lines`` is their number, ``most_unmatched`` the share of samples without a
    counterpart from which two sides are not comparable.
    """

    alpha: float = ALPHA
    lines: int = 1
    most_unmatched: float = MOST_UNMATCHED


def held_against(baseline: Side | None, here: Side, line: Line, terms: Terms) -> RegressionRecord:
    """What became of ``line`` for ``here``; without a ``baseline`` it is inconclusive, and says so.

    Raises UsageError for a metric that nobody registered or that the reading does not measure, for a reading that was
    not used here, and for a margin that the metric cannot have.
    """
    held = _Held.of(here, line, terms)
    if baseline is None:
        return held.without("inconclusive", f"the baseline has no eval {here.eval}")
    if (reason := _unlike(baseline, here, held.reading)) is not None:
        return held.without("not_comparable", reason)
    pairs = paired(*_within(baseline, here, held.group), held.reading)
    if pairs.mismatched > terms.most_unmatched:
        share = f"{100.0 * pairs.mismatched:.1f} % of the samples are in no pair, more than the allowed"
        why = f"{share} {100.0 * terms.most_unmatched:g} %: {pairs_text(pairs)}"
        return held.without("not_comparable", why, pairs)
    if not pairs.rows:
        return held.without("not_comparable", f"the two sides have no sample in common{_of_group(held.group)}", pairs)
    return held.decided(pairs)


def pairs_text(pairs: Pairs) -> str:
    """Which samples are in no pair, by reason, with the first names of each; nothing where all are."""
    return "; ".join(
        f"{count} {_REASONS[reason]} ({', '.join(pairs.examples[reason])}"
        f"{', …' if count > len(pairs.examples[reason]) else ''})"
        for reason, count in pairs.left_out.items()
    )


_REASONS = {
    ONLY_HERE: "are not in the baseline",
    ONLY_IN_BASELINE: "are in the baseline only",
    AUDIO: "have other audio than in the baseline",
    PROMPT: "were asked with another prompt than in the baseline",
    ERRORS: "could not be asked on one side",
    SKIPPED: "are left out by the protocol on one side",
}


@dataclass(frozen=True)
class _Held:
    """A line resolved for one eval: the metric's kind, the reading, the group and the margin in the metric's unit."""

    kind: MetricKind
    reading: str
    group: Mapping[str, str]
    margin: float
    terms: Terms

    @classmethod
    def of(cls, here: Side, line: Line, terms: Terms) -> _Held:
        group = dict(line.group)
        reading = group.pop("protocol", here.headline)
        if reading not in here.readings:
            raise UsageError(
                f"{here.eval} was not read by the protocol {reading!r}; it was by {', '.join(here.readings)}"
            )
        own = here.metrics.get(reading, ())
        name = line.metric or own[0]
        if name not in (*own, *SHARES):
            raise UsageError(f"{here.eval} does not measure {name} by {reading}; it measures {', '.join(own)}")
        kind = metric_kind(name)
        return cls(kind, reading, group, margin_of(line.margin, kind), terms)

    def without(self, status: RegressionStatus, why: str, pairs: Pairs | None = None) -> RegressionRecord:
        """The record of a line that no test was made for."""
        return self._record(status, pairs, no_drop(math.nan, why), (None, None), why)

    def decided(self, pairs: Pairs) -> RegressionRecord:
        before = [self._statistics(row) for row, _ in pairs.rows]
        after = [self._statistics(row) for _, row in pairs.rows]
        names = _clusters(pairs)
        level = self.terms.alpha / self.terms.lines
        drop = drop_of(self.kind, before, after, names, Question(self.margin, self.terms.alpha, level))
        values = [self.kind.estimate(side, None).value for side in (before, after)]
        if drop.p is not None and drop.p <= level:
            status: RegressionStatus = "regressed"
        elif drop.bound is not None and drop.bound < self.margin:
            status = "pass"
        else:
            status = "inconclusive"
        moves = [moved(self.kind, *one) for one in zip(before, after, strict=True)]
        counts = (moves.count(1), moves.count(-1))
        return self._record(status, pairs, drop, (values[0], values[1]), "", counts, names)

    def _statistics(self, row: SideRow) -> Statistics:
        if self.kind.name in SHARES:
            status = row.statuses[self.reading]
            return {status: 1.0, "skipped": float(row.scores[self.reading] is None), **dict.fromkeys(row.failures, 1.0)}
        found = row.scores[self.reading]
        assert found is not None
        return found

    def _record(
        self,
        status: RegressionStatus,
        pairs: Pairs | None,
        drop: Drop,
        values: tuple[float | None, float | None],
        why: str,
        moves: tuple[int, int] = (0, 0),
        clusters: Sequence[Hashable] | None = None,
    ) -> RegressionRecord:
        record = RegressionRecord(
            status=status,
            metric=self.kind.name,
            reading=self.reading,
            group=self.group,
            unit=self.kind.unit,
            direction=self.kind.direction,
            baseline=_finite(values[0]),
            value=_finite(values[1]),
            drop=_finite(drop.value),
            lower=_finite(drop.lower),
            upper=_finite(drop.upper),
            bound=_finite(drop.bound),
            margin=self.margin,
            p=_finite(drop.p),
            alpha=self.terms.alpha,
            lines=self.terms.lines,
            detectable=_finite(drop.detectable),
            pairs=len(pairs.rows) if pairs else 0,
            clusters=len(set(clusters)) if clusters is not None else None,
            worse=moves[0],
            better=moves[1],
            left_out=pairs.left_out if pairs else {},
            examples=pairs.examples if pairs else {},
            method=drop.method,
            detail=why,
        )
        return record if why else replace(record, detail=sentence(record))


def sentence(record: RegressionRecord) -> str:
    """The verdict and the formula it follows from, with this line's numbers."""
    at = f"p {p_text(record.p)} for a drop of at most {_amount(record, record.margin)}"
    level = f"{record.alpha:g} / {record.lines}" if record.lines > 1 else f"{record.alpha:g}"
    certain = f"{100.0 * (1.0 - record.alpha):g} %"
    seen = (
        f"; a drop of {_amount(record, record.detectable)} would be seen four times in five"
        if record.detectable
        else ""
    )
    if record.status == "regressed":
        return f"{_amount(record, record.drop)} worse: {at}, below {level}"
    if record.status == "pass":
        most, margin = _amount(record, record.bound), _amount(record, record.margin)
        return f"at most {most} worse ({certain}), below the margin of {margin}{seen}"
    if record.p is None:
        return f"{record.method}{seen}"
    bound = f"up to {_amount(record, record.bound)} worse is possible ({certain})"
    return f"{bound}, and {at} is not below {level}{seen}"


def p_text(p: float | None) -> str:
    """``= 0.034``, ``< 0.0001``, or ``unknown``."""
    if p is None:
        return "unknown"
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"


def _amount(record: RegressionRecord, value: float | None) -> str:
    if value is None:
        return "an unknown amount"
    if record.unit in FRACTIONS:
        return f"{100.0 * value:.1f} points"
    return f"{value:.3g} {record.unit}".rstrip()


def _unlike(baseline: Side, here: Side, reading: str) -> str | None:
    """Why two sides of one eval cannot be compared whatever their samples are."""
    for what, before, now in (
        ("the data set", baseline.dataset, here.dataset),
        ("the number of epochs", baseline.epochs, here.epochs),
        ("the settings' hash", baseline.hashes.get("settings"), here.hashes.get("settings")),
    ):
        if before != now:
            return f"{what} is {before} in the baseline and {now} here"
    if reading not in baseline.readings:
        return f"the baseline was not read by the protocol {reading}: it has {', '.join(baseline.readings)}"
    if baseline.readings[reading] != here.readings[reading]:
        return f"the protocol is {baseline.readings[reading]} in the baseline and {here.readings[reading]} here"
    return None


def _within(baseline: Side, here: Side, group: Mapping[str, str]) -> tuple[Side, Side]:
    """Both sides' rows of ``group``; a class of failures is left out of both where either side shows it."""
    wanted = dict(group)
    without = wanted.pop(WITHOUT, None)
    gone = {row.identity for side in (baseline, here) for row in side.rows if without in row.failures}
    first, second = (
        replace(side, rows=[row for row in side.rows if row.identity not in gone and _matches(row, wanted)])
        for side in (baseline, here)
    )
    return first, second


def _matches(row: SideRow, wanted: Mapping[str, str]) -> bool:
    return all(row.groups.get(field) == value for field, value in wanted.items())


def _clusters(pairs: Pairs) -> list[Hashable] | None:
    """Each pair's cluster, or None where no cluster holds two of them."""
    names: list[Hashable] = [
        ("cluster", after.cluster or before.cluster) if after.cluster or before.cluster else after.sample_id
        for before, after in pairs.rows
    ]
    return names if len(set(names)) < len(names) else None


def _of_group(group: Mapping[str, str]) -> str:
    return f" where {', '.join(f'{field} is {value}' for field, value in group.items())}" if group else ""


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
