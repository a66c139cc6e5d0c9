"""What the readers of several tools' files share: fields that must be there, options listed in a prompt, breakdowns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from pytest_audiobench.errors import UsageError

_LINE = re.compile(r"\s*[\[(]?([A-Z])[\])}.:、]+\s*(\S.*?)\s*")
_INLINE = re.compile(r"\(([A-Z])\)\s*(.*?)\s*(?=\([A-Z]\)|$)", re.DOTALL)
_MARK = re.compile(r"\s*[\[(]?([A-Za-z])[\])}.:]+\s*(.*)", re.DOTALL)
_MOST_GROUPS = 50


def said(place: str, row: Mapping[str, Any], *names: str) -> list[str]:
    """The texts in the fields ``names``. Raises UsageError that names the first that is absent or no text."""
    for name in names:
        if not isinstance(row.get(name), str):
            raise UsageError(f"{place}: it has no {name!r}" + (" that is a text" if name in row else ""))
    return [row[name] for name in names]


def placed(file: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each row with the words that say where it stands."""
    for number, row in rows:
        yield f"{file}, row {number}", row


def listed_options(prompt: str) -> tuple[str, ...]:
    """The options that ``prompt`` lists as A, B, C, … in order, the last list of it; none where it lists none."""
    lines = [found for line in prompt.splitlines() if (found := _LINE.fullmatch(line))]
    return _run(lines) or _run([*_INLINE.finditer(prompt)])


def _run(marks: Sequence[re.Match[str]]) -> tuple[str, ...]:
    starts = [number for number, mark in enumerate(marks) if mark[1] == "A"]
    lettered = zip(ascii_uppercase, marks[starts[-1] :] if starts else (), strict=False)
    options = [mark[2] for letter, mark in lettered if mark[1] == letter]
    return tuple(options) if len(options) > 1 else ()


def option_of(answer: str, options: Sequence[str]) -> str:
    """The option that ``answer`` is, by its text or its letter; ``answer`` itself where it is none."""
    if answer in options:
        return answer
    mark = _MARK.fullmatch(answer + ".")
    letter = mark[1].upper() if mark else ""
    listed = dict(zip(ascii_uppercase, options, strict=False))
    return listed.get(letter, answer) if not mark or mark[2].rstrip(".") in ("", listed.get(letter)) else answer


def unlettered(option: str) -> str:
    """An option without its letter: "Man" of "(A) Man"."""
    mark = re.fullmatch(r"\s*\(([A-Za-z])\)\s*(.*)", option, re.DOTALL)
    return mark[2] if mark else option


def breakdowns(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The fields that are short texts in every row and tell groups of them apart: several values, each of several rows.

    Identifiers are none, and no field is one where the rows are few.
    """
    values: dict[str, set[str]] = defaultdict(set)
    counts: dict[str, int] = defaultdict(int)
    total = 0
    for row in rows:
        total += 1
        for name, value in row.items():
            if isinstance(value, str) and 0 < len(value) <= _MOST_GROUPS:
                values[name].add(value)
                counts[name] += 1
    return tuple(
        name for name in values if counts[name] == total and 1 < len(values[name]) <= min(_MOST_GROUPS, total // 2)
    )


def number(value: object) -> float | None:
    """``value`` as a number, a text of one included; None for anything else."""
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except ValueError:
        return None


def ratio(value: object) -> float | None:
    """A share as a number from 0 to 1, of a percentage too."""
    share = number(value)
    return share if share is None or share <= 1 else share / 100


def dictionary(value: object) -> Mapping[str, Any]:
    """``value`` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
