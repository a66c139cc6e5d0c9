"""What stands between brackets removed in linear time.

The usual patterns look through the whole rest of a text at each bracket that is never closed, and a model in a loop
can write a hundred thousand of those.
"""

from __future__ import annotations

import re

_TAGS = re.compile(r"[<\[][^>\]]*[>\]]")
_ASIDES = re.compile(r"\([^)]+\)")
_SPECIAL = re.compile(r"<\|.*?\|>")


def without_tags(text: str) -> str:
    """``text`` without ``<…>`` and ``[…]``, as jiwer's RemoveKaldiNonWords: from a bracket to the next that closes."""
    return _within(_TAGS, text, max(text.rfind(">"), text.rfind("]")) + 1, "")


def without_asides(text: str) -> str:
    """``text`` without ``(…)`` that hold anything."""
    return _within(_ASIDES, text, text.rfind(")") + 1, "")


def without_special_tokens(text: str) -> str:
    """``text`` with a space in place of each ``<|…|>`` on one line, as models write their special tokens."""
    lines = text.split("\n")
    return "\n".join(_within(_SPECIAL, line, line.rfind("|>") + 2, " ") for line in lines)


def _within(pattern: re.Pattern[str], text: str, end: int, put: str) -> str:
    """No match reaches beyond ``end``, behind the last bracket that closes; before it every search succeeds."""
    return pattern.sub(put, text[:end]) + text[end:]
