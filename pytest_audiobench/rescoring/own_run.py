"""Our own layout: a run's ``predictions.jsonl``, with its ``run.json`` beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.models.replay.recorded_run import records, response_of
from pytest_audiobench.protocols.protocol import WEIGHING
from pytest_audiobench.records.run import SCHEMA, PerturbationRecord
from pytest_audiobench.rescoring.recorded_answers import Played, RecordedRow, clip_named

LAYOUT = "a run's predictions.jsonl"

Json: TypeAlias = Mapping[str, Any]

_BARE = (
    "no run.json lies beside these predictions: groups, clusters by recording and the prompts' identity are unknown, "
    "so intervals may be narrower and hashes are not the run's"
)


_TEXT = frozenset({str})
_PARTS = frozenset({str, int})
_TEXT_OR_NONE = frozenset({str, type(None)})
_LONGEST_S = 1e9
_ROLES = ("judge", "extractor", "rewriter")
_KEY_TYPES = [str, str, str, int]
_FIELDS = frozenset({str, int, float, bool, type(None)})


def fits(row: Json) -> bool:
    """Whether ``row`` is a line of our predictions."""
    return "outputs" in row and "sample_id" in row and "stage" in row


def read(file: Path, only: Collection[tuple[str, str]] | None = None) -> Iterator[RecordedRow]:
    """The samples of ``file`` in its order, one for each epoch, with at most one of them in memory.

    ``only`` names the items (eval, model) that are wanted; lines of others are passed over unread.
    """
    items = items_of(run_of(file))
    wanted = records(file)
    if only is not None:
        wanted = ((line, row) for line, row in wanted if (row.get("eval"), row.get("model")) in only)
    for (eval_, model, sample_id, epoch), lines in groupby(wanted, lambda numbered: _key(file, *numbered)):
        stages = list(lines)
        line, first = next((numbered for numbered in stages if not numbered[1].get("unchanged")), stages[0])
        before = next((row for _, row in stages if row.get("unchanged")), None)
        item = items.get((eval_, model))
        try:
            roles = {row["stage"]: row.get("role", "subject") for _, row in stages}
            if len(roles) < len(stages):
                raise UsageError(f"{file}, line {line}: {sample_id!r} has two rows of one stage: rows of two runs")
            _check_clips([*first["audio"], *(before["audio"] if before else ())])
            if not all({type(row["error"]), type(row["key"])} <= _TEXT_OR_NONE for _, row in stages):
                raise TypeError("error and key must be texts or null")
            if type(first["dataset"]) is not str:
                raise TypeError("dataset must be a text")
            if type(first.get("recording")) not in _TEXT_OR_NONE:
                raise TypeError("recording must be a text or null")
            subject_rows = [row for _, row in stages if "role" not in row]
            rewriting = [row for _, row in stages if row.get("role") == "rewriter"]
            yield RecordedRow(
                sample=_sample(sample_id, first),
                responses={row["stage"]: response_of(row) for row in subject_rows if row["error"] is None},
                epoch=epoch,
                error=next((row["error"] for row in (*subject_rows, *rewriting) if row["error"] is not None), None),
                eval=eval_,
                dataset=first["dataset"],
                model=model,
                stored={"stages": roles, "keys": {row["stage"]: row["key"] for _, row in stages}},
                family=str(item["protocol"]) if item else "",
                groups=tuple(item.get("groups", ())) if item else (),
                cluster=item.get("cluster") if item else None,
                clip_keys=_keys(first),
                recording=first.get("recording"),
                unchanged=None if before is None else Played(_clips(before), _keys(before), _lengths(before)),
                durations_s=_lengths(first),
                note="" if item else _BARE,
                verdicts={row["stage"]: _verdict(row) for _, row in stages if row.get("role") in WEIGHING},
                rewritten={row["stage"]: response_of(row) for row in rewriting if row["error"] is None},
                messages={row["stage"]: _messages(row["prompt"]) for _, row in stages if row.get("prompt") is not None},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{file}, line {line} is no line of a run's predictions ({error!r})") from None


def _key(file: Path, line: int, row: Json) -> tuple[str, str, str, int]:
    try:
        key = (row["eval"], row["model"], row["sample_id"], row["epoch"])
    except KeyError as error:
        raise UsageError(f"{file}, line {line} has no {error}: it is no line of a run's predictions") from None
    stage, role = row.get("stage"), row.get("role", _ROLES[0])
    if type(stage) is not str or not stage.isprintable() or role not in _ROLES:
        raise UsageError(f"{file}, line {line}: its stage must be a text, its role one of {', '.join(_ROLES)}")
    if list(map(type, key)) != _KEY_TYPES or key[3] < 0:
        raise UsageError(f"{file}, line {line}: eval, model and sample_id must be texts, epoch a number from 0 up")
    return key


def _verdict(row: Json) -> Response:
    return response_of(row) if row["error"] is None else Response(error=row["error"])


def _messages(prompt: Sequence[Sequence[Any]]) -> tuple[Message, ...]:
    messages = []
    for role, parts in prompt:
        if role not in ("system", "user", "assistant") or not _PARTS.issuperset(map(type, parts)):
            raise TypeError("a prompt must be [role, [text or clip number, …]] for each message, or null")
        messages.append(Message(role, tuple([part if type(part) is str else AudioSlot(part) for part in parts])))
    return tuple(messages)


def _check_clips(clips: Sequence[Json]) -> None:
    for clip in clips:
        if type(clip["source"]) is not str or type(clip["key"]) not in _TEXT_OR_NONE:
            raise TypeError("a clip's source must be a text, its key a text or null")
        length = clip["duration_s"]
        if length is not None and not (type(length) in (int, float) and 0 <= length < _LONGEST_S):
            raise TypeError("a clip's duration_s must be a number of seconds or null")


def _clips(row: Json) -> tuple[Clip, ...]:
    recipes = row.get("recipes", ())
    if recipes and len(recipes) != len(row["audio"]):
        raise TypeError("recipes must be one for each clip")
    return tuple([clip_named(clip["source"], recipe) for clip, recipe in zip_longest(row["audio"], recipes)])


def _keys(row: Json) -> tuple[str, ...] | None:
    keys = tuple([clip["key"] for clip in row["audio"]])
    return None if None in keys else keys


def _lengths(row: Json) -> tuple[float | None, ...]:
    return tuple([clip["duration_s"] for clip in row["audio"]])


def _sample(sample_id: str, row: Json) -> Sample:
    metadata = row.get("metadata", {})
    texts = (row["question"], row["reference"], *row["choices"], *row.get("references", ()))
    if not _TEXT.issuperset(map(type, texts)) or not _FIELDS.issuperset(map(type, metadata.values())):
        raise TypeError("texts and metadata must be texts, numbers, booleans or null")
    return Sample(
        id=sample_id,
        clips=_clips(row),
        question=row["question"],
        choices=tuple(row["choices"]),
        reference=row["reference"],
        metadata=metadata,
        references=tuple(row.get("references", ())),
    )


FILE = "predictions.jsonl"
RECORD = "run.json"

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


def _check_types(path: Path, what: str, value: Any, wanted: Kinds) -> None:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {what} is no JSON object: it was edited")
    for name, kind in wanted.items():
        if name not in value or not isinstance(value[name], kind):
            state = "lacks" if name not in value else "has another kind of value in"
            raise UsageError(f"{path}: {what} {state} {name!r}: it was edited, or another version wrote it")
