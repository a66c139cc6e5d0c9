"""An array in a JSON file of any length, element by element."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import UsageError

_CHUNK_BYTES = 1 << 20
_BETWEEN = re.compile(r"[\s,]*")


def elements(path: Path, member: str, most_bytes: int = 256_000_000) -> Iterator[Any]:
    """The elements, all objects, of the array ``member`` of ``path``'s one object; all else is passed over.

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
