"""How far answers agree: repeated, to other wordings of a question, and as two ways of scoring take them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.estimates import columns, mean_kind, mean_kinds, not_of_samples, ratio_kinds, summed_kind
from pytest_audiobench.metrics.metric import AGREEMENT, POINTS, SHARE, Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.records.fields import Direction
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Sums
from pytest_audiobench.stats.intervals import Floats, none


def across_epochs(
    values_by_epoch: Sequence[float | None], answers_by_epoch: Sequence[Sequence[Hashable | None]]
) -> dict[str, Any]:
    """Mean and spread (sample standard deviation) of a metric over epochs, and the agreement of the answers, for JSON.

    Answers are of the same samples in the same order, None where one was not parsed; ``agreement`` is the share of
    samples whose answer is the same in all epochs. An unparsed answer agrees with nothing, since two texts that could
    not be read are not known to say the same. None stands for what has no value: the spread or agreement of one epoch,
    the agreement of no samples, every number where an epoch has none. Raises UsageError where epochs' samples differ.
    """
    epochs = len(answers_by_epoch)
    sizes = {len(answers) for answers in answers_by_epoch}
    if len(values_by_epoch) != epochs or len(sizes) > 1:
        raise UsageError(
            f"epochs cannot be compared: {len(values_by_epoch)} values, "
            f"and answers to {[len(answers) for answers in answers_by_epoch]} samples"
        )
    n = sizes.pop() if sizes else 0
    same = sum(len(set(answers)) == 1 and None not in answers for answers in zip(*answers_by_epoch, strict=True))
    values = [value for value in values_by_epoch if value is not None and math.isfinite(value)]
    whole = bool(values) and len(values) == epochs
    return {
        "epochs": epochs,
        "mean": statistics.fmean(values) if whole else None,
        "spread": statistics.stdev(values) if whole and epochs > 1 else None,
        "min": min(values) if whole else None,
        "max": max(values) if whole else None,
        "n": n,
        "agreement": same / n if n and epochs > 1 else None,
    }


def kappa(sums: Floats) -> Floats:
    """Cohen's kappa from sums of shape (r, 4): agreeing, right by the first, right by the second, all; r values.

    NaN where both always say the same one thing: agreement by chance is then 1, and kappa 0 / 0.
    """
    agree, first, second, n = (sums[:, column] for column in range(4))
    # In counts, which floats hold exactly, so that no agreement beyond chance is 0 and not a rounding error.
    by_chance = first * second + (n - first) * (n - second)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappas: Floats = np.where(by_chance < n * n, (n * agree - by_chance) / (n * n - by_chance), np.nan)
    return kappas


_NAMES = ("agree", "first", "second", "n")
_ENDS = Ends(
    np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
)


def _rare_verdict(units: Resampling) -> str | None:
    _, first, second, n = units.total()[0]
    rarer = int(min(first, second, n - first, n - second))
    return f"a verdict was given {rarer} times, {FEWEST_OF_LABEL} needed" if rarer < FEWEST_OF_LABEL else None


def _agreement(statistics: Sequence[Statistics]) -> Sums:
    return Sums(columns(statistics, "judge_kappa", *_NAMES), kappa, lambda mean_sample: _ENDS, _rare_verdict)


_DEPENDENCES: Mapping[str, tuple[Direction, str]] = {
    "audio_dependence": ("lower", "the sounds alone"),
    "both_dependence": ("higher", "both together"),
    "speech_dependence": ("lower", "the words alone"),
}

_WORDINGS_AGREEING = mean_kind(
    "wording_agreement",
    "higher",
    SHARE,
    "wordings_agreeing",
    "The mean share of wordings in the largest camp: those that read as one value, or those that could not be read. "
    "1 where all wordings of every question have one answer; no number where no answer of any could be read.",
)


def _agreement_of_wordings(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    estimate = _WORDINGS_AGREEING.estimate(statistics, clusters)
    # All wordings in one camp that say nothing the same are those that could not be read.
    if statistics and all(
        sample["wordings_agreeing"] == 1.0 and sample.get("wordings_same") == 0.0 for sample in statistics
    ):
        return Estimate(math.nan, None, None, estimate.n, none("no answer could be read in any wording").method)
    return estimate


SPREAD, DEVIATION, MEAN, WORST = "wording_spread", "wording_sd", "wording_mean", "wording_worst"
WORDING_FIGURES = (SPREAD, DEVIATION, MEAN, WORST)
"""Metrics of what a headline comes to over the wordings of the question."""

KINDS = (
    *mean_kinds(
        {
            ("judge_score", "higher", SHARE, "points"): (
                'The mean of "points": what a judge gives an answer, from 0 to 1, over the answers whose verdict '
                "could be read."
            ),
            (
                "no_match",
                "lower",
                SHARE,
                "no_match",
            ): "The share of answers that decide for none of the options, or for "
            "more than one, as an extractor that knows no reference says.",
            ("judge_agreement", "higher", SHARE, "agree"): "The share of answers that two ways of scoring, of which "
            "one at least is a judge, both take for right or both for wrong; answers that one of them leaves out are "
            "left out. Points count as right from 0.5 on.",
            ("wording_consistency", "higher", SHARE, "wordings_same"): "The share of samples whose answer is read as "
            "the same one in all wordings: one value, or of free words the same words as the scorer counts them. What "
            "could not be read in one of them is not the same.",
        }
    ),
    replace(_WORDINGS_AGREEING, estimate=_agreement_of_wordings),
    *ratio_kinds(
        {
            (name, direction, SHARE, (name,), tuple(_DEPENDENCES), "no answer rests on sounds or words"): (
                f"Of the answers that rest on the sounds, on the words or on both, the share that rests on {what}: "
                "JASCO's modality dependence (arXiv 2409.14526), by its judge. NaN where none does."
            )
            for name, (direction, what) in _DEPENDENCES.items()
        }
    ),
    summed_kind(
        "judge_kappa",
        "higher",
        AGREEMENT,
        _agreement,
        "Cohen's kappa (Cohen 1960) of the same two: (agreement - agreement by chance) / (1 - agreement by "
        "chance), by chance from the two shares of right answers. No number where both say one thing only.",
        sample_score=lambda sample: sample["agree"],
    ),
    *(
        MetricKind(name, "lower", POINTS, not_of_samples, about=about, poolable=False)
        for name, about in {
            SPREAD: "The largest less the smallest value that the headline metric has over the wordings, in its own "
            "unit; in pp where that is a share. Its interval holds for all differences of two wordings at once.",
            DEVIATION: "The sample standard deviation of the headline metric over the wordings, in its own unit; in "
            "pp where that is a share. No interval: the wordings are no sample of all there could be.",
        }.items()
    ),
    *(
        MetricKind(name, "higher", "", not_of_samples, about=about, poolable=False)
        for name, about in {
            MEAN: "The mean of the headline metric over the wordings, in its own unit and direction.",
            WORST: "The headline metric in the wording in which it is worst, in its own unit and direction. Its "
            "interval holds for all wordings at once.",
        }.items()
    ),
)
