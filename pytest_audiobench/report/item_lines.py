"""The rows of one eval for the run's three line files: the texts in the first only."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_audiobench.audio.clip_record import Recipe, recipe_of
from pytest_audiobench.datasets.sample import Field, Sample
from pytest_audiobench.evaluation.evaluate import Evaluation
from pytest_audiobench.evaluation.requests import messages_payload
from pytest_audiobench.evaluation.sample_answers import SampleAnswers
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.evaluation.selection import SelectedSample, Selection, cluster_of
from pytest_audiobench.gate.pairing import Pairs
from pytest_audiobench.metrics.metric_drops import moved
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Output
from pytest_audiobench.protocols.protocol import (
    HEARING,
    VOICE,
    WEIGHING,
    Answer,
    Compared,
    Earlier,
    Protocol,
    Role,
    first_wording_stages,
)
from pytest_audiobench.records.lines import (
    AudioRow,
    BaselineAnswer,
    ComparedRow,
    EarlierAnswer,
    OutputRow,
    PredictionRow,
    ProcessedRow,
    ScoredRow,
    SoundRow,
)
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.run_writer import Lines

CHANGES: Mapping[int, Literal["worse", "better", "same"]] = {1: "worse", -1: "better", 0: "same"}
"""What became of a sample's own score, by :func:`pytest_audiobench.metrics.metric_drops.moved`."""


def lines_of(evaluation: Evaluation) -> Lines:
    """Rows in (epoch, sample) order, samples in hash order, the same in all three files, so that they can be joined
    as they are read; a sample's rows are by stage in the first file, by scorer in the others.

    The scored rows hold nothing that differs between two runs of the same answers.
    """
    record = evaluation.result.record
    writer = item_lines(record.eval, record.model, evaluation.selection, evaluation.protocol)
    return writer.lines(evaluation.answers, evaluation.rows)


def item_lines(eval_: str, model: str, selection: Selection, protocol: Protocol) -> ItemLines:
    """What makes the lines of an eval by the model of this alias."""
    dataset = selection.dataset
    return ItemLines(
        head={"eval": eval_, "model": model, "dataset": dataset.name},
        stages={stage.name: stage.role for stage in protocol.stages},
        unchanged=unchanged_stages(protocol),
        groups=selection.groups,
        cluster=dataset.cluster,
        details=scorer_details(protocol),
    )


def compared_lines(record: ItemRecord, pairs: Pairs | None) -> Iterator[ComparedRow]:
    """What the baseline holds of each sample in a pair, as the headline reads it, in the rows' order; none for None."""
    scorer = record.scorers[0].name
    kind = metric_kind(record.metrics[0].name)
    for before, after in pairs.rows if pairs else ():
        earlier, later = before.scores[scorer], after.scores[scorer]
        yield ComparedRow(
            eval=record.eval,
            model=record.model,
            sample_id=after.sample_id,
            epoch=after.epoch,
            scorer=scorer,
            change=CHANGES[moved(kind, earlier, later)] if earlier is not None and later is not None else "same",
            before=BaselineAnswer(before.statuses[scorer], earlier, before.text, before.failures),
        )


@dataclass(frozen=True)
class ItemLines:
    """What all rows of one item share."""

    head: Mapping[str, str]
    stages: Mapping[str, Role]
    """Roles by stage."""
    unchanged: Collection[str]
    """The stages that are played the clips as they were before a perturbation."""
    groups: Sequence[str]
    """Metadata fields, as ``cluster``."""
    cluster: str | None
    details: Mapping[str, Callable[[Sample, Answer], str]] = field(default_factory=dict)
    """By scorer, what the page shows of a sample beyond numbers."""

    def lines(self, answered: Sequence[SampleAnswers], rows: Mapping[str, Sequence[ScoredSample]]) -> Lines:
        """The lines of ``answered`` and of ``rows``, the same samples as each scorer saw them."""
        return Lines(self._predictions(answered), self._processed(rows), self.scored(rows))

    def _predictions(self, answered: Iterable[SampleAnswers]) -> Iterator[PredictionRow]:
        for answers in answered:
            selected, sample = answers.selected, answers.selected.sample
            key = selected.clip_keys[0] if selected.clip_keys else None
            shared: dict[str, Any] = {
                **self.head,
                "sample_id": sample.id,
                "epoch": answers.epoch,
                "question": sample.question,
                "choices": sample.choices,
                "reference": sample.reference,
                "references": sample.references,
                "metadata": {str(name): _plain(value) for name, value in sample.metadata.items()},
                "recording": None if selected.recording == key else selected.recording,
            }
            responses = answers.all_responses
            # Once for each sample: in the first row of its first epoch.
            recipes = None if answers.epoch else _recipes(sample)
            for stage, role in self.stages.items():
                response = responses.get(stage)
                unchanged = stage in self.unchanged
                played = (selected.unchanged or selected) if unchanged else selected
                yield PredictionRow(
                    **shared,
                    stage=stage,
                    role=role,
                    key=answers.keys.get(stage),
                    prompt=messages_payload(answers.messages[stage]) if stage in answers.messages else None,
                    outputs=[_output(output) for output in response.outputs] if response else (),
                    usage=response.usage if response else {},
                    error=response.error if response else answers.error,
                    unchanged=unchanged,
                    audio=self._audio(played, stage, responses),
                    sounds=tuple([SoundRow(*sound[:-1]) for sound in response.sounds]) if response else (),
                    recipes=recipes if not unchanged else None if answers.epoch else _recipes(played.sample),
                )
                recipes = recipes if unchanged else None

    def _audio(self, selected: SelectedSample, stage: str, responses: Earlier) -> list[AudioRow]:
        """What a stage was played: the sample's clips, or the audio of its answer."""
        clips = selected.sample.clips
        keys: Sequence[str | None] = selected.clip_keys or (None,) * len(clips)
        rows = list(zip(map(str, clips), keys, selected.durations_s, strict=True))
        listener = stage.partition("@")[2]
        if listener in HEARING and self.stages[stage] in WEIGHING:
            answer = first_wording_stages(name for name, role in self.stages.items() if role == "subject")[-1]
            sound = responses[answer].sound if answer in responses else None
            rows = [*rows[: listener == VOICE], *([(f"audio of {answer}", *sound[:2])] if sound else [])]
        response = responses.get(stage)
        cut = (response and response.truncated_s) or (0.0,) * len(rows)
        return [AudioRow(*row, lost) for row, lost in zip(rows, cut, strict=True)]

    def _processed(self, rows: Mapping[str, Sequence[ScoredSample]]) -> Iterator[ProcessedRow]:
        for scorers in zip(*rows.values(), strict=True):
            for scorer, row in zip(rows, scorers, strict=True):
                before = row.answer.before if isinstance(row.answer, Compared) else None
                yield ProcessedRow(
                    **self._head_of(scorer, row),
                    value=None if row.answer is None else row.answer.value,
                    before=None if before is None else EarlierAnswer(before.status, before.value),
                    details=self.details[scorer](row.answers.selected.sample, row.answer)
                    if scorer in self.details and row.answer is not None
                    else None,
                )

    def _head_of(self, scorer: str, row: ScoredSample) -> dict[str, Any]:
        status = "error" if row.answer is None else row.answer.status
        about = {"sample_id": row.answers.sample_id, "epoch": row.answers.epoch, "scorer": scorer, "status": status}
        return {**self.head, **about}

    def scored(self, rows: Mapping[str, Sequence[ScoredSample]]) -> Iterator[ScoredRow]:
        """The lines of the scored rows alone."""
        for scorers in zip(*rows.values(), strict=True):
            for scorer, row in zip(rows, scorers, strict=True):
                metadata = row.answers.selected.sample.metadata
                yield ScoredRow(
                    **self._head_of(scorer, row),
                    scores=row.scores,
                    failures=row.failures,
                    groups={name: str(metadata[name]) for name in self.groups if name in metadata},
                    cluster=cluster_of(row.answers.selected, self.cluster),
                )


def unchanged_stages(protocol: Protocol) -> frozenset[str]:
    """The stages that are played the clips as they were before a perturbation."""
    return frozenset(stage.name for stage in protocol.stages if stage.unchanged)


def scorer_details(protocol: Protocol) -> dict[str, Callable[[Sample, Answer], str]]:
    """By scorer, what the page shows of a sample beyond numbers."""
    return {scorer.name: scorer.details for scorer in protocol.scorers if scorer.details is not None}


def _recipes(sample: Sample) -> list[Recipe] | None:
    recipes = [recipe_of(clip) for clip in sample.clips]
    return recipes if any(recipe is not None for recipe in recipes) else None


def _output(output: Output) -> OutputRow:
    is_text = len(output.parts) == 1 and output.parts[0].kind == "text"
    score = output.score if output.score is not None and math.isfinite(output.score) else None
    return OutputRow(output.text, output.finish, None if is_text else output.parts, score)


def _plain(value: Field) -> Field:
    """A metadata value that JSON has. Hashes know values by their texts, so a text may stand for any other."""
    if value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value)):
        return value
    return str(value)
