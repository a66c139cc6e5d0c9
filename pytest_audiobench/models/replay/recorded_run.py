"""Answers that were given before, in our own layout: the ``predictions.jsonl`` of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import file_digest
from pytest_audiobench.io.bounded_lines import bounded_lines
from pytest_audiobench.models.messages import Output, Part, Request, Response, Sound, known_finish
from pytest_audiobench.records.lines import AnswerOutput, AnswerRow, OutputRow, PredictionRow
from pytest_audiobench.records.reading import LONGEST_LINE, numbered_lines, read_run

# Earlier answers are what a model said, whatever it said: raw control characters are no reason to refuse a line.
_decode = json.JSONDecoder(strict=False).decode
_REASONED = ("reasoned_choice", "conditioned_choice")


class Answers(Protocol):
    """Earlier answers, found again by request. ``fingerprint`` distinguishes them from any other."""

    fingerprint: Mapping[str, str]

    def response(self, request: Request) -> Response:
        """The recorded answer, or a response with the error that there is none."""


class _Key(NamedTuple):
    dataset: str
    sample_id: str
    stage: str
    epoch: int


class RunAnswers:
    """The answers of one model in a run's ``predictions.jsonl``, by data set, sample, stage and epoch.

    ``model`` is an alias and ``among`` a part of an eval's name; each is needed only where the file holds
    several answers to one request. Raises UsageError when it is needed and absent, or matches nothing.
    """

    def __init__(self, file: Path, model: str | None, among: str | None) -> None:
        self._name = file.parent.name if file.name == "predictions.jsonl" else file.name
        rows = [row for row in _rows(file) if among is None or among in row.eval]
        if not rows:
            raise UsageError(f"{file} holds no answers" + (f" of an eval named like {among!r}" if among else ""))
        chosen = chosen_model(file, Counter(row.model for row in rows), model, "model=ALIAS")
        self._responses = _by_key(file, [row for row in rows if row.model == chosen])
        self.fingerprint: Mapping[str, str] = {
            "adapter": "replay/1",
            "layout": "run",
            "answers": file_digest(file),
            "recorded_model": chosen,
            "eval": among or "",
        }

    def response(self, request: Request) -> Response:
        key = _Key(request.dataset, request.sample_id, request.stage, request.epoch)
        if key in self._responses:
            return self._responses[key]
        return Response(
            error=f"no recorded answer for {key.sample_id} of {key.dataset} (stage {key.stage}, epoch {key.epoch}) "
            f"in {self._name}"
        )


class _Row(NamedTuple):
    line: int
    eval: str
    model: str
    key: _Key
    response: Response


def _rows(file: Path) -> Iterator[_Row]:
    for line, row in numbered_lines(file, AnswerRow):
        dataset = row.dataset
        if row.unchanged:  # asked of the data set without its perturbation, whichever that was
            dataset = dataset.rpartition("+")[0] or dataset
        yield _Row(line, row.eval, row.model, _Key(dataset, row.sample_id, row.stage, row.epoch), _response(row))


def _response(row: AnswerRow) -> Response:
    if row.error is not None:
        return Response(error=f"the recorded run met an error: {row.error}")
    return response_of(row) if row.outputs else Response(error="the recorded run holds no output")


def response_of(row: PredictionRow | AnswerRow) -> Response:
    """The response that a row of ``predictions.jsonl`` holds."""
    usage = {name: count for name, count in (row.usage or {}).items() if type(count) is int}
    sounds = tuple(Sound(s.digest, s.seconds, s.rate_hz, s.silence, s.clipping) for s in row.sounds)
    return Response(tuple(map(_output, row.outputs)), usage, sounds=sounds)


def _output(row: OutputRow | AnswerOutput) -> Output:
    written = [("text", row.text)] if row.parts is None else row.parts
    parts = [Part("audio" if kind == "audio" else "text", value) for kind, value in written]
    return Output(tuple(parts), known_finish(row.finish), row.score)


def chosen_model(place: Path, counts: Counter[str], model: str | None, written: str) -> str:
    """``model``, or the only one of whose answers there are ``counts``. Raises UsageError for none, and for several.

    ``written`` is how the option is said to be written.
    """
    listed = ", ".join(f"{name} ({count} answers)" for name, count in sorted(counts.items()))
    if model is None and len(counts) > 1:
        raise UsageError(f"{place} holds several models' answers: {listed}; choose one with {written}")
    chosen = next(iter(counts)) if model is None else model
    if chosen not in counts:
        raise UsageError(f"{place} holds no answers of model {chosen!r}; it holds {listed}")
    return chosen


def _by_key(file: Path, rows: list[_Row]) -> dict[_Key, Response]:
    """Evals that asked the same share an answer; two that differ (by their prompts) must be distinguished."""
    first: dict[_Key, _Row] = {}
    for row in rows:
        other = first.setdefault(row.key, row)
        if (other.response.outputs, other.response.error) != (row.response.outputs, row.response.error):
            raise UsageError(
                f"{file} holds two answers for {row.key.sample_id} of {row.key.dataset}: of {other.eval} on line "
                f"{other.line} and of {row.eval} on line {row.line}; choose with eval=PART_OF_A_NAME"
            )
    return {key: row.response for key, row in first.items()}


def recorded_style(record: Path, model: str) -> str:
    """The style in which ``model`` was asked to reason, by a run's run.json; "" where that tells none, or several."""
    try:
        items = read_run(record).items
    except UsageError:
        return ""
    # What is as the protocol has it is not among an item's options.
    styles = {
        str(item.options.get("style", "plain")) for item in items if item.model == model and item.protocol in _REASONED
    }
    return styles.pop() if len(styles) == 1 else ""


def records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The JSON objects of a file, one a line, with their line numbers.

    Bytes that are not UTF-8 come through as lone surrogates, to be repaired and counted where answers are
    stored. Raises UsageError, with the line, for anything that is not an object or is over 64 MB.
    """
    for number, line in bounded_lines(path, LONGEST_LINE):
        if not line.strip():
            continue
        try:
            row = _decode(line.decode("utf-8", errors="surrogateescape"))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}, line {number} is not JSON ({error}); it must hold one object a line") from None
        if not isinstance(row, dict):
            raise UsageError(f"{path}, line {number} is JSON but no object; it must hold one object a line")
        yield number, row
