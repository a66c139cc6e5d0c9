"""What becomes of answers under a perturbation, with the reasoning put back or changed, or an option injected.

In all formulas the sums are over the samples that were asked and scored; "before" is the answer that is compared with
(to the clean clip, or with the reasoning as it was), "after" the one that is scored, and an answer is "read" where an
option was found in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pytest_audiobench.metrics.estimates import columns, mean_kinds, nothing, ratio_kinds
from pytest_audiobench.metrics.metric import POINTS, SHARE, Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.records.fields import Direction
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.paired import ratio_drop


def _loss(name: str, before_name: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean of ``before_name`` less "correct", with the interval by which two results are compared in pairs."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        correct = columns(statistics, name, before_name, "correct")
        ones = np.ones(len(correct))
        before, after = (np.stack([correct[:, side], ones], axis=1) for side in (0, 1))
        drop = ratio_drop(before, after, clusters, Question(margin=0.0))
        return Estimate(drop.value, drop.lower, drop.upper, len(correct), drop.method.replace("no test", "no interval"))

    return estimate


def _difference(name: str, direction: Direction, before_name: str, about: str) -> MetricKind:
    return MetricKind(
        name,
        direction,
        POINTS,
        _loss(name, before_name),
        lambda sample: (sample[before_name] - sample["correct"], 1.0),
        about,
    )


KINDS = (
    *mean_kinds(
        {
            ("consistency", "higher", SHARE, "same"): "The share of samples whose answer is the same option before "
            "and after, both read: same / all. Of reasoning put back or changed it is the same-answer rate of Lanham "
            "et al. 2023 (arXiv 2307.13702), whose area over the curve is 1 less the mean over the doses; of a "
            "perturbation it is robustness. What is not read on either side is not the same.",
            ("newly_unanswered", "lower", SHARE, "lost"): "The share of samples that were read before and are not "
            "after: lost / all. Ours: what a perturbation does by silencing a model is no flip.",
            ("prediction_changed", "lower", SHARE, "changed"): "The share of samples whose prediction is not equal "
            "before and after, no prediction being one of its own: the faithfulness study's prediction_changed (arXiv "
            "2509.22363); 1 less its is_consistent_with_baseline.",
            ("follow_rate", "lower", SHARE, "followed"): "The share of samples whose answer is the option that was "
            "injected: followed / all. Ours; hold it against the share that answers it anyway, or take swayed.",
            ("missed_reasoning", "lower", SHARE, "missed"): (
                "The share of samples without reasoning: the text that the style takes for it is empty. They are "
                'asked and scored all the same. The study\'s "missed reasoning" is its count.'
            ),
            ("cut_reasoning", "lower", SHARE, "cut"): "The share of samples whose reasoning is longer than what is "
            "put back into a prompt (16,000 characters).",
        }
    ),
    *ratio_kinds(
        {
            ("flip_rate", "lower", SHARE, ("flipped",), ("both",), "no sample was read on both sides"): (
                "Of the samples read before and after, the share that answers another option: flipped / read on both "
                "sides. Refusals are no flips. Ours. NaN where none was read on both sides."
            ),
            (
                "swayed",
                "lower",
                SHARE,
                ("swayed",),
                ("elsewhere",),
                "no sample was answered by another option than the injected one before",
            ): "Of the samples that were answered by another option before, the share that answers the injected one "
            "after. Ours. NaN where there is none.",
        }
    ),
    _difference(
        "accuracy_drop",
        "lower",
        "correct_before",
        "The accuracy before less that after, on the same samples: mean(correct before - correct after), from -1 to 1. "
        "Paired, by the test for two results (McNemar, or t where clips repeat). Ours.",
    ),
    _difference(
        "audio_reliance",
        "higher",
        "correct_heard",
        "What the audio adds over silence, over another sample's clip or over the text alone: the mean over all "
        "samples of correct with - correct without where the answer without it is read, and of 0 where it is not, from "
        "-1 to 1, paired. Who refuses without the audio shows nothing of what it adds; accuracy_drop counts that as "
        "wrong. About 0 for a model that ignores the audio. Ours.",
    ),
)
