"""A run's line files joined again: one record per sample and epoch, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from pytest_audiobench.errors import FatalError
from pytest_audiobench.protocols.protocol import first_wording_stages
from pytest_audiobench.records.lines import (
    COMPARED_FILE,
    LINE_FILES,
    ComparedRow,
    PredictionRow,
    ProcessedRow,
    QuestionRow,
    SampleRecord,
    ScoredAnswer,
    ScoredRow,
)
from pytest_audiobench.records.reading import read_lines

Key: TypeAlias = tuple[str, str, str, int]


class Joined(NamedTuple):
    """One sample in one epoch."""

    predictions: list[PredictionRow]
    processed: list[ProcessedRow]
    scored: list[ScoredRow]
    compared: ComparedRow | None = None
    """By what the baseline's answer differs, where there is a baseline that has the sample."""


def joined(folder: Path) -> Iterator[Joined]:
    """The samples of a run in its order, with at most one of them in memory.

    All files hold one order of samples. Raises FatalError where they do not belong together.
    """
    processed = _Follower(folder / LINE_FILES["processed"], ProcessedRow)
    scored = _Follower(folder / LINE_FILES["scored"], ScoredRow)
    compared = _Follower(folder / COMPARED_FILE, ComparedRow) if (folder / COMPARED_FILE).exists() else None
    for key, rows in groupby(read_lines(folder / LINE_FILES["predictions"], PredictionRow), _key):
        before = next(iter(compared.take(key)), None) if compared else None
        predictions = list(rows)
        if all(row.role != "subject" for row in predictions):
            raise FatalError(
                f"{folder / LINE_FILES['predictions']} has no answer of the model's own to {key[2]!r} of {key[0]} "
                f"(epoch {key[3]}): the file was cut or edited"
            )
        yield Joined(predictions, processed.take(key), scored.take(key), before)
    processed.check_end()
    scored.check_end()
    if compared:
        compared.check_end()


def sample_record(sample: Joined) -> SampleRecord:
    """A sample as one record."""
    rows, first, last = subject_rows(sample)
    output = last.outputs[0] if last.outputs else None
    scores = {row.scorer: row.scores for row in sample.scored}
    return SampleRecord(
        **{name: getattr(first, name) for name in QuestionRow.__struct_fields__},
        text=None if output is None else output.text,
        finish=None if output is None else output.finish,
        error=next((row.error for row in rows if row.error is not None), None),
        stages={row.stage: [output.text for output in row.outputs] for row in sample.predictions},
        audio=played(sample).audio,
        scorers={
            row.scorer: ScoredAnswer(row.status, row.value, scores.get(row.scorer) or {}) for row in sample.processed
        },
        groups=next((row.groups for row in sample.scored), {}),
        cluster=next((row.cluster for row in sample.scored), None),
    )


def played(sample: Joined) -> PredictionRow:
    """The row that says what was played: not of a stage that was played the clips before a perturbation."""
    return next((row for row in sample.predictions if not row.unchanged), sample.predictions[0])


def subject_rows(sample: Joined) -> tuple[list[PredictionRow], PredictionRow, PredictionRow]:
    """The model's own rows of a sample, the first of them, and that of its answer."""
    # What a judge said of an answer is not an answer.
    rows = [row for row in sample.predictions if row.role == "subject"]
    stages = {row.stage: row for row in rows}
    return rows, rows[0], stages[first_wording_stages(stages)[-1]]


_Row = TypeVar("_Row", PredictionRow, ProcessedRow, ScoredRow, ComparedRow)


class _Follower(Generic[_Row]):
    """Reads a file next to the predictions: the rows of one sample at a time, when they are its next."""

    def __init__(self, path: Path, row: type[_Row]) -> None:
        self._path = path
        self._groups: groupby[Key, _Row] = groupby(read_lines(path, row), _key)
        self._next: tuple[Key, Iterator[_Row]] | None = next(self._groups, None)

    def take(self, key: Key) -> list[_Row]:
        if self._next is None or self._next[0] != key:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows

    def check_end(self) -> None:
        if self._next is not None:
            eval_, model, sample_id, epoch = self._next[0]
            raise FatalError(
                f"{self._path} holds {sample_id!r} of {eval_} by {model} (epoch {epoch}) where predictions.jsonl "
                "does not: the files are not of one run, or were sorted"
            )


def _key(row: PredictionRow | ProcessedRow | ScoredRow | ComparedRow) -> Key:
    return row.eval, row.model, row.sample_id, row.epoch
