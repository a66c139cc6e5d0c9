"""How far a judge agrees with people who labelled some of the same answers, and what it measures by their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from pytest_audiobench.metrics.estimates import columns, mean_of, nothing
from pytest_audiobench.metrics.metric import (
    AGREEMENT,
    CORRELATION,
    SHARE,
    Clusters,
    Estimate,
    MetricKind,
    Statistics,
)
from pytest_audiobench.stats.bootstrap import (
    FEWEST_OF_LABEL,
    Ends,
    Resampling,
    Sums,
    Table,
    interval_of,
    of_rows,
    resampling,
)
from pytest_audiobench.stats.intervals import Floats, none

FEWEST_LABELS = 20
"""Labelled answers, or clusters of them, below which nothing is measured."""
UNSTATED, RANDOM, SEPARATE = 0.0, 1.0, 2.0
"""How the labelled answers were chosen, in the statistic "chosen"."""

KAPPA, AGREE, CORRELATED, CORRECTED, LABELLED, ALPHA = METRICS = (
    "human_kappa",
    "human_agreement",
    "human_correlation",
    "corrected_score",
    "human_score",
    "annotator_alpha",
)
_OF_LABELS: Final = {"figure": 0.0, "label": 0.0, "labelled": 0.0, "chosen": 0.0}
_OF_ANNOTATORS: Final = {"annotators": 0.0, "sum": 0.0, "squares": 0.0, "differences": 0.0}


def statistics_of(figure: float, chosen: float, labels: Sequence[float] = (), label: float | None = None) -> Statistics:
    """The statistics of an answer: the judge's figure and people's ``label``, both from 0 to 1; None without one.

    ``labels`` are those of each annotator where there are several.
    """
    statistics = {**_OF_LABELS, **_OF_ANNOTATORS, "figure": figure, "chosen": chosen}
    if label is not None:
        statistics |= {"label": label, "labelled": 1.0}
    if len(labels) > 1:
        total, squares = math.fsum(labels), math.fsum(value * value for value in labels)
        # Krippendorff's disagreement within the answer: over pairs in both orders, by the number of the others.
        within = 2.0 * (len(labels) * squares - total * total) / (len(labels) - 1)
        statistics |= {"annotators": float(len(labels)), "sum": total, "squares": squares, "differences": within}
    return statistics


def weighted_kappa(sums: Floats) -> Floats:
    """Cohen's kappa with quadratic weights (Cohen 1968), from sums of shape (r, 6): n, x, y, x², y², xy; r values.

    Of two values it is Cohen's plain kappa, of continuous ones Lin's (1989) concordance. NaN where both always say the
    same one thing.
    """
    n, x, y, xx, yy, xy = sums.T
    squared = xx + yy - 2.0 * xy
    by_chance = xx + yy - 2.0 * x * y / np.maximum(n, 1.0)
    kappas: Floats = np.where(by_chance > 1e-12, 1.0 - squared / np.maximum(by_chance, 1e-300), np.nan)
    return kappas


def alpha(sums: Floats) -> Floats:
    """Krippendorff's alpha of intervals, from sums of shape (r, 4): annotations, their sum, squares, differences."""
    n, total, squares, within = sums.T
    across = 2.0 * (n * squares - total * total) / np.maximum(n - 1.0, 1.0)
    alphas: Floats = np.where(across > 1e-12, 1.0 - within / np.maximum(across, 1e-300), np.nan)
    return alphas


def _labelled(statistics: Sequence[Statistics], clusters: Clusters) -> tuple[list[Statistics], Clusters, str]:
    """The labelled answers with their clusters, and why they are too few, where they are."""
    places = [place for place, sample in enumerate(statistics) if sample["labelled"]]
    own = None if clusters is None else [clusters[place] for place in places]
    few = f"labelled answers: {len(places)}, {FEWEST_LABELS} needed" if len(places) < FEWEST_LABELS else ""
    if not few and own is not None and len(set(own)) < FEWEST_LABELS:
        few = f"clusters with labels: {len(set(own))}, {FEWEST_LABELS} needed"
    return [statistics[place] for place in places], own, few


def _unmeasured(why: str, n: int) -> Estimate:
    return Estimate(math.nan, None, None, n, f"not measured: {why}")


def _rare(units: Resampling) -> str | None:
    n, x, y, xx, yy, _ = units.total()[0]
    if xx == x and yy == y and (rarer := int(min(x, y, n - x, n - y))) < FEWEST_OF_LABEL:
        return f"a verdict was given {rarer} times, {FEWEST_OF_LABEL} needed"
    return None


_ENDS = Ends(
    np.array([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]]),
    np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]),
)
"""One more answer of which the two say the opposite, or the same, at an end of the scale."""


def _pairs(statistics: Sequence[Statistics]) -> Floats:
    return columns(statistics, KAPPA, "figure", "label")


def _kappa_sums(statistics: Sequence[Statistics]) -> Sums:
    x, y = _pairs(statistics).T
    return Sums(np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1), weighted_kappa, lambda _: _ENDS, _rare)


def _kappa(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    labelled, own, few = _labelled(statistics, clusters)
    if few:
        return _unmeasured(few, len(labelled))
    sums = _kappa_sums(labelled)
    units = resampling(sums.units, own)
    interval = interval_of(units, sums, own)
    value = sums.at(units.total())
    why = "the judge and people both say one thing only" if math.isnan(value) else interval.method
    return Estimate(value, interval.lower, interval.upper, len(labelled), why)


def _agreement(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    labelled, own, few = _labelled(statistics, clusters)
    if few:
        return _unmeasured(few, len(labelled))
    same = [{"same": float(abs(each["figure"] - each["label"]) < 1e-9)} for each in labelled]
    return mean_of(AGREE, "same")(same, own)


def _ranks(values: Floats) -> Floats:
    """The ranks of ``values`` from 1 on, those of equal ones their mean."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2.0)[places]
    return ranks


def spearman(pairs: Floats) -> float:
    """Spearman's rank correlation of two columns, shape (n, 2); NaN where one is constant."""
    x, y = (_ranks(pairs[:, column]) for column in (0, 1))
    x, y = x - x.mean(), y - y.mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size > 0.0 else math.nan


def _correlation(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    labelled, own, few = _labelled(statistics, clusters)
    if few:
        return _unmeasured(few, len(labelled))
    pairs = _pairs(labelled)
    if all(len(np.unique(pairs[:, column])) <= 2 for column in (0, 1)):
        return _unmeasured("of two values it is no more than human_kappa", len(labelled))
    interval = of_rows(Table(pairs, spearman), own)
    return Estimate(spearman(pairs), interval.lower, interval.upper, len(labelled), interval.method)


def _human_score(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    labelled, own, few = _labelled(statistics, clusters)
    return _unmeasured(few, len(labelled)) if few else mean_of(LABELLED, "label")(labelled, own)


def _corrected(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    labelled, _, few = _labelled(statistics, clusters)
    if few:
        return _unmeasured(few, len(labelled))
    chosen = statistics[0]["chosen"]
    others = len(statistics) - len(labelled)
    if chosen == UNSTATED and others:
        return _unmeasured(
            "say how the labelled answers were chosen, by chosen=random or chosen=separate behind the labels' file",
            len(labelled),
        )
    from pytest_audiobench.stats.prediction_powered import corrected_mean

    figures, labels, mask = columns(statistics, CORRECTED, "figure", "label", "labelled").T
    correction = corrected_mean(figures, labels, mask, clusters, tuned=chosen != SEPARATE)
    of = f"judge score, corrected by {len(labelled)} human labels, lambda {correction.weight:.3g}"
    low, high, method = correction.interval
    return Estimate(correction.value, low, high, len(statistics), f"{of}; {method}")


def _alpha_sums(statistics: Sequence[Statistics]) -> Sums | str:
    several = [each for each in statistics if each["annotators"]]
    if len(several) < FEWEST_LABELS:
        return f"answers with several annotators: {len(several)}, {FEWEST_LABELS} needed"
    return Sums(columns(several, ALPHA, "annotators", "sum", "squares", "differences"), alpha)


def _annotators(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    if not statistics:
        return nothing()
    several = [place for place, each in enumerate(statistics) if each["annotators"]]
    sums = _alpha_sums(statistics)
    if isinstance(sums, str):
        return _unmeasured(sums, len(several))
    own = None if clusters is None else [clusters[place] for place in several]
    units = resampling(sums.units, own)
    value, interval = sums.at(units.total()), interval_of(units, sums, own)
    method = none("all annotations are the same").method if math.isnan(value) else interval.method
    return Estimate(value, interval.lower, interval.upper, len(several), method)


KINDS = tuple(
    MetricKind(name, "higher", unit, estimate, about=about)
    for name, unit, estimate, about in (
        (
            KAPPA,
            AGREEMENT,
            _kappa,
            "Cohen's kappa (1960) of a judge and people, over the answers that people labelled; of more than two "
            "values with quadratic weights (Cohen 1968), which of continuous ones is Lin's concordance (1989). No "
            "number for fewer than 20 labels, and where both say one thing only.",
        ),
        (
            AGREE,
            SHARE,
            _agreement,
            "The share of labelled answers of which the judge says what people say. No number for fewer than 20.",
        ),
        (
            CORRELATED,
            CORRELATION,
            _correlation,
            "Spearman's rank correlation of the judge's figures and the labels, where either has more than two values.",
        ),
        (
            CORRECTED,
            SHARE,
            _corrected,
            "The judge's score, corrected by human labels: prediction-powered inference with a tuned lambda (PPI++, "
            "arXiv 2311.01453). No number for fewer than 20 labels, and where it is not said how they were chosen.",
        ),
        (LABELLED, SHARE, _human_score, "The mean of the human labels alone. No number for fewer than 20."),
        (
            ALPHA,
            AGREEMENT,
            _annotators,
            "Krippendorff's alpha (intervals) of the annotators, over the answers that several of them labelled.",
        ),
    )
)
