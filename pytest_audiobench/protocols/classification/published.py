"""Published ways to compare a label with an answer, as they are, what is wrong about them included."""

from __future__ import annotations

EMOTIONS = {
    "neu": "Neutral",
    "neutral": "Neutral",
    "hap": "Happy",
    "happy": "Happy",
    "exc": "Happy",
    "excited": "Happy",
    "sad": "Sad",
    "ang": "Angry",
    "angry": "Angry",
}
"""IEMOCAP's codes and words, and the four classes that SALMONN's emotion task is scored on; all others are left out."""

EMOTION_CLASSES = ("Angry", "Happy", "Neutral", "Sad")


def starts_with(answer: str, label: str) -> bool:
    """UltraEval-Audio's PrefixMatch: the answer's beginning is the label, case and outer space ignored."""
    return answer.lower().strip().startswith(label.lower().strip())


def without_marks(text: str) -> str:
    """CMI-Bench's ``normalise``: no space, ``_``, ``-``, ``'`` or full stop, ``#`` as a sharp sign, small letters."""
    for mark in ("_", "-", "'", " ", "."):
        text = text.replace(mark, "")
    return text.replace("#", "♯").lower()


def only_label_within(answer: str, label: str, labels: tuple[str, ...]) -> bool:
    """CMI-Bench's rule for one label: its letters stand within the answer's, and no other label's do."""
    said, wanted = without_marks(answer), without_marks(label)
    return wanted in said and not any(other in said for other in map(without_marks, labels) if other != wanted)
