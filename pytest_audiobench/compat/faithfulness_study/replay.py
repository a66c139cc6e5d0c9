"""Replayed answers of the study: a folder of ``baseline_animal_REAS.jsonl`` and the like, next to its manifests.

Rows are of id and ``raw_model_outputs`` (one text a run) or ``raw_conditioned_output`` (one text), flat or in folders
(``animal/mask/p20/baseline_animal_REAS.jsonl``). A file's path says which *variant* of the answers it holds
(``variants.py``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.compat.faithfulness_study.manifest import SUFFIX
from pytest_audiobench.compat.faithfulness_study.question_join import QuestionJoin, StudyQuestion
from pytest_audiobench.compat.faithfulness_study.variants import (
    FRIENDLY,
    change_of,
    is_answer,
    requested_variant,
    variant_of,
)
from pytest_audiobench.errors import UnsuitableModel, UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.models.messages import Request, Response
from pytest_audiobench.models.replay.recorded_run import records

CRASHES = ("error", "unanswered")

FIELDS = ("raw_model_outputs", "raw_conditioned_output")

CRASH = "CRASH:"
"""How an answer begins that the study's run did not get."""

_WORD = re.compile(r"\w+")
_BY_REQUEST = "by request"
_MOST_FILES = 10_000
_NO_ANSWERS = ("predictions.jsonl", "processed.jsonl", "scored.jsonl")
_JUDGED = ("similarity_score", "consistency_score")
"""Fields of rows in which a judge compared two reasonings: the study keeps them next to the answers."""


class _Recorded(NamedTuple):
    """What one row holds: a text for each epoch, None where the study's run left none."""

    texts: Sequence[str | None]
    place: str


class StudyAnswers:
    """A study's answers, joined to requests by content.

    ``answers`` names the variant that answers whatever is asked. Without it each request says itself which it wants
    (``variants.py``); a folder of one variant gives it to every question about an unchanged clip. A row that says
    "CRASH: …" is an error of its sample, or with ``crashes="unanswered"`` an empty answer, as the study counts it.
    Raises UsageError for a variant that is not there, and for files of another layout.
    """

    def __init__(
        self, files: Sequence[Path], folder: Path, join: QuestionJoin, answers: str | None, crashes: str = "error"
    ) -> None:
        self._variants: dict[str, list[Path]] = {}
        for file in files:
            self._variants.setdefault(variant_of(file, folder, join.datasets), []).append(file)
        self._join, self._crashes, self._place = join, crashes, folder.name
        self._whatever_is_asked = None if answers is None else _variant_called(answers, self._variants, folder)
        self._rows: dict[str, dict[str, _Recorded]] = {}
        self._datasets: dict[str, set[str]] = {}
        chosen = sorted(self._variants) if answers is None else [str(self._whatever_is_asked)]
        for variant in chosen[: 1 if len(chosen) == 1 else 0]:
            self._rows_of(variant)
        used = sorted(file for variant in chosen for file in self._variants[variant])
        self.fingerprint: Mapping[str, str] = {
            "adapter": "replay/1",
            "layout": "study",
            "answers": digest([[file.name, file_digest(file)] for file in used]),
            "variant": chosen[0] if len(chosen) == 1 else _BY_REQUEST,
            "manifests": join.digest,
            "crashes": crashes,
        }

    def response(self, request: Request) -> Response:
        """The recorded answer. Raises UnsuitableModel where the study never asked anything of this kind."""
        missing = f"no recorded answer for {request.sample_id} in {self._place}"
        if (question := self._join.asked(request)) is None:
            self._check_clips(request)
            return Response(error=f"{missing}: its manifests hold no such audio, options and question")
        if (row := self._rows_of(self._variant(request, question)).get(question.recorded_id)) is None:
            return Response(error=f"{missing} (there it is {question.recorded_id})")
        if request.epoch >= len(row.texts):
            return Response(error=f"{missing} ({row.place}) in epoch {request.epoch}: it holds {len(row.texts)}")
        if (text := row.texts[request.epoch]) is None or text.startswith(CRASH):
            if self._crashes == "unanswered":
                return Response.of("", "unknown")
            return Response(error=f"{missing} ({row.place}): the recorded run crashed there ({(text or 'null')[:200]})")
        return Response.of(text, "unknown")

    def _variant(self, request: Request, question: StudyQuestion) -> str:
        if self._whatever_is_asked is not None:
            return self._whatever_is_asked
        only = next(iter(self._variants))
        if len(self._variants) == 1 and is_answer(request) and change_of(request) == "":
            return only
        if (wanted := requested_variant(request, question)) in self._variants:
            self._rows_of(wanted)
            if question.dataset in self._datasets[wanted]:
                return wanted
        raise UnsuitableModel(
            f"{self._place} holds no answers to what is asked here of {question.dataset}; it has "
            f"{', '.join(sorted(self._variants))} (answers=NAME gives one of them to whatever is asked)"
        )

    def _check_clips(self, request: Request) -> None:
        """Raises UnsuitableModel where the study has this question, but never asked it about what is played."""
        if self._whatever_is_asked is not None:
            return
        if not request.clips:
            raise UnsuitableModel("the study recorded no answers to questions without audio")
        if self._join.datasets.isdisjoint(_WORD.findall(request.dataset.lower())):
            raise UnsuitableModel(f"{self._place} holds no answers to {request.dataset}")
        if self._join.is_of_another(request):
            raise UnsuitableModel("the study recorded no answers about another sample's clip")

    def _rows_of(self, variant: str) -> dict[str, _Recorded]:
        if variant not in self._rows:
            rows = _rows_in(self._variants[variant])
            self._rows[variant] = rows
            self._datasets[variant] = {self._join.dataset_of[id_] for id_ in rows if id_ in self._join.dataset_of}
        return self._rows[variant]


def files_of_answers(folder: Path) -> list[Path]:
    """The files of answers in ``folder`` and its folders, in order of their paths.

    Manifests, hidden files, folders behind symbolic links, runs of this project and files of a judge's comparisons are
    passed over. Raises UsageError for a folder of over 10,000 files of lines.
    """
    files: list[Path] = []
    for place, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if name != "manifests" and not name.startswith(".")]
        files += [Path(place, name) for name in names if _may_be_answers(name)]
        if len(files) > _MOST_FILES:
            raise UsageError(f"{folder} holds over {_MOST_FILES:,} files; point to the folder of one model's answers")
    return [file for file in sorted(files) if not _is_judged(file)]


def _may_be_answers(name: str) -> bool:
    is_other = name in _NO_ANSWERS or name.endswith(f"{SUFFIX}.jsonl")
    return name.endswith(".jsonl") and not name.startswith(".") and not is_other


def _is_judged(file: Path) -> bool:
    try:
        first: Mapping[str, Any] = next((row for _, row in records(file)), {})
    except UsageError:
        # A broken file is named when it is read.
        return False
    return any(field in first for field in _JUDGED) and not any(field in first for field in FIELDS)


def _variant_called(answers: str, variants: Mapping[str, Sequence[Path]], folder: Path) -> str:
    if (variant := FRIENDLY.get(answers.lower(), answers.lower())) not in variants:
        raise UsageError(f"{folder} holds no answers {answers!r}; answers=… may be {_variant_list(variants)}")
    return variant


def _variant_list(variants: Mapping[str, Sequence[Path]]) -> str:
    friendly = {variant: name for name, variant in FRIENDLY.items()}
    counted = {variant: len(_rows_in(files)) for variant, files in sorted(variants.items())}
    return ", ".join(
        f"{variant}{f' or {friendly[variant]}' if variant in friendly else ''} ({count} answers)"
        for variant, count in counted.items()
    )


def _rows_in(files: Iterable[Path]) -> dict[str, _Recorded]:
    rows: dict[str, _Recorded] = {}
    for file in files:
        for line, row in records(file):
            recorded_id, place = row.get("id"), f"{file.name}, line {line}"
            if not isinstance(recorded_id, str):
                raise UsageError(f"{file}, line {line} has no id: it is not a row of recorded answers")
            texts = texts_of(file, line, row)
            # Labels that were recovered afterwards are there too, with the same texts.
            if recorded_id in rows and rows[recorded_id].texts != texts:
                raise UsageError(
                    f"{recorded_id!r} is answered twice: in {rows[recorded_id].place} and in {file.parent / place}"
                )
            rows.setdefault(recorded_id, _Recorded(texts, place))
    return rows


def texts_of(file: Path, line: int, row: Mapping[str, Any]) -> Sequence[str | None]:
    """The texts that a row of answers holds, one for each epoch; a list of none is an answer that was not had.

    Raises UsageError for another layout.
    """
    if (field := next((field for field in FIELDS if field in row), None)) is None:
        raise UsageError(f"{file}, line {line} has neither {' nor '.join(FIELDS)}: it is not a row of recorded answers")
    written = row[field]
    texts = (written or [None]) if isinstance(written, list) else [written]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise UsageError(f"{file}, line {line} holds something other than texts in {field}")
    return texts
