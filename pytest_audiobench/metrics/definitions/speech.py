"""Spoken answers as sound: whether there is any, how long it lasts, how it sounds."""

from __future__ import annotations

from pytest_audiobench.metrics import estimates
from pytest_audiobench.metrics.metric import COSINE, SHARE

_NONE = "no answer has audio"

KINDS = (
    *estimates.mean_kinds(
        {
            ("spoken", "higher", SHARE, "spoken"): "The share of answers that hold audio.",
            ("predicted_mos", "higher", "of 5", "mos"): "The mean of predicted opinion scores from 1 to 5, of answers "
            "that hold audio.",
            ("voice_similarity", "higher", COSINE, "cosine"): "The mean cosine of the voices of an answer and of the "
            "sample's first clip, by the run's speaker encoder.",
        }
    ),
    *estimates.ratio_kinds(
        {
            ("answer_s", "lower", "s", ("answer_s",), ("spoken",), _NONE): "The mean length of an answer's audio.",
            ("silence", "lower", SHARE, ("silent_s",), ("answer_s",), _NONE): "The share of the seconds of all answers "
            "in which nothing is heard: stretches of 20 ms below -50 dB of full scale.",
            ("clipping", "lower", SHARE, ("clipped_s",), ("answer_s",), _NONE): "The share of all answers' samples "
            "that are at full scale or beyond.",
        }
    ),
)
