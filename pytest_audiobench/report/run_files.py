"""A run's folder: parts merged into its files, the record put together, ``run.json`` renamed into place last.

Parts written by the evals → ``collect`` → (hooks amend, the page is written) → ``finish``.
A folder without ``run.json`` is a run that crashed or is still going.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation import speed
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.evaluation.record import SCHEMA
from pytest_audiobench.evaluation.suites import Pool, pooled_hashes
from pytest_audiobench.report import run_parts
from pytest_audiobench.report.atomic_files import replacing, write_text
from pytest_audiobench.report.json_lines import read_lines
from pytest_audiobench.report.run_parts import Part

RECORD = "run.json"
LINE_FILES = {
    "predictions": "predictions.jsonl",
    "processed": "processed_predictions.jsonl",
    "scored": "scored_predictions.jsonl",
}
COMPARED_FILE = "compared_predictions.jsonl"
"""What the baseline said of the samples in a pair; only a run with a baseline has it."""

_COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class Heading:
    """What the run knows of itself; ``started`` and ``finished`` are ISO 8601 in UTC."""

    run: str
    started: str
    finished: str
    command: Sequence[str]
    exit_status: int
    limit: int | None
    epochs: int
    models: Sequence[Mapping[str, Any]]
    runtime: Mapping[str, Any]
    notes: Sequence[str] = field(default_factory=tuple)
    baseline: Mapping[str, Any] | None = None


def collect(folder: Path, heading: Heading) -> dict[str, Any]:
    """Merge the parts of ``folder`` into the three JSONL files and return the run record, not yet written.

    Items come in the order of the collection, whichever finished first.
    Raises FatalError when the folder already holds a finished run.
    """
    if (folder / RECORD).exists():
        raise FatalError(f"{folder} already holds a finished run: give this one another name")
    found = run_parts.whole_parts(folder / run_parts.FOLDER)
    files = {**LINE_FILES, **({run_parts.COMPARED: COMPARED_FILE} if heading.baseline is not None else {})}
    notes = [*heading.notes, *_merge(folder, found, files)]
    lost = run_parts.unfinished(folder / run_parts.FOLDER)
    if lost:
        notes.append(
            f"{len(lost)} evals were begun and never finished: their answers are in the store, their scores not here"
        )
    with collector_paused():
        suites = _suites(found)
    return run_record(heading, [part.item for part in found], suites, notes)


def run_record(
    heading: Heading, items: Sequence[dict[str, Any]], suites: Sequence[dict[str, Any]], notes: Sequence[str]
) -> dict[str, Any]:
    """What run.json holds: the heading, the items' records and the pooled suites."""
    return {
        "schema": SCHEMA,
        **asdict(heading),
        "command": list(heading.command),
        "models": [_with_speed(model, items) for model in heading.models],
        "suites": list(suites),
        "items": list(items),
        "hashes": pooled_hashes([item for item in items if item["outcome"] != "skipped"]),
        "notes": list(notes),
    }


def finish(folder: Path, record: Mapping[str, Any]) -> None:
    """Rename ``run.json`` into place, then remove the parts.

    Raises FatalError, naming the place in the record, for a value that JSON cannot hold.
    """
    try:
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
        write_text(folder / RECORD, text + "\n")
    except (TypeError, ValueError) as error:
        where = _unwritable(record, "run") or "run"
        raise FatalError(f"{where} cannot be written as JSON ({error}): make it a plain, finite value") from error
    shutil.rmtree(folder / run_parts.FOLDER, ignore_errors=True)


def _with_speed(model: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    taken = speed.together([item["taken"] for item in items if item["model"] == model["alias"] and not item["control"]])
    return {**model, "speed": [asdict(figure) for figure in speed.figures(taken)]}


def _merge(folder: Path, found: Sequence[Part], files: Mapping[str, str]) -> list[str]:
    missing: dict[str, None] = {}
    for kind, name in files.items():
        with replacing(folder / name) as merged:
            for part in found:
                try:
                    with part.lines(kind).open("rb") as own:
                        shutil.copyfileobj(own, merged, _COPY_BYTES)
                except FileNotFoundError:
                    if part.item["n"] and part.item["outcome"] not in ("skipped", "lost"):
                        missing[part.item["nodeid"]] = None
    return [
        f"{nodeid}: some of its lines are missing, since its part was removed while the run went on"
        for nodeid in missing
    ]


def _suites(found: Sequence[Part]) -> list[dict[str, Any]]:
    by_suite: dict[tuple[str, str], list[Part]] = {}
    for part in found:
        if part.item["scorers"] and part.item["outcome"] != "skipped" and not part.item["control"]:
            by_suite.setdefault((part.item["suite"], part.item["model"]), []).append(part)
    suites = []
    for (name, model), own in by_suite.items():
        pool = Pool(name, model)
        for part in own:
            scored = part.lines("scored")
            pool.add(part.item, read_lines(scored) if scored.exists() else ())
        suites.append(pool.record().to_json())
    return suites


def _unwritable(value: Any, where: str) -> str | None:
    """The deepest place whose value JSON refuses."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        return None
    except (TypeError, ValueError):
        pass
    inner: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        inner = [(f"{where}.{key}", one) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        inner = [(f"{where}[{number}]", one) for number, one in enumerate(value)]
    return next((found for name, one in inner if (found := _unwritable(one, name))), where)
