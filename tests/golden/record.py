"""Goldens written, read and held against a run.

A golden is ``facts/<name>.json``: the facts of a run (``extract.py``), one a line. Texts and hashes must come out as
they are, in the same order, and figures to 1e-9. ``python -m tests.golden`` records them anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from .runs import Golden, versions

TOLERANCE = 1e-9
COMMAND = "python -m tests.golden"
SHOWN = 12


def write(golden: Golden, facts: Mapping[str, Mapping[str, Any]]) -> None:
    parts = {"versions": versions(golden.versions), **facts}
    blocks = [
        f"{_json(place)}: {{\n" + ",\n".join(f"  {_json(name)}: {_json(value)}" for name, value in part.items()) + "\n}"
        for place, part in parts.items()
    ]
    golden.file.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def read(golden: Golden) -> tuple[dict[str, str], dict[str, Any]]:
    """The versions under which it was recorded, and the facts."""
    facts = json.loads(golden.file.read_text(encoding="utf-8"))
    return facts.pop("versions"), facts


def explain(golden: Golden, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What differs, the first things in plain words; empty where nothing does."""
    lines = list(differences(before, json.loads(json.dumps(now))))
    if not lines:
        return ""
    more = [f"… and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n".join(
        [
            f"the run {golden.name!r} is no longer what {golden.file.name} says; {len(lines)} facts differ:",
            *(f"  {line}" for line in [*lines[:SHOWN], *more]),
            f"If that is meant, record it anew and read its diff: {COMMAND} {golden.name}",
        ]
    )


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """A line for each fact that is gone, new or another, and one for the first that is in another place."""
    old, new = _flat(before), _flat(now)
    for name, value in old.items():
        if name not in new:
            yield f"{name}: gone; recorded was {_cut(value)}"
        else:
            yield from (f"{name}{place}: {what}" for place, what in _differ(value, new[name]))
    yield from (f"{name}: new; it is {_cut(value)}" for name, value in new.items() if name not in old)
    if old.keys() == new.keys() and list(old) != list(new):
        first = next(pair for pair in zip(old, new, strict=True) if pair[0] != pair[1])
        yield f"the order: {first[1]!r} comes where {first[0]!r} came"


def _flat(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{place} / {name}": value for place, part in facts.items() for name, value in part.items()}


def _differ(old: Any, new: Any) -> Iterator[tuple[str, str]]:
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, pair in enumerate(zip(old, new, strict=True)):
            yield from ((f", number {place}{deeper}", what) for deeper, what in _differ(*pair))
    elif isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for name in old:
            yield from ((f", {name}{deeper}", what) for deeper, what in _differ(old[name], new[name]))
    elif not _equal(old, new):
        yield "", f"recorded {_cut(old)}, now {_cut(new)}"


def _equal(old: Any, new: Any) -> bool:
    if float in (type(old), type(new)) and {type(old), type(new)} <= {int, float}:
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(old) is type(new) and old == new


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= 160 else f"{text[:150]}…"
