"""How much has arrived: one line on a terminal, written again; a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from typing import TextIO

_EVERY_S = 0.5
_EVERY_WITHOUT_TERMINAL_S = 30.0
_UNITS = ("B", "kB", "MB", "GB", "TB")


def size_text(size: float) -> str:
    """``1.2 GB``."""
    unit = 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if not unit or size >= 99.95 else f"{size:.1f} {_UNITS[unit]}"


def time_text(seconds: float) -> str:
    """``41 s``, ``3 min``, ``2.5 h``."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"


class Progress:
    """Counts bytes from any thread, and says how many have arrived."""

    def __init__(self, name: str, total: int | None, out: TextIO | None, there: int = 0) -> None:
        """``total`` is None where it is not known, ``there`` what of it lies here already; without ``out`` nothing is
        written.
        """
        self._name, self._total, self._out, self._there = name, total, out, there
        self._lock, self._start, self._arrived = threading.Lock(), time.monotonic(), 0
        self._on_terminal = out is not None and out.isatty()
        self._every_s = _EVERY_S if self._on_terminal else _EVERY_WITHOUT_TERMINAL_S
        self._last, self._width = self._start, 0
        self.stopped = threading.Event()
        """Set where the others need not continue."""

    def __call__(self, more: int) -> None:
        """Counts ``more`` bytes. Raises Stopped where the work is to end."""
        if self.stopped.is_set():
            raise Stopped
        with self._lock:
            self._arrived += more
            now = time.monotonic()
            if self._out is not None and now - self._last >= self._every_s:
                self._last = now
                self._write(self.line(now - self._start))

    def line(self, elapsed_s: float) -> str:
        """``mmsu: 1.2 GB of 4.8 GB, 35.0 MB/s, 103 s left``."""
        rate = max(self._arrived - self._there, 0) / max(elapsed_s, 1e-9)
        of = f" of {size_text(self._total)}" if self._total else ""
        left = ""
        if self._total and rate > 0:
            left = f", {time_text(max(self._total - self._arrived, 0) / rate)} left"
        return f"{self._name}: {size_text(self._arrived)}{of}, {size_text(rate)}/s{left}"

    def end(self) -> None:
        """Leave the line free for others."""
        if self._on_terminal and self._width:
            self._write("")

    def _write(self, line: str) -> None:
        assert self._out is not None
        if self._on_terminal:
            self._out.write(f"\r{line.ljust(self._width)}" + ("\r" if not line else ""))
            self._width = len(line)
        else:
            self._out.write(f"{line}\n")
        self._out.flush()


class Stopped(Exception):
    """Raised in a thread whose work is no longer needed."""
