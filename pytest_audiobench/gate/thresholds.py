"""Thresholds: what a number must be, read from text and held against a result."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.grammar import FORM, Bound, Group, Operator, ParsedDrop, group_text, read
from pytest_audiobench.gate.margins import margin_of
from pytest_audiobench.gate.regression_line import Line
from pytest_audiobench.gate.verdict import Verdict
from pytest_audiobench.metrics.metric import ERROR_RATES, FRACTIONS, POINTS, RANGES, SHARE
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.value import Metric, interval_text, value_text

Find: TypeAlias = Callable[[str, Mapping[str, str]], Metric | None]
"""A metric by name and group ({"hop": "multi"}, {"scorer": "mmau-string"}), None where there is none."""

_HOLDS: Mapping[Operator, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Threshold:
    """A requirement on a metric's value or on a bound of its interval.

    ``group`` holds metadata fields and their values; the field ``scorer`` names another scorer of the same
    answers. ``text`` is what the user wrote. ``str()`` is the canonical text, read back as an equal threshold.
    """

    metric: str
    group: Group
    bound: Bound
    operator: Operator
    limit: float
    text: str = field(default="", compare=False)

    @property
    def subject(self) -> str:
        """What is held against the limit: ``accuracy[hop=multi].lower``."""
        return f"{self.metric}{group_text(self.group)}{'' if self.bound == 'value' else f'.{self.bound}'}"

    @property
    def caution(self) -> str:
        """A sentence when the requirement is legitimate but unusual, else nothing.

        ``accuracy <= 0.4`` is how an eval demands that a model asked without the audio stays near chance, so
        it is allowed; ``accuracy.upper >= 0.5`` passes the more easily the fewer samples there are.
        """
        asks_more = self.operator.startswith(">")
        kind = metric_kind(self.metric)
        if kind.unit in ERROR_RATES and self.limit > 1.0:
            one = kind.unit.replace("errors", "error")
            return f"{self} is more than one {one}; write {self.limit:g}% for a percentage"
        if RANGES.get(kind.unit, (0.0, 1.0))[1] == 100.0 and 0.0 < self.limit < 1.0:
            return f"{self} is less than one of 100, which {self.metric} is out of"
        if asks_more != (kind.direction == "higher"):
            better = "higher" if not asks_more else "lower"
            return f"{self} asks for a poor result: {self.metric} is better when {better}"
        if self.bound == ("upper" if asks_more else "lower"):
            return f"{self} passes the more easily the fewer samples there are; the other bound is the strict one"
        return ""

    def __str__(self) -> str:
        return f"{self.subject} {self.operator} {self.limit!r}"


def parse_threshold(text: str) -> Threshold | Line:
    """A threshold, or the line of a regression, from its text (grammar: :mod:`pytest_audiobench.gate.grammar`).

    Raises UsageError for text that is no threshold, for a metric that nobody registered, for a limit beyond what the
    metric can be (``accuracy >= 55`` cannot pass and ``refused <= 5`` cannot fail), and for a percentage of one that
    is no fraction of one: ``bleu >= 30%`` would ask for 0.3 of 100; and for a margin that the metric cannot have.
    """
    if not isinstance(text, str):
        raise UsageError(f"a threshold is text, not {type(text).__name__}; {FORM}")
    parts = read(text)
    try:
        kind = metric_kind(parts.metric)
    except UsageError as error:
        raise UsageError(f"the threshold {text[:80]!r} names what is not measured: {error}") from None
    if isinstance(parts, ParsedDrop):
        if parts.metric == "errors":
            raise UsageError(
                f"the threshold {text[:80]!r} would hold nothing, for samples whose asking failed are in no pair: "
                "bound them by errors <= 0"
            )
        try:
            margin_of(parts.margin, kind)
        except UsageError as error:
            raise UsageError(f"the threshold {text[:80]!r} has no margin: {error}") from None
        return Line(*parts)
    if kind.unit and kind.unit not in FRACTIONS and text.rstrip().endswith("%"):
        raise UsageError(
            f"the threshold {text[:80]!r} has a percentage for its limit, and {kind.name} is in {kind.unit}, which is "
            "no fraction of one: write the number as it is reported"
        )
    if kind.unit == POINTS and not -1.0 < parts.limit < 1.0:
        raise UsageError(
            f"the threshold {text[:80]!r} has a limit beyond 100 points, between which {kind.name} lies: points are "
            f"fractions of one; write {parts.limit:g}% for {parts.limit:g} points"
        )
    least, most = RANGES.get(kind.unit, (-math.inf, math.inf))
    if not least <= parts.limit <= most:
        percent = (
            f"; write {parts.limit:g}% for a percentage" if kind.unit == SHARE and 1.0 < parts.limit <= 100.0 else ""
        )
        raise UsageError(
            f"the threshold {text[:80]!r} has a limit outside {least:g} to {most:g}, where {kind.name} lies{percent}"
        )
    return Threshold(*parts, text=text)


def check(threshold: Threshold, find: Find) -> Verdict:
    """Hold ``threshold`` against what ``find`` yields.

    What cannot be compared does not pass: a metric or group that is not there, a value that is not a finite
    number, and an interval that has no such bound each fail, with the reason as the verdict's detail.
    """
    text = threshold.text or str(threshold)
    found = find(threshold.metric, dict(threshold.group))
    if found is None:
        return Verdict("fail", text, None, _absent(threshold))
    why = f": {found.method}" if found.method else ""
    if not math.isfinite(found):
        return Verdict("fail", text, None, f"{_base(threshold)} is {float(found)}, not a finite number{why}")
    held = {"value": float(found), "lower": found.lower, "upper": found.upper}[threshold.bound]
    if held is None or not math.isfinite(held):
        return Verdict("fail", text, None, f"{_base(threshold)} has no {threshold.bound} bound{why}")
    held = float(held)
    perturbations = " ".join(part for part in (interval_text(found.lower, found.upper), f"n={found.n}") if part)
    measured = f"{value_text(found)} {perturbations}"
    if _HOLDS[threshold.operator](held, threshold.limit):
        return Verdict("pass", text, held, measured)
    shown = value_text(held) if value_text(held) != value_text(threshold.limit) else repr(held)
    return Verdict("fail", text, held, f"{shown} is not {threshold.operator} {threshold.limit!r} ({measured})")


def _base(threshold: Threshold) -> str:
    return f"{threshold.metric}{group_text(threshold.group)}"


def _absent(threshold: Threshold) -> str:
    if threshold.group:
        return f"there is no {_base(threshold)}: no sample is in this group, or no such protocol was read"
    name = threshold.metric
    return f"there is no {name} in this result: its headline does not measure it (another is named: {name}[scorer=…])"
