"""Reference cases as files hold them: inputs, and what a library or a publisher's own code made of them.

Five layouts are read: a list of cases; an object of one scorer's cases, which its file's place names
(``PROTOCOL/SCORER.json``); BEANS-Next's groups of checks; ``soundscape-cases/1``; and tables of folded phones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.strict_json import short_repr

Json: TypeAlias = Any

MOST_BYTES = 256_000_000
_OWN_KEYS = ("code", "made_by")
_OF_TASKS = ("score_sample", "dataset_metrics", "rescorer")
"""BEANS-Next's operations that go by a task's type."""
_FOLDING = re.compile(r"map\d+to(\d+)")
_TOLERANCE, _OF_SCORERS = 1e-9, 1e-6


class ReferenceCase(NamedTuple):
    """One case: by which metric, with which parameters, of which inputs, what was computed."""

    id: str
    metric: str
    params: Mapping[str, Json]
    inputs: Mapping[str, Json]
    expected: Json = None
    tolerance: float = _TOLERANCE
    """Absolute, of every number."""
    raises: str = ""
    """What the library raised, where it gave no value."""


class UnreadableCase(NamedTuple):
    """A case that is none, and why."""

    id: str
    why: str


Cases: TypeAlias = Iterator[ReferenceCase | UnreadableCase]


def read_cases(path: Path) -> list[ReferenceCase | UnreadableCase]:
    """The cases of a file in their order. Raises UsageError for a file that holds none, or cannot be read."""
    document = _document(path)
    if isinstance(document, list):
        cases = list(_each(document, _case))
    elif not isinstance(document, dict):
        raise UsageError("it holds neither a list nor an object")
    elif any(_FOLDING.fullmatch(name) for name in document):
        cases = list(_foldings(document))
    elif not isinstance(document.get("cases"), list):
        raise UsageError("it is of no layout of reference cases")
    elif document.get("schema") == "soundscape-cases/1":
        cases = list(_each(document["cases"], lambda row, name: _soundscape_case(row, name, document)))
    elif document.get("schema") == "beans_conformance.v1":
        cases = [case for group in document["cases"] for case in _checks(group)]
    elif any(name in document for name in _OWN_KEYS):
        cases = list(_each(document["cases"], lambda row, name: _scorer_case(row, name, document, path)))
    else:
        raise UsageError("it is of no layout of reference cases")
    if not cases:
        raise UsageError("it holds no cases")
    return cases


def _document(path: Path) -> Json:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"it is larger than {MOST_BYTES // 1_000_000} MB")
        return json.loads(path.read_bytes())
    except UnicodeDecodeError as error:
        raise UsageError(f"it is not UTF-8 text, from byte {error.start + 1} on") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is not JSON: {error}") from None
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}") from None


def _each(rows: list[Json], read: Callable[[Mapping[str, Json], str], ReferenceCase]) -> Cases:
    for number, row in enumerate(rows):
        given = row.get("id") if isinstance(row, dict) else None
        name = given if isinstance(given, str) and given else f"case {number}"
        try:
            if not isinstance(row, dict):
                raise UsageError(f"it is not an object but {short_repr(row)}")
            yield read(row, name)
        except UsageError as error:
            yield UnreadableCase(name, str(error))


def _case(row: Mapping[str, Json], name: str) -> ReferenceCase:
    metric, raises = row.get("metric"), row.get("raises") or ""
    if not isinstance(metric, str):
        raise UsageError(f"its metric is not text but {short_repr(metric)}")
    if "expected" not in row and not raises:
        raise UsageError("it says neither what is expected nor what is raised")
    return ReferenceCase(
        name,
        metric,
        _object(row.get("params") or {}, "params"),
        _object(row.get("inputs"), "inputs"),
        row.get("expected"),
        _tolerance(row.get("tolerance") or 0.0),
        str(raises),
    )


def _scorer_case(row: Mapping[str, Json], name: str, document: Mapping[str, Json], path: Path) -> ReferenceCase:
    metric, scorer = row.get("metric"), f"{path.parent.name}/{path.stem}"
    if not isinstance(metric, str) or "value" not in row:
        raise UsageError("it has no metric with a value")
    options = {**_object(document.get("options", {}), "options"), **_object(row.get("options", {}), "options")}
    inputs = {
        **{part: row[part] for part in ("samples", "responses", "judge_responses") if part in row},
        "judge_stage": document.get("judge_stage", ""),
    }
    tolerance = _tolerance(row.get("tolerance", _OF_SCORERS))
    return ReferenceCase(
        name, "", {"scorer": scorer, "metric": metric, "options": options}, inputs, row["value"], tolerance
    )


def _soundscape_case(row: Mapping[str, Json], name: str, document: Mapping[str, Json]) -> ReferenceCase:
    if not isinstance(row.get("kind"), str) or "expected" not in row:
        raise UsageError("it has no kind, or expects nothing")
    inputs, tolerance = _object(row.get("input"), "input"), _tolerance(document.get("tolerance", _OF_SCORERS))
    return ReferenceCase(name, f"soundscape {row['kind']}", {}, inputs, row["expected"], tolerance)


def _checks(group: Json) -> Cases:
    """The checks of one operation of BEANS-Next's."""
    if not isinstance(group, dict) or not isinstance(group.get("checks"), list):
        yield UnreadableCase(short_repr(group), "it is not a group of checks")
        return
    id_, operation = str(group.get("id")), str(group.get("op"))

    def check_case(row: Mapping[str, Json], name: str) -> ReferenceCase:
        inputs, expected = _object(row.get("input"), "input"), _object(row.get("expected"), "expected")
        raises = str(expected.get("error") or "")
        metric = f"beans_next {operation}"
        # The group of the judge holds requests and prompts too.
        if operation == "judge" and inputs.get("op", "parse_yes_no") != "parse_yes_no":
            metric = "beans_next judge_request"
        number = f"{id_}.{row.get('n')}"
        value, tolerance = expected.get("value"), _tolerance(group.get("tolerance", _TOLERANCE))
        if metric == "beans_next judge" and isinstance(value, list):
            # The verdict, and behind it what was logged.
            value = value[0] if value else None
        task = inputs.get("task_type") or _object(inputs.get("metadata") or {}, "metadata").get("task") or "none"
        params = {"name": inputs["name"]} if isinstance(inputs.get("name"), str) else {}
        params |= {"task_type": task} if operation in _OF_TASKS else {}
        params |= {"step": _last_step(inputs)} if operation == "postprocess" else {}
        return ReferenceCase(number, metric, params, inputs, value, tolerance, raises)

    yield from _each(group["checks"], check_case)


def _last_step(inputs: Mapping[str, Json]) -> str:
    """The last of a pipeline's steps with the names of its settings, by which it is one of a task's or another."""
    steps = inputs.get("cleaners") or inputs.get("parsers") or [["none", {}]]
    step = steps[-1] if isinstance(steps, list) else None
    if isinstance(step, list) and len(step) == 2 and isinstance(step[1], dict):
        return " ".join([str(step[0]), *sorted(step[1])])
    return "none"


def _foldings(document: Mapping[str, Json]) -> Cases:
    """A phone and what it is folded to, next to another phone, since a phone may be folded to nothing."""
    for name, table in document.items():
        if (match := _FOLDING.fullmatch(name)) and isinstance(table, dict):
            for phone, folded in table.items():
                inputs = {"reference": f"iy {folded or ''}".strip(), "hypothesis": f"iy {phone}"}
                yield ReferenceCase(f"{name}/{phone}", f"per_{match[1]}", {}, inputs, 0.0)


def _object(value: Json, name: str) -> Mapping[str, Json]:
    if isinstance(value, dict):
        return value
    raise UsageError(f"its {name} are not an object but {short_repr(value)}")


def _tolerance(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < 1e300:
        raise UsageError(f"its tolerance is not a number from 0 on but {short_repr(value)}")
    return float(value)
