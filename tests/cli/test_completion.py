"""Completion: what the shells are told, and real shells that are told so."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_audiobench.cli import main, verb_modules
from pytest_audiobench.cli.completion import candidates

_PATIENCE_S = 60


def names(*words):
    return [name for name, _ in candidates(words)]


def test_verbs_are_completed_with_what_they_do():
    found = dict(candidates(["co"]))
    assert list(found) == [name for name in verb_modules() if name.startswith("co")]
    assert found["compare"].startswith("compare runs or baselines")
    assert set(names("")) == set(verb_modules())


def test_options_and_their_choices_are_completed():
    assert names("compare", "a", "b", "--form") == ["--format"]
    assert names("table", "a", "--format", "la") == ["latex"]
    assert names("table", "a", "--format=la") == ["--format=latex"]
    assert names("table", "a", "--format", "=", "la") == ["latex"]  # as bash takes it apart
    assert names("table", "a", "--plot", "=") == ["bar", "radar"]
    assert names("baseline", "update", "--o") == ["--out"]
    assert names("baseline", "u") == ["update"]


def test_names_of_what_there_is_are_completed(tmp_path, monkeypatch):
    assert names("fetch", "esc") == ["esc50"]
    assert names("fetch", "esc50", "libris") == ["librispeech", "librispeech_gender"]
    assert names("warmup", "htt") == ["http:"]
    assert names("score", "x", "--scorers", "letters,wer-b") == ["letters,wer-basic"]
    assert "wer-basic" in names("describe", "wer-")
    assert names("init", "calls", "--protocol", "transc") == ["transcription"]
    assert names("doctor", "pyt") == ["pytest"]
    assert names("doctor", "audiobench", "list", "bench") == ["benchmarks"]
    monkeypatch.chdir(tmp_path)
    for number, run in enumerate(("old", "new", "empty")):
        folder = tmp_path / "reports" / run
        folder.mkdir(parents=True)
        if run != "empty":
            (folder / "run.json").write_text("{}")
            os.utime(folder / "run.json", (number, number))
    assert names("compare", "") == ["new", "old"]
    assert names("table", "old", "n") == ["new"]


def test_where_a_file_is_meant_or_a_verb_is_none_nothing_is_offered():
    assert names("init", "") == []
    assert names("table", "a", "--out", "") == []
    assert names("nosuch", "") == []


def test_each_script_names_its_shell(capsys):
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert f"completion {shell} --words" in capsys.readouterr().out


@pytest.fixture
def environment(tmp_path):
    """One in which ``audiobench`` is this package's."""
    (tmp_path / "audiobench").write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest_audiobench.cli "$@"\n')
    (tmp_path / "audiobench").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    package = str(Path(__file__).parents[2])
    return {**os.environ, "PATH": path, "PYTHONPATH": package, "HOME": str(tmp_path), "TERM": "dumb"}


@pytest.mark.parametrize(
    ("command", "begin"),
    [
        (["bash", "--norc", "--noprofile", "-i"], "source <(audiobench completion bash)\n"),
        (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <(audiobench completion zsh)\n"),
    ],
)
def test_a_shell_completes_a_verb_at_a_tab(command, begin, environment, tmp_path):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execvpe(command[0], command, environment)
    try:
        os.write(terminal, f"{begin}echo rea''dy\n".encode())
        read_until(terminal, b"ready")
        os.write(terminal, b"audiobench conf\t")
        read_until(terminal, b"conformance")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def read_until(terminal, wanted):
    seen, end = b"", time.monotonic() + _PATIENCE_S
    while wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        assert ready, seen
        seen += os.read(terminal, 65_536)


def test_fish_completes_verbs_and_values(environment, tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = (
        "audiobench completion fish | source; complete -C'audiobench conf'; complete -C'audiobench table a --format='"
    )
    done = subprocess.run(["fish", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True)
    found = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert found == ["conformance", "--format=csv", "--format=latex", "--format=markdown"], done.stderr
