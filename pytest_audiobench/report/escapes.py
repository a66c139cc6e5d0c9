"""Texts from outside, made safe to stand in Markdown."""

from __future__ import annotations

_LONGEST_CELL = 300

_ESCAPES = str.maketrans(
    {
        **{character: f"\\{character}" for character in "\\`*_{}[]()#+!|~-"},
        **{character: f"&#{ord(character)};" for character in "<>&@"},
        **dict.fromkeys("\r\n\t\v\f\x85\u2028\u2029", " "),
    }
)


def escaped(text: str) -> str:
    """``text`` as one line of Markdown that shows it literally, cut at 300 characters."""
    return (text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…").translate(_ESCAPES)
