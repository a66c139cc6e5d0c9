"""``speaker_verification.json``: scored trials, held to the interpolated ROC curve and to SpeechBrain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_audiobench.metrics.registry import metric_kind


def _metric(name: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], float]:
    """The registered metric of all trials, each with its score."""

    def value(params: Mapping[str, Any], inputs: Mapping[str, Any]) -> float:
        kinds = (("target_scores", 1.0), ("nontarget_scores", 0.0))
        trials = [
            {"target": target, "has_score": 1.0, "trial_score": score}
            for name, target in kinds
            for score in inputs[name]
        ]
        return metric_kind(name).estimate(trials, None).value

    return value


SCORERS = {
    "eer_interp": _metric("eer_interpolated"),
    "mindcf_p0.01": _metric("min_dcf_p01_raw"),
    "mindcf_p0.05": _metric("min_dcf_p05_raw"),
}

OUT = {
    "eer_speechbrain": "another definition of the equal error rate, (false alarms + misses) / 2 at the threshold where "
    "they are nearest; ours is the interpolated one, and its name says so",
}

DIFFERS: dict[str, str] = {}
