"""Which tool wrote a manifest, by its path and its first row, and what reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.audio.clip import DataRoot, FileSource
from pytest_audiobench.datasets import speech_manifests as speech
from pytest_audiobench.datasets.published_layouts import read_json
from pytest_audiobench.datasets.table_rows import Row, jsonl_rows
from pytest_audiobench.errors import UsageError

_TEXTS = ("text", "answer")
_PARQUET, _ARROW = ".parquet", ".arrow"
_LINES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".json.gz")
_LHOTSE = ({"recording_id", "start", "duration"}, {"sources", "sampling_rate"})
"""What supervisions have, and what recordings have."""
_SHARD = re.compile(r"(.*?)-\d{5}-of-\d{5}\.parquet")


class Format(NamedTuple):
    """How a tool lists audio."""

    tool: str
    """Whose it is."""
    file: Path
    """What the places of rows begin with."""
    rows: Callable[[speech.Refuse], Iterator[tuple[int, Row]]]
    """What is wrong with a line is given to the function, and the line is skipped."""
    audio: tuple[str, ...] = ("audio",)
    """The names of a sample's fields, where the caller gives none: the first that rows have."""
    answer: tuple[str, ...] = _TEXTS
    unit: str = "line"


def format_of(file: Path, root: DataRoot, names: Callable[[str], str]) -> Format | None:
    """The format of a file or a folder; None for a manifest of our own, a folder of classes, and for none.

    ``names`` says how another path would be read. Raises UsageError for a folder of several, of which one is to be
    named.
    """
    if file.is_dir():
        return _folder_format(file, root, names)
    if file.name.lower().endswith(_PARQUET):
        return _table(file.parent, root, [path.name for path in _glob(file)] or [file.name])
    if file.suffix == ".scp":
        return _kaldi(file.parent, root)
    return _lines_format(file, root) if file.is_file() and file.name.lower().endswith(_LINES) else None


def _glob(file: Path) -> list[Path]:
    return sorted(file.parent.glob(file.name)) if "*" in file.name else [file]


def _folder_format(folder: Path, root: DataRoot, names: Callable[[str], str]) -> Format | None:
    if (folder / "wav.scp").is_file():
        return _kaldi(folder, root)
    if (folder / "state.json").is_file():
        return _saved_to_disk(folder, root)
    if (folder / "dataset_dict.json").is_file():
        splits = [str(split) for split in _members(folder / "dataset_dict.json").get("splits") or ("…",)]
        raise UsageError(f"{folder} holds the splits {', '.join(map(repr, splits))}; name one: {names(splits[0])}")
    if tables := sorted(path.name for path in folder.glob("*.parquet") if path.name != "metadata.parquet"):
        splits = sorted({match[1] if (match := _SHARD.fullmatch(name)) else name for name in tables})
        if len(splits) > 1:
            example = names(f"{splits[0].removesuffix(_PARQUET)}*.parquet")
            raise UsageError(f"{folder} holds {', '.join(map(repr, splits))} as Parquet; name one: {example}")
        return _table(folder, root, tables)
    for kind in ("cuts", "supervisions"):
        files = sorted(folder.glob(f"*{kind}*.jsonl")) + sorted(folder.glob(f"*{kind}*.jsonl.gz"))
        if len(files) > 1:
            listed = ", ".join(repr(file.name) for file in files[:10])
            raise UsageError(f"{folder} holds {listed}; name one: {names(files[0].name)}")
        if files:
            return _lines_format(files[0], root)
    return None


def _kaldi(folder: Path, root: DataRoot) -> Format:
    file = folder / ("segments" if (folder / "segments").is_file() else "wav.scp")
    return Format("Kaldi", file, partial(speech.kaldi_rows, folder, speech.Recordings(file, root)))


def _lines_format(file: Path, root: DataRoot) -> Format | None:
    # What is not a line of objects is said when the rows are read.
    first = next((row for _, row in jsonl_rows(file, lambda _: None)), {})
    recordings = speech.Recordings(file, root)
    if "audio_filepath" in first and "audio" not in first:
        beside = speech.Recordings(file, root, anywhere=False)
        return Format("NeMo", file, partial(speech.nemo_rows, file, beside), ("audio_filepath",))
    if str(first.get("type", "")).endswith("Cut") or any(keys <= first.keys() for keys in _LHOTSE):
        return Format("Lhotse", file, partial(speech.lhotse_rows, file, recordings))
    if file.suffix == ".json" and (not first or "utts" in first):
        return Format("ESPnet", file, partial(speech.espnet_rows, file, recordings), unit="utterance")
    return None


def _members(file: Path) -> dict[str, Any]:
    content = read_json(file)
    if not isinstance(content, dict):
        raise UsageError(f"{file} is not a JSON object; save the data set again")
    return content


def _saved_to_disk(folder: Path, root: DataRoot) -> Format:
    """A data set of Hugging Face's ``datasets``, as ``save_to_disk`` writes it."""
    state = _members(folder / "state.json")
    if state.get("_indices_data_files"):
        raise UsageError(f"{folder} has rows in an order of its own; save it again after flatten_indices()")
    listed = state.get("_data_files")
    files = (
        [str(entry.get("filename")) for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )
    if not files or not all(name.endswith(_ARROW) for name in files):
        raise UsageError(f"{folder / 'state.json'} names no Arrow files; save the data set again")
    info = folder / "dataset_info.json"
    features = _members(info).get("features") if info.is_file() else None
    return _table(folder, root, files, features if isinstance(features, dict) else {})


def _table(folder: Path, root: DataRoot, files: list[str], features: dict[str, Any] | None = None) -> Format:
    try:
        within = folder.relative_to(root.folder)
    except ValueError:
        raise UsageError(f"{folder} is not in {root.folder}; give root= a folder that has it") from None
    sources = [FileSource(root, (within / name).as_posix()) for name in files]
    labels = {
        name: tuple(map(str, feature["names"]))
        for name, feature in (features or {}).items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list)
    }
    whole = folder / files[0] if len(files) == 1 else folder
    tool = "Parquet" if features is None else "datasets"
    return Format(tool, whole, partial(_table_rows, sources, labels), answer=("answer",), unit="row")


def _table_rows(files: list[FileSource], labels: dict[str, tuple[str, ...]], _: object) -> Iterator[tuple[int, Row]]:
    """The rows of tables with their numbers from 0 on, which are their ids where they have none."""
    from pytest_audiobench.datasets.parquet_rows import audio_columns, parquet_rows, plain_columns

    audio, plain = audio_columns(files), plain_columns(files)
    for number, (_place, row) in enumerate(parquet_rows(files, plain, audio=dict.fromkeys(audio))):
        for name in labels.keys() & row.keys():
            if isinstance(row[name], int):
                row[name] = labels[name][row[name]] if 0 <= row[name] < len(labels[name]) else None
        yield number, {"id": str(number), **row}
