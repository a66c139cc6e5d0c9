"""``calibration.json``: no task here asks for probabilities yet."""

from __future__ import annotations

_REASON = "calibration comes with the tasks that ask for probabilities"

SCORERS: dict[str, object] = {}

OUT = dict.fromkeys(
    (
        "brier",
        "ece_binary_10",
        "ece_binary_15",
        "ece_netcal_15",
        "ece_topk1_multiclass_15",
        "log_loss",
        "mce_binary_15",
        "smece",
    ),
    _REASON,
)
