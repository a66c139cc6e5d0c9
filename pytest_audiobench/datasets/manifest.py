"""A user's own data set: a JSONL or CSV manifest beside its audio.

========  ============================================  =====================================
field     JSONL                                         CSV
========  ============================================  =====================================
id        text, unique                                  the same
audio     a path beside the manifest, or a list of      several paths are separated by ``;``
          them
question  text; absent where the manifest or the        the same
          protocol has one for all
choices   a list of texts; absent for an open question  separated by ``|``; empty for none
answer    one of the choices, or its letter; for an     the same
          open question the true text
metadata  an object of texts, numbers, booleans, null   every further column, as text
========  ============================================  =====================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import CONTROL, Places, relative_path
from pytest_audiobench.datasets.sample import Field, Sample
from pytest_audiobench.datasets.table_rows import FIELDS, Row, csv_rows, jsonl_rows
from pytest_audiobench.errors import UsageError

_READERS = {".jsonl": jsonl_rows, ".ndjson": jsonl_rows, ".csv": csv_rows}
_LETTER = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_PLAIN_FIELDS = frozenset({str, int, bool, type(None)})
_TEXT = frozenset({str})
_LARGEST = 2**53 - 1


def manifest(
    path: str | Path,
    *,
    name: str | None = None,
    cluster: str | None = None,
    groups: tuple[str, ...] | None = None,
    question: str | None = None,
    data: str | None = None,
) -> Dataset:
    """The data set that the manifest at ``path`` lists; a relative path is read from the test file's folder, or with
    ``data`` from the folder of that name (``--ab-data NAME=FOLDER``), without which an eval is skipped.

    ``name`` is the manifest's file name without its suffix unless given; ``question`` is asked where a row has none,
    and where neither has one the protocol asks in words of its own, or refuses the sample; ``cluster`` and ``groups``
    name metadata fields. Nothing is read until an eval runs; then UsageError names the file, the line and the id of the
    first thing that is wrong.
    """
    file = Path(path)
    dataset_name = name or file.stem
    group_fields = None if groups is None else tuple(groups)

    def read(places: Places) -> list[Sample]:
        folder = places.here if data is None else places.find(data, str(file)).folder
        return _read((folder / file.expanduser()).resolve(), dataset_name, cluster, group_fields or (), question)

    return Dataset(dataset_name, read, cluster, group_fields)


def _read(file: Path, name: str, cluster: str | None, groups: tuple[str, ...], question: str | None) -> list[Sample]:
    root = DataRoot(name, file.parent)
    samples: list[Sample] = []
    lines: dict[str, int] = {}
    for line, row in _rows(file):
        try:
            sample = sample_of(row, root, question)
            if cluster is not None and cluster not in sample.metadata:
                raise RowError(f"has no {cluster!r}, which is the cluster; add it to its metadata")
        except RowError as error:
            written = row.get("id")
            note = f" (id {written[:80]!r})" if isinstance(written, str) else ""
            raise UsageError(f"{file}, line {line}{note} {error}") from None
        if sample.id in lines:
            raise UsageError(
                f"{file} has the id {sample.id!r} on line {lines[sample.id]} and on line {line}; make ids unique"
            )
        lines[sample.id] = line
        samples.append(sample)
    if not samples:
        raise UsageError(f"{file} lists no sample; write one on each line")
    known = {field for sample in samples for field in sample.metadata}
    for group in groups:
        if group not in known:
            names = ", ".join(sorted(known)) or "none"
            raise UsageError(f"{file} has no metadata field {group!r} to group by; it has {names}")
    return samples


def _rows(file: Path) -> Iterator[tuple[int, Row]]:
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise UsageError(f"{file} is no manifest: its name ends with none of {', '.join(_READERS)}")
    return reader(file)


class RowError(Exception):
    """What is wrong with a row, as a predicate: "has no answer; …"."""


def sample_of(row: Row, root: DataRoot, question: str | None) -> Sample:
    """The sample that ``row`` describes; ``question`` stands in where it has none. Raises RowError."""
    if not row.keys() <= FIELDS:
        unknown = sorted(map(repr, row.keys() - FIELDS))[0]
        raise RowError(
            f"has a field {unknown} that manifests do not have; put it into its metadata, or correct its name"
        )
    choices = _choices(row.get("choices"))
    references = _references(row, choices)
    return Sample(
        id=_id(row),
        clips=_clips(row, root),
        question=_question(row, question),
        choices=choices,
        reference=references[0],
        metadata=_metadata(row.get("metadata")),
        references=references if len(references) > 1 else (),
    )


def _id(row: Row) -> str:
    written = _text(row, "id").strip()
    if not written:
        raise RowError("has an empty id; name each sample")
    if CONTROL.search(written):
        raise RowError(f"has a control character in its id {written[:80]!r}; remove it")
    return written


def _clips(row: Row, root: DataRoot) -> tuple[Clip, ...]:
    written = row.get("audio")
    if written is None or written == []:
        raise RowError("has no audio; give the path of a file beside the manifest")
    try:
        if isinstance(written, str):
            return (Clip(FileSource(root, relative_path(written))),)
        if isinstance(written, list) and _only_texts(written):
            return tuple([Clip(FileSource(root, relative_path(path))) for path in written])
    except ValueError as error:
        raise RowError(f"has an audio path that cannot be used: {error}") from None
    raise RowError(f"has {_kind(written)} as its audio; write a path, or a list of paths")


def _question(row: Row, default: str | None) -> str:
    written = row.get("question")
    if written is None or (isinstance(written, str) and not written.strip()):
        return default or ""
    return _text(row, "question")


def _choices(written: object) -> tuple[str, ...]:
    if written is None:
        return ()
    if not isinstance(written, list) or not _only_texts(written):
        raise RowError(f"has {_kind(written)} as its choices; write a list of texts")
    choices = tuple(map(str.strip, written))
    if "" in choices:
        raise RowError("has an empty choice; remove it")
    if len(set(choices)) < len(choices):
        twice = next(choice for choice in choices if choices.count(choice) > 1)
        raise RowError(f"has the choice {twice[:80]!r} twice, so its letter would be ambiguous; make choices differ")
    return choices


def _references(row: Row, choices: tuple[str, ...]) -> tuple[str, ...]:
    written = row.get("answer")
    if not isinstance(written, list):
        return (_reference(_text(row, "answer"), choices),)
    if not written or not _only_texts(written):
        raise RowError("has a list as its answer that is empty or holds something other than texts; write texts")
    return tuple(_reference(text, choices) for text in written)


def _reference(text: str, choices: tuple[str, ...]) -> str:
    answer = text.strip()
    if not choices or answer in choices:
        return answer
    letter = _LETTER.fullmatch(answer)
    if letter and (place := ord(letter[1].upper()) - ord("A")) < len(choices):
        return choices[place]
    options = ", ".join(repr(choice[:80]) for choice in choices[:10])
    raise RowError(f"has the answer {answer[:80]!r}, which is none of its choices: {options}; correct one or the other")


def _metadata(written: object) -> Mapping[str, Field]:
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise RowError(f"has {_kind(written)} as its metadata; write an object")
    for name, value in written.items():
        if type(value) is float:
            if not math.isfinite(value):
                raise RowError(f"has {value} in its metadata {name!r}, which is no number; write null")
        elif type(value) not in _PLAIN_FIELDS:
            raise RowError(f"has {_kind(value)} in its metadata {name!r}; write a text, number, boolean or null")
        elif type(value) is int and abs(value) > _LARGEST:
            raise RowError(f"has an integer beyond 2^53 in its metadata {name!r}; write it as text")
    return cast("Mapping[str, Field]", written)


def _text(row: Row, field: str) -> str:
    written = row.get(field)
    if isinstance(written, str):
        return written
    if written is None:
        raise RowError(f"has no {field}; add it")
    raise RowError(f"has {_kind(written)} as its {field}; write it as text, in quotes")


def _only_texts(written: list[object]) -> bool:
    return _TEXT.issuperset(map(type, written))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
