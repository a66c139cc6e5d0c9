"""``diarization_iou.json``: no task here asks who speaks when, or for intervals, yet."""

from __future__ import annotations

_DIARISATION = "diarisation comes with the tasks that ask who speaks when"
_INTERVALS = "matching of intervals comes with the tasks that ask for them"

SCORERS: dict[str, object] = {}

OUT = {
    **dict.fromkeys(
        (
            "der_collar0.0",
            "der_collar0.0_skipov",
            "der_collar0.5",
            "der_collar0.5_skipov",
            "der_spyder_collar0.0",
            "der_spyder_collar0.25",
            "detection_error_rate",
            "jer",
            "purity_coverage",
            "speaker_mapping",
        ),
        _DIARISATION,
    ),
    **dict.fromkeys(("hungarian_iou", "interval_iou"), _INTERVALS),
}
