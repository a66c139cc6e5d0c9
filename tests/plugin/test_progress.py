"""Long work shows how far it has come: on a terminal, also for all xdist workers at once; never under -q."""

import os
import pty
import subprocess
import sys

import pytest


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


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_terminal_shows_how_far_an_eval_has_come(tones, workers):
    printed = on_a_terminal(tones, workers)
    assert "audiobench tones: " in printed
    assert "/40" in printed


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_nothing_is_shown_under_q(tones, workers):
    printed = on_a_terminal(tones, "-q", workers)
    assert "audiobench tones: " not in printed
