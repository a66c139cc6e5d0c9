"""A run's line files joined again: one record per sample and epoch, streamed; and whole evals, ready to compare."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation import comparable_eval
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
from pytest_audiobench.records.run import RunRecord

Key: TypeAlias = tuple[str, str, str, int]
_Value = TypeVar("_Value")
_MOST_SHARED = 16_384
"""Values of which the first object stands for all."""


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
    rows, first, last = _subject_rows(sample)
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


def _subject_rows(sample: Joined) -> tuple[list[PredictionRow], PredictionRow, PredictionRow]:
    # What a judge said of an answer is no answer.
    rows = [row for row in sample.predictions if row.role == "subject"]
    stages = {row.stage: row for row in rows}
    return rows, rows[0], stages[first_wording_stages(stages)[-1]]


_Row = TypeVar("_Row", PredictionRow, ProcessedRow, ScoredRow, ComparedRow)


class _Follower(Generic[_Row]):
    """Reads a file beside the predictions: the rows of one sample at a time, when they are its next."""

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


def read_comparable_evals(
    folder: Path, record: RunRecord, source: str, texts: bool = True
) -> dict[tuple[str, str], comparable_eval.ComparableEval]:
    """The evals of the finished run in ``folder``, whose run.json is ``record``, by (eval, model alias).

    Evals that measured nothing are left out, and controls, which serve another's comparison. ``texts`` keeps the
    answers. Raises FatalError where the line files are not those of a run.
    """
    items = {(item.eval, item.model): item for item in record.items if item.scorers and not item.control}
    rows: dict[tuple[str, str], list[comparable_eval.ComparableSample]] = {key: [] for key in items}
    once = _Once()
    for sample in joined(folder):
        key = (sample.predictions[0].eval, sample.predictions[0].model)
        if key in rows and sample.scored:
            row = sample.scored[0]
            if missing := {scorer.name for scorer in items[key].scorers} - {row.scorer for row in sample.scored}:
                raise FatalError(
                    f"{folder / LINE_FILES['scored']} has no row of {row.sample_id!r} of {key[0]} (epoch {row.epoch}) "
                    f"by {min(missing)}: the file was cut or edited"
                )
            try:
                rows[key].append(_comparable_sample(sample, texts, once))
            except UnicodeEncodeError as error:
                raise FatalError(
                    f"{folder / LINE_FILES['predictions']}: {error.object[:60]!a} of {key[0]} has half of a surrogate "
                    "pair: the file was edited"
                ) from None
    models = {model.alias: model for model in record.models}
    evals = {}
    for key, item in items.items():
        model = models.get(item.model)
        side = comparable_eval.comparable_eval(item, rows[key], source, "" if model is None else model.spec)
        evals[key] = replace(side, noise=None if model is None else model.noise, perturbation=item.perturbation)
    return evals


class _Once:
    """What many samples have in common, as one object."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def of(self, key: Hashable, value: _Value) -> _Value:
        """The first value of ``key``."""
        if len(self._known) >= _MOST_SHARED and key not in self._known:
            return value
        known: _Value = self._known.setdefault(key, value)
        return known

    def mapping(self, value: Mapping[str, _Value] | None) -> Mapping[str, _Value] | None:
        return None if value is None else self.of(tuple(value.items()), value)


def _comparable_sample(sample: Joined, texts: bool, once: _Once) -> comparable_eval.ComparableSample:
    rows, first, last = _subject_rows(sample)
    headline = sample.scored[0]
    audio = comparable_eval.audio_digest([clip.key for clip in played(sample).audio])
    scores = {row.scorer: once.mapping(row.scores) for row in sample.scored}
    statuses = {row.scorer: row.status for row in sample.scored}
    return comparable_eval.ComparableSample(
        sample_id=first.sample_id,
        epoch=first.epoch,
        audio=once.of(audio, audio),
        prompt=comparable_eval.prompt_digest({row.stage: row.prompt for row in rows}),
        cluster=once.of(headline.cluster, headline.cluster),
        groups=once.mapping(headline.groups) or {},
        statuses=once.of(("statuses", *statuses.items()), statuses),
        scores=once.of(("scores", *((name, id(own)) for name, own in scores.items())), scores),
        failures=once.of(("failures", *headline.failures), tuple(headline.failures)),
        text=last.outputs[0].text if texts and last.outputs else None,
        truth=comparable_eval.truth_digest(first.choices, first.reference, first.references),
    )
