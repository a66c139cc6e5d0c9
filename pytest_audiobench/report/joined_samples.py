"""A run's line files joined again: one record per sample and epoch, streamed; and whole evals, ready to compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation.comparable_eval import (
    ComparableEval,
    ComparableSample,
    audio_digest,
    metrics_by_scorer,
    prompt_digest,
    truth_digest,
)
from pytest_audiobench.evaluation.record import PerturbationRecord
from pytest_audiobench.protocols.protocol import first_wording_stages
from pytest_audiobench.report.json_lines import Row, read_lines
from pytest_audiobench.report.run_writer import COMPARED_FILE, LINE_FILES

Key: TypeAlias = tuple[str, str, str, int]

_OF_SAMPLE = ("eval", "model", "dataset", "sample_id", "epoch", "question", "choices", "reference")


class Joined(NamedTuple):
    """One sample in one epoch."""

    predictions: list[Row]
    processed: list[Row]
    scored: list[Row]
    compared: Row | None = None
    """By what the baseline's answer differs, where there is a baseline that has the sample."""


def joined(folder: Path) -> Iterator[Joined]:
    """The samples of a run in its order, with at most one of them in memory.

    All files hold one order of samples. Raises FatalError where they do not belong together.
    """
    processed = _Follower(folder / LINE_FILES["processed"])
    scored = _Follower(folder / LINE_FILES["scored"])
    compared = _Follower(folder / COMPARED_FILE) if (folder / COMPARED_FILE).exists() else None
    for key, rows in groupby(read_lines(folder / LINE_FILES["predictions"]), _key):
        before = next(iter(compared.take(key)), None) if compared else None
        yield Joined(list(rows), processed.take(key), scored.take(key), before)
    for follower in (processed, scored, *([compared] if compared else [])):
        follower.check_end()


def flat(sample: Joined) -> dict[str, Any]:
    """A sample as one flat mapping: what was asked, what was answered, and what each scorer made of it."""
    rows, first, last = _subject_rows(sample)
    outputs = last["outputs"] or [{"text": None, "finish": None}]
    scored = {row["scorer"]: row for row in sample.scored}
    return {
        **{name: first[name] for name in _OF_SAMPLE},
        "references": first.get("references", []),
        "text": outputs[0]["text"],
        "finish": outputs[0]["finish"],
        "error": next((row["error"] for row in rows if row["error"] is not None), None),
        "stages": {row["stage"]: [output["text"] for output in row["outputs"]] for row in sample.predictions},
        "audio": played(sample)["audio"],
        "scorers": {
            row["scorer"]: {
                "status": row["status"],
                "value": row["value"],
                "scores": scored.get(row["scorer"], {}).get("scores") or {},
            }
            for row in sample.processed
        },
        "groups": next((row["groups"] for row in sample.scored), {}),
        "cluster": next((row["cluster"] for row in sample.scored), None),
    }


def played(sample: Joined) -> Row:
    """The row that says what was played: not of a stage that was played the clips before a perturbation."""
    return next((row for row in sample.predictions if not row.get("unchanged")), sample.predictions[0])


def _subject_rows(sample: Joined) -> tuple[list[Row], Row, Row]:
    """The predictions of the model, the first of them, and the one whose text is the answer."""
    # What a judge said of an answer is no answer.
    rows = [row for row in sample.predictions if "role" not in row]
    stages = {row["stage"]: row for row in rows}
    return rows, rows[0], stages[first_wording_stages(stages)[-1]]


class _Follower:
    """Reads a file beside the predictions: the rows of one sample at a time, when they are its next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._groups = groupby(read_lines(path), _key)
        self._next: tuple[Key, Iterator[Row]] | None = next(self._groups, None)

    def take(self, key: Key) -> list[Row]:
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


def _key(row: Row) -> Key:
    return row["eval"], row["model"], row["sample_id"], row["epoch"]


def read_comparable_evals(
    folder: Path, record: Mapping[str, Any], source: str, texts: bool = True
) -> dict[tuple[str, str], ComparableEval]:
    """The evals of the finished run in ``folder``, whose run.json is ``record``, by (eval, model alias).

    Evals that measured nothing are left out, and controls, which serve another's comparison. ``texts`` keeps the
    answers. Raises FatalError where the line files are not those of a run.
    """
    items = {(item["eval"], item["model"]): item for item in record["items"] if item["scorers"] and not item["control"]}
    rows: dict[tuple[str, str], list[ComparableSample]] = {key: [] for key in items}
    for sample in joined(folder):
        key = (sample.predictions[0]["eval"], sample.predictions[0]["model"])
        if key in rows and sample.scored:
            rows[key].append(_comparable_sample(sample, texts))
    models = {model["alias"]: model for model in record["models"]}
    return {key: _comparable_eval(item, models.get(key[1], {}), rows[key], source) for key, item in items.items()}


def _comparable_eval(
    item: Mapping[str, Any], model: Mapping[str, Any], rows: list[ComparableSample], source: str
) -> ComparableEval:
    perturbation = PerturbationRecord.read(item.get("perturbation"))
    return ComparableEval(
        source=source,
        eval=item["eval"],
        suite=item["suite"],
        model=item["model"],
        spec=model.get("spec", ""),
        dataset=item["dataset"],
        protocol=item["protocol"],
        epochs=item["epochs"],
        limited=item["limited"],
        cluster=item["cluster"],
        scorers={scorer["name"]: scorer["signature"] for scorer in item["scorers"]},
        metrics=metrics_by_scorer(
            [(metric["scorer"], metric["name"]) for metric in item["metrics"] if not metric["group"]]
        ),
        hashes=item["hashes"],
        rows=rows,
        noise=model.get("noise"),
        perturbation=None if perturbation is None else asdict(perturbation),
    )


def _comparable_sample(sample: Joined, texts: bool) -> ComparableSample:
    rows, first, last = _subject_rows(sample)
    headline, outputs = sample.scored[0], last["outputs"]
    return ComparableSample(
        sample_id=first["sample_id"],
        epoch=first["epoch"],
        audio=audio_digest([clip["key"] for clip in played(sample)["audio"]]),
        prompt=prompt_digest({row["stage"]: row.get("prompt") for row in rows}),
        cluster=headline["cluster"],
        groups=headline["groups"],
        statuses={row["scorer"]: row["status"] for row in sample.scored},
        scores={row["scorer"]: row["scores"] for row in sample.scored},
        failures=tuple(headline["failures"]),
        text=outputs[0]["text"] if texts and outputs else None,
        truth=truth_digest(first["choices"], first["reference"], first.get("references", ())),
    )
