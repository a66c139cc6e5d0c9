"""Runs on a terminal: a process on a pseudo-terminal, and by pyte, an emulator, what a person sees of it."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pyte

ROWS = 30


class Screen:
    """What stood on a terminal of ``columns`` at the end of a run, with all that had scrolled away, and before."""

    def __init__(self, columns):
        self._screen = pyte.HistoryScreen(columns, ROWS, history=100_000)
        self._stream = pyte.ByteStream(self._screen)
        self.columns = columns
        self.written = b""
        self.moments = []
        """The visible lines after each portion that was written."""
        self.status = None

    def feed(self, content):
        self.written += content
        self._stream.feed(content)
        self.moments.append(self.visible)

    @property
    def visible(self):
        return [line.rstrip() for line in self._screen.display]

    @property
    def lines(self):
        above = ["".join(line[k].data for k in range(self.columns)).rstrip() for line in self._screen.history.top]
        return [*above, *self.visible]

    @property
    def text(self):
        return "\n".join(self.lines).rstrip() + "\n"

    def ever(self, words):
        """The lines with ``words`` that could be read at any time."""
        return [line for lines in self.moments for line in lines if words in line]


def pytest_on_a_terminal(arguments, folder, columns=80, **environment):
    """``python -m pytest`` in ``folder`` on a terminal of its own; variables that are None are taken away."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    unwanted = {"CI": None, "BUILD_NUMBER": None, "COLUMNS": None, "LINES": None, "NO_COLOR": None}
    wanted = {**os.environ, "TERM": "xterm-256color"} | unwanted | environment
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env={name: value for name, value in wanted.items() if value is not None},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
        start_new_session=True,
    )
    os.close(theirs)
    screen = Screen(columns)
    try:
        while chunk := os.read(ours, 65536):
            screen.feed(chunk)
    except OSError:
        pass  # a pseudo-terminal ends with EIO when its last writer has gone
    os.close(ours)
    screen.status = process.wait()
    return screen


if __name__ == "__main__":  # COLUMNS FOLDER ARGUMENTS…: print what is seen, for a person who looks at it
    seen = pytest_on_a_terminal(sys.argv[3:], sys.argv[2], int(sys.argv[1]))
    print(seen.text, end="")
    raise SystemExit(seen.status)
