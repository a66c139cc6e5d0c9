"""Reference cases run through our scorers, and counted."""

from __future__ import annotations

import importlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.errors import AudiobenchError, UsageError

from . import files

Json: TypeAlias = Any
Scorer: TypeAlias = Callable[[Mapping[str, Json], Json], Json]
Verdict: TypeAlias = Literal["agrees", "explained", "differs", "out"]

_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Case(NamedTuple):
    """One reference case: its id and metric, what our scorer made of it, and why that may be."""

    id: str
    metric: str
    verdict: Verdict
    detail: str


@dataclass
class Tally:
    """A file's cases counted by verdict."""

    file: str
    counts: Counter[Verdict] = field(default_factory=Counter)
    differing: list[Case] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)


def tallies(folder: Path) -> Iterator[Tally]:
    """Each ``*.json`` of ``folder`` that holds a list of cases, run through our scorers.

    Raises UsageError when there is none.
    """
    found = sorted(path for path in folder.glob("*.json") if _scorers(path.stem) is not None)
    if not found:
        raise UsageError(f"{folder} holds no reference cases: name the folder of the *.json files")
    for path in found:
        tally = Tally(path.name)
        for case in cases(path):
            tally.counts[case.verdict] += 1
            if case.verdict == "differs":
                tally.differing.append(case)
            elif case.verdict != "agrees":
                tally.notes[case.metric if case.verdict == "out" else case.id] = case.detail
        yield tally


def cases(path: Path) -> Iterator[Case]:
    """Every case of one file with its verdict."""
    module = _scorers(path.stem)
    rows: Sequence[Mapping[str, Json]] = json.loads(path.read_bytes())
    own_cases = getattr(module, "cases_of", None)
    yield from (own_cases(rows) if own_cases else (_case(module, row) for row in rows))


def metrics_of(path: Path) -> list[str]:
    """The metric names in one file, sorted."""
    return sorted({row["metric"] for row in json.loads(path.read_bytes())})


def _scorers(stem: str) -> Any:
    try:
        return importlib.import_module(f"{files.__name__}.{stem}")
    except ModuleNotFoundError as error:
        if error.name != f"{files.__name__}.{stem}":
            raise
        return None


def _case(module: Any, row: Mapping[str, Json]) -> Case:
    id_, metric = row["id"], row["metric"]
    if metric in getattr(module, "OUT", {}):
        return Case(id_, metric, "out", module.OUT[metric])
    explained = getattr(module, "DIFFERS", {}).get(id_) or getattr(module, "DIFFERS", {}).get(metric)
    if metric not in module.SCORERS:
        return Case(id_, metric, "differs", "no scorer answers for this metric")
    try:
        found = module.SCORERS[metric](row.get("params") or {}, row["inputs"])
    except (AudiobenchError, ValueError) as error:
        found = error
    if row.get("raises"):
        # Where the reference library fails, a scorer refuses or says "no value"; a number must be explained.
        agrees = isinstance(found, Exception) or found is None or (isinstance(found, float) and math.isnan(found))
        detail = f"the reference raises {row['raises']}; ours gives {found!r}"
    else:
        agrees = not isinstance(found, Exception) and same(row["expected"], found, float(row.get("tolerance") or 0.0))
        detail = f"expected {row['expected']!r}, got {found!r}"
    if agrees:
        return Case(id_, metric, "agrees", "")
    return Case(id_, metric, "explained", explained) if explained else Case(id_, metric, "differs", detail)


def same(expected: Json, found: Json, tolerance: float) -> bool:
    """Whether ``found`` is ``expected`` in shape and value, numbers within the absolute ``tolerance``."""
    if isinstance(expected, str) and expected in _NUMBERS and not isinstance(found, str):
        expected = _NUMBERS[expected]
    if isinstance(expected, bool) or expected is None or isinstance(expected, str):
        return bool(expected == found) and (expected is None) == (found is None)
    if isinstance(expected, (int, float)):
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            return False
        if math.isnan(expected) or math.isinf(expected):
            return repr(float(expected)) == repr(float(found))
        return abs(float(expected) - float(found)) <= tolerance + 1e-12
    if isinstance(expected, Mapping):
        return (
            isinstance(found, Mapping)
            and expected.keys() == found.keys()
            and all(same(value, found[key], tolerance) for key, value in expected.items())
        )
    return (
        isinstance(found, Sequence)
        and not isinstance(found, str)
        and len(expected) == len(found)
        and all(same(one, other, tolerance) for one, other in zip(expected, found, strict=True))
    )
