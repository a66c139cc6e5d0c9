"""Signs for terminals and logs whose encoding has none of ours: ``-`` for the minus sign, ``x`` for ✗."""

from __future__ import annotations

import codecs
from typing import Any

_PLAIN = {"\N{MINUS SIGN}": "-", "–": "-", "—": "-", "…": "...", "×": "x", "✗": "x", "✓": "+", "▲": "^", "≠": "#"}
_HANDLER = "audiobench.plain_signs"


def write_plainly(stream: Any) -> None:
    """Let ``stream`` write what its encoding lacks in plain signs, and other text as escapes, instead of failing."""
    # UTF-8 has all, and streams that are no files (a capture's) take text as it is.
    if hasattr(stream, "reconfigure") and codecs.lookup(stream.encoding).name not in ("utf-8", "utf-16"):
        codecs.register_error(_HANDLER, _plain)
        stream.reconfigure(errors=_HANDLER)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    signs = (_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lacking)
    return "".join(signs), error.end
