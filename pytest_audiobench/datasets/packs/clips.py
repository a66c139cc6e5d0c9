"""Which clips a folder has of which label: an index, a table, or a sub-folder for each label. Nothing is decoded."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.packs.labels import slug
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.bounded_lines import bounded_lines
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.io.user_documents import read_document

INDEX = "clips.json"
AUDIO = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aif", ".aiff", ".au")

_MOST_CLIPS = 1_000_000
_MOST_INDEX_BYTES = 50_000_000

ClipsByLabel: TypeAlias = Mapping[str, tuple[Clip, ...]]
FILES = ("filename", "slice_file_name", "file", "path", "audio")
LABELS = ("category", "class", "attribute_label", "label", "sound")
_FOLDERS = ("", "meta", "metadata")
_LONGEST_LINE_BYTES = 100_000


def clips_in(root: DataRoot) -> ClipsByLabel:
    """The clips of each label in ``root``, by the labels' slugs, in the order of the files' names.

    The first of these is read: ``clips.json`` ({label: [path]}), a labelled table (``esc50.csv``), sub-folders named by
    labels. Raises UsageError for paths and links that leave the folder, and with all mistakes of an index or table.
    """
    paths_by_label: dict[str, set[str]] = {}
    folder = root.folder
    mistakes = Mistakes()
    if (folder / INDEX).is_file():
        rows = _index_rows(checked_inside(folder / INDEX, folder), mistakes)
    elif (table := table_in(folder)) is not None:
        rows = _labelled_rows(checked_inside(table, folder), folder, mistakes)
    else:
        rows = _folder_rows(folder)
    with mistakes.catching():
        for count, (label, path) in enumerate(rows):
            if count == _MOST_CLIPS:
                raise UsageError(f"{root.folder} holds more than {_MOST_CLIPS} clips; split it into several packs")
            if path.isprintable():
                paths_by_label.setdefault(label, set()).add(path)
            else:
                mistakes.add(f"{root.folder}: the name {path!a} is not plain text; rename the file")
    mistakes.check()
    return {
        label: tuple(Clip(FileSource(root, path)) for path in sorted(paths))
        for label, paths in sorted(paths_by_label.items())
    }


def checked_inside(path: Path, root: Path) -> Path:
    """``path``, which lies in ``root``. Raises UsageError where it is a link that leads out of it."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise UsageError(f"{path} is a link that leads out of {root}; put the file itself there")
    return path


def _index_rows(index: Path, mistakes: Mistakes) -> Iterator[tuple[str, str]]:
    content = read_document(index, _MOST_INDEX_BYTES)
    if not isinstance(content, dict):
        raise UsageError(f"{index} is not a JSON object; write it as {{label: [path, …]}}")
    names: dict[str, str] = {}
    for name, paths in content.items():
        label = slug(name)
        if not label or label in names:
            other = f"means the label {label!r} as {names[label]!r} does" if label else "has no letter or digit"
            mistakes.add(f"{index}: its key {name[:80]!r} {other}; rename it")
        names.setdefault(label, name)
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            mistakes.add(f"{index}: its {name[:80]!r} is not a list of paths; write paths beside the index")
            continue
        for path in paths:
            try:
                yield label, relative_path(path)
            except ValueError as error:
                mistakes.add(f"{index}: its {name[:80]!r} cannot be used: {error}")


def _folder_rows(folder: Path) -> Iterator[tuple[str, str]]:
    """``dog_bark/1.wav``; hidden files and folders, and folders without sounds, are skipped."""
    labels: dict[str, str] = {}
    for name in _names(folder, folder):
        if not (folder / name).is_dir():
            continue
        sounds = [file for file in _names(folder / name, folder) if file.lower().endswith(AUDIO)]
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


def _names(folder: Path, root: Path) -> list[str]:
    """The names in ``folder`` that are not hidden. Raises UsageError for a link that leads out of ``root``."""
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    checked_inside(Path(entry.path), root)
                names.append(entry.name)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read ({error.strerror}); correct its permissions") from None
    return sorted(names)


def table_in(folder: Path) -> Path | None:
    """The CSV file in ``folder``, ``meta`` or ``metadata`` that lists labelled clips. Raises UsageError for two."""
    for name in _FOLDERS:
        tables = [path for path in sorted((folder / name).glob("*.csv")) if path.is_file() and _columns(path)]
        if len(tables) > 1:
            raise UsageError(f"{tables[0]} and {tables[1].name} both list labelled clips; keep one of them in the pack")
        if tables:
            return tables[0]
    return None


def _labelled_rows(table: Path, root: Path, mistakes: Mistakes) -> Iterator[tuple[str, str]]:
    """Each row's label and its clip's path inside ``root``, which is looked for next to the table and in ``audio``.

    A row without either, or with a path that leaves the folder, is a mistake.
    """
    columns = _columns(table)
    if columns is None:
        raise UsageError(f"{table} lists no labelled clips; it needs a column filename and a column category")
    file_column, label_column = columns
    beside = table.parent.relative_to(root).as_posix()
    folders = [folder for folder in dict.fromkeys((beside, "audio", ".")) if (root / folder).is_dir()]
    cells = _cells(table)
    _, header = next(cells)
    for number, values in cells:
        if len(values) != len(header):
            widths = f"{len(values)} cells under a header of {len(header)}"
            mistakes.add(f"{table}, line {number} has {widths}; correct it")
            continue
        row = dict(zip(header, values, strict=True))
        label = slug(row.get(label_column) or "")
        if not label:
            mistakes.add(f"{table}, line {number} has no {label_column}; say what is heard")
        try:
            name = relative_path((row.get(file_column) or "").strip())
        except ValueError as error:
            mistakes.add(f"{table}, line {number}: {error}")
            continue
        if (fold := row.get("fold", "")).isdecimal() and (root / f"audio/fold{fold}").is_dir():
            yield label, f"audio/fold{fold}/{name}"
            continue
        place = next((folder for folder in folders if (root / folder / name).is_file()), folders[0])
        yield label, relative_path(f"{place}/{name}")


def _columns(table: Path) -> tuple[str, str] | None:
    header = next(_cells(table), (0, []))[1]
    file = next((name for name in FILES if name in header), None)
    label = next((name for name in LABELS if name in header), None)
    return (file, label) if file and label else None


def _cells(table: Path) -> Iterator[tuple[int, list[str]]]:
    last = 0

    def texts() -> Iterator[str]:
        nonlocal last
        for number, line in bounded_lines(table, _LONGEST_LINE_BYTES):
            last = number
            try:
                yield line.decode("utf-8") + "\n"
            except UnicodeDecodeError:
                raise UsageError(f"{table}, line {number} is not UTF-8; save the file as UTF-8") from None

    try:
        for row in csv.reader(texts(), strict=True):
            if row:
                yield last, row
    except csv.Error as error:
        raise UsageError(f"{table}, line {last} is not CSV ({error}); correct its quotes") from None


def clips_by_label(dataset: Dataset, by: str, places: Places) -> ClipsByLabel:
    """The clips of a data set by its field ``by``. Raises UsageError for a sample without it, or of several clips."""
    labelled: dict[str, dict[Clip, None]] = {}
    for sample in dataset.read(places):
        label = slug(str(sample.metadata.get(by) or ""))
        if not label or len(sample.clips) != 1:
            raise UsageError(
                f"{dataset.name}: its sample {sample.id!r} has {len(sample.clips)} clips and the {by} {label!r}; for a "
                "pack every sample needs one clip, and what is heard in it"
            )
        labelled.setdefault(label, {})[sample.clips[0]] = None
    return {label: tuple(sorted(clips, key=lambda clip: str(clip.source))) for label, clips in sorted(labelled.items())}
