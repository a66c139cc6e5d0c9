"""Which recorded id a request is: joined by content, since a study names its samples in its own way.

A request and a row of the study's manifests belong together when the audio's file name and the options are
equal; where several rows are, the one whose question stands in the request. Answer keys are never read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import Request
from pytest_audiobench.models.replay.recorded import records, sha256_of

_SUFFIX = "_manifest"


class _Asked(NamedTuple):
    recorded_id: str
    question: str


class Join:
    """The manifests of a study: JSONL rows of id, question, choices (``(A) dog (B) hen``) and audio_path."""

    def __init__(self, folder: Path) -> None:
        files = sorted(folder.glob("*.jsonl"))
        if not files:
            raise UsageError(f"{folder} holds no manifests (*.jsonl); point to them with manifests=FOLDER")
        self.folder = folder
        self.datasets = frozenset(file.stem.removesuffix(_SUFFIX).lower() for file in files)
        self.digest = digest([[file.name, sha256_of(file)] for file in files])
        self._asked: dict[tuple[str, str], list[_Asked]] = {}
        for file in files:
            self._add(file)

    def recorded_id(self, request: Request) -> str | None:
        """The study's id for what ``request`` asks, None when it did not ask that, or when two rows fit alike."""
        candidates = self._asked.get((_audio_name(request), _spaced(lettered(request.choices))), [])
        if len(candidates) > 1:
            said = _spaced(
                " ".join(part for message in request.messages for part in message.parts if isinstance(part, str))
            )
            candidates = _longest([asked for asked in candidates if asked.question in said])
        return candidates[0].recorded_id if len(candidates) == 1 else None

    def _add(self, file: Path) -> None:
        for line, row in records(file):
            fields = [row.get(name) for name in ("id", "question", "choices", "audio_path")]
            if not all(isinstance(field, str) for field in fields):
                raise UsageError(
                    f"{file}, line {line} lacks id, question, choices or audio_path: it is no manifest row"
                )
            recorded_id, question, choices, audio = map(str, fields)
            key = (audio.rpartition("/")[2], _spaced(choices))
            self._asked.setdefault(key, []).append(_Asked(recorded_id, _spaced(question)))


def manifests_beside(folder: Path) -> Path:
    """Where the manifests of a study's answers in ``folder`` lie. Raises UsageError where there are none."""
    candidates = (folder / "manifests", folder.resolve().parent / "manifests")
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    looked = " and ".join(map(str, candidates))
    raise UsageError(
        f"{folder} holds answers, but not the questions they belong to (looked for {looked}); "
        "point to the study's manifests with manifests=FOLDER"
    )


def lettered(choices: Iterable[str]) -> str:
    """Options as the study's manifests write them."""
    return " ".join(f"({chr(ord('A') + i)}) {choice}" for i, choice in enumerate(choices))


def _audio_name(request: Request) -> str:
    """The file name of the request's one clip; empty, which joins with nothing, for any other."""
    if len(request.clips) != 1 or not isinstance(source := request.clips[0].source, FileSource):
        return ""
    return source.path.rpartition("/")[2]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _longest(candidates: list[_Asked]) -> list[_Asked]:
    """One question may begin another: the longest that was asked is the one that was meant."""
    most = max((len(asked.question) for asked in candidates), default=0)
    return [asked for asked in candidates if len(asked.question) == most]
