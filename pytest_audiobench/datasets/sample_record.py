"""One row of a manifest becomes a sample, or is refused with the reason."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.paths import CONTROL, relative_path
from pytest_audiobench.datasets.sample import Field, Sample

Row: TypeAlias = Mapping[str, Any]

FIELDS = frozenset({"id", "audio", "question", "choices", "answer", "metadata"})

_LETTER = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_PLAIN_FIELDS = frozenset({str, int, bool, type(None)})
_TEXT = frozenset({str})
_LARGEST = 2**53 - 1


class Wrong(Exception):
    """What is wrong with a row, as a predicate: "has no answer; …"."""


def sample_of(row: Row, root: DataRoot, question: str | None) -> Sample:
    """The sample that ``row`` describes; ``question`` stands in where it has none. Raises Wrong."""
    if not row.keys() <= FIELDS:
        unknown = sorted(map(repr, row.keys() - FIELDS))[0]
        raise Wrong(f"has a field {unknown} that manifests do not have; put it into its metadata, or correct its name")
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
        raise Wrong("has an empty id; name each sample")
    if CONTROL.search(written):
        raise Wrong(f"has a control character in its id {written[:80]!r}; remove it")
    return written


def _clips(row: Row, root: DataRoot) -> tuple[Clip, ...]:
    written = row.get("audio")
    if written is None or written == []:
        raise Wrong("has no audio; give the path of a file beside the manifest")
    try:
        if isinstance(written, str):
            return (Clip(FileSource(root, relative_path(written))),)
        if isinstance(written, list) and _only_texts(written):
            return tuple([Clip(FileSource(root, relative_path(path))) for path in written])
    except ValueError as error:
        raise Wrong(f"has an audio path that cannot be used: {error}") from None
    raise Wrong(f"has {_kind(written)} as its audio; write a path, or a list of paths")


def _question(row: Row, default: str | None) -> str:
    written = row.get("question")
    if written is None or (isinstance(written, str) and not written.strip()):
        return default or ""
    return _text(row, "question")


def _choices(written: object) -> tuple[str, ...]:
    if written is None:
        return ()
    if not isinstance(written, list) or not _only_texts(written):
        raise Wrong(f"has {_kind(written)} as its choices; write a list of texts")
    choices = tuple(map(str.strip, written))
    if "" in choices:
        raise Wrong("has an empty choice; remove it")
    if len(set(choices)) < len(choices):
        twice = next(choice for choice in choices if choices.count(choice) > 1)
        raise Wrong(f"has the choice {twice[:80]!r} twice, so its letter would be ambiguous; make choices differ")
    return choices


def _references(row: Row, choices: tuple[str, ...]) -> tuple[str, ...]:
    written = row.get("answer")
    if not isinstance(written, list):
        return (_reference(_text(row, "answer"), choices),)
    if not written or not _only_texts(written):
        raise Wrong("has a list as its answer that is empty or holds something other than texts; write texts")
    return tuple(_reference(text, choices) for text in written)


def _reference(text: str, choices: tuple[str, ...]) -> str:
    answer = text.strip()
    if not choices or answer in choices:
        return answer
    letter = _LETTER.fullmatch(answer)
    if letter and (place := ord(letter[1].upper()) - ord("A")) < len(choices):
        return choices[place]
    shown = ", ".join(repr(choice[:80]) for choice in choices[:10])
    raise Wrong(f"has the answer {answer[:80]!r}, which is none of its choices: {shown}; correct one or the other")


def _metadata(written: object) -> Mapping[str, Field]:
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise Wrong(f"has {_kind(written)} as its metadata; write an object")
    for name, value in written.items():
        if type(value) is float:
            if not math.isfinite(value):
                raise Wrong(f"has {value} in its metadata {name!r}, which is no number; write null")
        elif type(value) not in _PLAIN_FIELDS:
            raise Wrong(f"has {_kind(value)} in its metadata {name!r}; write a text, number, boolean or null")
        elif type(value) is int and abs(value) > _LARGEST:
            raise Wrong(f"has an integer beyond 2^53 in its metadata {name!r}; write it as text")
    return cast("Mapping[str, Field]", written)


def _text(row: Row, field: str) -> str:
    written = row.get(field)
    if isinstance(written, str):
        return written
    if written is None:
        raise Wrong(f"has no {field}; add it")
    raise Wrong(f"has {_kind(written)} as its {field}; write it as text, in quotes")


def _only_texts(written: list[object]) -> bool:
    return _TEXT.issuperset(map(type, written))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
