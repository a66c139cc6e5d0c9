"""The parser of the audiobench tool's sound identification, version 1, with its defects."""

from __future__ import annotations

import re

# Facts from github.com/THENIROCK/audiobench, src/audiobench/probes.py (parse_yes_no).
_OPENS = r"\s*[\"'`]?\s*(?:{})\b"
_YES = re.compile(_OPENS.format("yes|y|yeah|yep|true|present|positive|1"), re.IGNORECASE)
_NO = re.compile(_OPENS.format("no|n|nope|nah|false|absent|negative|0"), re.IGNORECASE)
_FIRST = 6


def says_yes(text: str) -> bool:
    """Whether the parser takes ``text`` for a yes; all else is a no."""
    if _YES.match(text):
        return True
    if _NO.match(text):
        return False
    lowered = text.lower()
    return "yes" in lowered and "no " not in lowered[:_FIRST]
