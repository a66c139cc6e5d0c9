"""A run while it lasts: what it is to do, which eval each of its processes is at, and whether it is alive.

The controller keeps ``running.json`` locked until it ends. The system frees the lock of a process that is killed, so
that a folder without ``run.json`` is of a running run where that file is locked, and else of one that did not end.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from pytest_audiobench.io.network_disk import network_file_system
from pytest_audiobench.records.fields import Count, Record, Time, plain
from pytest_audiobench.report.atomic_files import write_text

RecordType = TypeVar("RecordType", bound=Record)

STATE = "running.json"
AT = "at-*.json"
"""The pattern of the files of the processes, of which each is rewritten while its process asks."""
_EVERY_S = 1.0
_SILENT_S = 600.0
"""Where locks cannot be relied on, a run that has changed nothing for longer is taken for one that did not end."""
_MOST_BYTES = 64_000_000


class RunningRecord(Record, frozen=True):
    """What a run is about to do."""

    started: Time
    command: Sequence[str]
    plan: Sequence[str]
    """What is to be asked of each model, a line each."""
    evals: Sequence[tuple[str, str, str]]
    """The node id, the eval's name and the model's alias of each test that is to run."""


class AtRecord(Record, frozen=True):
    """The eval that a process is at, with its samples."""

    eval: str
    done: Count
    total: Count


def hold(folder: Path, running: RunningRecord) -> int:
    """Write ``running.json`` into a run's folder; returns its descriptor, which is locked until it is closed."""
    hidden = folder / f".{STATE}"
    write_text(hidden, json.dumps(plain(running)))
    descriptor = os.open(hidden, os.O_RDWR | os.O_CLOEXEC)
    # Some network disks have no locks; a reader then goes by the time of the last change.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.replace(hidden, folder / STATE)
    return descriptor


def is_alive(folder: Path) -> bool:
    """Whether the run of a folder without ``run.json`` is still running."""
    try:
        descriptor = os.open(folder / STATE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    else:
        # A lock that another machine has on a network disk is not always seen here.
        if network_file_system(folder) is None:
            return False
    finally:
        os.close(descriptor)
    return time.time() - last_change(folder) < _SILENT_S


def last_change(folder: Path) -> float:
    """When something in the folder of a run that has not ended was last written, in seconds since 1970."""
    times = [0.0]
    for path in (folder, folder / "parts", *folder.glob(AT)):
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times)


def running_record(folder: Path) -> RunningRecord | None:
    """What the run is to do; None where that was not written, or cannot be read."""
    return _read(folder / STATE, RunningRecord)


def evals_at_work(folder: Path) -> Iterator[AtRecord]:
    """Where each process of the run was last."""
    for path in sorted(folder.glob(AT)):
        if (at := _read(path, AtRecord)) is not None:
            yield at


def _read(path: Path, record: type[RecordType]) -> RecordType | None:
    # Rewritten while it is read, half written by a full disk, or made by a stranger: it is then not shown.
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            return msgspec.json.decode(path.read_bytes(), type=record)
    return None


class AtWork:
    """Writes the eval that this process is at, at most once a second, next to what reports its progress."""

    def __init__(self, path: Path) -> None:
        self._path, self._last = path, 0.0

    def of(self, eval_: str, report: Callable[..., None]) -> Callable[..., None]:
        """``report``, which takes how many are done, of how many, and a figure; each call of it is written too."""

        def both(done: int, total: int, figure: str = "") -> None:
            now = time.monotonic()
            # The last report of an eval is written, too: the next one may take long to begin.
            if now - self._last >= _EVERY_S or done == total:
                self._last = now
                # A file that cannot be written costs a line in a viewer, not the run.
                with suppress(OSError):
                    write_text(self._path, json.dumps({"eval": eval_, "done": done, "total": total}))
            report(done, total, figure)

        return both
