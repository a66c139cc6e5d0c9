"""The store's door: what a model said is made valid text once, and the repair is counted."""

from __future__ import annotations

LONGEST_TEXT = 4 * 2**20
"""Characters kept of one output; an answer beyond it is no answer but a runaway."""


LONGEST_MESSAGE = 2000
"""Characters kept of an error's message."""


def message(error: object) -> str:
    """An error's message as one line of valid text of bounded length."""
    return repaired(" ".join(str(error).split())[:LONGEST_MESSAGE])[0]


def repaired(text: str) -> tuple[str, bool]:
    """``text`` as valid Unicode of bounded length, and whether it had to be changed.

    Halves of a surrogate pair are joined where they stand together; a lone half becomes U+FFFD.
    """
    changed = False
    if len(text) > LONGEST_TEXT:
        text, changed = text[:LONGEST_TEXT], True
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), True
    return text, changed
