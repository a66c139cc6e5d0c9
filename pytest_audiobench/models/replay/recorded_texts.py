"""Answers that were given before, as another tool wrote them down: one text for each sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pytest_audiobench.compat.answer_files import (
    AnswerFile,
    RecordedAnswer,
    answers_of,
    candidates,
    reader_of,
    terms_beside,
)
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.models.messages import Request, Response
from pytest_audiobench.models.replay.recorded_run import chosen_model


class TextAnswers:
    """The answers of one model in the files of another tool, by the ids of samples.

    A request is answered by the eval that is called like its data set, else by all. ``model`` is a name and ``among`` a
    part of an eval's; each is needed only where there are several. Raises UsageError where one is needed and absent, or
    matches nothing, and for a file that no reader knows.
    """

    def __init__(self, target: Path, model: str | None, among: str | None) -> None:
        self._name = target.name
        inside = sorted(path for path in target.rglob("*") if path.is_file())
        files = candidates(inside) if target.is_dir() else [target]
        rows = [row for file in files for row in _rows(file) if among is None or among in row.eval]
        if not rows:
            raise UsageError(
                f"{target} holds no answers to replay" + (f" of an eval named like {among!r}" if among else "")
            )
        chosen = chosen_model(target, Counter(row.model for row in rows), model, "model=NAME")
        self._evals: dict[str, dict[tuple[str, int], Response]] = {}
        for row in rows:
            if row.model == chosen:
                self._evals.setdefault(row.eval, {})[row.id, row.epoch] = _response(row)
        self.fingerprint: Mapping[str, str] = {
            "adapter": "replay/1",
            "layout": "recorded",
            "answers": digest([[file.name, file_digest(file)] for file in files]),
            "recorded_model": chosen,
            "eval": among or "",
        }

    def response(self, request: Request) -> Response:
        """The recorded answer, or a response with the error that there is none, or that there are several."""
        key, dataset = (request.sample_id, request.epoch), request.dataset
        named = next((self._evals[name] for name in (dataset, dataset.rpartition("/")[2]) if name in self._evals), None)
        if named is None and "+" in dataset:
            return Response(error=f"{dataset} is perturbed, and {self._name} holds answers of clips as they are")
        evals = self._evals.values() if named is None else [named]
        responses = list({id(evals[key]): evals[key] for evals in evals if key in evals}.values())
        if len({(response.text if response.outputs else response.error) for response in responses}) > 1:
            listed = ", ".join(name for name, of_eval in self._evals.items() if key in of_eval)
            return Response(error=f"{self._name} holds several answers to {key[0]} ({listed}): choose with eval=PART")
        if responses:
            return responses[0]
        return Response(error=f"no recorded answer for {key[0]} of {dataset} (epoch {key[1]}) in {self._name}")


def _rows(file: Path) -> list[RecordedAnswer]:
    answers = AnswerFile(file, terms_beside(file))
    if (reader := reader_of(answers)) is None:
        raise UsageError(
            f"{file} is neither a run's prediction nor a study's answer, and no reader knows it: name its columns in "
            "answers.toml beside it"
        )
    return answers_of(reader, answers)


def _response(row: RecordedAnswer) -> Response:
    if row.error or row.answer is None:
        return Response(error=f"the recorded run met an error: {row.error or 'no answer is recorded'}")
    return Response.of(row.answer, row.finish)
