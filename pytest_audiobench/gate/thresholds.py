"""Thresholds and regression lines: what a number must be, read from text and checked against a result."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.perturbation_series import NEEDS, how_to_ask
from pytest_audiobench.gate.threshold_syntax import (
    FORM,
    Bound,
    Group,
    Operator,
    ParsedDrop,
    group_text,
    margin_of,
    parse,
)
from pytest_audiobench.io.mistakes import listed, near
from pytest_audiobench.metrics.definitions.human_labels import METRICS as BY_PEOPLE
from pytest_audiobench.metrics.metric import ERROR_RATES, FRACTIONS, POINTS, RANGES, SHARE
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.value import PERCENT_UNITS, Metric, bounds_text, figure_text

_MOST_GROUPS = 10
"""Groups that are named where a threshold is on another."""

MetricLookup: TypeAlias = Callable[[str, Mapping[str, str]], Metric | None]
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
        """What is compared with the limit: ``accuracy[hop=multi].lower``."""
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
            unit = kind.unit.replace("errors", "error")
            return f"{self} is more than one {unit}; write {self.limit:g}% for a percentage"
        if RANGES.get(kind.unit, (0.0, 1.0))[1] == 100.0 and 0.0 < self.limit < 1.0:
            return f"{self} is less than one of 100, which {self.metric} is out of"
        # What has the headline's unit has its direction, too, which is not known here.
        if kind.unit and asks_more != (kind.direction == "higher"):
            better = "higher" if not asks_more else "lower"
            return f"{self} asks for a poor result: {self.metric} is better when {better}"
        if self.bound == ("upper" if asks_more else "lower"):
            return f"{self} passes the more easily the fewer samples there are; the other bound is the strict one"
        return ""

    def __str__(self) -> str:
        # A bare 1 would be taken for a point.
        is_whole = abs(self.limit) == 1.0 and metric_kind(self.metric).unit == POINTS
        return f"{self.subject} {self.operator} {f'{100 * self.limit:g}pp' if is_whole else repr(self.limit)}"


def parse_threshold(text: str) -> Threshold | Line:
    """A threshold, or the line of a regression, from its text (:mod:`pytest_audiobench.gate.threshold_syntax`).

    Raises UsageError for text that is not a threshold, for an unknown metric, for a limit beyond what the
    metric can be (``accuracy >= 55`` cannot pass and ``refused <= 5`` cannot fail), and for a percentage of one that
    is not a fraction of one: ``bleu >= 30%`` would ask for 0.3 of 100; and for a margin that the metric cannot have.
    """
    if not isinstance(text, str):
        raise UsageError(f"a threshold is text, not {type(text).__name__}; {FORM}")
    parts = parse(text)
    if isinstance(parts, ParsedDrop) and parts.is_speed:
        return Line(*parts)
    try:
        kind = metric_kind(parts.metric)
    except UsageError as error:
        raise UsageError(f"the threshold {text[:80]!r} names what is not measured: {error}") from None
    if isinstance(parts, ParsedDrop):
        if parts.metric == "errors":
            raise UsageError(
                f"the threshold {text[:80]!r} would check nothing, for samples whose asking failed are in no pair: "
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
    if kind.unit != POINTS and text.rstrip().endswith("pp"):
        raise UsageError(
            f"the threshold {text[:80]!r} has pp for its limit, which differences such as lift are in, and "
            f"{kind.name} is none: write a percentage, or the number as it is reported"
        )
    # A 1 that was meant as a point would be a hundred of them; what is written in points is meant.
    is_in_points = text.rstrip().endswith(("pp", "%"))
    if kind.unit == POINTS and not (-1.0 <= parts.limit <= 1.0 if is_in_points else -1.0 < parts.limit < 1.0):
        hint = (
            "" if is_in_points else f": points are fractions of one; write {parts.limit:g}pp for {parts.limit:g} points"
        )
        raise UsageError(f"the threshold {text[:80]!r} has a limit above 100 pp, between which {kind.name} lies{hint}")
    least, most = RANGES.get(kind.unit, (-math.inf, math.inf))
    if not least <= parts.limit <= most:
        percent = (
            f"; write {parts.limit:g}% for a percentage" if kind.unit == SHARE and 1.0 < parts.limit <= 100.0 else ""
        )
        raise UsageError(
            f"the threshold {text[:80]!r} has a limit outside {least:g} to {most:g}, where {kind.name} lies{percent}"
        )
    return Threshold(*parts, text=text)


def check_threshold(threshold: Threshold, lookup: MetricLookup, keys: Sequence[str] = ()) -> Verdict:
    """The verdict on ``threshold`` by the metric that ``lookup`` yields; ``keys`` are those that are on record.

    What cannot be compared does not pass: a metric or group that is not there, a value that is not a finite
    number, an interval that has no such bound, and a limit that is none in the unit that only the result tells each
    fail, with the reason as the verdict's detail.
    """
    text = threshold.text or str(threshold)
    metric = lookup(threshold.metric, dict(threshold.group))
    if metric is None:
        return Verdict("fail", text, None, _missing_metric_text(threshold, keys))
    if not metric_kind(threshold.metric).unit and (mistake := _mistaken_limit(threshold, metric.unit)):
        return Verdict("fail", text, float(metric), f"{text} {mistake}")
    why = f": {metric.method}" if metric.method else ""
    if not math.isfinite(metric):
        return Verdict(
            "fail", text, None, f"{_subject_without_bound(threshold)} is {float(metric)}, not a finite number{why}"
        )
    value = {"value": float(metric), "lower": metric.lower, "upper": metric.upper}[threshold.bound]
    if value is None or not math.isfinite(value):
        return Verdict("fail", text, None, f"{_subject_without_bound(threshold)} has no {threshold.bound} bound{why}")
    value = float(value)
    whole, bounds = figure_text(metric, metric.unit), bounds_text(metric.lower, metric.upper, metric.unit)
    interval = f"{f'[{bounds}], ' * bool(bounds)}n={metric.n}"
    if _HOLDS[threshold.operator](value, threshold.limit):
        return Verdict("pass", text, value, f"{whole} {interval}")
    limit, shown = (figure_text(each, metric.unit) for each in (threshold.limit, value))
    if shown == limit and value != threshold.limit:
        shown = f"{100 * value:.10g} %" if metric.unit in PERCENT_UNITS else repr(value)
    of = f"{whole} " * (threshold.bound != "value")
    return Verdict("fail", text, value, f"{shown} is not {threshold.operator} {limit} ({of}{interval})")


def _mistaken_limit(threshold: Threshold, unit: str) -> str:
    """What is wrong with the limit for a number in ``unit``; nothing where it is one."""
    is_percentage, (least, most) = threshold.text.rstrip().endswith("%"), RANGES.get(unit, (-math.inf, math.inf))
    if is_percentage and unit and unit not in FRACTIONS:
        return f"has a percentage for its limit, and {threshold.metric} is in {unit} here"
    if not least <= threshold.limit <= most:
        return f"has a limit outside {least:g} to {most:g}, where {threshold.metric} lies here"
    if unit in ERROR_RATES and threshold.limit > 1.0 and not is_percentage:
        return f"is more than one {unit.replace('errors', 'error')}; write {threshold.limit:g}% for a percentage"
    return ""


def _subject_without_bound(threshold: Threshold) -> str:
    return f"{threshold.metric}{group_text(threshold.group)}"


def _missing_metric_text(threshold: Threshold, keys: Sequence[str]) -> str:
    name = threshold.metric
    if threshold.group:
        subject = _subject_without_bound(threshold)
        if name in keys and name in NEEDS:
            return f"there is no {subject}: {name} is measured over all samples, and of no group"
        groups = [key.removeprefix(name) for key in keys if key.startswith(f"{name}[")]
        nearest_first = list(dict.fromkeys([*near(group_text(threshold.group), groups), *groups]))
        there = f"; there are {listed(nearest_first, _MOST_GROUPS)}" if groups else ""
        return f"there is no {subject}: no sample is in this group, or no scorer has this name{there}"
    if name in NEEDS:
        return f"there is no {name} in this result: it {how_to_ask(name)}"
    if name in BY_PEOPLE and not any(key.startswith(f"{name}[") for key in keys):
        return f"there is no {name} in this result: no judged answer of it is labelled (--ab-human-labels)"
    return f"there is no {name} in this result: its first scorer does not measure it (name another: {name}[scorer=…])"


ALPHA = 0.05
MARGIN = "1pp"
MOST_UNMATCHED = 0.05
NO_MARGIN = "none"
"""In place of a margin: no line for the headline's metric, only those that were declared."""


class Line(NamedTuple):
    """One regression line: by how much a metric may drop."""

    metric: str | None = None
    """None for the first of the headline."""
    group: Group = ()
    """May name another scorer as ``scorer``."""
    margin: str = MARGIN
    """As it was written."""

    @property
    def is_speed(self) -> bool:
        """Whether it is on what requests took, which only two models of one run can be compared by."""
        return self.margin.endswith("%")

    @property
    def text(self) -> str:
        """The line as it is declared: ``accuracy[hop=multi].drop <= 1pp``."""
        return f"{self.metric or 'the headline'}{group_text(self.group)}.drop <= {self.margin}"


class Terms(NamedTuple):
    """What all lines of a run share."""

    alpha: float = ALPHA
    lines: int = 1
    most_unmatched: float = MOST_UNMATCHED
    """The share of unmatched samples beyond which two sides are not comparable."""
    excuses_noise: bool = False
    """Whether a regression within the model's measured noise floor is inconclusive."""


class Verdict(NamedTuple):
    """What became of a threshold. Only "pass" is a pass."""

    status: Literal["pass", "fail", "incomplete"]
    threshold: str
    value: float | None
    """What was compared with the limit (the value or a bound); None where there was no finite number."""
    detail: str
    """The number with its interval, or the reason for the verdict."""
