"""Our own layout: a run's ``predictions.jsonl``, with its ``run.json`` next to it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.models.replay.recorded_run import response_of
from pytest_audiobench.protocols.protocol import WEIGHING
from pytest_audiobench.records.lines import LINE_FILES, BarePredictionRow, PredictionRow, Prompt
from pytest_audiobench.records.reading import numbered_lines, read_run
from pytest_audiobench.records.run import ItemRecord, RunRecord
from pytest_audiobench.rescoring.recorded_answers import Played, RecordedRow, clip_named

LAYOUT = "a run's predictions.jsonl"
FILE = LINE_FILES["predictions"]
RECORD = "run.json"

_BARE = (
    "no run.json lies beside these predictions: groups, clusters by recording and the prompts' identity are unknown, "
    "so intervals may be narrower and hashes are not the run's"
)


def fits(row: Mapping[str, Any]) -> bool:
    """Whether ``row`` is a line of our predictions."""
    return "outputs" in row and "sample_id" in row and "stage" in row


def read(file: Path, only: Collection[tuple[str, str]] | None = None) -> Iterator[RecordedRow]:
    """The samples of ``file`` in its order, one for each epoch, with at most one of them in memory.

    ``only`` names the selected items (eval, model).
    """
    items = items_of(run_of(file))
    lines = numbered_lines(file, BarePredictionRow)
    if only is not None:
        lines = ((line, row) for line, row in lines if (row.eval, row.model) in only)
    for (eval_, model, _, epoch), sample_lines in groupby(lines, _key):
        numbers, rows = zip(*sample_lines, strict=True)
        _check(rows, f"{file}, line {numbers[0]}")
        first = next((row for row in rows if not row.unchanged), rows[0])
        before = next((row for row in rows if row.unchanged), None)
        item = items.get((eval_, model))
        subject_rows = [row for row in rows if row.role == "subject"]
        rewriting = [row for row in rows if row.role == "rewriter"]
        yield RecordedRow(
            sample=Sample(
                id=first.sample_id,
                clips=_clips(first),
                question=first.question,
                choices=tuple(first.choices),
                reference=first.reference,
                metadata=first.metadata,
                references=tuple(first.references),
            ),
            responses={row.stage: response_of(row) for row in subject_rows if row.error is None},
            epoch=epoch,
            error=next((row.error for row in (*subject_rows, *rewriting) if row.error is not None), None),
            eval=eval_,
            dataset=first.dataset,
            model=model,
            family=item.protocol if item else "",
            options=item.options if item else {},
            groups=tuple(item.groups) if item else (),
            cluster=item.cluster if item else None,
            clip_keys=_keys(first),
            recording=first.recording,
            unchanged=None if before is None else Played(_clips(before), _keys(before), _lengths(before)),
            durations_s=_lengths(first),
            note="" if item else _BARE,
            verdicts={
                row.stage: response_of(row) if row.error is None else Response(error=row.error)
                for row in rows
                if row.role in WEIGHING
            },
            roles={row.stage: row.role for row in rows},
            keys={row.stage: row.key for row in rows if row.key is not None},
            rewritten={row.stage: response_of(row) for row in rewriting if row.error is None},
            messages={row.stage: _messages(row.prompt) for row in rows if row.prompt is not None},
        )


def _key(numbered: tuple[int, PredictionRow]) -> tuple[str, str, str, int]:
    _, row = numbered
    return row.eval, row.model, row.sample_id, row.epoch


def _check(rows: Collection[PredictionRow], place: str) -> None:
    sample_id = next(iter(rows)).sample_id
    if len({row.stage for row in rows}) < len(rows):
        raise UsageError(f"{place}: {sample_id!r} has two rows of one stage: rows of two runs")
    for row in rows:
        # A stage's name is hashed, so that nothing in it is repaired.
        if not row.stage.isprintable():
            raise UsageError(f"{place}: the stage {row.stage!r} of {sample_id!r} is not a name: the file was edited")
        if row.recipes and len(row.recipes) != len(row.audio):
            raise UsageError(f"{place}: recipes of {sample_id!r} must be one for each clip: the file was edited")


def _messages(prompt: Prompt) -> tuple[Message, ...]:
    slots = ((role, [part if isinstance(part, str) else AudioSlot(part) for part in parts]) for role, parts in prompt)
    return tuple([Message(role, tuple(parts)) for role, parts in slots])


def _clips(row: PredictionRow) -> tuple[Clip, ...]:
    recipes = row.recipes or ()
    return tuple([clip_named(clip.source, recipe) for clip, recipe in zip_longest(row.audio, recipes)])


def _keys(row: PredictionRow) -> tuple[str, ...] | None:
    keys = [clip.key for clip in row.audio if clip.key is not None]
    return tuple(keys) if len(keys) == len(row.audio) else None


def _lengths(row: PredictionRow) -> tuple[float | None, ...]:
    return tuple([clip.duration_s for clip in row.audio])


def run_of(file: Path) -> RunRecord | None:
    """The record of the run whose predictions ``file`` holds; None where it lies alone.

    Raises UsageError for a record that is not one of this version's.
    """
    path = file.with_name(RECORD)
    return read_run(path) if file.name == FILE and path.exists() else None


def items_of(run: RunRecord | None) -> dict[tuple[str, str], ItemRecord]:
    """The items of a run by eval and model."""
    return {(item.eval, item.model): item for item in run.items} if run else {}
