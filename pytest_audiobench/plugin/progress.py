"""How far a run has come, on one line below pytest's own; nothing under -q.

Every process that asks counts its answers. Under xdist a worker has no terminal: it writes them into a small file, and
a thread of the controller reads all of these. Where there is no terminal, and in CI, a line is written now and then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.metrics.value import digits_text
from pytest_audiobench.plugin.run_folder import Expected, Planned
from pytest_audiobench.report.formatting import cut_in_the_middle, duration, printable

Report: TypeAlias = Callable[..., None]
"""Takes how many are done, of how many, and a first figure of them as text, or nothing."""
_EVERY_S = 0.5
_EVERY_WITHOUT_TERMINAL_S = 30.0
_SHORTEST_NAME = 12


class Position(NamedTuple):
    """How far one process has come."""

    eval: str = ""
    done: int = 0
    total: int = 0
    figure: str = ""
    own: int = 0
    """The answers that are there of the test at work, in all its evaluations, stages and epochs."""
    answers: int = 0
    """Those of all tests so far."""
    asked: int = 0
    """Those of them that the model gave in ``seconds``: neither of the store, nor while it was loaded."""
    seconds: float = 0.0


class Progress:
    """Counts the answers of one process and gives them to ``show``, not more often than ``every_s``."""

    def __init__(self, show: Callable[[Position], None], every_s: float = _EVERY_S) -> None:
        self._show, self._every_s, self._last = show, every_s, time.monotonic()
        self._at, self._test, self._answered = Position(), "", False

    def of(self, eval_: str) -> Report:
        """The progress function of one eval."""
        known, before = -1, 0.0

        def report(done: int, total: int, figure: str = "") -> None:
            nonlocal known, before
            now = time.monotonic()
            test = eval_.partition(":")[0].partition(" (")[0]
            own, self._test = (self._at.own if test == self._test else 0), test
            is_new = not 0 <= known <= done  # the first report of a stage is what the store held
            more, asked, seconds = done - (0 if is_new else known), self._at.asked, self._at.seconds
            if not is_new and more:
                # The first answers of all waited for the model to be loaded.
                asked, seconds = (asked + more, seconds + now - before) if self._answered else (asked, seconds)
                self._answered = True
            if is_new or more:
                before = now
            known = done
            answers = self._at.answers + more
            self._at = Position(eval_, done, total, figure, own + more, answers, asked, seconds)
            if now - self._last >= self._every_s:
                self._last = now
                self._show(self._at)

        return report


def silent() -> Progress:
    return Progress(lambda position: None, every_s=float("inf"))


def to_file(path: Path) -> Progress:
    """Progress of an xdist worker. A file that cannot be written costs a line on the screen, not the run."""

    def show(position: Position) -> None:
        with suppress(OSError):
            path.write_text(json.dumps(position), encoding="utf-8")

    return Progress(show)


class RunProgress:
    """The progress of a whole run, of the evals that are ``expected`` and of the ``outcomes`` of those that ended."""

    def __init__(
        self,
        reporter: Any,
        capture: Any,
        expected: Mapping[str, Expected],
        outcomes: Mapping[str, str],
        planned: Mapping[str, Planned],
    ) -> None:
        self._reporter, self._capture = reporter, capture
        self._expected, self._outcomes, self._planned = expected, outcomes, planned
        self._line: LiveLine | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        # The log of a job keeps what a terminal would erase.
        self._live = bool(reporter.isatty) and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
        self.every_s = _EVERY_S if self._live else _EVERY_WITHOUT_TERMINAL_S

    def show(self, *positions: Position) -> None:
        """Write the line, of the positions of all processes."""
        width = self._reporter._tw.fullwidth - 1 if self._live else 200
        text = progress_text(positions, self._expected, self._outcomes, self._planned, width)
        with nullcontext() if self._capture is None else self._capture.global_and_fixture_disabled():
            if self._live:
                self._line = self._line or LiveLine(self._reporter)
                self._line.draw(text)
            else:
                self._reporter.ensure_newline()
                self._reporter.write_line(f"audiobench: {text}")

    def watch(self, folder: Path) -> None:
        """Show what workers write into ``folder``, on a thread of its own, until stopped."""
        self._thread = threading.Thread(target=self._watch, args=(folder,), name="audiobench-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the terminal as if there had been no line."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._line is not None:
            self._line.remove()
            self._line = None

    def _watch(self, folder: Path) -> None:
        before: list[Position] = []
        while not self._stop.wait(self.every_s):
            positions = []
            for path in sorted(folder.glob("progress-*")):
                # A file may be read while it is written.
                with suppress(OSError, ValueError, TypeError):
                    positions.append(Position(*json.loads(path.read_text(encoding="utf-8"))))
            if positions and positions != before:
                self.show(*positions)
            before = positions


def progress_text(
    positions: Sequence[Position],
    expected: Mapping[str, Expected],
    outcomes: Mapping[str, str],
    planned: Mapping[str, Planned],
    width: int = 200,
) -> str:
    """How far the run has come, in ``width`` columns: evals, answers, speed, the time left, the evals at work."""
    answers, here = sum(place.answers for place in positions), sum(place.own for place in positions)
    ended = [outcomes[nodeid] for nodeid in expected if nodeid in outcomes]
    measured = len(ended) - ended.count("skipped")
    waiting = [planned.get(nodeid) for nodeid in expected if nodeid not in outcomes]
    rough = "~" * (None in waiting)
    # What never ran here is taken for as large as the evals so far.
    mean = Planned(round((answers - here) / measured) if measured else 0)
    sizes = [mean if size is None else size for size in waiting]
    left = max(sum(size.answers for size in sizes) - here, sum(place.total - place.done for place in positions))
    speed = sum(place.asked / place.seconds for place in positions if place.asked and place.seconds)
    is_known = measured or not rough
    said = [f"{len(ended)}/{len(expected)} evals"]
    said.append(f"{answers:,}{f'/{rough}{answers + left:,}' if is_known else ''} answers")
    if speed:
        said.append(f"{digits_text(speed, 3)}/s")
    if speed and is_known and (to_ask := left - sum(size.known for size in sizes)) > 0:
        said.append(f"{rough}{duration(to_ask / speed)} left")
    head = ", ".join(said)
    room = (width - len(head)) // max(1, len(positions)) - len(": ")
    texts = []
    for place in positions if room > _SHORTEST_NAME else ():
        count = f" {place.done}/{place.total}{place.figure}"
        count *= len(count) + min(_SHORTEST_NAME, len(place.eval)) <= room
        texts.append(cut_in_the_middle(printable(place.eval), room - len(count)) + count)
    return ": ".join(filter(None, (head, ", ".join(texts))))[:width]


class LiveLine:
    """A line below the one on which a terminal's cursor stands; it is gone before pytest writes anything, and under -s
    before a test does.
    """

    def __init__(self, reporter: Any) -> None:
        self._writer, self._file = reporter._tw, reporter._tw._file
        self._streams = sys.stdout, sys.stderr
        self._is_drawn = False
        self.lock = threading.RLock()
        self._writer._file = _Stream(self, self._file)
        if reporter.config.option.capture == "no":
            sys.stdout, sys.stderr = _Stream(self, sys.stdout), _Stream(self, sys.stderr)

    def draw(self, text: str) -> None:
        """Write ``text``, and put the cursor back."""
        # The index (ESC D) makes room at the bottom of the screen and keeps the column, as no newline would.
        with self.lock, suppress(OSError, UnicodeEncodeError):
            self._file.write(f"\x1bD\x1b[A\x1b7\x1b[B\r{text}\x1b[K\x1b8")
            self._file.flush()
            self._is_drawn = True

    def erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._file.write("\x1b7\x1b[B\r\x1b[K\x1b8")
            self._file.flush()

    def remove(self) -> None:
        """Give the terminal back."""
        with self.lock:
            self.erase()
        self._writer._file = self._file
        sys.stdout, sys.stderr = self._streams


class _Stream:
    """Replaces a stream: the line is removed before anything is written."""

    def __init__(self, line: LiveLine, stream: Any) -> None:
        self._line, self._stream = line, stream

    def write(self, text: str) -> Any:
        with self._line.lock:
            self._line.erase()
            return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
