"""The words in which events are asked for."""

from __future__ import annotations

VERSION = "scene-1"

EXAMPLE = """\
[{"type": "music", "start_time": 0.0, "end_time": 14.0, "description": "slow waltz on an accordion, wistful", \
"loudness": "quiet"},
 {"type": "speech", "start_time": 1.2, "end_time": 3.9, "transcription": "Did you bring the lanterns?", \
"speaker_id": "speaker_1", "language": "en", "emotion": "curious, slightly worried", "speaking_style": "hushed, \
quick"},
 {"type": "vocal_burst", "start_time": 4.1, "end_time": 4.8, "speaker_id": "speaker_2", "vocal_burst": "short \
chuckle", "emotion": "amused"},
 {"type": "sound_event", "start_time": 6.5, "end_time": 7.3, "description": "a match is struck and flares up", \
"loudness": "moderate"}]"""

EXAMPLE_TEXTS = (
    "slow waltz on an accordion, wistful",
    "Did you bring the lanterns?",
    "curious, slightly worried",
    "hushed, quick",
    "short chuckle",
    "a match is struck and flares up",
)
"""What of the example would be in no answer by chance."""

_TASK = """\
Listen to the whole clip ({duration} seconds) and list everything that can be heard, from the first second to the last.

Answer with a JSON array and nothing else. One object per event. Sounds may overlap; give each its own object. \
Times are in seconds from the beginning, with one decimal.

- Somebody speaks: {"type": "speech", "start_time", "end_time", "transcription": the exact words in the language \
spoken, "speaker_id": the same label whenever the same person is heard, "language": two-letter code, "emotion": how it \
is felt, in a few words, "speaking_style": how it is said, in a few words}
- Somebody makes a sound without words (laugh, sigh, cough): {"type": "vocal_burst", "start_time", "end_time", \
"speaker_id", "vocal_burst": what it is, "emotion"}
- Music: {"type": "music", "start_time", "end_time", "description": style, instruments, tempo, mood, "loudness"}
- Any other sound: {"type": "sound_event", "start_time", "end_time", "description": what makes it and how, "loudness"}

"loudness" is one of very_quiet, quiet, moderate, loud, very_loud. List nothing that you do not hear. If nothing is \
heard, answer [].

Example for another clip:
"""


def scene_prompt(duration: float) -> str:
    """What is asked of a clip of so many seconds."""
    # Not str.format: the text is full of braces.
    return _TASK.replace("{duration}", f"{duration:g}") + EXAMPLE
