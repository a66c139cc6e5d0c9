"""The join of requests to the study's questions: by content, since the study names its samples in its own way.

A request and a row of the study's manifests belong together when the audio's file name and the options are
equal and the row's question is in the request. Answer keys are never read.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.audio.clip import Clip, CombinedSource, FileSource
from pytest_audiobench.compat.faithfulness_study.manifest import Question, manifests_in, name_of, rows
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.models.messages import Message, Request

_MOST_ABOVE = 8
"""Folders above a file of answers that are looked in for its manifests: the study's own lie seven above."""


class StudyQuestion(NamedTuple):
    """A question that the study asked, in which of its data sets; ``words`` are the question's, single-spaced."""

    recorded_id: str
    dataset: str
    words: str


class QuestionJoin:
    """The manifests of a study, by what they ask."""

    def __init__(self, folder: Path) -> None:
        if not (files := manifests_in(folder)):
            raise UsageError(f"{folder} holds no manifests (*.jsonl); point to them with manifests=FOLDER")
        self.folder = folder
        self.datasets = frozenset(map(name_of, files))
        self.digest = digest([[file.name, file_digest(file)] for file in files])
        self.dataset_of: dict[str, str] = {}
        self._asked: dict[tuple[str, tuple[str, ...]], list[StudyQuestion]] = {}
        self._words: dict[tuple[str, ...], set[str]] = {}
        self._recordings: set[str] = set()
        for file in files:
            for row in rows(file):
                self._add(row.question, name_of(file))

    def asked(self, request: Request) -> StudyQuestion | None:
        """What the study asked that ``request`` asks; None when it did not ask that, or when two rows fit alike."""
        key = (_recording(request), tuple(map(spaced, request.choices)))
        said = spaced(all_text(request.messages))
        fitting = [question for question in self._asked.get(key, []) if question.words in said]
        # One question may begin another: the longest that was asked is the one that was meant.
        most = max((len(question.words) for question in fitting), default=0)
        candidates = [question for question in fitting if len(question.words) == most]
        return candidates[0] if len(candidates) == 1 else None

    def is_of_another(self, request: Request) -> bool:
        """Whether the study asked the question of ``request``, and has its recording, but not the two together."""
        if self.asked(request) is not None or _recording(request) not in self._recordings:
            return False
        said = spaced(all_text(request.messages))
        return any(words in said for words in self._words.get(tuple(map(spaced, request.choices)), ()))

    def _add(self, question: Question, dataset: str) -> None:
        options = tuple(map(spaced, question.choices))
        study_question = StudyQuestion(question.id, dataset, spaced(question.question))
        self._asked.setdefault((question.recording, options), []).append(study_question)
        self._words.setdefault(options, set()).add(study_question.words)
        self._recordings.add(question.recording)
        self.dataset_of[question.id] = dataset


def manifests_beside(folder: Path) -> Path:
    """Where the manifests of a study's answers in ``folder`` lie: ``manifests`` in it or above, or ``data`` next to
    ``result``, as in the study's own repository. Raises UsageError where there are none.
    """
    inside = folder.resolve()
    above = [inside, *inside.parents][:_MOST_ABOVE]
    candidates = [place / "manifests" for place in above]
    for inner, parent in pairwise(above):
        if inner.name in ("result", "results", "output"):
            candidates += [parent / "data", parent / "processed_input"]
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    searched = " and ".join(map(str, candidates[:2]))
    raise UsageError(
        f"{folder} holds answers, but not the questions they belong to (looked for {searched}, and further above); "
        "point to the study's manifests with manifests=FOLDER"
    )


def file_of(clip: Clip) -> FileSource | None:
    """The file that a clip plays, or that is the first of those it was put together of; None for a made sound."""
    while isinstance(clip.source, CombinedSource):
        clip = clip.source.clips[0]
    return clip.source if isinstance(clip.source, FileSource) else None


def all_text(messages: Iterable[Message]) -> str:
    """All texts of messages."""
    return " ".join(part for message in messages for part in message.parts if isinstance(part, str))


def spaced(text: str) -> str:
    """``text`` with single spaces."""
    return " ".join(text.split())


def _recording(request: Request) -> str:
    """The file name of the request's one clip; empty, which joins with nothing, for any other."""
    source = file_of(request.clips[0]) if len(request.clips) == 1 else None
    return "" if source is None else source.path.rpartition("/")[2]
