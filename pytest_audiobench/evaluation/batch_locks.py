"""Who is asking what: locks that the operating system frees when their owner dies.

A claim is a byte-range lock at an offset derived from the claimed key, in one lock file beside the
store. A worker that is killed frees its claims at once, with no lease to expire and nothing to clean.
Two keys that share an offset (62 bits) would only wait for one another.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType


class BatchLocks:
    """BatchLocks of this process; not for use by several threads (POSIX locks belong to a process)."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def take(self, key: bytes, wait: bool = False) -> bool:
        """Whether the key is ours now; with ``wait``, blocks until it is."""
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, _offset(key))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def free(self, key: bytes) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _offset(key))

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> BatchLocks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _offset(key: bytes) -> int:
    return int.from_bytes(key[:8], "big") >> 2
