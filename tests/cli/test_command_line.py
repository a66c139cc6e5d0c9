"""The command audiobench: verbs, help and mistakes."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from importlib import metadata

import pytest

from pytest_audiobench.cli import main, verb_modules


@pytest.mark.parametrize("arguments", [["fly"], ["serve"], ["serve", "x:y", "--port", "many"]])
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


def test_help_shows_each_verb_in_one_group(capsys):
    assert main_ends(["--help"]) == 0
    shown = capsys.readouterr().out
    verbs = [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line[2].isalpha()]
    assert sorted(verbs) == sorted(verb_modules())
    assert "more:" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_bare_command_shows_the_verbs_and_ends_with_2(capsys):
    assert main_ends([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "  compare " in shown.err


def test_the_version_is_that_of_the_installed_package(capsys):
    assert main_ends(["--version"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"pytest-audiobench {metadata.version('pytest-audiobench')}, Python {sys.version_info[0]}.")
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["inspekt"], "invalid choice: 'inspekt'; did you mean inspect?"),
        (["list", "scoreers"], "invalid choice: 'scoreers'; did you mean scorers?"),
        (["compare", "a", "b", "--fromat", "csv"], "unrecognized arguments: --fromat csv; did you mean --format?"),
    ],
)
def test_a_mistyped_verb_choice_or_option_is_told_what_was_meant(arguments, meant, capsys):
    assert main_ends(arguments) == 2
    assert capsys.readouterr().err.rstrip().endswith(meant)


def main_ends(arguments):
    """The exit code of what ends before any verb runs."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code
