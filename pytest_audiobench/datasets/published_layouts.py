"""Published files whose layout is known, and which are refused when it is another: JSON of any length, and tables."""

from __future__ import annotations

import ast
import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.datasets.sample import Field
from pytest_audiobench.datasets.table_rows import texts
from pytest_audiobench.errors import UsageError

PYTHON = "python"
"""What stands for a separator where a list is written as Python prints it."""
_PYTHON_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_PYTHON_LIST = re.compile(rf"\[\s*(?:(?:{_PYTHON_TEXT.pattern})\s*(?:,\s*(?:{_PYTHON_TEXT.pattern})\s*)*)?\]")
_CHUNK_BYTES = 1 << 20
_LISTED = 12
"""The columns that an error names."""
_BETWEEN = re.compile(r"[\s,]*")


def read_json(path: Path) -> Any:
    """The JSON in ``path``. Raises UsageError when it cannot be read or is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(text, object_pairs_hook=_object)
        # Half of a surrogate pair can be written to no file and no hash: it is refused where it enters.
        if "\\u" in text:
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read as JSON ({error}); fetch it again") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two members of one name json would keep the last, and a row would be gone unseen."""
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"an object with {twice[:80]!r} twice")
    return members


def tsv_entries(path: Path, columns: Sequence[str] = ()) -> Iterator[Entry]:
    """The rows of a table whose cells stand between tabs; ``columns`` names them where the file has no header.

    A quotation mark is a character like any other: corpora of sentences hold odd ones. Under a header a row may lack
    cells at its end; without one a cell that lacks anywhere would make all behind it another column's. Raises
    UsageError, with the line, for a row of more cells than columns, or of fewer without a header.
    """
    header = list(columns)
    for number, line in texts(path):
        cells = line.split("\t")
        if not header:
            header = [cell.strip() for cell in cells]
        elif line.strip():
            where = f"{path}, line {number}"
            if len(cells) > len(header) or (columns and len(cells) < len(header)):
                raise Entry(where, {}).wrong(f"has {len(cells)} cells in {len(header)} columns")
            yield Entry(where, dict(zip(header, cells, strict=False)))


class Entry:
    """One entry of a published file; ``where`` (file and entry) is in every error."""

    def __init__(self, where: str, values: object) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where} is not an object; fetch the file again")
        self.where, self._values = where, values
        self.published: Mapping[str, Any] = values
        """As it is in the file."""

    def text(self, field: str) -> str:
        """The field's text without outer white space; the sole text of a list of one."""
        value = self.raw(field)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, str):
            raise self.wrong(f"has no text in {field!r}")
        return value.strip()

    def set_default(self, values: Mapping[str, Any]) -> None:
        """``values`` for the fields that are not there."""
        self._values = {**values, **self._values}

    def unfold(self, column: str) -> None:
        """Take the text in ``column`` for the JSON that it is: an object's members become ``column.member``."""
        text = self._values.get(column)
        if text is None:
            return
        try:
            if not isinstance(text, str):
                raise ValueError("it is not text")
            content = json.loads(text)
            json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError) as error:
            raise self.wrong(f"has no JSON in {column!r} ({error})") from None
        members = content.items() if isinstance(content, dict) else ()
        self._values = {**self._values, column: content, **{f"{column}.{name}": value for name, value in members}}

    def split(self, column: str, separator: str) -> None:
        """Take the text in ``column`` for the list that it is: parts between ``separator``, or as Python prints one."""
        text = self._values.get(column)
        if text is None or isinstance(text, list):
            return
        if not isinstance(text, str):
            raise self.wrong(f"has no text in {column!r}, where a list is written")
        parts: Any = text.split(separator)
        if separator == PYTHON:
            try:
                if not _PYTHON_LIST.fullmatch(text.strip()):
                    raise ValueError
                # One text at a time: the parser is never given what could be nested.
                parts = [ast.literal_eval(part) for part in _PYTHON_TEXT.findall(text)]
                "".join(parts).encode()
            except (ValueError, SyntaxError):
                raise self.wrong(
                    f"has {text[:200]!r} in {column!r}, which is not a list of texts as Python prints it"
                ) from None
        self._values = {**self._values, column: [part.strip() for part in parts if part.strip()] or None}

    def gather(self, column: str, names: Sequence[str]) -> None:
        """Make ``column`` the list of those of ``names`` whose columns have a 1, and not a 0."""
        chosen = []
        for name in names:
            value = str(self._values.get(name))
            if name not in self._values:
                raise self.lacks(name)
            if value not in ("0", "1"):
                raise self.wrong(f"has {value[:80]!r} in {name!r}, where a 0 or a 1 should be")
            if value == "1":
                chosen.append(name)
        self._values = {**self._values, column: chosen or None}

    def capture(self, column: str, pattern: str) -> None:
        """Make columns of the named groups of ``pattern`` in the text of ``column``."""
        if (match := re.fullmatch(pattern, self.text(column))) is None:
            raise self.wrong(f"has {self.text(column)[:200]!r} in {column!r}, which {pattern!r} does not match")
        self._values = {**self._values, **match.groupdict()}

    def merge(self, others: Sequence[Entry]) -> None:
        """Take ``others`` for this one too: a field in which they differ has the list of what all of them have."""
        together = (self, *others)
        # A field that only some have is one in which they differ, too.
        for name in dict.fromkeys(name for entry in together for name in entry._values):
            values = [entry.raw(name) for entry in together]
            if any(value != values[0] for value in values):
                self._values = {**self._values, name: values}

    def raw(self, field: str) -> Any:
        """What the file has in the field; ``messages.0.content`` is a member of the first object of a list."""
        head, *path = field.split(".")
        if field in self._values or not path or not path[0].isdecimal():
            return self._values.get(field)
        value = self._values.get(head)
        for step in path:
            if isinstance(value, list) and step.isdecimal():
                value = value[int(step)] if int(step) < len(value) else None
            else:
                value = value.get(step) if isinstance(value, Mapping) else None
        return value

    def has(self, field: str) -> bool:
        """Whether there is something in the field; an empty cell of a table is nothing."""
        return self.raw(field) not in (None, "")

    def has_name(self, field: str) -> bool:
        """Whether there is such a field, with something in it or not."""
        return field in self._values or self.raw(field) is not None

    def field(self, field: str) -> Field | tuple[str, ...]:
        """What is in the field: a text without outer white space, the texts of a list, or another plain value."""
        value = self.raw(field)
        if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        return self.texts(field) if isinstance(value, list) and len(value) > 1 else self.text(field)

    def match(self, column: str, new: str, pattern: str) -> None:
        """Make ``new`` the list of what ``pattern`` finds in the text of ``column``: its named groups, an object."""
        places = re.finditer(pattern, self.text(column)) if self.has(column) else ()
        self._values = {**self._values, new: [place.groupdict() for place in places]}

    def within(self, field: str) -> Iterator[Entry]:
        """What is in a list, each with the other fields of this entry that it does not have itself, and its number.

        An object is its members, a text the field itself.
        """
        value = self._values.get(field)
        if not isinstance(value, list):
            raise self.wrong(f"has no list in {field!r}")
        around = {name: value for name, value in self._values.items() if name != field}
        for number, content in enumerate(value, start=1):
            entry = Entry(f"{self.where}, {field} {number}", {field: content} if isinstance(content, str) else content)
            entry.set_default({**around, f"{field}.number": str(number)})
            yield entry

    def texts(self, field: str) -> tuple[str, ...]:
        """The texts of a list; a number among them, as options are at times, is the text that JSON has for it."""
        value = self._values.get(field)
        if not isinstance(value, list) or not value or not all(type(text) in (str, int, float) for text in value):
            raise self.wrong(f"has no list of texts in {field!r}")
        return tuple(text.strip() if isinstance(text, str) else json.dumps(text) for text in value)

    def made_clips(self, field: str) -> tuple[Clip, ...]:
        """The clips that the field is, where its reader made them; none for a path."""
        value = self._values.get(field)
        return (value,) if isinstance(value, Clip) else value if isinstance(value, tuple) else ()

    def clip(self, root: DataRoot, written: str) -> Clip:
        """The clip at ``written``, a path inside ``root``."""
        try:
            return Clip(FileSource(root, relative_path(written)))
        except ValueError as error:
            raise UsageError(f"{self.where} has an audio path that cannot be used: {error}") from None

    def lacks(self, field: str) -> UsageError:
        names = ", ".join([repr(name) for name in self.published if self.has(name)][:_LISTED]) or "nothing"
        return UsageError(
            f"{self.where} has no {field!r}, which is not the published layout (it has {names}); fetch the file again, "
            "or correct the column's name where it is declared"
        )

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.where} {what}, which is not the published layout; fetch the file again")


def elements(path: Path, member: str, most_bytes: int = 256_000_000) -> Iterator[Any]:
    """The elements, all objects, of the array ``member`` of ``path``'s one object; all else is skipped.

    An element, and what stands before the array, may each take ``most_bytes``: the file's length does not matter.
    Raises UsageError when the file cannot be read, is no such JSON, or holds more than that.
    """
    try:
        with path.open("rb") as file:
            yield from _elements(path, _Window(path, file, most_bytes), member)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); correct the path") from None


class _Window:
    """The part of a file that is being looked at; ``end`` is true once the file has no more."""

    def __init__(self, path: Path, file: Any, most_bytes: int) -> None:
        self._path, self._file, self._most_bytes = path, file, most_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.end = "", False

    def grow(self) -> None:
        """Look further: as much again, so that a long element is tried a few times only."""
        if len(self.text) > self._most_bytes:
            raise UsageError(
                f"{self._path} holds {self._most_bytes / 1e6:g} MB without an end to one of its parts; fetch it again"
            )
        data = self._file.read(max(_CHUNK_BYTES, len(self.text)))
        try:
            self.text += self._decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            raise UsageError(f"{self._path} is not UTF-8; fetch it again") from None
        self.end = not data


def _elements(path: Path, window: _Window, member: str) -> Iterator[Any]:
    begins = re.compile(rf"{re.escape(json.dumps(member))}\s*:\s*\[")
    while (match := begins.search(window.text)) is None:
        if window.end:
            raise UsageError(f"{path} has no array {member!r}, which is not the published layout; fetch the file again")
        window.grow()
    window.text = window.text[match.end() :]
    decode, place = json.JSONDecoder().raw_decode, 0
    while True:
        start = _BETWEEN.match(window.text, place).end()  # type: ignore[union-attr]  # it matches nothing, too
        if window.text.startswith("]", start):
            return
        try:
            element, place = decode(window.text, start)
            # Half of a surrogate pair can be written to no file and no hash: it is refused where it enters.
            if "\\u" in window.text[start:place]:
                json.dumps(element, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            if window.end or isinstance(error, RecursionError | UnicodeEncodeError):
                raise UsageError(f"{path} cannot be read as JSON ({error}); fetch it again") from None
            window.text, place = window.text[place:], 0
            window.grow()
            continue
        yield element
