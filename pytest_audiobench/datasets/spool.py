"""Sequences of any length in little memory: what comes behind their first elements waits in a file."""

from __future__ import annotations

import hashlib
import os
import pickle
from abc import abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from io import BytesIO
from operator import attrgetter
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import Any, TypeVar, overload

import numpy as np

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.errors import UsageError

T = TypeVar("T")
MOST_IN_MEMORY = 4_096
"""Elements: as many samples are some 20 MB."""
_MOST_SHARED = 256
_FEWEST_SHARED = 3


def spooled(elements: Iterable[T]) -> Sequence[T]:
    """``elements`` in a list; from a certain number on, those behind it in a file without a name, which goes when the
    sequence does, each made again when it is asked for. Raises UsageError where that file cannot be written.
    """
    spool = Spool[T]()
    for element in elements:
        spool.append(element)
    return spool if spool.has_file else spool.first


class LazySequence(Sequence[T]):
    """A sequence whose elements are made when they are asked for; a slice is a list of them."""

    @abstractmethod
    def element(self, place: int) -> T:
        """The element at a place from 0 on."""

    @overload
    def __getitem__(self, position: int) -> T: ...
    @overload
    def __getitem__(self, position: slice) -> list[T]: ...
    def __getitem__(self, position: int | slice) -> T | list[T]:
        if isinstance(position, slice):
            return list(map(self.element, range(*position.indices(len(self)))))
        return self.element(range(len(self))[position])

    def __iter__(self) -> Iterator[T]:
        return map(self.element, range(len(self)))


class Spool(LazySequence[T]):
    """What :func:`spooled` gives, as it grows."""

    def __init__(self) -> None:
        self.first: list[T] = []
        self.has_file = False

    def append(self, element: T) -> None:
        """Raises UsageError where the file cannot be written."""
        if len(self.first) < MOST_IN_MEMORY:
            self.first.append(element)
            return
        if not self.has_file:
            self._open()
        self._buffer.seek(0)
        self._pickler.clear_memo()
        self._pickler.dump(element)
        size = self._buffer.tell()
        with room_for_samples():
            self._file.write(self._buffer.getbuffer()[:size])
        self._ends.append(self._ends[-1] + size)
        self._is_flushed = False

    def _open(self) -> None:
        with room_for_samples():
            self._file = TemporaryFile()  # noqa: SIM115 - it lasts as long as the sequence
        self._shared, self._buffer, self._ends = _Shared(), BytesIO(), array("Q", [0])
        self._pickler = _Pickler(self._buffer, self._shared)
        self.has_file = True

    def __len__(self) -> int:
        return len(self.first) + (len(self._ends) - 1 if self.has_file else 0)

    def element(self, place: int) -> T:
        number = place - len(self.first)
        if number < 0:
            return self.first[number]
        if not self._is_flushed:
            with room_for_samples():
                self._file.flush()
            self._is_flushed = True
        start, end = self._ends[number], self._ends[number + 1]
        element: T = _Unpickler(BytesIO(os.pread(self._file.fileno(), end - start, start)), self._shared).load()
        return element


@contextmanager
def room_for_samples() -> Iterator[None]:
    """Raises UsageError where a temporary file cannot be written within the block."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"samples after {MOST_IN_MEMORY:,} cannot be written to a temporary file ({error}); "
            "set TMPDIR to a folder with room"
        ) from None


class _Shared:
    """What many elements have in common, once: classes, folders of audio, the options of a choice."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[object, int] = {}

    def number(self, key: object, value: object) -> int | None:
        """The number of ``value``, known by ``key``; None where it has none and there are many already."""
        number = self._numbers.get(key)
        if number is None and len(self.objects) < _MOST_SHARED:
            number = self._numbers[key] = len(self.objects)
            self.objects.append(value)
        return number


class _Pickler(pickle.Pickler):
    def __init__(self, file: BytesIO, shared: _Shared) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._shared = shared
        self._values_of: dict[type, Callable[[Any], tuple[Any, ...]]] = {}

    def persistent_id(self, value: Any) -> int | None:
        kind = type(value)
        if kind is type or kind is DataRoot:
            return self._shared.number(id(value), value)
        if kind is tuple and len(value) >= _FEWEST_SHARED and type(value[0]) is type(value[-1]) is str:
            return self._shared.number(value, value) if all(type(each) is str for each in value) else None
        return None

    def reducer_override(self, value: Any) -> Any:
        """A data class or named tuple as a call of it: three times as fast as the state that it would give."""
        kind = type(value)
        if kind is MappingProxyType:
            return dict, (dict(value),)
        if hasattr(kind, "_fields"):
            return kind, tuple(value)
        if not hasattr(kind, "__dataclass_fields__"):
            return NotImplemented
        if kind not in self._values_of:
            self._values_of[kind] = attrgetter(*(field.name for field in fields(kind)))
        return kind, self._values_of[kind](value)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BytesIO, shared: _Shared) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, number: int) -> Any:
        return self._shared.objects[number]


class IdDigests:
    """The digests of ids, of 16 bytes each."""

    def __init__(self) -> None:
        self._content = bytearray()

    def add(self, id_: str) -> bytes:
        """The digest of ``id_``, which counts as there from now on."""
        digest = hashlib.blake2b(id_.encode(errors="surrogatepass"), digest_size=16).digest()
        self._content += digest
        return digest

    def repeated(self) -> frozenset[bytes]:
        """Those that were added more than once."""
        digests = np.sort(np.frombuffer(self._content, dtype="S16"))
        return frozenset(each.ljust(16, b"\0") for each in digests[1:][digests[1:] == digests[:-1]].tolist())


class SeenIds:
    """Which ids, or other keys, were met: of each eight bytes are kept, which two of a million do not have in common.

    The recent ones are in a set, all others in sorted arrays, each at least twice as long as the next.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._levels: list[array[int]] = []

    def __len__(self) -> int:
        return len(self._recent) + sum(map(len, self._levels))

    def __contains__(self, key: Hashable) -> bool:
        number = hash(key)
        if number in self._recent:
            return True
        for level in self._levels:
            place = bisect_left(level, number)
            if place < len(level) and level[place] == number:
                return True
        return False

    def add(self, key: Hashable) -> bool:
        """Whether ``key`` was not there yet."""
        if key in self:
            return False
        self._recent.add(hash(key))
        if len(self._recent) >= MOST_IN_MEMORY:
            level = np.array(list(self._recent), dtype=np.int64)
            while self._levels and len(self._levels[-1]) <= 2 * len(level):
                level = np.concatenate([level, np.array(self._levels.pop())])
            self._levels.append(array("q", np.sort(level).tobytes()))
            self._recent.clear()
        return True
