"""``speaker_verification.json``: scored trials, held to the interpolated ROC curve and to SpeechBrain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_audiobench.metrics.trials import eer_interpolated, min_dcf


def _cost(params: Mapping[str, Any], inputs: Mapping[str, Any]) -> float:
    costs = params["p_target"], params["c_miss"], params["c_fa"]
    return min_dcf(inputs["target_scores"], inputs["nontarget_scores"], *costs)


SCORERS = {
    "eer_interp": lambda params, inputs: eer_interpolated(inputs["target_scores"], inputs["nontarget_scores"]),
    "mindcf_p0.01": _cost,
    "mindcf_p0.05": _cost,
}

OUT = {
    "eer_speechbrain": "another definition of the equal error rate, (false alarms + misses) / 2 at the threshold where "
    "they are nearest; ours is the interpolated one, and its name says so",
}

DIFFERS: dict[str, str] = {}
