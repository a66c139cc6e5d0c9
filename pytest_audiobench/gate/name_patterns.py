"""Patterns over the ids of evals and models, in which brackets are ordinary characters."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(c) or re.escape(c) for c in pattern), re.DOTALL)


def matches(pattern: str, text: str) -> bool:
    """Whether ``pattern`` covers the whole of ``text``: ``*`` is any characters, ``?`` one, all others themselves.

    Unlike fnmatch, ``sakura[animal-single]`` means the eval of that name, not one of its letters.
    """
    return _compiled(pattern).fullmatch(text) is not None
