"""At which step of its training a model stands, by its names; and which models are one at several steps.

A step is the number behind the word step, checkpoint, ckpt, iter, iteration or epoch (``step-2000``,
``checkpoint_500``, ``step=2k``; the last one where there are several), or the whole of an alias or of a path's last
part (``2000``, ``2k``). It is looked for in the models' aliases; where not all have one, in their specs, then in the
runs' names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pytest_audiobench.errors import UsageError

_WORD = r"(?:global[-_]?)?steps?|checkpoint|ckpt|iter(?:ation)?s?|epochs?"
_NUMBER = r"(\d{1,15}(?:\.\d{1,6})?[kKmM]?)(?![A-Za-z0-9])"
_NAMED = re.compile(rf"(?<![A-Za-z])(?:{_WORD})[-_=. ]?{_NUMBER}", re.IGNORECASE)
_WHOLE = re.compile(rf"(?:^|[/\\:]){_NUMBER}[/\\]?$")
_SCALE = {"k": 1e3, "m": 1e6}


class Names(NamedTuple):
    """What a model of a run is called."""

    alias: str
    spec: str
    run: str


Find = Callable[[str], "re.Match[str] | None"]


def by_words(text: str) -> re.Match[str] | None:
    """Where the step stands in a name; its first group is the number."""
    return max(_NAMED.finditer(text), key=re.Match.start, default=None) or _WHOLE.search(text)


def by_pattern(text: str) -> Find:
    """A regular expression of a user's, whose first group is the number. Raises UsageError for one that is none."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"--step {text!r} is no regular expression ({error})") from None
    if not pattern.groups:
        raise UsageError(f"--step {text!r} has no group that would be the number: write it as 'step-(\\d+)'")
    return pattern.search


def steps(named: Sequence[Names], find: Find) -> list[float | None]:
    """The step of each, from the first kind of name in which all have one; else from each one's own first, or None."""
    by_kind = [[_step(find(name)) for name in kind] for kind in zip(*named, strict=True)]
    whole = next((found for found in by_kind if None not in found), None)
    if whole is not None:
        return list(whole)
    return [next((step for step in own if step is not None), None) for own in zip(*by_kind, strict=True)]


def family(names: Names, find: Find) -> str:
    """What a model is called whatever its step: its spec with the step cut out, ``hf:checkpoints/step-*``."""
    found = find(names.spec)
    if _step(found) is None or found is None:
        return names.spec
    return f"{names.spec[: found.start(1)]}*{names.spec[found.end(1) :]}"


def _step(found: re.Match[str] | None) -> float | None:
    text = found[1] if found is not None else None
    if not text:
        return None
    scale = _SCALE.get(text[-1].lower(), 1.0)
    try:
        # Multiplied as a text is: 2.3k is 2300, and no float beside it.
        return round(float(text[:-1] if scale > 1.0 else text) * scale, 6)
    except ValueError:
        return None
