"""A small SQLite file that remembers what files held, as long as the file system says they are unchanged.

Many processes may use one file at once: write-ahead log, a busy timeout, last write wins (all write the
same). The memory is a convenience: where it cannot be kept (a read-only folder, a network file system on
which a write-ahead log is unsafe, a damaged or locked database) it lasts as long as the process.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.io.network_disk import network_file_system

_LARGEST = 2**63 - 1
"""SQLite's integers are signed; some file systems number with all 64 bits."""


class FileKey(NamedTuple):
    """What changes when a file does. The inode's change time cannot be set back, so it catches restored mtimes."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileKey:
        return cls(
            status.st_dev & _LARGEST, status.st_ino & _LARGEST, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )

    def age_s(self, now_ns: int) -> float:
        """How long nothing happened to the file; negative when its clock is ahead of ours."""
        return (now_ns - max(self.mtime_ns, self.ctime_ns)) / 1e9


class FileFacts(NamedTuple):
    """A file's SHA-256 as 64 hex digits, and the duration its header claims, None where it has no audio header."""

    digest: str
    duration_s: float | None


class FileMemory:
    """Facts about files by :class:`FileKey`; ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._database, self.is_kept = _opened(path)

    def recall(self, keys: Sequence[FileKey]) -> dict[FileKey, FileFacts]:
        """What is known of ``keys``, in one query."""
        wanted = set(keys)
        inodes = json.dumps(sorted({key.inode for key in wanted}))
        with self._lock:
            try:
                rows = self._database.execute(_RECALL, (inodes,)).fetchall()
            except sqlite3.Error:
                rows = self._forgetting().execute(_RECALL, (inodes,)).fetchall()
        found = {row[:5]: row[5:] for row in rows}
        return {key: FileFacts(*found[key]) for key in wanted if key in found}

    def remember(self, facts: Mapping[FileKey, FileFacts]) -> None:
        """Keep ``facts``, in one transaction."""
        rows = [(*key, *known) for key, known in facts.items()]
        if not rows:
            return
        with self._lock:
            try:
                _write(self._database, rows)
            except sqlite3.Error:
                _write(self._forgetting(), rows)

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _forgetting(self) -> sqlite3.Connection:
        self._database.close()
        self._database, self.is_kept = _opened(None)
        return self._database


_SCHEMA = """
CREATE TABLE IF NOT EXISTS files_1 (
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    digest TEXT NOT NULL,
    duration_s REAL,
    UNIQUE (inode, device)
)
"""
_RECALL = """
SELECT device, inode, size, mtime_ns, ctime_ns, digest, duration_s
FROM files_1 WHERE inode IN (SELECT value FROM json_each(?))
"""
_REMEMBER = "INSERT OR REPLACE INTO files_1 VALUES (?, ?, ?, ?, ?, ?, ?)"
_PATIENCE_S = 10.0


def _opened(path: Path | None) -> tuple[sqlite3.Connection, bool]:
    """A database and whether it outlives the process."""
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if network_file_system(path.parent) is None:
                return _on_disk(path), True
        except (OSError, sqlite3.Error):
            pass
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.execute(_SCHEMA)
    return database, False


def _on_disk(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    try:
        _into_wal(database)
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("BEGIN IMMEDIATE")
        database.execute(_SCHEMA)
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


def _write(database: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        database.executemany(_REMEMBER, rows)
        database.execute("COMMIT")
    except sqlite3.Error:
        database.execute("ROLLBACK")
        raise
