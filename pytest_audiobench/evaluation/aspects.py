"""What else an answer hangs on: a part of the clip, its place in a window and what fills that, the listed options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pytest_audiobench.datasets.perturbations.interventions import FRAGMENT, NO_OPTIONS, WINDOW
from pytest_audiobench.evaluation.curves import Samples, Sums
from pytest_audiobench.evaluation.order_figures import share_of
from pytest_audiobench.evaluation.perturbation_series import CLEAN, Rows, SampleScore, series, unperturbed
from pytest_audiobench.evaluation.scoring import finite
from pytest_audiobench.metrics.metric import FRACTIONS, POINTS, SHARE, span
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.run import AspectRecord, FigureRecord, ItemRecord, PerturbationRecord
from pytest_audiobench.stats.weighted_sums import Points, contrast

_CONTRASTS = {
    "late_less_early": ("late", "early"),
    "mid_less_early": ("mid", "early"),
    "noise_less_silence": ("noise", "silence"),
}
"""Which windows are set against which: by a word of their perturbations' names."""


class About(NamedTuple):
    """What a figure is of."""

    dataset: str
    series: str
    metric: str
    scorer: str
    signature: str

    def aspect(self, name: str, figure: FigureRecord, n: int, unit: str) -> AspectRecord:
        return AspectRecord(figure.value, figure.lower, figure.upper, figure.method, name, *self, n, unit)


def aspects(items: Sequence[ItemRecord], rows: Mapping[tuple[str, str], Rows]) -> Iterator[AspectRecord]:
    """The figures of one suite's ``items`` by one model, of the first metric of those that were asked as they are;
    ``rows`` are by scorer and signature.
    """
    for name, places in series(items):
        named = {(each := _perturbation(items[place])).name: (each, place) for place in places}
        if CLEAN not in named:
            continue
        clean = items[named[CLEAN][1]]
        head, metric = clean.scorers[0], clean.metrics[0].name
        dataset = unperturbed(clean.dataset, clean.perturbation)
        if is_known(metric):
            scores = rows.get((head.name, head.signature), {})
            asked = [(each, scores.get(place, ())) for each, place in named.values()]
            yield from of_parts_and_windows(asked, About(dataset, name, metric, head.name, head.signature))
        if NO_OPTIONS in named:
            free = items[named[NO_OPTIONS][1]].metrics[0]
            figure = FigureRecord(free.value, free.lower, free.upper, free.method)
            about = About(dataset, name, free.name, free.scorer or "", free.signature or "")
            yield about.aspect("no_options", figure, free.n, free.unit)


def of_parts_and_windows(
    asked: Sequence[tuple[PerturbationRecord, Sequence[SampleScore]]], about: About
) -> Iterator[AspectRecord]:
    """The figures of one data set that was ``asked`` as it is and under these perturbations."""
    sums = Samples([scores for _, scores in asked]).sums(metric_kind(about.metric))
    if not isinstance(sums, str):
        perturbations = [each for each, _ in asked]
        yield from _parts(sums, perturbations, about)
        yield from _windows(sums, perturbations, about)


def _perturbation(item: ItemRecord) -> PerturbationRecord:
    assert item.perturbation is not None
    return item.perturbation


def _parts(sums: Sums, perturbations: Sequence[PerturbationRecord], about: About) -> Iterator[AspectRecord]:
    """Of the samples that were asked about the whole clip and all parts of it: whether one part is enough."""
    names = [each.name for each in perturbations]
    parts = [place for place, each in enumerate(perturbations) if each.family == FRAGMENT]
    asked = sums.scored[:, [names.index(CLEAN), *parts]].all(axis=1)
    right = sums.tops[asked] == 1.0
    if not parts or not asked.any() or not ((sums.wholes[asked][:, parts] == 1.0).all() and sums.kind.unit == SHARE):
        return
    clusters = [sums.clusters[place] for place in np.flatnonzero(asked)]
    some = right[:, parts].any(axis=1)
    for name, marks in (("whole_clip", right[:, names.index(CLEAN)] & ~some), ("some_part", some)):
        yield about.aspect(name, share_of(list(zip(clusters, marks.tolist(), strict=True))), len(marks), SHARE)


def _windows(sums: Sums, perturbations: Sequence[PerturbationRecord], about: About) -> Iterator[AspectRecord]:
    """Of the samples that were answered in all of them: windows less those that differ from them in one word alone."""
    places = {tuple(each.name.split("-")): place for place, each in enumerate(perturbations) if each.family == WINDOW}
    for name, (word, other) in _CONTRASTS.items():
        pairs = [
            (place, places[twin])
            for words, place in places.items()
            if word in words and (twin := tuple(other if each == word else each for each in words)) in places
        ]
        columns = [place for side in zip(*pairs, strict=True) for place in side]
        asked = sums.scored[:, columns].all(axis=1)
        if not pairs or not asked.any():
            continue
        clusters = [sums.clusters[place] for place in np.flatnonzero(asked)]
        points = Points(sums.tops[asked][:, columns], sums.wholes[asked][:, columns], clusters)
        weights = [sign / len(pairs) for sign in (1.0, -1.0) for _ in pairs]
        drop = contrast(points, weights, span(sums.kind.unit))
        figure = FigureRecord(finite(drop.value), finite(drop.lower), finite(drop.upper), drop.method)
        unit = POINTS if sums.kind.unit in FRACTIONS else sums.kind.unit
        yield about.aspect(name, figure, len(points.tops), unit)
