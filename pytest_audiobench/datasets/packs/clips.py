"""Which clips a folder has of which label: an index, a table, or a sub-folder for each label. Nothing is decoded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.packs.labels import slug
from pytest_audiobench.datasets.packs.table import labelled_rows, table_in
from pytest_audiobench.datasets.paths import relative_path
from pytest_audiobench.documents import read_document
from pytest_audiobench.errors import UsageError

INDEX = "clips.json"
AUDIO = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aif", ".aiff", ".au")

_MOST_CLIPS = 1_000_000
_MOST_INDEX_BYTES = 50_000_000

Found: TypeAlias = Mapping[str, tuple[Clip, ...]]


def clips_in(root: DataRoot) -> Found:
    """The clips of each label in ``root``, by the labels' slugs, in the order of the files' names.

    The first of these is read: ``clips.json`` ({label: [path]}), a labelled table (``esc50.csv``), sub-folders named by
    labels. Raises UsageError for paths and links that leave the folder, and for an index that is none.
    """
    table = None if (root.folder / INDEX).is_file() else table_in(root.folder)
    if table is not None:
        named = labelled_rows(table, root.folder)
    else:
        named = _indexed(root.folder / INDEX) if (root.folder / INDEX).is_file() else _foldered(root.folder)
    labels: dict[str, str] = {}
    for label, path in named:
        if labels.setdefault(path, label) != label:
            raise UsageError(
                f"{root.folder}: {path} is a clip of {labels[path]} and of {label}; a clip of a pack has one label, or "
                "it would be wrong to hear the other: leave it out"
            )
        if len(labels) > _MOST_CLIPS:
            raise UsageError(f"{root.folder} holds more than {_MOST_CLIPS} clips; split it into several packs")
    found: dict[str, list[Clip]] = {}
    for path, label in sorted(labels.items()):
        found.setdefault(label, []).append(Clip(FileSource(root, path)))
    return {label: tuple(clips) for label, clips in sorted(found.items())}


def _indexed(index: Path) -> Iterator[tuple[str, str]]:
    content = read_document(index, _MOST_INDEX_BYTES)
    if not isinstance(content, dict):
        raise UsageError(f"{index} is no JSON object; write it as {{label: [path, …]}}")
    written: dict[str, str] = {}
    for name, paths in content.items():
        label = slug(name)
        if not label or label in written:
            other = f"means the label {label!r} as {written[label]!r} does" if label else "has no letter or digit"
            raise UsageError(f"{index}: its key {name[:80]!r} {other}; rename it")
        written[label] = name
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise UsageError(f"{index}: its {name[:80]!r} is no list of paths; write paths beside the index")
        for path in paths:
            try:
                yield label, relative_path(path)
            except ValueError as error:
                raise UsageError(f"{index}: its {name[:80]!r} cannot be used: {error}") from None


def _foldered(folder: Path) -> Iterator[tuple[str, str]]:
    """``dog_bark/1.wav``; hidden files and folders, and folders without sounds, are passed over."""
    labels: dict[str, str] = {}
    for name in _inside(folder, folder):
        if not (folder / name).is_dir():
            continue
        sounds = [file for file in _inside(folder / name, folder) if file.lower().endswith(AUDIO)]
        if not sounds:
            continue
        label = slug(name)
        if not label or label in labels:
            other = f"means the label {label!r} as {labels[label]!r} does" if label else "has no letter or digit"
            raise UsageError(f"{folder}: its sub-folder {name!r} {other}; rename it")
        labels[label] = name
        for file in sounds:
            path = f"{name}/{file}"
            try:
                yield label, relative_path(path)
            except ValueError as error:
                raise UsageError(f"{folder}: a clip cannot be used: {error}") from None


def _inside(folder: Path, root: Path) -> list[str]:
    """The names in ``folder`` that are not hidden. Raises UsageError for a link that leads out of ``root``."""
    names = []
    real = os.path.realpath(root)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(real):
                    raise UsageError(f"{entry.path} is a link that leads out of {root}; put the sound itself there")
                names.append(entry.name)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read ({error.strerror}); correct its permissions") from None
    return sorted(names)
