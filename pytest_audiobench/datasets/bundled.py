"""The audio that comes with the package: synthetic speech and sounds with answer keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.errors import FatalError, UsageError

Task: TypeAlias = Literal["digits", "emotion", "language", "sounds", "mixtures", "speech_presence", "transcription"]

_GROUPS = {"digits": ("voice",), "emotion": ("delivery",), "language": ("language",), "sounds": ("sound",)}

_NOTES = {"emotion": "synthetic delivery (pitch, rate and energy of a speech synthesiser), not felt emotion"}

_PACKAGE = Path(__file__).resolve().parents[1]


def fixtures_folder() -> Path:
    """The folder of bundled files, inside the package or next to it. Raises FatalError when neither is there."""
    candidates = (_PACKAGE / "fixtures", _PACKAGE.parent / "fixtures")
    for folder in candidates:
        if (folder / "bundled").is_dir():
            return folder
    searched = " and ".join(map(str, candidates))
    raise FatalError(f"the bundled audio is missing (looked for {searched}); install the package again")


def bundled_folder() -> Path:
    """The folder of the bundled audio and its manifests. Raises FatalError when it is missing."""
    return fixtures_folder() / "bundled"


def bundled(task: Task) -> Dataset:
    """One task on the bundled audio.

    ``emotion`` is calm, excited or subdued *delivery*, made by pitch, rate and energy, without emotion.
    Raises UsageError for a task that is not bundled.
    """
    if task not in get_args(Task):
        raise UsageError(f"there is no bundled task {task!r}; there are {', '.join(get_args(Task))}")
    groups = _GROUPS.get(task, ())
    dataset = manifest(bundled_folder() / f"{task}.jsonl", name=f"bundled/{task}", cluster="recording", groups=groups)
    return replace(dataset, note=_NOTES.get(task, ""))
