"""Texts from outside, made safe to stand in Markdown and in a table that a spreadsheet opens."""

from __future__ import annotations

from typing import Any

from pytest_audiobench.report.figures import printable

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


def csv_cell(value: Any) -> Any:
    """A text on one line that a spreadsheet takes for a text and for no formula; other values as they are."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.lstrip()[:1] in ("=", "+", "-", "@") else shown
