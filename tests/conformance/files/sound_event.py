"""``sound_event.json``: no task here asks when sounds begin and end yet."""

from __future__ import annotations

_REASON = "sound-event detection comes with the tasks that ask when sounds begin and end"

SCORERS: dict[str, object] = {}

OUT = dict.fromkeys(
    (
        "event_based",
        "event_based_onset_only",
        "psds",
        "psds_macro_f",
        "segment_based_100ms",
        "segment_based_1s",
    ),
    _REASON,
)
