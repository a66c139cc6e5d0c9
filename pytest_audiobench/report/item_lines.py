"""The rows of one eval for the run's three line files: the texts in the first only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_audiobench.report.parts import Lines
from pytest_audiobench.runs.evaluate import Evaluation
from pytest_audiobench.runs.scoring import Scored

Row = dict[str, Any]


def lines_of(evaluation: Evaluation) -> Lines:
    """Rows in (epoch, sample) order, samples in hash order, the same in all three files, so that they can be joined
    as they are read; a sample's rows are by stage in the first file, by reading in the others.

    The scored rows hold nothing that differs between two runs of the same answers.
    """
    return Lines(_predictions(evaluation), _processed(evaluation), _scored(evaluation))


def _head(evaluation: Evaluation) -> Row:
    record = evaluation.result.record
    return {"eval": record.eval, "model": record.model, "dataset": record.dataset}


def _predictions(evaluation: Evaluation) -> Iterator[Row]:
    head = _head(evaluation)
    for one in evaluation.answered:
        sample = one.taken.sample
        keys = one.taken.clip_keys or (None,) * len(sample.clips)
        for role, stage in ((stage.role, stage.name) for stage in evaluation.protocol.stages):
            response = one.told.get(stage)
            cut = (response and response.truncated_s) or (0.0,) * len(sample.clips)
            yield {
                **head,
                "sample_id": sample.id,
                "epoch": one.epoch,
                "stage": stage,
                **({} if role == "subject" else {"role": role}),
                "key": one.keys.get(stage),
                "question": sample.question,
                "choices": list(sample.choices),
                "reference": sample.reference,
                "references": list(sample.references),
                "outputs": [{"text": o.text, "finish": o.finish} for o in response.outputs] if response else [],
                "usage": dict(response.usage) if response else {},
                "error": response.error if response else one.error,
                "audio": [
                    {"source": str(clip), "key": key, "duration_s": length, "truncated_s": lost}
                    for clip, key, length, lost in zip(sample.clips, keys, one.taken.durations_s, cut, strict=True)
                ],
            }


def _processed(evaluation: Evaluation) -> Iterator[Row]:
    head = _head(evaluation)
    for readings in zip(*evaluation.rows.values(), strict=True):
        for reading, row in zip(evaluation.rows, readings, strict=True):
            yield {
                **head,
                "sample_id": row.answered.sample_id,
                "epoch": row.answered.epoch,
                "reading": reading,
                "status": "error" if row.answer is None else row.answer.status,
                "value": None if row.answer is None else row.answer.value,
            }


def _scored(evaluation: Evaluation) -> Iterator[Row]:
    head = _head(evaluation)
    groups = evaluation.slice.groups
    for readings in zip(*evaluation.rows.values(), strict=True):
        for reading, row in zip(evaluation.rows, readings, strict=True):
            metadata = row.answered.taken.sample.metadata
            yield {
                **head,
                "sample_id": row.answered.sample_id,
                "epoch": row.answered.epoch,
                "reading": reading,
                "status": "error" if row.answer is None else row.answer.status,
                "scores": None if row.scores is None else dict(row.scores),
                "failures": list(row.failures),
                "groups": {name: str(metadata[name]) for name in groups if name in metadata},
                "cluster": _cluster(evaluation, row),
            }


def _cluster(evaluation: Evaluation, row: Scored) -> str | None:
    # Named even where nothing repeats within this eval: another of its suite may ask about the same recording.
    taken, field = row.answered.taken, evaluation.slice.dataset.cluster
    if field is not None:
        return str(taken.sample.metadata[field]) if field in taken.sample.metadata else None
    return taken.clip_keys[0] if taken.clip_keys else None
