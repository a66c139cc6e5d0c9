"""The record of a run of ours (``run.json``), as scoring again reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.record import SCHEMA, PerturbationRecord

FILE = "predictions.jsonl"
RECORD = "run.json"

Json: TypeAlias = Mapping[str, Any]
Kinds: TypeAlias = Mapping[str, type | tuple[type, ...]]

_NAMES: Kinds = {"name": str, "signature": str}
_METRIC: Kinds = {
    **{"name": str, "group": dict, "value": (int, float, type(None))},
    **dict.fromkeys(("scorer", "signature"), (str, type(None))),
}
_ITEM: Kinds = {
    **dict.fromkeys(("eval", "model", "dataset", "protocol", "suite", "nodeid"), str),
    **dict.fromkeys(("index", "part"), int),
    **dict.fromkeys(("hashes", "asking"), dict),
    **dict.fromkeys(("scorers", "metrics", "warnings"), list),
}
_LATER: Kinds = {
    **{"options": dict, "judges": dict, "groups": list, "cluster": (str, type(None)), "stages": list},
    "perturbation": (dict, type(None)),
    "stages": list,
}
"""Fields that runs of earlier versions may lack."""


def run_of(file: Path) -> Json | None:
    """The record of the run whose predictions ``file`` holds; None where it lies alone.

    Raises UsageError for a record that is none of this version's.
    """
    path = file.with_name(RECORD)
    if file.name != FILE or not path.exists():
        return None
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON ({error}): it was edited or cut") from None
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no {SCHEMA!r}: score it with the version that wrote it")
    _check(path, record)
    return record


def items_of(run: Json | None) -> dict[tuple[str, str], Json]:
    """The items of a run by eval and model."""
    return {(item["eval"], item["model"]): item for item in run["items"]} if run else {}


def _check(path: Path, record: Json) -> None:
    """Raises UsageError, with the place, for a record that lacks what scoring again reads of it."""
    _check_types(path, "the record", record, {"items": list, "models": list, "limit": (int, type(None))})
    for model in record["models"]:
        _check_types(path, "a model", model, {"alias": str})
        if model.get("hearing") is not None:
            _check_types(path, f"the hearing of {model['alias']}", model["hearing"], {"status": str, "evidence": str})
    for number, item in enumerate(record["items"]):
        place = f"items[{number}]"
        _check_types(path, place, item, _ITEM)
        _check_types(path, place, item, {name: kind for name, kind in _LATER.items() if name in item})
        if not all(isinstance(text, str) for text in (*item.get("groups", ()), *item["warnings"])):
            raise UsageError(f"{path}: groups and warnings of {place} must be texts: it was edited")
        try:
            PerturbationRecord.read(item.get("perturbation"))
        except (KeyError, TypeError) as error:
            raise UsageError(f"{path}: the perturbation of {place} is none ({error}): it was edited") from None
        for scorer in item["scorers"]:
            _check_types(path, f"a scorer of {place}", scorer, _NAMES)
        for metric in item["metrics"]:
            _check_types(path, f"a metric of {place}", metric, _METRIC)


def _check_types(path: Path, what: str, told: Any, wanted: Kinds) -> None:
    if not isinstance(told, dict):
        raise UsageError(f"{path}: {what} is no JSON object: it was edited")
    for name, kind in wanted.items():
        if name not in told or not isinstance(told[name], kind):
            state = "lacks" if name not in told else "has another kind of value in"
            raise UsageError(f"{path}: {what} {state} {name!r}: it was edited, or another version wrote it")
