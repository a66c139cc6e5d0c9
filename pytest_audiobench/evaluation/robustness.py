"""Figures of an eval compared with its perturbations, which thresholds can name: the lift, the worst order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from pytest_audiobench.evaluation.aspects import About, of_parts_and_windows
from pytest_audiobench.evaluation.confusion import LabelledAnswer, Tally
from pytest_audiobench.evaluation.order_figures import OrderedAnswer, figures_of, ordered_answer
from pytest_audiobench.evaluation.perturbation_series import ASPECTS, CLEAN, LIFT, NEEDS, ORDER, SampleScore
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.evaluation.scoring import finite
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.records.run import (
    AspectRecord,
    FigureRecord,
    ItemRecord,
    MetricRecord,
    OrdersRecord,
    PerturbationRecord,
    SuiteRecord,
)


def measured(metric: str, results: Mapping[str, Result], why: str = "") -> list[MetricRecord]:
    """``metric`` of an eval's ``results`` by perturbation, ``clean`` first; no number where there is a ``why``."""
    if why:
        return [_record(metric, FigureRecord(None, None, None, why), 0)]
    if metric == LIFT:
        gain = results[CLEAN].gain_over(results[NEEDS[LIFT]])
        return [_record(metric, FigureRecord(finite(gain), gain.lower, gain.upper, gain.method), gain.n)]
    if metric in ASPECTS:
        aspects = [_of_aspect(each) for each in _aspects(results)]
        none = f"no sample was answered in all {ASPECTS[metric]} that it needs"
        return [each for each in aspects if each.name == metric] or measured(metric, results, none)
    by_order = {name: list(_ordered(result)) for name, result in results.items()}
    figures = [each for orders in figures_of(("", "", "", ""), by_order) for each in metrics_of(orders, results)]
    none = "no sample was answered in two orders of its options"
    return [each for each in figures if each.name == metric] or measured(metric, results, none)


def figures_beside(item: ItemRecord, suite: SuiteRecord) -> list[MetricRecord]:
    """The same metrics of an ``item`` that was asked as it is, by the figures of its suite."""
    head = item.scorers[0], item.metrics[0].name
    about = (head[0].name, head[0].signature, head[1])
    for summary in suite.perturbations:
        is_own = any(point.perturbation == CLEAN and point.eval == item.eval for point in summary.points)
        if is_own and (summary.scorer, summary.signature, summary.metric) == about:
            figures = [
                _record(LIFT, FigureRecord(each.drop, each.lower, each.upper, each.method), each.pairs)
                for each in summary.differences
                if each.perturbation == NEEDS[LIFT]
            ]
            orders = [point.perturbation for point in summary.points if point.family in (CLEAN, ORDER)]
            own = (summary.dataset, summary.series, summary.scorer, summary.signature)
            same = [each for each in suite.orders if (each.dataset, each.series, each.scorer, each.signature) == own]
            aspects = [
                _of_aspect(each)
                for each in suite.aspects
                if (each.dataset, each.series) == own[:2] and (each.scorer, each.signature, each.metric) == about
            ]
            return [*figures, *aspects, *(metric for each in same for metric in metrics_of(each, orders))]
    return []


def metrics_of(orders: OrdersRecord, names: Iterable[str]) -> list[MetricRecord]:
    """The figures over the orders ``names`` as metrics of an eval."""
    shares = [(name, getattr(orders, name)) for name in ("mean", "worst", "every", "same")]
    bias = FigureRecord(orders.bias, None, None, "half the sum over places of |said - right|; no interval")
    over = f"; over {', '.join(names)}"
    return [
        _record(f"order_{name}", replace(figure, method=figure.method + over), orders.n)
        for name, figure in [*shares, ("bias", bias)]
    ]


def _record(name: str, figure: FigureRecord, n: int) -> MetricRecord:
    kind = metric_kind(name)
    return MetricRecord(name, figure.value, figure.lower, figure.upper, n, kind.unit, kind.direction, figure.method)


def _of_aspect(aspect: AspectRecord) -> MetricRecord:
    figure = FigureRecord(aspect.value, aspect.lower, aspect.upper, aspect.method)
    return replace(_record(aspect.name, figure, aspect.n), unit=aspect.unit)


def _aspects(results: Mapping[str, Result]) -> Iterator[AspectRecord]:
    as_it_is = PerturbationRecord(CLEAN, CLEAN, None, "", "")
    asked = [
        (
            as_it_is if name == CLEAN else result.record.perturbation or as_it_is,
            [SampleScore(row.identity, row.scores, row.cluster) for row in result.headline_rows],
        )
        for name, result in results.items()
    ]
    clean = results[CLEAN]
    head = clean.record.scorers[0]
    return of_parts_and_windows(asked, About("", "", clean.headline_metric, head.name, head.signature))


def _ordered(result: Result) -> Iterator[OrderedAnswer]:
    tally = Tally(gives_letters(result.record.scorers[0].signature))
    for row in result.headline_rows:
        sample = row.answers.selected.sample
        value = None if row.answer is None else row.answer.value
        labelled = LabelledAnswer(
            sample.id, sample.choices, sample.reference, sample.references, value, row.answers.error
        )
        if row.answers.error is None:
            yield from ordered_answer(tally, labelled, row.identity, row.cluster)
