"""What the order of the options decides: who is right in every order, who says the same, which places are preferred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.evaluation.confusion import LabelledAnswer, Tally
from pytest_audiobench.evaluation.perturbation_series import CLEAN, ORDER, Identity, series, unperturbed
from pytest_audiobench.evaluation.scoring import finite
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.records.lines import PredictionRow, ProcessedRow, ScoredRow
from pytest_audiobench.records.run import FigureRecord, ItemRecord, OrderRecord, OrdersRecord, PlaceRecord


class OrderedAnswer(NamedTuple):
    """What one sample was answered in one order of its options."""

    identity: Identity
    cluster: Hashable
    choices: tuple[str, ...]
    true: str
    said: str
    """The option's text, or what stands for none."""


def ordered_answers(
    item: ItemRecord,
    predictions: Iterable[PredictionRow],
    processed: Iterable[ProcessedRow],
    scored: Iterable[ScoredRow],
) -> Iterator[OrderedAnswer]:
    """The answers of one item as its headline scorer read them; samples that were not asked, or have no one true
    option, are left out.
    """
    head = item.scorers[0]
    tally = Tally(gives_letters(head.signature))
    values = {(row.sample_id, row.epoch): row.value for row in processed if row.scorer == head.name}
    clusters = {(row.sample_id, row.epoch): row.cluster for row in scored if row.scorer == head.name}
    for row in predictions:
        identity = row.sample_id, row.epoch
        if identity not in values or row.role != "subject" or row.error is not None:
            continue
        sample = LabelledAnswer(
            row.sample_id, row.choices, row.reference, row.references, values.pop(identity), row.error
        )
        yield from ordered_answer(tally, sample, identity, clusters.get(identity) or row.sample_id)


def ordered_answer(
    tally: Tally, sample: LabelledAnswer, identity: Identity, cluster: Hashable
) -> Iterator[OrderedAnswer]:
    """What was answered in the order of the sample's options; nothing where there is no one true option."""
    true = tally.true(sample)
    if len(sample.choices) > 1 and len(sample.references) < 2 and true in sample.choices:
        yield OrderedAnswer(identity, cluster, tuple(sample.choices), true, tally.said(sample))


def order_figures(
    items: Sequence[ItemRecord], answers: Callable[[ItemRecord], Iterable[OrderedAnswer]]
) -> list[OrdersRecord]:
    """One for each data set of a suite's ``items`` that was asked in two orders or more by one scorer."""
    figures: list[OrdersRecord] = []
    for name, places in series(items):
        members = [items[place] for place in places if _is_order(items[place])]
        heads = {(item.scorers[0].name, item.scorers[0].signature) for item in members}
        if len(members) > 1 and len(heads) == 1:
            by_order = {str(_name(item)): list(answers(item)) for item in members}
            dataset = unperturbed(members[0].dataset, members[0].perturbation)
            figures += figures_of((dataset, name, *heads.pop()), by_order)
    return figures


def _is_order(item: ItemRecord) -> bool:
    perturbation = item.perturbation
    return perturbation is not None and bool(item.scorers) and (perturbation.family == ORDER or _name(item) == CLEAN)


def _name(item: ItemRecord) -> str | None:
    return item.perturbation.name if item.perturbation else None


def figures_of(
    about: tuple[str, str, str, str], by_order: Mapping[str, Sequence[OrderedAnswer]]
) -> Iterator[OrdersRecord]:
    """The figures over the samples that were answered in all orders; nothing where no sample has two.

    ``about`` names data set, series, scorer and signature.
    """
    samples: dict[Identity, dict[tuple[str, ...], OrderedAnswer]] = {}
    counts: Counter[Identity] = Counter()
    for answers in by_order.values():
        counts.update(answer.identity for answer in answers)
        for answer in answers:
            # Of two options the third order is the first again: each order counts once.
            samples.setdefault(answer.identity, {}).setdefault(answer.choices, answer)
    whole = {
        identity: list(orders.values())
        for identity, orders in samples.items()
        if counts[identity] == len(by_order) and len(orders) > 1
    }
    if not whole:
        return
    said = Counter(_place(answer, answer.said) for orders in whole.values() for answer in orders)
    true = Counter(_place(answer, answer.true) for orders in whole.values() for answer in orders)
    placed, asked = said.total() - said[""], true.total()
    of_order = {order: {answer.identity: answer for answer in answers} for order, answers in by_order.items()}
    asked_in = {order: [answers[identity] for identity in whole] for order, answers in of_order.items()}
    places = [
        PlaceRecord(letter, said[letter] / placed if placed else None, true[letter] / asked)
        for letter in sorted(true.keys() | said.keys() - {""})
    ]
    yield OrdersRecord(
        *about,
        n=len(whole),
        mean=share_of([(answer.cluster, answer.said == answer.true) for orders in whole.values() for answer in orders]),
        worst=_worst(asked_in),
        every=share_of([(of[0].cluster, all(each.said == each.true for each in of)) for of in whole.values()]),
        same=share_of([(of[0].cluster, _is_same(of)) for of in whole.values()]),
        places=places,
        bias=sum(abs((place.said or 0.0) - place.true) for place in places) / 2 if placed else None,
    )


def _worst(by_order: Mapping[str, Sequence[OrderedAnswer]]) -> OrderRecord:
    """The order in which the fewest of the samples, the same in each, are right."""
    # Needed where orders were asked for, and by no other eval.
    from pytest_audiobench.metrics.estimates import quotient
    from pytest_audiobench.stats.bootstrap import Sums
    from pytest_audiobench.stats.extremes import extremes

    marks = {order: [(float(each.said == each.true), 1.0) for each in answers] for order, answers in by_order.items()}
    shares = {order: sum(right for right, _ in of_order) / len(of_order) for order, of_order in marks.items()}
    worst = min(shares, key=lambda order: shares[order])
    sums = [
        Sums(np.array(of_order), lambda totals: quotient(totals[:, 0], totals[:, 1])) for of_order in marks.values()
    ]
    lower, upper, method = extremes(sums, [each.cluster for each in by_order[worst]], ends=(0.0, 1.0)).least
    return OrderRecord(shares[worst], finite(lower), finite(upper), method, order=worst)


def _place(answer: OrderedAnswer, text: str) -> str:
    """The letter of the place in which ``text`` stood, behind Z its number; "" for what is no option."""
    if text not in answer.choices:
        return ""
    place = answer.choices.index(text)
    return LETTERS[place] if place < len(LETTERS) else str(place + 1)


def _is_same(answers: Sequence[OrderedAnswer]) -> bool:
    first = answers[0]
    return first.said in first.choices and all(answer.said == first.said for answer in answers)


def share_of(marks: Sequence[tuple[Hashable, bool]]) -> FigureRecord:
    """The share of ``marks`` that hold, each with its cluster."""
    clusters = [cluster for cluster, _ in marks]
    repeats = len(set(clusters)) < len(clusters)
    statistics = [{"correct": float(mark)} for _, mark in marks]
    estimate = metric_kind("accuracy").estimate(statistics, clusters if repeats else None)
    return FigureRecord(finite(estimate.value), finite(estimate.lower), finite(estimate.upper), estimate.method)
