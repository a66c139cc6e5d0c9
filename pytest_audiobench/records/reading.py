"""The door for files of a run, which anyone may have edited: typed values out, or the first mistake with its place."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.bounded_lines import bounded_lines
from pytest_audiobench.io.strict_json import FileKind, short_repr, strict_json
from pytest_audiobench.records.fields import DIGEST, TIME, Record, builtin
from pytest_audiobench.records.run import MOST_BYTES, RunRecord

T = TypeVar("T")
RecordType = TypeVar("RecordType", bound=Record)

LONGEST_LINE = 64_000_000
"""Bytes. A longer line is not a row of ours: answers are bounded where they enter the store."""


_WHOLE_DEPTH = 2
"""How deep a file's records must have every member: the file's own, its items', suites' and evals'."""

_LATER = frozenset({"averages", "aspects"})
"""Members that were added to a schema that files without them have: nothing of the kind was measured there."""

_RUN = FileKind(
    "run's record", "pytest", "it was edited, cut, or written by another version: run again, which asks no model"
)


def read_run(path: Path) -> RunRecord:
    """The record in a run's run.json; raises as :func:`read_file`."""
    record = read_file(path, _RUN, RunRecord, MOST_BYTES)
    for item in record.items:
        scorers = {(scorer.name, scorer.signature) for scorer in item.scorers}
        for metric in item.metrics:
            if metric.scorer is not None and (metric.scorer, metric.signature) not in scorers:
                of_whom = f"{metric.scorer} ({metric.signature}), which is not one of the item's scorers"
                raise UsageError(
                    f"{path}: items {short_repr(item.eval)}, metrics {short_repr(metric.name)} is by {of_whom}: "
                    f"{_RUN.remedy}"
                )
    return record


def read_file(path: Path, kind: FileKind, record: type[RecordType], most_bytes: int) -> RecordType:
    """The record in the file ``path``. Raises UsageError where it cannot be read, is too large, or is none."""
    try:
        with path.open("rb") as file:
            # Python sets aside all that is asked for; what is no plain file, such as a pipe, has no size.
            size = os.fstat(file.fileno()).st_size or most_bytes
            content = file.read(min(size, most_bytes) + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name a {kind.what} that can be") from None
    if len(content) > most_bytes:
        raise UsageError(f"{path} holds more than {most_bytes / 1e6:.0f} MB, which no {kind.what} does")
    return decode(content, str(path), kind, record)


def decode(content: bytes, name: str, kind: FileKind, record: type[RecordType]) -> RecordType:
    """The record whose file, called ``name`` in messages, holds ``content``. Raises UsageError for any other.

    A file of another version of the schema, or of another kind, is named as such in one sentence.
    """
    value = strict_json(content, name, kind)
    check_schema(value, name, kind, record)
    converted = convert(value, name, kind, record)
    if lacking := _lacking(value, converted, "it", _WHOLE_DEPTH):
        raise UsageError(f"{name}: {lacking}: {kind.remedy}")
    return converted


def _lacking(value: Mapping[str, Any], record: Record, place: str, depth: int) -> str:
    """What a record that is written whole lacks, as a removed member would else pass for its default."""
    if record.__struct_config__.omit_defaults or record.__struct_config__.array_like:
        return ""
    for name in record.__struct_fields__:
        if name not in value:
            if name in _LATER:
                continue
            return f"{place} has no {name!r}"
        members = getattr(record, name)
        if depth > 1 and isinstance(members, (list, tuple)) and members and isinstance(members[0], Record):
            for number, (raw, member) in enumerate(zip(value[name], members, strict=True)):
                if lacking := _lacking(raw, member, f"{name} {_called(raw, number)}", depth - 1):
                    return lacking
    return ""


def convert(value: Any, name: str, kind: FileKind, record: type[T], strict: bool = True) -> T:
    """``value``, read from the file called ``name``, as a ``record``; where not ``strict``, texts may be numbers.

    Raises UsageError with the first mistake and its place.
    """
    try:
        return msgspec.convert(value, record, strict=strict)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {mistake(str(error), value, record, strict)}: {kind.remedy}") from None
    except UnicodeEncodeError as error:
        raise UsageError(f"{name}: {short_repr(error.object)} has half of a surrogate pair: {kind.remedy}") from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deep for a {kind.what}: {kind.remedy}") from None


@cache
def schema_of(record: type[Record]) -> str:
    """The name of the schema that the files of ``record`` have."""
    (schema,) = get_args(get_type_hints(record)["schema"])
    return str(schema)


def check_schema(value: Any, name: str, kind: FileKind, record: type[Record]) -> None:
    """Raises UsageError for what says that it is another version, or another kind of file."""
    expected = schema_of(record)
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema == expected:
        return
    known = "no schema" if schema is None else f"the schema {short_repr(schema)}"
    if isinstance(schema, str) and schema.rpartition("/")[0] == expected.rpartition("/")[0]:
        raise UsageError(
            f"{name} has {known}, which another version of pytest-audiobench wrote, and this one reads {expected!r}: "
            f"write it again with {kind.made_by}"
        )
    raise UsageError(
        f"{name} is not a {kind.what}: it has {known} where {expected!r} is expected; write one with {kind.made_by}"
    )


def as_read(record: RecordType) -> RecordType:
    """``record`` as it is once it was written and read: with floats for whole numbers, and lists for tuples."""
    return msgspec.json.decode(msgspec.json.encode(record, enc_hook=builtin), type=type(record))


def read_lines(path: Path, row: type[RecordType]) -> Iterator[RecordType]:
    """The rows of a line file, one at a time.

    Raises UsageError, with the line's number, for a line that is longer than 64 MB or is no such row.
    """
    return (record for _, record in numbered_lines(path, row))


def numbered_lines(path: Path, row: type[RecordType]) -> Iterator[tuple[int, RecordType]]:
    """The rows of a line file with the numbers of their lines; raises as :func:`read_lines`."""
    decoder = msgspec.json.Decoder(row)
    for number, line in bounded_lines(path, LONGEST_LINE):
        if not line.strip():
            continue
        try:
            yield number, decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield number, _decoded_slowly(line, f"{path}, line {number}", row)


def _decoded_slowly(line: bytes, place: str, row: type[RecordType]) -> RecordType:
    """The row of a ``line`` that the fast decoder refuses: half of a surrogate pair is no mistake, nor are raw control
    characters and bytes that are not UTF-8, which come through as such halves, to be repaired and counted where answers
    are stored.
    """
    try:
        value = json.loads(line.decode("utf-8", errors="surrogateescape"), strict=False)
        return msgspec.convert(value, row)
    except msgspec.ValidationError as error:
        says = mistake(str(error), value, row)
    except (ValueError, RecursionError) as error:
        says = f"it is not one JSON object ({str(error)[:200]})"
    raise UsageError(f"{place}: {says}: the file was cut or edited")


_PLACE = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`(?P<path>\$.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|(\[\.\.\.\])")
_FIELD = re.compile(r"Object (?P<how>missing required|contains unknown) field `(?P<name>.*)`", re.DOTALL)
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_LIKE = {DIGEST: "64 hexadecimal digits", TIME: "a time such as 2026-11-21T19:06:00Z"}
_BOUNDS = (
    (">=", "of at least"),
    ("<=", "of at most"),
    ("<", "below"),
    ("of length of", "of length"),
    ("of at least length", "of length at least"),
    ("of at most length", "of length at most"),
)
_LARGEST = f"{sys.float_info.max:.17g}"
_NAMES = ("eval", "name", "alias", "sample_id", "id", "metric")


def mistake(error: str, value: Any, record: Any, strict: bool = True) -> str:
    """What msgspec's ``error`` says of ``value``, read as ``record``, in plain words with the place."""
    match = _PLACE.fullmatch(error)
    what, path = (match["what"], match["path"] or "$") if match else (error, "$")
    place, inner, kind = _walk(path, value, record, strict)
    if match and match["key"]:
        place, kind = f"a name in {place}", get_args(_kinds(kind)[0])[0]
        inner, _ = _first_mistake(((name, name) for name in inner), kind, strict)
    if member := _FIELD.fullmatch(what):
        name = member["name"]
        if member["how"] == "missing required":
            return f"{place} has no {name!r}"
        near = difflib.get_close_matches(name[:60], getattr(kind, "__struct_fields__", ()), n=1)
        return f"{place} has the unknown {short_repr(name)}" + (f" (is it {near[0]!r}?)" if near else "")
    allowed = [text for part in _kinds(kind) if get_origin(part) is Literal for text in get_args(part)]
    if what.startswith("Invalid enum value") and allowed:
        return f"{place} must be one of {', '.join(map(repr, allowed))}, not {short_repr(inner)}"
    expected, _, _ = what.removeprefix("Expected ").partition(", got ")
    types, _, bound = expected.partition("` ")
    words = " or ".join(_WORDS.get(name, name) for name in types.strip("`").split(" | "))
    if (isinstance(inner, float) and not math.isfinite(inner)) or what == "Number out of range" or _LARGEST in bound:
        words, bound = "a finite number", ""
    elif what == "Integer value out of range":
        words = "a whole number below 2**53"
    for sign, text in _BOUNDS:
        bound = bound.replace(sign, text)
    if (pattern := bound.removeprefix("matching regex ")) != bound:
        words, bound = next((text for regex, text in _LIKE.items() if repr(regex) == pattern), words), ""
    given = f"of {len(inner)}" if "length" in bound and isinstance(inner, (str, list)) else short_repr(inner)
    return f"{place} must be {f'{words} {bound}'.strip()}, not {given}"


def _walk(path: str, value: Any, record: Any, strict: bool) -> tuple[str, Any, Any]:
    """The place that ``path`` leads to, in words; what is there, and the type that it should be of."""
    words: list[str] = []
    kind = record
    for name, index, member in _STEP.findall(path):
        if name:
            words.append(name)
            kind = _member(kind, name)
            value = value.get(name) if isinstance(value, Mapping) else None
        elif index:
            fields = _columns(kind)
            inside = value[int(index)] if isinstance(value, Sequence) and int(index) < len(value) else None
            if int(index) < len(fields):
                words.append(fields[int(index)])
                kind = _member(kind, words[-1])
            else:
                words.append(f"{words.pop() if words else 'it'} {_called(inside, int(index))}")
                kind = _element(kind, int(index))
            value = inside
        elif member:
            kind = _element(kind)
            # Of an object with names of its own, msgspec does not say which member it is.
            key, value = _first_mistake(value.items() if isinstance(value, Mapping) else (), kind, strict)
            words.append(short_repr(key))
    return ", ".join(words) or "it", value, kind


def _first_mistake(members: Iterable[tuple[Any, Any]], kind: Any, strict: bool) -> tuple[Any, Any]:
    """The first of ``members`` whose value is not of ``kind``."""
    for name, value in members:
        try:
            msgspec.convert(value, kind, strict=strict)
        except (msgspec.ValidationError, UnicodeEncodeError):
            return name, value
    return None, None


def _called(value: Any, index: int) -> str:
    """An element of a list by its name, where it has one."""
    if isinstance(value, Mapping):
        name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    else:
        name = value[0] if isinstance(value, list) and value and isinstance(value[0], str) else None
    return f"{index + 1}" if name is None else short_repr(name)


def _kinds(kind: Any) -> list[Any]:
    """The types that a union is of, each without its bounds."""
    if get_origin(kind) is Annotated:
        return _kinds(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [inner for part in get_args(kind) for inner in _kinds(part)]
    return [kind]


def _struct(kind: Any) -> type[Record] | None:
    return next((part for part in _kinds(kind) if isinstance(part, type) and issubclass(part, Record)), None)


def _member(kind: Any, name: str) -> Any:
    struct = _struct(kind)
    return None if struct is None else get_type_hints(struct, include_extras=True).get(name)


def _columns(kind: Any) -> Sequence[str]:
    """The fields of a record that a file holds as a list."""
    struct = _struct(kind)
    return struct.__struct_fields__ if struct is not None and struct.__struct_config__.array_like else ()


def _element(kind: Any, index: int = -1) -> Any:
    """The type of an element of a list, or of a member of an object of any names."""
    for part in _kinds(kind):
        if (types := get_args(part)) and get_origin(part) is not Literal:
            return types[index] if get_origin(part) is tuple and index < len(types) else types[-1]
    return None
