"""What a reader should see of a run's perturbations, drawn once from its record: for terminal, summary and page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from pytest_audiobench.evaluation.perturbation_series import CLEAN
from pytest_audiobench.metrics.metric import FRACTIONS, POINTS
from pytest_audiobench.metrics.value import difference_text
from pytest_audiobench.records import run as records
from pytest_audiobench.report.formatting import axis_value, interval_text, unit_text, value_text

FEWER = 0.02
"""Of all answers, so many fewer parsed ones than under the clean perturbation are pointed out."""

_MANY_REFERENCES = 4
"""Perturbations that drops are from, beyond which a head does not name them."""


@dataclass(frozen=True)
class Row:
    """One perturbation as texts, and where it is drawn."""

    label: str
    """Its dose on a curve, else its name."""
    perturbation: str
    eval: str
    dose: float | None
    value: str
    interval: str
    n: int
    parse_rate: str
    fewer: str
    """A sentence where clearly fewer answers were parsed than under the clean perturbation (or the family's easiest
    dose), else empty: a score may rise, or hold, on refusals alone."""
    drop: str
    """How much worse it is than ``against``; both are empty where it is compared with nothing."""
    drop_interval: str
    p: str
    against: str
    method: str
    drop_method: str
    at: float | None
    low: float | None
    high: float | None
    parse_rate_at: float | None


@dataclass(frozen=True)
class Line:
    """A figure over perturbations: what it is, its value, its interval, and how it came about."""

    name: str
    value: str
    interval: str
    method: str
    p: str = ""
    """Of the trend test, adjusted by Holm's method over the data set's curves; empty where none was made."""


@dataclass(frozen=True)
class _Figures:
    """Whose figures these are, and of which metric by which scorer."""

    suite: str
    model: str
    dataset: str
    series: str
    metric: str
    scorer: str
    unit: str
    direction: str
    leading: bool
    """Whether it is the first metric of the headline scorer."""
    rows: tuple[Row, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Curve(_Figures):
    """A metric over the doses of a family."""

    family: str
    dose_unit: str
    harder: str
    clean: Row | None


@dataclass(frozen=True)
class Summary(_Figures):
    """A metric over all perturbations of a data set: those on no curve, and the mean of all."""


def curves(suites: Sequence[records.SuiteRecord]) -> list[Curve]:
    """All curves of a run, each suite's leading metric first."""
    all_curves = [_curve(suite, curve) for suite in suites for curve in suite.curves]
    return sorted(all_curves, key=lambda curve: not curve.leading)


def summaries(suites: Sequence[records.SuiteRecord]) -> list[Summary]:
    """What is said of all perturbations of each data set, each suite's leading metric first."""
    all_summaries = [_summary(suite, summary) for suite in suites for summary in suite.perturbations]
    all_summaries += [summary for suite in suites for summary in _alone(suite)]
    return sorted(all_summaries, key=lambda summary: not summary.leading)


def title(figures: Curve | Summary, several: bool) -> str:
    """``asr_robust, digits: wer under white``; the model is named where there are ``several``."""
    subject = subject_name(figures.suite, figures.dataset, figures.series)
    if isinstance(figures, Curve):
        under = f"under {figures.family}"
    else:
        under = "by perturbation" if figures.rows else "over its perturbations"
    return f"{subject}{f', {figures.model}' if several else ''}: {figures.metric} {under}"


def subject_name(suite: str, dataset: str, series: str) -> str:
    """``asr_robust, digits, test_digits[a]``: what a figure is of, each name once."""
    return ", ".join(dict.fromkeys(filter(None, (suite, dataset, series))))


def _curve(suite: records.SuiteRecord, curve: records.CurveRecord) -> Curve:
    row = Rows(suite, _summary_of(suite, curve))
    return Curve(
        **_owner(suite, curve),
        **{name: getattr(curve, name) for name in ("family", "dose_unit", "harder")},
        rows=tuple(row.of(f"{point.dose:g}", point) for point in curve.points),
        clean=None if curve.clean is None else row.of(curve.clean.perturbation, curve.clean),
        lines=tuple(_curve_lines(curve)),
    )


def _summary(suite: records.SuiteRecord, summary: records.PerturbationsRecord) -> Summary:
    on_curves = {
        point.perturbation
        for curve in suite.curves
        if _key(curve) == _key(summary)
        for point in (*curve.points, *([curve.clean] if curve.clean else []))
    }
    row = Rows(suite, summary)
    alone = [point for point in summary.points if point.perturbation not in on_curves]
    count = len(summary.weights)
    is_plain = len(set(summary.weights.values())) == 1
    weights = f"each weighing 1/{count}" if is_plain else "by the weights in run.json"
    name = f"mean of the {count} perturbations measured{_families(suite, summary)}, {weights}"
    is_mixed = any(point.family in _QUESTIONED for point in summary.points)
    mean = () if is_mixed else (_line(name, summary.mean, summary.unit),)
    return Summary(
        **_owner(suite, summary),
        rows=tuple(row.of(point.perturbation, point) for point in alone),
        lines=(*mean, *_order_lines(suite, summary), *_aspect_lines(suite, summary)),
    )


_QUESTIONED = {"order", "fragment", "window", "inject", "reasoning"}
"""Families that each ask something of their own, so that a mean over them and others is a share of nothing."""


def _order_lines(suite: records.SuiteRecord, summary: records.PerturbationsRecord) -> Iterator[Line]:
    """What the order of the options decides, with the first metric of the scorer that read the answers."""
    orders = next((each for each in suite.orders if _order_key(each) == _scorer_key(summary)), None)
    if orders is None or not _is_leading(suite, summary):
        return
    yield _line(f"right over all orders of the options (n={orders.n})", orders.mean, "share")
    yield _line(f"right in the worst order, {orders.worst.order}", orders.worst, "share")
    yield _line("right in every order", orders.every, "share")
    yield _line("the same option in every order", orders.same, "share")
    if orders.bias is not None:
        places = (f"{place.letter} {_share_text(place.said)}" for place in orders.places)
        how = f"said {', '.join(places)}; half the sum of the distances from where the right option stood"
        yield Line("bias to a place", f"{orders.bias:.3f}", "", how)


_ASPECTS = {
    "whole_clip": "right on the whole clip and on none of its parts",
    "some_part": "right on some part of the clip alone",
    "late_less_early": "late in a window, less early",
    "mid_less_early": "mid in a window, less early",
    "noise_less_silence": "in noise, less in silence",
    "no_options": "right without the options",
}


def _alone(suite: records.SuiteRecord) -> Iterator[Summary]:
    """What is said of a data set of which no two perturbations are read alike, as by a judge without the options."""
    summed = {(summary.dataset, summary.series) for summary in suite.perturbations}
    for aspect in suite.aspects:
        if (aspect.dataset, aspect.series) not in summed:
            about = aspect.dataset, aspect.series, aspect.metric, aspect.scorer
            figures = unit_text(aspect.unit), "higher", True
            yield Summary(suite.name, suite.model, *about, *figures, (), (_aspect_line(aspect),))


def _aspect_lines(suite: records.SuiteRecord, summary: records.PerturbationsRecord) -> Iterator[Line]:
    """What else the answers depend on, with the first metric of the scorer that read them."""
    for aspect in suite.aspects if _is_leading(suite, summary) else ():
        if (aspect.dataset, aspect.series) == (summary.dataset, summary.series):
            yield _aspect_line(aspect)


def _aspect_line(aspect: records.AspectRecord) -> Line:
    by = f", by {aspect.scorer}" if aspect.name == "no_options" else ""
    return _line(f"{_ASPECTS[aspect.name]}{by} (n={aspect.n})", aspect, aspect.unit)


def _order_key(orders: records.OrdersRecord) -> tuple[str, ...]:
    return orders.dataset, orders.series, orders.scorer, orders.signature


def _families(suite: records.SuiteRecord, summary: records.PerturbationsRecord) -> str:
    """In brackets, where another protocol asked the same data set under perturbations of its own."""
    subject = attrgetter("dataset", "series", "metric", "scorer")
    others = [other for other in suite.perturbations if subject(other) == subject(summary)]
    families = dict.fromkeys(point.family for point in summary.points)
    return f" ({', '.join(families)})" if len(others) > 1 else ""


def _owner(suite: records.SuiteRecord, record: records.CurveRecord | records.PerturbationsRecord) -> dict[str, Any]:
    return {
        "suite": suite.name,
        "model": suite.model,
        **{name: getattr(record, name) for name in ("dataset", "series", "metric", "scorer", "direction")},
        "unit": unit_text(record.unit),
        "leading": _is_leading(suite, record),
    }


def _is_leading(suite: records.SuiteRecord, record: records.CurveRecord | records.PerturbationsRecord) -> bool:
    """Whether this is the first metric of the first scorer over its perturbations.

    A protocol that asks under perturbations of its own (the reasoning changed) has a leading metric with another's.
    """
    names = _perturbation_names(_summary_of(suite, record))
    first = next(
        other
        for other in suite.perturbations
        if (other.dataset, other.series) == (record.dataset, record.series) and names & _perturbation_names(other)
    )
    return _key(first) == _key(record)


def _perturbation_names(summary: records.PerturbationsRecord) -> set[str]:
    return {point.perturbation for point in summary.points}


def _key(record: records.CurveRecord | records.PerturbationsRecord) -> tuple[str, ...]:
    return *_scorer_key(record), record.metric


def _scorer_key(record: records.CurveRecord | records.PerturbationsRecord) -> tuple[str, ...]:
    return record.dataset, record.series, record.scorer, record.signature


def _summary_of(
    suite: records.SuiteRecord, record: records.CurveRecord | records.PerturbationsRecord
) -> records.PerturbationsRecord:
    return next(summary for summary in suite.perturbations if _key(summary) == _key(record))


class Rows:
    """Makes the rows of one metric over the perturbations of a data set."""

    def __init__(self, suite: records.SuiteRecord, summary: records.PerturbationsRecord) -> None:
        self._unit = summary.unit
        self._differences = {difference.perturbation: difference for difference in summary.differences}
        # A metric that only a changed perturbation has, as a share of flips, has no point where nothing was changed.
        self._parse_rates = {
            point.perturbation: point.answered
            for other in suite.perturbations
            if _scorer_key(other) == _scorer_key(summary)
            for point in other.points
        }

    def of(self, label: str, point: records.PointRecord) -> Row:
        difference, unit = self._differences.get(point.perturbation), self._unit
        return Row(
            label=label,
            perturbation=point.perturbation,
            eval=point.eval,
            dose=point.dose,
            value=value_text(point.value, unit),
            interval=interval_text(point, unit),
            n=point.n,
            parse_rate=_share_text(point.answered),
            fewer=self._fewer(point),
            drop="" if difference is None else difference_text(difference.drop, unit),
            drop_interval="" if difference is None else _difference_interval(difference, unit),
            p="" if difference is None else _p_text(difference.p_holm),
            against="" if difference is None else difference.reference,
            method=point.method,
            drop_method="" if difference is None else difference.method,
            at=axis_value(point.value, unit),
            low=axis_value(point.lower, unit),
            high=axis_value(point.upper, unit),
            parse_rate_at=None if point.answered is None else 100 * point.answered,
        )

    def _fewer(self, point: records.PointRecord) -> str:
        difference = self._differences.get(point.perturbation)
        reference = CLEAN if CLEAN in self._parse_rates else "" if difference is None else difference.reference
        before, now = self._parse_rates.get(reference), point.answered
        if before is None or now is None or round(before - now, 9) < FEWER:
            return ""
        return f"fewer parsed: {_share_text(now)}, {reference} {_share_text(before)}"


def _share_text(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _curve_lines(curve: records.CurveRecord) -> Iterator[Line]:
    slope, unit = curve.slope, curve.unit
    step = f"{slope.per:g} {curve.dose_unit}".rstrip()
    value = "–" if slope.value is None else f"{difference_text(slope.value, unit)} per {step}"
    p = "" if slope.p_holm is None else _p_text(slope.p_holm)
    yield Line("slope", value, _difference_interval(slope, unit), slope.method, p)
    doses = [point.dose for point in curve.points]
    over = f"area (mean from {doses[0]:g} to {doses[-1]:g} {curve.dose_unit}".rstrip() + ")"
    yield _line(over, curve.area, unit)


def _line(name: str, figure: records.FigureRecord, unit: str) -> Line:
    return Line(name, value_text(figure.value, unit), interval_text(figure, unit), figure.method)


def _difference_interval(figure: records.SlopeRecord | records.DifferenceRecord, unit: str) -> str:
    return interval_text(figure, POINTS if unit in FRACTIONS else unit)


def _p_text(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def fewer(rows: Sequence[Row]) -> str:
    """At which of the rows clearly fewer answers were parsed: ``fewer parsed at 10, 0``; empty where at none."""
    labels = [row.label for row in rows if row.fewer]
    return f"fewer parsed at {', '.join(labels)}" if labels else ""


def against(rows: Sequence[Row]) -> str:
    """What the rows are compared with: ``drop from clean``, or from the first dose of a family without one."""
    names = dict.fromkeys(row.against for row in rows if row.against)
    return f"drop from {' or '.join(names)}" if 0 < len(names) < _MANY_REFERENCES else "drop"
