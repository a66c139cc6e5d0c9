"""Facts of a file, its digest and the duration its header claims: read once, remembered while it is unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import soundfile

from pytest_audiobench.audio.location import FileKey
from pytest_audiobench.io.network_disk import network_file_system

_BLOCK_BYTES = 1 << 20
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files_2 (
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    digest TEXT NOT NULL,
    duration_s REAL,
    checksum INTEGER NOT NULL,
    UNIQUE (inode, device)
)
"""
_SCHEMA_OF_CELLS = """
CREATE TABLE IF NOT EXISTS cells_2 (
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    column_name TEXT NOT NULL,
    row_group INTEGER NOT NULL,
    row INTEGER NOT NULL,
    rate_hz INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    digest TEXT NOT NULL,
    duration_s REAL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (inode, device, column_name, row_group, row, rate_hz)
) WITHOUT ROWID
"""
_RECALL_CELLS = """
SELECT column_name, row_group, row, rate_hz, digest, duration_s, checksum
FROM json_each(?) AS cell CROSS JOIN cells_2 ON
column_name = json_extract(cell.value, '$[0]') AND row_group = json_extract(cell.value, '$[1]')
AND row = json_extract(cell.value, '$[2]') AND rate_hz = json_extract(cell.value, '$[3]')
WHERE device = ? AND inode = ? AND size = ? AND mtime_ns = ? AND ctime_ns = ?
"""
_REMEMBER_CELL = "INSERT OR REPLACE INTO cells_2 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RECALL = """
SELECT device, inode, size, mtime_ns, ctime_ns, digest, duration_s, checksum
FROM files_2 WHERE inode IN (SELECT value FROM json_each(?))
"""
_REMEMBER = "INSERT OR REPLACE INTO files_2 VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PATIENCE_S = 10.0


CellKey: TypeAlias = tuple[str, int, int, int]
"""A cell of a file: its column, row group, row, and the rate at which it is read, 0 where it says that itself."""


class FileFacts(NamedTuple):
    """What identifies a file, and how long it says it sounds."""

    digest: str
    """SHA-256 of its bytes, 64 hex digits."""
    duration_s: float | None
    """What its header claims; None where it has no audio header."""


class FreshFacts(NamedTuple):
    """Facts of a file that was read just now."""

    facts: FileFacts
    key: FileKey | None
    """Its state before and after, None when it changed between."""
    at_ns: int
    """When reading ended."""


def read_facts(path: str) -> FreshFacts:
    """The facts of the file at ``path``, read once for its bytes and a little for its header. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        before = FileKey.of(os.fstat(descriptor))
        digest, duration_s = _digest(descriptor), None
        os.lseek(descriptor, 0, os.SEEK_SET)
        unreadable = suppress(soundfile.SoundFileError, ZeroDivisionError)
        with unreadable, soundfile.SoundFile(descriptor, closefd=False) as header:
            duration_s = float(header.frames / header.samplerate)
        after = FileKey.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)
    return FreshFacts(FileFacts(digest, duration_s), before if before == after else None, time.time_ns())


def _digest(descriptor: int) -> str:
    content = hashlib.sha256()
    while block := os.read(descriptor, _BLOCK_BYTES):
        content.update(block)
    return content.hexdigest()


def _checksum(*values: object) -> int:
    """What a row says it holds: one that was damaged is read from its file again."""
    return zlib.crc32(repr(values).encode(errors="replace"))


class FileMemory:
    """A small SQLite file of facts by :class:`FileKey`; ``path`` None keeps them in memory only.

    Many processes may use one file at once: write-ahead log, a busy timeout, last write wins (all write the same). It
    is a convenience: where it cannot be written (a read-only folder, a network file system on which a write-ahead log
    is unsafe, a damaged or locked database) it lasts as long as the process.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._database, self.is_persistent = _open_database(path)

    def recall(self, keys: Sequence[FileKey]) -> dict[FileKey, FileFacts]:
        """What is known of ``keys``, in one query."""
        wanted = set(keys)
        rows = self._rows(_RECALL, (json.dumps(sorted({key.inode for key in wanted})),))
        facts = {row[:5]: row[5:7] for row in rows if row[7] == _checksum(*row[:7])}
        return {key: FileFacts(*facts[key]) for key in wanted if key in facts}

    def remember(self, facts: Mapping[FileKey, FileFacts]) -> None:
        """Keep ``facts``, in one transaction."""
        self._keep(_REMEMBER, [(*key, *known, _checksum(*key, *known)) for key, known in facts.items()])

    def recall_cells(self, key: FileKey, cells: Sequence[CellKey]) -> dict[CellKey, FileFacts]:
        """What is known of ``cells`` of one file."""
        file = (key.device, key.inode, key.size, key.mtime_ns, key.ctime_ns)
        rows = self._rows(_RECALL_CELLS, (json.dumps(cells), *file))
        return {row[:4]: FileFacts(*row[4:6]) for row in rows if row[6] == _checksum(*file, *row[:6])}

    def remember_cells(self, key: FileKey, facts: Mapping[CellKey, FileFacts]) -> None:
        """Keep ``facts`` of one file's cells, in one transaction."""
        state = (key.size, key.mtime_ns, key.ctime_ns)
        rows = [(cell, known, _checksum(key.device, key.inode, *state, *cell, *known)) for cell, known in facts.items()]
        self._keep(_REMEMBER_CELL, [(key.device, key.inode, *cell, *state, *known, own) for cell, known, own in rows])

    def _rows(self, query: str, values: Sequence[object]) -> list[Any]:
        with self._lock:
            try:
                return self._database.execute(query, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError):
                return self._new_database().execute(query, values).fetchall()

    def _keep(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if not rows:
            return
        with self._lock:
            try:
                _write(self._database, statement, rows)
            except (sqlite3.Error, UnicodeDecodeError):
                _write(self._new_database(), statement, rows)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _new_database(self) -> sqlite3.Connection:
        self._database.close()
        self._database, self.is_persistent = _open_database(None)
        return self._database


def _open_database(path: Path | None) -> tuple[sqlite3.Connection, bool]:
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if network_file_system(path.parent) is None:
                return _on_disk(path), True
        except (OSError, sqlite3.Error, UnicodeDecodeError):
            pass
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.execute(_SCHEMA)
    database.execute(_SCHEMA_OF_CELLS)
    return database, False


def _on_disk(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    try:
        _into_wal(database)
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("BEGIN IMMEDIATE")
        database.execute(_SCHEMA)
        database.execute(_SCHEMA_OF_CELLS)
        database.execute("COMMIT")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _into_wal(database: sqlite3.Connection) -> None:
    """SQLite does not wait its busy timeout when two processes turn the log on at once, so it is done here."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _write(database: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        database.executemany(statement, rows)
        database.execute("COMMIT")
    except sqlite3.Error:
        database.execute("ROLLBACK")
        raise
