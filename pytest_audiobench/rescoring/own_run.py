"""Our own layout: a run's ``predictions.jsonl``, with its ``run.json`` beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.replay.recorded import records, response_of
from pytest_audiobench.rescoring.recorded import RecordedRow, clip_named
from pytest_audiobench.runs.record import SCHEMA

LAYOUT = "a run's predictions.jsonl"
FILE = "predictions.jsonl"
RECORD = "run.json"

Json: TypeAlias = Mapping[str, Any]

_BARE = (
    "no run.json lies beside these predictions: groups, clusters by recording and the prompts' identity are unknown, "
    "so intervals may be narrower and hashes are not the run's"
)


_TEXT = frozenset({str})
_KEY_TYPES = [str, str, str, int]
_FIELDS = frozenset({str, int, float, bool, type(None)})


def fits(row: Json) -> bool:
    """Whether ``row`` is a line of our predictions."""
    return "outputs" in row and "sample_id" in row and "stage" in row


def run_of(file: Path) -> Json | None:
    """The record of the run whose predictions ``file`` holds; None where it lies alone.

    Raises UsageError for a record that is none of this version's.
    """
    path = file.with_name(RECORD)
    if file.name != FILE or not path.exists():
        return None
    try:
        record = json.loads(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path} is not JSON ({error}): it was edited or cut") from None
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no {SCHEMA!r}: score it with the version that wrote it")
    return record


def items_of(run: Json | None) -> dict[tuple[str, str], Json]:
    """The items of a run by eval and model."""
    return {(item["eval"], item["model"]): item for item in run["items"]} if run else {}


def read(file: Path) -> Iterator[RecordedRow]:
    """The samples of ``file`` in its order, one for each epoch, with at most one of them in memory."""
    items = items_of(run_of(file))
    for (eval_, model, sample_id, epoch), lines in groupby(records(file), lambda one: _key(file, *one)):
        stages = list(lines)
        line, first = stages[0]
        item = items.get((eval_, model))
        try:
            roles = {row["stage"]: row.get("role", "subject") for _, row in stages}
            if len(roles) < len(stages):
                raise UsageError(f"{file}, line {line}: {sample_id!r} has two rows of one stage: rows of two runs")
            keys = tuple([clip["key"] for clip in first["audio"]])
            own = [row for _, row in stages if "role" not in row]
            yield RecordedRow(
                sample=_sample(sample_id, first),
                responses={row["stage"]: response_of(row) for row in own if row["error"] is None},
                epoch=epoch,
                error=next((row["error"] for row in own if row["error"] is not None), None),
                eval=eval_,
                dataset=first["dataset"],
                model=model,
                stored={"stages": roles, "keys": {row["stage"]: row["key"] for _, row in stages}},
                family=str(item["protocol"]) if item else "",
                groups=tuple(item.get("groups", ())) if item else (),
                cluster=item.get("cluster") if item else None,
                clip_keys=None if None in keys else keys,
                durations_s=tuple([clip["duration_s"] for clip in first["audio"]]),
                note="" if item else _BARE,
                verdicts={row["stage"]: response_of(row) for _, row in stages if "role" in row},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{file}, line {line} is no line of a run's predictions ({error!r})") from None


def _key(file: Path, line: int, row: Json) -> tuple[str, str, str, int]:
    try:
        key = (row["eval"], row["model"], row["sample_id"], row["epoch"])
    except KeyError as error:
        raise UsageError(f"{file}, line {line} has no {error}: it is no line of a run's predictions") from None
    if list(map(type, key)) != _KEY_TYPES or key[3] < 0:
        raise UsageError(f"{file}, line {line}: eval, model and sample_id must be texts, epoch a number from 0 up")
    return key


def _sample(sample_id: str, row: Json) -> Sample:
    metadata = row.get("metadata", {})
    texts = (row["question"], row["reference"], *row["choices"], *row.get("references", ()))
    if not _TEXT.issuperset(map(type, texts)) or not _FIELDS.issuperset(map(type, metadata.values())):
        raise TypeError("texts and metadata must be texts, numbers, booleans or null")
    return Sample(
        id=sample_id,
        clips=tuple([clip_named(clip["source"]) for clip in row["audio"]]),
        question=row["question"],
        choices=tuple(row["choices"]),
        reference=row["reference"],
        metadata=metadata,
        references=tuple(row.get("references", ())),
    )
