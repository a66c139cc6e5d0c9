"""The progress of evals, on one line; nothing under -q.

Outside xdist the line is written by the eval itself. Under xdist a worker has no terminal: it writes a
small file, and a thread of the controller reads them all and writes one line for all workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

Report: TypeAlias = Callable[..., None]
"""Takes how many are done, of how many, and a first figure of them as text, or nothing."""
_EVERY_S = 0.5
_EVERY_WITHOUT_TERMINAL_S = 30.0


class Progress:
    """Reports how far the eval in hand has come through ``show``, not more often than ``every_s``."""

    def __init__(self, show: Callable[[str], None], every_s: float = _EVERY_S) -> None:
        self._show, self._every_s, self._last = show, every_s, time.monotonic()

    def of(self, eval_: str) -> Report:
        """The progress function of one eval."""
        began_s, known = 0.0, -1

        def report(done: int, total: int, figure: str = "") -> None:
            nonlocal began_s, known
            now = time.monotonic()
            if not 0 <= known <= done:
                # The first report of a stage is what the store held: of that there is no speed.
                began_s, known = now, done
            if now - self._last >= self._every_s:
                self._last = now
                speed = speed_text(done - known, now - began_s, total - done)
                self._show(f"{eval_}: {done}/{total}{speed}{figure}")

        return report


def speed_text(done: int, seconds: float, left: int) -> str:
    """How many are answered in a second, and how long the rest takes at that speed; "" while neither is known."""
    if done <= 0 or seconds <= 0:
        return ""
    left_s = left * seconds / done
    unit, count = next((unit, left_s / size) for unit, size in _UNITS if left_s >= 2 * size or size == 1)
    return f", {done / seconds:.3g}/s, {count:.0f} {unit} left"


_UNITS = (("h", 3600), ("min", 60), ("s", 1))


def silent() -> Progress:
    return Progress(lambda text: None, every_s=float("inf"))


def on_terminal(reporter: Any, capture: Any) -> Progress:
    """Progress of a run without workers: the line rewritten in place on a terminal, a line now and then elsewhere."""
    line = _Line(reporter)

    def show(text: str) -> None:
        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            line.write(text)

    return Progress(show, line.every_s)


def to_file(path: Path) -> Progress:
    """Progress of an xdist worker. A file that cannot be written costs a line on the screen, not the run."""

    def show(text: str) -> None:
        with suppress(OSError):
            path.write_text(text, encoding="utf-8")

    return Progress(show)


class WorkersLine:
    """The controller's line for all workers, written by a thread of its own until stopped."""

    def __init__(self, reporter: Any, folder: Path) -> None:
        self._line, self._folder = _Line(reporter), folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="audiobench-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        before = ""
        while not self._stop.wait(self._line.every_s):
            states = []
            for path in sorted(self._folder.glob("progress-*")):
                with suppress(OSError, ValueError):
                    states.append(path.read_text(encoding="utf-8"))
            text = " | ".join(filter(None, states))
            if text and text != before:
                self._line.write(text)
            before = text


class _Line:
    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._terminal = bool(reporter.isatty)
        self.every_s = _EVERY_S if self._terminal else _EVERY_WITHOUT_TERMINAL_S

    def write(self, text: str) -> None:
        if self._terminal:
            self._reporter.rewrite(f"audiobench {text}"[: self._reporter._tw.fullwidth - 1], erase=True)
        else:
            self._reporter.ensure_newline()
            self._reporter.write_line(f"audiobench {text}")
