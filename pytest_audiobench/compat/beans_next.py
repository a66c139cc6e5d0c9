"""The files of BEANS-Next (github earthspecies/beans-next): predictions, with the truths that are next to them.

``predictions.jsonl`` holds raw answers only; truths, processed texts and scores are in ``scored_predictions.jsonl`` or
``processed_predictions.jsonl`` next to it, which can also be read by themselves. A file of pairs holds all.
The label list of a task is in none of them: it is a declaration's, or what the targets of all its rows show where they
are yes and no, single letters or buckets of Hz; else ours needs it in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_audiobench.datasets.label_lists import declared_task, task_id
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Finish, Response
from pytest_audiobench.models.replay.recorded_run import records
from pytest_audiobench.protocols.bioacoustic.pipeline import Target, step_by_shape, vocabulary_of
from pytest_audiobench.protocols.bioacoustic.published_scorers import TARGETS
from pytest_audiobench.rescoring.recorded_answers import RecordedRow, clip_named

LAYOUT = "BEANS-Next's predictions (sample_id and predictions, processed or scored, or pairs of prompt and answer)"

_BESIDE = ("scored_predictions.jsonl", "processed_predictions.jsonl")
_STORED = ("processed_prediction", "scores")
_OF_ROW = ("task_type", "server_info", "subset", "split", "usage", "latency_sec", "finish_reason", "error")
"""What a row says that no score is made of."""
_FINISHES: Mapping[str, Finish] = {"stop": "stop", "length": "length"}
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NO_TARGET = "no truth is recorded for this sample"
_LONGEST_ERROR = 500

# BEANS-Zero's detection tasks by their ids in BEANS-Next (registry/suite/beans_zero_core.yaml); its others are
# classifications, captioning apart.
_ZERO = "beans_zero_"
_ZERO_DETECTION = frozenset({"enabirds", "hiceas", "rfcx", "gibbons", "dcase"})
_TASKS = frozenset({"classification", "detection", "captioning", "open_ended"})
_JUDGED = ("qa", "counting")
_SHAPES: Mapping[str, str] = {
    "extract_label_from_text": "yes-no",
    "extract_mcq_choice_from_text": "letters",
    "extract_hz_bucket_from_text": "buckets",
}
"""What the targets of a task are, by the step that BEANS-Next chooses for them."""


class _Item(NamedTuple):
    """One eval: a task's answers by one model."""

    task: str
    model: str


class _Reading(NamedTuple):
    """How a task's answers are read: a family's name and task, its options, and what to say of its labels."""

    family: str = ""
    options: Mapping[str, Any] = MappingProxyType({})
    note: str = ""
    targets: tuple[str, ...] = ()
    """All labels that the task's targets name."""


class _Truth(NamedTuple):
    task: str | None
    target: Any
    said: Any
    stored: Mapping[str, Any]


def fits(row: Mapping[str, Any]) -> bool:
    """Whether ``row`` is a row of one of BEANS-Next's files."""
    return "sample_id" in row and ("predictions" in row or ("raw_predictions" in row and "ground_truth" in row))


def read(file: Path, labels: Mapping[str, tuple[str, ...]] = _NOTHING, task_type: str = "") -> Iterator[RecordedRow]:
    """The answers of one file, task by task, each in the order of the file.

    ``labels`` are lists by task id that replace declared ones, ``task_type`` is that of rows that name none.

    A row with an error, or without a truth, is a sample whose asking failed. Raises UsageError for a row of another
    layout, for a sample that a task holds twice (a file that two runs were appended to), and for predictions that no
    file of truths, or one of another run, is next to it.
    """
    first = next((row for _, row in records(file)), {})
    truths = {} if "targets" in first or "ground_truth" in first else _truths(file)
    lines: dict[_Item, int] = {}
    targets: dict[str, list[Target]] = {}
    kinds: dict[str, tuple[Mapping[str, Any], str]] = {}
    for _, row in records(file):
        item = _item(file, row, truths)
        lines[item] = lines.get(item, 0) + 1
        targets.setdefault(item.task, []).append((truths.get(str(row.get("sample_id"))) or _own_truth(row)).target)
        kinds.setdefault(item.task, (row, str(row.get("subset") or item.task)))
    readings = {
        task: _reading(_task_type(row, task) or task_type, (task, subset), targets[task], labels)
        for task, (row, subset) in kinds.items()
    }
    for item in lines:
        seen: set[str] = set()
        for line, row in records(file):
            if not fits(row):
                raise UsageError(f"{file}, line {line} is not a row of BEANS-Next: it has no sample_id and predictions")
            if _item(file, row, truths) != item:
                continue
            if (id_ := str(row["sample_id"])) in seen:
                raise UsageError(
                    f"{file}, line {line}: the sample {id_!r} comes twice, as where a second run was appended to the "
                    "first: keep the rows of one run"
                )
            seen.add(id_)
            truth = truths.get(id_) or _own_truth(row)
            if truth.said != row.get("predictions"):
                raise UsageError(
                    f"{file}, line {line}: the file of truths beside it holds another answer to {id_!r}, so it is of "
                    "another run: keep the files of one run together"
                )
            yield _row(item, row, truth, readings[item.task])
            lines[item] -= 1
            if not lines[item]:
                break


def _row(item: _Item, row: Mapping[str, Any], truth: _Truth, reading: _Reading) -> RecordedRow:
    said = row.get("predictions", row.get("raw_predictions")) or []
    text = said[0] if isinstance(said, list) and said and isinstance(said[0], str) else ""
    error = row.get("error") or (_NO_TARGET if truth.target is None else None)
    labels = truth.target if isinstance(truth.target, list) else ()
    references = tuple(label for label in labels if isinstance(label, str))
    sample = Sample(
        id=str(row["sample_id"]),
        clips=(clip_named(str(row["sample_id"])),),
        question="",
        reference=truth.target if isinstance(truth.target, str) else next(iter(references), ""),
        metadata={"task": truth.task},
        references=references,
    )
    return RecordedRow(
        sample=sample,
        responses={}
        if error
        else {"answer": Response.of(text, _FINISHES.get(str(row.get("finish_reason")), "unknown"))},
        error=str(error)[:_LONGEST_ERROR] if error else None,
        eval=item.task,
        dataset=f"beans-next/{item.task}",
        model=item.model,
        stored={
            **truth.stored,
            **{name: row.get(name) for name in _OF_ROW},
            **{"task_id": truth.task, "targets": truth.target, "predictions": said},
            "labels_of_targets": reading.targets,
        },
        family=reading.family,
        options=reading.options,
        note=reading.note,
        groups=(),
    )


def _item(file: Path, row: Mapping[str, Any], truths: Mapping[str, _Truth]) -> _Item:
    beside = truths.get(str(row.get("sample_id")))
    task = row.get("task_id") or row.get("subset") or (beside.task if beside else None) or file.resolve().parent.name
    server = row.get("server_info")
    named = server.get("model") or server.get("name") if isinstance(server, Mapping) else None
    folder = file.resolve().parent
    # A task's own folder lies in that of its model, or of its run.
    of_model = folder.parent if task_id(folder.name) == task_id(str(task)) else folder
    return _Item(str(task), str(row.get("model_tag") or named or of_model.name))


def _task_type(row: Mapping[str, Any], task: str) -> str:
    """The kind of task as the file says, or as BEANS-Zero's ids do; empty where neither tells."""
    if (kind := row.get("task_type")) is None and task.startswith(_ZERO):
        part = task.removeprefix(_ZERO)
        kind = "detection" if part in _ZERO_DETECTION else "captioning" if part == "captioning" else "classification"
    return kind if isinstance(kind, str) else ""


def _reading(
    kind: str, names: tuple[str, str], targets: Sequence[Target], given: Mapping[str, tuple[str, ...]]
) -> _Reading:
    said = vocabulary_of(targets)
    if kind in _JUDGED:
        return _Reading("judged", targets=said)
    if kind not in _TASKS:
        return _Reading(targets=said)
    family = "bioacoustic" if kind == "classification" else f"bioacoustic,task={kind}"
    if kind not in ("classification", "detection"):
        return _Reading(family, targets=said)
    declared = declared_task(*names)
    named = next((given[id_] for id_ in map(task_id, names) if id_ in given), ())
    if listed := named or declared.labels:
        several = any(target not in listed for target in targets if target)
        source: dict[str, Any] = {} if named or declared.is_published else {"label_source": TARGETS}
        return _Reading(family, {"labels": list(listed), **source, **_answers(kind, several)})
    if shape := step_by_shape(said):
        source = {"labels": list(said), "label_source": f"targets-{_SHAPES[shape.name]}"}
        if declared.number:
            return _Reading(family, {**source, **declared.number, "answers": "number"})
        return _Reading(family, {**source, **_answers(kind, False)})
    return _Reading(
        family,
        {"label_source": TARGETS},
        f"no declaration has the labels of {names[1]}: give them with --labels {names[1]}=FILE, and ours reads it too",
        said,
    )


def _answers(kind: str, several: bool) -> dict[str, str]:
    """The option that says so where ours reads a task otherwise than the file's kind of task would have it."""
    return {} if several == (kind == "detection") else {"answers": "several" if several else "one"}


def _own_truth(row: Mapping[str, Any]) -> _Truth:
    target = row.get("targets", row.get("ground_truth"))
    stored = {name: row[name] for name in _STORED if row.get(name) is not None}
    return _Truth(row.get("task_id"), target, row.get("predictions"), stored)


def _truths(file: Path) -> dict[str, _Truth]:
    """What the files next to ``file`` say of each sample: the first that there is."""
    for name in _BESIDE:
        beside = file.parent / name
        if beside.is_file() and beside != file:
            return {str(row.get("sample_id")): _own_truth(row) for _, row in records(beside)}
    raise UsageError(f"{file} holds answers and no truths, and neither {' nor '.join(_BESIDE)} lies beside it")
