"""The command audiobench: verbs, help and mistakes."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from pytest_audiobench.cli import main


def test_help_names_every_verb(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "serve" in shown
    assert "check-server" in shown


@pytest.mark.parametrize("arguments", [[], ["fly"], ["serve"], ["serve", "x:y", "--port", "many"]])
def test_arguments_that_are_none_end_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: audiobench")


def test_a_users_mistake_ends_with_4_and_one_sentence(capsys):
    assert main(["serve", "parrot"]) == 4
    said = capsys.readouterr().err
    assert said.startswith("audiobench: 'parrot' names no model")
    assert said.count("\n") == 1


def test_a_message_wraps_at_the_terminals_width():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    command = [sys.executable, "-m", "pytest_audiobench.cli", "describe", "beans_zeroo_of_another_name"]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, check=False).returncode == 4
    os.close(theirs)
    lines = os.read(ours, 65_536).decode().splitlines()
    os.close(ours)
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines).split()).startswith(
        "audiobench: nothing is called 'beans_zeroo_of_another_name'; audiobench list benchmarks lists those that"
    )


def test_help_loads_nothing_heavy():
    heavy = "numpy", "scipy", "jiwer", "soundfile", "fastapi", "uvicorn", "torch", "pytest", "http.client"
    code = (
        "import sys; from pytest_audiobench.cli import main\n"
        "try: main(['--help'])\n"
        f"except SystemExit: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
