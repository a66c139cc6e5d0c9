"""A frequency in words, put to the nearest of buckets such as "400 Hz". Ours.

Hz and kHz are understood, thousands may be grouped ("1,654.75"), a range ("1000 to 3000 Hz", "between 280 Hz and 320
Hz") stands for its middle. Numbers with a unit go before those without; seconds, decibels and shares are no
frequencies. Several frequencies count only where they fall into one bucket, or where the last statement ("the answer
is …") gives one. Of two buckets as near the lower is taken.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TypeAlias

Buckets: TypeAlias = tuple[tuple[float, str], ...]

_BUCKET = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(k?)hz\s*\Z", re.I)
_NUMBER = r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.\d{1,12})?"
_UNIT = r"(?:kilohertz|khz|hertz|hz)"
_QUANTITY = re.compile(
    rf"""(?P<between>\bbetween\s{{1,3}})?
         (?P<low>{_NUMBER})\s?(?P<low_unit>{_UNIT}\b)?\s{{0,2}}(?(between)and\b|(?:-|–|—|to\b))\s{{0,2}}
         (?P<high>{_NUMBER})\s?(?P<high_unit>{_UNIT}\b)?(?![\w%])
       | (?P<one>{_NUMBER})\s?(?P<unit>{_UNIT}\b)?(?![\w%]|\.\d)""",
    re.I | re.X,
)
_OTHER_UNIT = re.compile(r"\s?(?:%|(?:m?s|secs?|seconds?|minutes?|min|db|decibels?|percent|times)\b)", re.I)
_STATED = re.compile(r"\b(?:answer|frequency|pitch|f0|bucket)\b[^.\d\n]{0,40}?(?:\bis\b|[:=])", re.I)


@lru_cache(maxsize=256)
def buckets_of(labels: tuple[str, ...]) -> Buckets:
    """The labels by their frequency in Hz; nothing where a label is none."""
    found = [(_BUCKET.match(label), label) for label in labels]
    if not all(match for match, _ in found):
        return ()
    return tuple(sorted((float(match[1]) * (1000.0 if match[2] else 1.0), label) for match, label in found if match))


def bucket_in(text: str, buckets: Buckets) -> str | None:
    """The one bucket that the frequencies of ``text`` fall into; None for none, and for several."""
    stated = list(_STATED.finditer(text))
    for part in (text, *((text[stated[-1].end() :],) if stated else ())):
        near = {_nearest(hz, buckets) for hz in _frequencies(part)}
        if len(near) == 1:
            return near.pop()
    return None


def _frequencies(text: str) -> list[float]:
    with_unit: list[float] = []
    without: list[float] = []
    for found in _QUANTITY.finditer(text):
        unit = found["unit"] or found["high_unit"]
        if unit is None and _OTHER_UNIT.match(text, found.end()):
            continue
        times = 1000.0 if (unit or "").lower().startswith("k") else 1.0
        if found["one"]:
            hz = _number(found["one"]) * times
        else:
            own = found["low_unit"]
            low = _number(found["low"]) * ((1000.0 if own.lower().startswith("k") else 1.0) if own else times)
            hz = (low + _number(found["high"]) * times) / 2
        (without if unit is None else with_unit).append(hz)
    return with_unit or without


def _number(text: str) -> float:
    value = float(text.replace(",", ""))
    return value if math.isfinite(value) else 0.0


def _nearest(hz: float, buckets: Buckets) -> str:
    return min(buckets, key=lambda bucket: abs(hz - bucket[0]))[1]
