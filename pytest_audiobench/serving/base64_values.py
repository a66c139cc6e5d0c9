"""Taking long base64 values out of a body before it is read as JSON.

json.loads looks at every character of a text; for a call with megabytes of audio that is a third of all that a server
does. Between two quotes there is nothing to look at in base64, and the decoder checks its alphabet anyway.
"""

from __future__ import annotations

import binascii
import secrets
from collections.abc import Mapping

_KEY = b'"data"'
_SHORTEST = 1024
_MARK = secrets.token_hex(16)
"""No client knows it, so that none can send a text that stands for another's audio."""


def lifted(body: bytearray) -> tuple[bytes, Mapping[str, bytes]]:
    """The body with every long base64 value of a key "data" replaced by a short text, and the bytes by that text.

    Correct for any valid JSON: a quote without a backslash before it opens or closes a text, and base64 holds neither.
    What is no valid JSON stays invalid.
    """
    pieces: list[memoryview | bytes] = []
    found: dict[str, bytes] = {}
    view, kept, position = memoryview(body), 0, 0
    while (key := body.find(_KEY, position)) >= 0:
        position = key + len(_KEY)
        start = _value(body, position) if key == 0 or body[key - 1 : key] != b"\\" else -1
        end = body.find(b'"', start) if start >= 0 else -1
        if end - start < _SHORTEST:
            continue
        try:
            data = binascii.a2b_base64(view[start:end], strict_mode=True)
        except ValueError:
            continue  # for whoever reads the value to refuse, by name
        name = f"{_MARK}{len(found)}"
        found[name] = data
        pieces += (view[kept:start], name.encode())
        kept = position = end
    return b"".join([*pieces, view[kept:]]), found


def _value(body: bytearray, position: int) -> int:
    """Where the text behind a key begins, or -1 when the value is no text."""
    position = _beyond_space(body, position)
    if body[position : position + 1] != b":":
        return -1
    position = _beyond_space(body, position + 1)
    return position + 1 if body[position : position + 1] == b'"' else -1


def _beyond_space(body: bytearray, position: int) -> int:
    while body[position : position + 1].isspace():
        position += 1
    return position
