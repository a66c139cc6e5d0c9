"""Texts from outside, made safe to stand in Markdown and in a table that a spreadsheet opens.

GitHub links and notifies from the rendered text, where an escape is gone: a zero-width space after ``@``, ``#``,
``www`` and the colon of an address is what holds (renovatebot/renovate#1083 and #602, dependabot/dependabot-core#3157).
"""

from __future__ import annotations

import re
import string
from typing import Any

from pytest_audiobench.report.formatting import printable

_LONGEST_CELL = 300
_LIVE = re.compile(r"(?<=[@#])|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_APART = "\N{ZERO WIDTH SPACE}"

_BREAKS = "\r\n\t\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_HIDDEN = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks that turn the direction of what follows, so that a cell could read otherwise than it is written."""

_PLAIN = {**dict.fromkeys(_BREAKS, " "), **dict.fromkeys(_HIDDEN, "")}
_ESCAPES = str.maketrans(
    {
        **{character: f"\\{character}" for character in "\\`*_{}[]()#+!|~-"},
        **{character: f"&#{ord(character)};" for character in "<>&@"},
        **_PLAIN,
    }
)
_ENTITIES = str.maketrans({**{one: f"&#{ord(one)};" for one in string.punctuation}, **_PLAIN})


def escaped(text: str, longest: int = _LONGEST_CELL) -> str:
    """``text`` as one line of Markdown that shows it literally, cut at ``longest`` characters: no link, no mention."""
    return _cut(text, longest).translate(_ESCAPES)


def quoted(text: str, longest: int = _LONGEST_CELL) -> str:
    """``text`` as a piece of code in a line of Markdown, cut at ``longest`` characters; for texts of models and data.

    Every character that Markdown knows is an entity, and GitHub looks for no names, numbers or emoji in code.
    """
    shown = " ".join(_cut(text, longest).translate(_ENTITIES).split())
    return f"<code>{shown}</code>" if shown else "*empty*"


def _cut(text: str, longest: int) -> str:
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    shown = "".join("\N{REPLACEMENT CHARACTER}" if _unwritable(one) else one for one in cut)
    return _LIVE.sub(_APART, shown)


def _unwritable(character: str) -> bool:
    """Control characters, and halves of a surrogate pair, which no UTF-8 file holds."""
    return (character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff") and (
        character not in _BREAKS
    )


def csv_cell(value: Any) -> Any:
    """A text on one line that a spreadsheet takes for a text and for no formula; other values as they are."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.lstrip()[:1] in ("=", "+", "-", "@") else shown
