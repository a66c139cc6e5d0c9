"""Answers in free words: how near they come to the accepted ones, and whether they did the task."""

from __future__ import annotations

import numpy as np

from pytest_audiobench.metrics.estimates import mean_of, ratio_of, summed_kind, sums_of
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.stats.bootstrap import Ends
from pytest_audiobench.stats.intervals import Floats


def _f1(sums: Floats) -> Floats:
    """2 right / (answered + answerable), from sums of shape (r, 3)."""
    right, answered, answerable = sums.T
    whole = answered + answerable
    found: Floats = np.divide(2.0 * right, whole, out=np.full_like(whole, np.nan), where=whole > 0.0)
    return found


_ENDS = Ends(np.array([[0.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 1.0]]))

KINDS = (
    MetricKind(
        "exact_match",
        "higher",
        SHARE,
        mean_of("exact_match", "em"),
        lambda one: (one["em"], 1.0),
        "The share of answers that have the words of an accepted text and no others (SQuAD; Rajpurkar et al. 2016). "
        "An empty answer matches only an empty text.",
    ),
    MetricKind(
        "token_f1",
        "higher",
        SHARE,
        mean_of("token_f1", "f1"),
        lambda one: (one["f1"], 1.0),
        "The mean over samples of 2 × words in common / (words said + words accepted), repeats counted, the best "
        "accepted text of each (SQuAD). An empty answer has 0 against a text with words.",
    ),
    MetricKind(
        "following",
        "higher",
        SHARE,
        mean_of("following", "followed"),
        lambda one: (one["followed"], 1.0),
        "The share of answers that did the task they were asked to do, by the protocol's own rule for it.",
    ),
    MetricKind(
        "question_precision",
        "higher",
        SHARE,
        ratio_of("question_precision", ("right",), ("answered",), "no question was answered", most=1.0),
        lambda one: (one["right"], one["answered"]),
        "Questions answered rightly over questions answered (answer triggering; Yang et al. 2015, WikiQA). NaN where "
        "none was answered.",
    ),
    MetricKind(
        "question_recall",
        "higher",
        SHARE,
        ratio_of("question_recall", ("right",), ("answerable",), "no question has an answer", most=1.0),
        lambda one: (one["right"], one["answerable"]),
        "Questions answered rightly over questions that have an accepted answer. NaN where none has.",
    ),
    summed_kind(
        "question_f1",
        "higher",
        SHARE,
        sums_of("question_f1", ("right", "answered", "answerable"), _f1, lambda own: _ENDS),
        "The harmonic mean of question_precision and question_recall: 2 right / (answered + answerable). NaN "
        "where no question was answered and none has an answer.",
    ),
)
