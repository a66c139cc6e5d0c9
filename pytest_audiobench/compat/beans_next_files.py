"""The files that BEANS-Next leaves of a run and of ``score-from-file``, and its pairs, written of recorded answers.

Rows, names and numbers are those of github earthspecies/beans-next, beans_next/runner/rescorer.py, api/types.py and
scripts/generate_pairs.py (0.1.0). Unlike there, an extractor needs no judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.datasets.label_lists import task_id
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.captions import lacks_captions
from pytest_audiobench.models.messages import AudioSlot, Message
from pytest_audiobench.protocols.bioacoustic.data_set_scores import dataset_scores, means
from pytest_audiobench.protocols.bioacoustic.pipeline import (
    Step,
    Steps,
    Target,
    process,
    steps_of_run,
    steps_of_score_from_file,
)
from pytest_audiobench.protocols.bioacoustic.published_scorers import TARGETS
from pytest_audiobench.protocols.bioacoustic.scoring import sample_scores
from pytest_audiobench.protocols.judged.default_judgings import beans_verdict, points
from pytest_audiobench.protocols.judged.verdicts import without_thoughts
from pytest_audiobench.report.atomic_files import write_text
from pytest_audiobench.rescoring.judge_pass import Judge, task_kind
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

_SCORED = "beans_next.scored_prediction.v1"
_PLACE = "<Audio><AudioHere></Audio>"
_UNSET = ("code_git_sha", "run_config_hash", "prompt_version", "postprocess_version", "scorer_versions", "seed")


class Rules(NamedTuple):
    """By which of BEANS-Next's two pipelines rows are processed: ``verb``, and for score-from-file its task type."""

    verb: str
    task_type: str = ""

    def kind(self, row: RecordedRow) -> str | None:
        """The kind of task: as the file says for ``run``, else only what was given, as there."""
        return self.task_type or (row.stored.get("task_type") or task_kind(row) or None if self.verb == "run" else None)

    def steps(self, rows: Sequence[RecordedRow]) -> Steps:
        """The post-processing of one task's answers by one model."""
        targets = [_target(row) for row in rows]
        if self.verb != "run":
            return steps_of_score_from_file(self.kind(rows[0]), targets)
        options = rows[0].options
        labels = () if options.get("label_source") == TARGETS else options.get("labels") or rows[0].sample.choices
        return steps_of_run(self.kind(rows[0]), tuple(labels) if isinstance(labels, (list, tuple)) else (), targets)


def write_files(folder: Path, rows: Iterator[RecordedRow], rules: Rules, judges: Sequence[Judge]) -> dict[str, Any]:
    """Write the files of each task and model: into ``folder``, or where there are several into ``MODEL/TASK`` below it.

    Returns the means of each summary by its place. Raises UsageError for a folder that is not empty.
    """
    _check_new(folder)
    groups = list(_groups(rows))
    summaries: dict[str, Any] = {}
    for group in groups:
        place = folder if len(groups) == 1 else folder / task_id(group[0].model) / task_id(group[0].eval)
        # Two that are distinguished by other signs than letters and digits would be written over each other.
        place.mkdir(parents=True, exist_ok=place == folder)
        for name, mean in _write_group(place, group, rules, judges).items():
            summaries[str((place / name).relative_to(folder))] = mean
    return summaries


def write_pairs(folder: Path, rows: Iterator[RecordedRow]) -> int:
    """Write ``pairs.jsonl``, a row of prompt, answer and truth for each sample; returns how many."""
    _check_new(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[Mapping[str, Any]] = []
    for group in _groups(rows):
        lines.extend(_pairs(group))
    _write_lines(folder / "pairs.jsonl", lines)
    return len(lines)


def _groups(rows: Iterator[RecordedRow]) -> Iterator[list[RecordedRow]]:
    """The rows of each task and model; of a run's epochs the first, since those files have a sample once."""
    first_epoch = (row for row in rows if row.epoch == 0)
    return (list(group) for _, group in groupby(first_epoch, lambda row: (row.eval, row.model)))


def _check_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not empty: name an empty folder, rows are never added to")


def _write_group(
    place: Path, rows: Sequence[RecordedRow], rules: Rules, judges: Sequence[Judge]
) -> dict[str, Mapping[str, float]]:
    steps, kind = rules.steps(rows), rules.kind(rows[0])
    if "caption" in (kind or "") and (why := lacks_captions("pycocoevalcap")):
        raise UsageError(why)
    processed = [_scored_row(row, process(_text(row), steps).text) for row in rows]
    scores = [_scores(row, done["processed_prediction"], kind) for row, done in zip(rows, processed, strict=True)]
    identity: Any = next((server for row in rows if (server := row.stored.get("server_info"))), {})
    _write_lines(place / "predictions.jsonl", map(_prediction, rows))
    _write_lines(place / "processed_predictions.jsonl", processed)
    pairs = [
        (done["processed_prediction"], _target(row))
        for row, done in zip(rows, processed, strict=True)
        if done["error"] is None and _target(row) is not None
    ]
    mean = {**means(scores), **dataset_scores(pairs, kind)}
    errors = sum(done["error"] is not None for done in processed)

    def write_scored(stem: str, run_id: str, scored: Sequence[Mapping[str, Any]], mean: Mapping[str, float]) -> None:
        _write_lines(place / f"{stem}scored_predictions.jsonl", scored)
        summary = {
            **dict.fromkeys(_UNSET),
            "schema_version": "beans_next.run_summary.v1",
            "run_id": run_id,
            "library_version": _version(),
            "model_identity": identity,
            "n_samples": len(rows),
            "n_errors": errors,
            "metrics": {"mean": mean},
            "task_results": None,
        }
        write_text(place / f"{stem}summary.json", _canonical(summary) + "\n")

    write_scored("", rules.verb, _with_scores(processed, scores), mean)
    write_text(place / "model_identity.json", _canonical(identity) + "\n")
    written: dict[str, Mapping[str, float]] = {"summary.json": mean}
    scored: Sequence[Mapping[str, Any]]
    judged: Sequence[Mapping[str, float]]
    for judge in judges:
        verdicts = [row.verdicts.get(judge.stage) for row in rows]
        if judge.judging == "extract":
            scored, judged = _extracted(rows, processed, verdicts, kind)
            stem, run_id = "judge_extracted_", "judge-extract-from-file"
        else:
            outputs = [
                _verdict(row.sample.id, judge.judging, verdict.text, verdict.error)
                for row, verdict in zip(rows, verdicts, strict=True)
                if verdict is not None
            ]
            _write_lines(place / "judge_outputs.jsonl", outputs)
            by_id = {output["sample_id"]: output["score"] for output in outputs if output["score"] is not None}
            name = "judge_score" if judge.judging == "rubric" else "judge_accuracy"
            judged = [{name: by_id[row.sample.id]} if row.sample.id in by_id else {} for row in rows]
            scored, stem, run_id = processed, "judge_", "judge-score-from-file"
        write_scored(stem, run_id, _with_scores(scored, judged), means(judged))
        written[f"{stem}summary.json"] = means(judged)
    return written


def _extracted(
    rows: Sequence[RecordedRow], processed: Sequence[Mapping[str, Any]], verdicts: Sequence[Any], kind: str | None
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, float]]]:
    """Rows whose text is what an extractor made of the answer, and their scores; no text, no score."""
    steps = Steps(
        (Step("parse_labels_comma"),) if "detection" in (kind or "") else (),
        (Step("normalize_whitespace"), Step("strip_eos")),
    )
    scored: list[Mapping[str, Any]] = []
    scores: list[Mapping[str, float]] = []
    for row, done, verdict in zip(rows, processed, verdicts, strict=True):
        text = "" if verdict is None or verdict.error else without_thoughts(verdict.text).strip()
        after = process(text, steps).text
        scored.append({**done, "processed_prediction": after} if text else done)
        scores.append(sample_scores(_target(row), after, text, kind) if text else {})
    return scored, scores


def _verdict(sample_id: str, judging: str, text: str, error: str | None) -> dict[str, Any]:
    """A judge's item as BEANS-Next keeps it."""
    if error is not None:
        return {"sample_id": sample_id, "score": None, "rationale": None, "error": error}
    verdict, wrong = beans_verdict(without_thoughts(text))
    if judging == "rubric":
        verdict = points(text)
        unread = verdict is None or verdict != verdict
        verdict, wrong = (None, f"Unexpected judge response: {text[:120]!r}") if unread else (verdict, None)
    return {"sample_id": sample_id, "score": verdict, "rationale": None if wrong else text, "error": wrong}


def _pairs(rows: Sequence[RecordedRow]) -> Iterator[dict[str, Any]]:
    rules = Rules("run")
    steps = rules.steps(rows)
    for row in rows:
        done = process(_text(row), steps)
        answer = next(reversed([*row.responses.values()]), None)
        messages = next(iter(row.messages.values()), ())
        yield {
            **dict.fromkeys(("predict_url", "usage", "latency_sec", "batch_roundtrip_sec", "prompt_id")),
            "schema_version": "beans_next.prompt_answer_pair.v1",
            "run_id": row.dataset,
            "model_tag": row.model,
            "server_info": row.stored.get("server_info"),
            "subset": row.stored.get("subset") or row.eval,
            "split": row.stored.get("split") or row.eval,
            "task_id": row.stored.get("task_id") or task_id(row.eval),
            "task_type": rules.kind(row),
            "sample_id": row.sample.id,
            "ground_truth": _target(row),
            "prompt_messages": [_message(message) for message in messages],
            "audio_inputs": [
                {"payload_type": "file_path", "sample_rate_hz": None, "source_path": str(clip.source)}
                for clip in row.sample.clips
            ],
            "raw_predictions": _predictions(row),
            "processed_prediction": done.text,
            "postprocess_warnings": list(done.warnings),
            "finish_reason": answer.finish if answer else None,
            "error": _error(row),
        }


def _message(message: Message) -> dict[str, str]:
    return {
        "role": message.role,
        "content": "".join(_PLACE if isinstance(part, AudioSlot) else part for part in message.parts),
    }


def _prediction(row: RecordedRow) -> dict[str, Any]:
    answer = next(reversed([*row.responses.values()]), None)
    return {
        "schema_version": "predictions_v1",
        "sample_id": row.sample.id,
        "predictions": _predictions(row),
        "finish_reason": row.stored.get("finish_reason", answer.finish if answer else None),
        "usage": row.stored.get("usage"),
        "latency_sec": row.stored.get("latency_sec"),
        "error": _error(row),
        "server_info": row.stored.get("server_info"),
    }


def _scored_row(row: RecordedRow, text: str) -> dict[str, Any]:
    return {
        "schema_version": _SCORED,
        "sample_id": row.sample.id,
        "task_id": row.stored["task_id"] if "task_id" in row.stored else task_id(row.eval),
        "predictions": _predictions(row),
        "processed_prediction": text,
        "targets": _target(row),
        "scores": None,
        "postprocess_version": None,
        "error": _error(row),
    }


def _with_scores(rows: Sequence[Mapping[str, Any]], scores: Sequence[Mapping[str, float]]) -> list[Mapping[str, Any]]:
    return [{**row, "scores": dict(score) or None} for row, score in zip(rows, scores, strict=True)]


def _scores(row: RecordedRow, processed: str, kind: str | None) -> Mapping[str, float]:
    return {} if _error(row) is not None else sample_scores(_target(row), processed, _text(row), kind)


def _text(row: RecordedRow) -> str:
    return next(iter(_predictions(row)), "")


def _predictions(row: RecordedRow) -> list[str]:
    """All that the file has of the answer, else its text."""
    if isinstance(stored := row.stored.get("predictions"), list):
        return stored
    return [response.text for response in list(row.responses.values())[-1:]]


def _target(row: RecordedRow) -> Target:
    if "targets" in row.stored:
        target: Target = row.stored["targets"]
        return target
    return list(row.sample.references) or row.sample.reference


def _error(row: RecordedRow) -> str | None:
    """The error of the asking; that a truth is missing is none there."""
    error: str | None = row.stored.get("error", row.error)
    return error


def _version() -> str:
    from importlib.metadata import version

    return f"pytest-audiobench {version('pytest-audiobench')}"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_text(file, "".join(f"{_canonical(row)}\n" for row in rows))
