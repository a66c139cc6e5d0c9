"""A process next to a server that a run has started: ends it, with all its children, when the run is gone.

Run as a script, ``python server_guard.py FOLDER COMMAND``; it imports nothing of this package. Its parent
holds its standard input open, and closes it to end the server; a killed run closes it too. What the server writes
goes to ``server.stdout.log`` and ``server.stderr.log`` in the folder, of which the newest megabytes are kept.
``server.json`` says how it ended, with the last lines it wrote.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

STATUS = "server.json"
_MOST_LOG_BYTES = 2 * 2**20
"""When a log is this long it becomes the ``….old`` one, and a new one is started."""
_TAIL_BYTES = 8192
_TAIL_LINES = 20
_LOOK_S = 0.1
_PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 5.0
"""Between asking a server to end and ending it."""


class Log:
    """What one of the server's streams says: a bounded file, and its last bytes."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream, self._last = path, stream, b""
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def last_lines(self) -> list[str]:
        """Waits a moment for what is still in the pipe: a child that escaped may hold it open."""
        self._thread.join(2.0)
        lines = [" ".join(line.split()) for line in self._last.decode("utf-8", "replace").splitlines()]
        return ["".join(c if c.isprintable() else "?" for c in line)[:500] for line in lines if line][-_TAIL_LINES:]

    def _copy(self) -> None:
        written = 0
        file = self._path.open("wb", buffering=0)
        while piece := os.read(self._stream.fileno(), 2**16):
            self._last = (self._last + piece)[-_TAIL_BYTES:]
            if written > _MOST_LOG_BYTES:
                file.close()
                os.replace(self._path, self._path.with_name(self._path.name + ".old"))
                file, written = self._path.open("wb", buffering=0), 0
            written += len(piece)
            # A full disk must not stop the server, whose pipe would fill up.
            with contextlib.suppress(OSError):
                file.write(piece)
        file.close()


def guard(folder: Path, command: str) -> None:
    """Start the server and stay until it has ended."""
    parent = os.getppid()
    # Become the parent of what a shell leaves behind, so that its end is seen at once (Linux has this).
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    logs = [Log(folder / "server.stderr.log", process.stderr), Log(folder / "server.stdout.log", process.stdout)]
    wanted = True
    while wanted and process.poll() is None:
        ready, _, _ = select.select([sys.stdin.buffer], [], [], _LOOK_S)
        wanted = not (ready and not os.read(sys.stdin.fileno(), 1)) and os.getppid() == parent
    if not wanted:
        _end(process)
    # Children may outlive the shell that started them.
    _signal(process, signal.SIGKILL)
    last_words = next((lines for lines in (log.last_lines() for log in logs) if lines), [])
    aside = folder / f"{STATUS}.part"
    aside.write_text(json.dumps({"code": process.wait(), "wanted": not wanted, "said": last_words}), encoding="utf-8")
    os.replace(aside, folder / STATUS)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the whole group to end, and give it its time: a shell ends at once, and the server behind it does not."""
    deadline = time.monotonic() + GRACE_S
    left = _signal(process, signal.SIGTERM)
    while left and time.monotonic() < deadline:
        time.sleep(_LOOK_S / 4)
        # The leader first, whose exit code is needed.
        if process.poll() is not None:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-process.pid, os.WNOHANG)[0]:
                    pass
        left = _signal(process, 0)


def _signal(process: subprocess.Popen[bytes], what: int) -> bool:
    try:
        os.killpg(process.pid, what)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    # A terminal's Ctrl-C reaches this process too unless it leads its own session: see server_process.start.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    guard(Path(sys.argv[1]), sys.argv[2])
