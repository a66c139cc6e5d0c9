"""The noise floor of a model: by how much a metric moves when only its batches change."""

from __future__ import annotations

import math

from pytest_audiobench.gate.thresholds import Threshold, Verdict
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.value import digits_text
from pytest_audiobench.records.run import NoiseMeasurement, NoiseRecord


def noise_floor(metric: str, dataset: str, *noises: NoiseRecord | None) -> NoiseMeasurement | None:
    """The worst that determinism evals have measured of ``metric``: on ``dataset`` where one has, else on any other;
    None where none has.
    """
    measured = [each for noise in noises if noise for each in noise.measured if each.metric == metric]
    own = [each for each in measured if each.dataset == dataset]
    return max(own or measured, key=lambda each: each.score_shift, default=None)


def excusing_floor(metric: str, dataset: str, n: int, noise: NoiseRecord | None) -> NoiseMeasurement | None:
    """The worst that is known of ``metric`` on ``dataset`` itself over ``n`` samples or more: a few move farther by
    nothing than many do, and other data by anything.
    """
    measured = noise.measured if noise else ()
    own = [each for each in measured if (each.metric, each.dataset) == (metric, dataset) and each.n >= n]
    return max(own, key=lambda each: each.score_shift, default=None)


def is_within(size: float | None, floor: NoiseMeasurement | None) -> bool:
    """Whether a change of ``size``, in the metric's unit, is one that the model shows without any change of it."""
    if size is None or floor is None:
        return False
    return size > 0.0 and (size <= floor.score_shift or math.isclose(size, floor.score_shift))


def floor_text(floor: NoiseMeasurement) -> str:
    """``within the noise floor: accuracy moves by up to 2.5 pp when the same model is asked again (…)``."""
    in_points = metric_kind(floor.metric).unit in FRACTIONS
    most = f"{100.0 * floor.score_shift:.1f} pp" if in_points else digits_text(floor.score_shift, 3)
    outcomes = (
        "" if floor.same_outcomes is None else f", {100.0 * (1.0 - floor.same_outcomes):.2g} % of outcomes change"
    )
    again = f"{floor.metric} moves by up to {most} when the same model is asked again"
    return f"within the noise floor: {again} ({floor.dataset}, n={floor.n}{outcomes})"


def nearness(threshold: Threshold, verdict: Verdict, dataset: str, noise: NoiseRecord | None) -> str:
    """That a threshold was met, or missed, by no more than the noise floor; else nothing."""
    floor = noise_floor(threshold.metric, dataset, noise)
    if floor is None or verdict.value is None or not floor.score_shift:
        return ""
    distance = abs(verdict.value - threshold.limit)
    if distance and not is_within(distance, floor):
        return ""
    what = "met" if verdict.status == "pass" else "missed"
    return f"{threshold} is {what} {floor_text(floor)}"
