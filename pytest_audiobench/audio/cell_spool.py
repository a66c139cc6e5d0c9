"""Cells of Parquet files on the disk, where each can be entered: a row group is read once, whatever the order."""

from __future__ import annotations

import os
import pickle
import threading
from array import array
from collections.abc import Callable, Generator, Hashable
from contextlib import closing, suppress
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple


class _Group(NamedTuple):
    file: IO[bytes] | None
    """Open for as long as somebody reads from it, also when it is forgotten."""
    ends: array[int]
    """Where each cell ends; the first number is where the first one begins."""

    def cell(self, row: int) -> Any:
        if self.file is None or not 0 <= row < len(self.ends) - 1:
            return None
        start, end = self.ends[row : row + 2]
        content = os.pread(self.file.fileno(), end - start, start)
        return pickle.loads(content) if len(content) == end - start else None


class CellSpool:
    """Row groups' cells in a file without a name, which goes with the process: ``most_bytes`` of them, and no more than
    they leave free. What does not fit is not here. A group is stored when a second cell of it is asked for: a few
    samples of many groups are not worth writing them. Threads may share it, and what one reads the others wait for.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._start()
        os.register_at_fork(after_in_child=self._start)  # two processes would write over one another's cells

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self._groups: dict[Hashable, _Group | None] = {}
        self._file: IO[bytes] | None = None
        self._end = 0

    def forget(self) -> None:
        """Makes room for others."""
        with self._lock:
            self._empty()

    def cell(self, key: Hashable, row: int, read: Callable[[], Generator[object, None, None]]) -> Any:
        """The cell in a row of the group ``key``, all of whose cells ``read`` gives; None where it is not here."""
        with self._lock:
            if key not in self._groups:
                self._groups[key] = None
                return None
            group = self._groups[key] = self._groups[key] or self._store(read)
        return group.cell(row)

    def _store(self, read: Callable[[], Generator[object, None, None]]) -> _Group:
        ends = array("Q", [self._end])
        with suppress(OSError), closing(read()) as cells:
            self._file = self._file or TemporaryFile(prefix="audiobench-cells-", buffering=0)  # noqa: SIM115
            disk = os.fstatvfs(self._file.fileno())
            most_bytes = min(self._most_bytes, (disk.f_bavail * disk.f_frsize + self._end) // 2)
            for cell in cells:
                content = pickle.dumps(cell, pickle.HIGHEST_PROTOCOL)
                end = ends[-1] + len(content)
                if end > most_bytes or os.pwrite(self._file.fileno(), content, ends[-1]) < len(content):
                    break
                ends.append(end)
        self._end = ends[-1]
        return _Group(self._file, ends)


SPOOL = CellSpool(4 << 30)
"""An eval takes its clips in the order of their hashes: else the cells before each would be skipped again."""
