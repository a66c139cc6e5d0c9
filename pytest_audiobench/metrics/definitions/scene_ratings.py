"""Ratings of a described scene by a model that hears it, from 0 to 5."""

from __future__ import annotations

from pytest_audiobench.metrics import estimates

_RATED = {
    "emotion_accuracy": "emotions",
    "age_gender_accuracy": "age and gender of the speakers",
    "transcription_accuracy": "the words spoken",
    "timestamp_accuracy": "when events begin and end",
    "vocal_burst_accuracy": "laughs, sighs and the like",
    "speaker_diarization": "who speaks",
    "sound_event_accuracy": "sounds and music",
    "segment_completeness": "whether all that can be heard is there",
    "overall_quality": "the description as a whole",
}

KINDS = tuple(
    estimates.mean_kinds(
        {
            (name, "higher", "of 5", name): f"A judge's mean rating of {what}, from 0 to 5."
            for name, what in _RATED.items()
        }
    )
)
