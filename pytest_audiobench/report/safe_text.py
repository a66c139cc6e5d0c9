"""Texts from outside, made safe to are in Markdown, in JSON and in a table that a spreadsheet opens.

GitHub links and notifies from the rendered text, where an escape is gone: a zero-width space after ``@``, ``#``,
``www`` and the colon of an address is what holds (renovatebot/renovate#1083 and #602, dependabot/dependabot-core#3157).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_audiobench.report.formatting import printable

_LONGEST_CELL = 300
_LIVE = re.compile(r"(?<=[@#])|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_APART = "\N{ZERO WIDTH SPACE}"
_UNWRITABLE = re.compile(r"(?![\r\n\t\v\f\x1c-\x1e\x85])[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters that are not white space, and halves of a surrogate pair, which no UTF-8 file holds."""

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
_ENTITIES = str.maketrans({**{character: f"&#{ord(character)};" for character in "\\`*_[]<>&@#!|~$"}, **_PLAIN})


def escaped(text: str, longest: int = _LONGEST_CELL) -> str:
    """``text`` as one line of Markdown that shows it literally, cut at ``longest`` characters: no link, no mention."""
    return _cut(text, longest).translate(_ESCAPES)


def quoted(text: str, longest: int = _LONGEST_CELL) -> str:
    """``text`` as a piece of code in a line of Markdown, cut at ``longest`` characters; for texts of models and data.

    Every character that Markdown knows within a line is an entity: marks of lists, heads and the like mean something at
    its beginning only, where the tag is. GitHub looks for no names, numbers or emoji in code.
    """
    code = " ".join(_cut(text, longest).translate(_ENTITIES).split())
    return f"<code>{code}</code>" if code else "*empty*"


def table_row(cells: Iterable[str]) -> str:
    """A row of a Markdown table, of cells that are escaped."""
    return f"| {' | '.join(cells)} |"


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """A head and a line for each row; ``columns`` are the first row's unless given. Texts are made safe."""
    all_rows = list(rows)
    names = columns or list(all_rows[0] if all_rows else ())
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv_cell(value) for name, value in row.items()} for row in all_rows)
    return out.getvalue()


def json_text(value: Any) -> str:
    """``value`` in ASCII. Raises ValueError for NaN and infinities, which are not JSON."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def _cut(text: str, longest: int) -> str:
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return _LIVE.sub(_APART, _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", cut))


def _csv_cell(value: Any) -> Any:
    """A text on one line that a spreadsheet takes for a text and for no formula; other values as they are."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.lstrip()[:1] in ("=", "+", "-", "@") else text
