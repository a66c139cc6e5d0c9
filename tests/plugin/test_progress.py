"""Long work shows how far it has come: on a terminal, also for all xdist workers at once; never under -q."""

import os
import pty
import re
import subprocess
import sys

import pytest

from pytest_audiobench.plugin.progress import speed_text

from .conftest import BOTH_WAYS, IN_THE_LONG_RUN


def on_a_terminal(suite, *args):
    """What a run prints to a pseudo-terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--ab-model=tone:one,sleepy=0.3", *args]
    process = subprocess.Popen(command, cwd=suite.path, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    printed = b""
    try:
        while chunk := os.read(ours, 65536):
            printed += chunk
    except OSError:
        # A pseudo-terminal ends with EIO when its last writer has gone.
        assert process.wait() == 0
    os.close(ours)
    return printed.decode()


@BOTH_WAYS
def test_a_terminal_shows_how_far_an_eval_has_come(tones, workers):
    printed = on_a_terminal(tones, workers)
    assert "audiobench tones: " in printed
    assert "/40" in printed
    assert re.search(r"/40, [\d.]+/s, \d+ s left", printed)


@pytest.mark.parametrize(
    ("done", "seconds", "left", "text"),
    [
        (10, 5.0, 30, ", 2/s, 15 s left"),
        (10, 5.0, 600, ", 2/s, 5 min left"),
        (100, 3.0, 1_000_000, ", 33.3/s, 8 h left"),
        (10, 5.0, 0, ", 2/s, 0 s left"),
        (0, 5.0, 30, ""),
        (5, 0.0, 30, ""),
    ],
)
def test_the_time_that_is_left_follows_from_what_this_run_asked(done, seconds, left, text):
    assert speed_text(done, seconds, left) == text


@IN_THE_LONG_RUN
def test_nothing_is_shown_under_q(tones, workers):
    printed = on_a_terminal(tones, "-q", workers)
    assert "audiobench tones: " not in printed
