"""Checkpoints asked as they are saved, each held to the best so far."""

import json
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.errors import UsageError
from pytest_audiobench.training.checkpoints import Checkpoint, Follower, checkpoints

WATCH = ["watch", "saved/checkpoint-*", "--model=trained:{checkpoint}"]
ARGUMENTS = ["--", "test_tones.py", "-q"]


def watch(*options):
    return main([*WATCH, *options, *ARGUMENTS])


def test_each_checkpoint_is_asked_once_and_held_to_the_best_so_far(save, capfd):
    follower = Follower("saved", ARGUMENTS[1:], "trained:{checkpoint}", alpha=0.06)
    looks = [follower.ask(Checkpoint(step, save(step, right))) for step, right in ((100, 20), (200, 60), (1000, 61))]
    # All looks together spend the level.
    assert [look.track and round(look.track.alpha, 6) for look in looks] == [None, 0.03, 0.01]
    assert [look.regressed for look in looks] == [[], [], []]
    assert follower.exit_status() == 0
    save(1100, 40)
    capfd.readouterr()
    assert watch("--once") == 1
    out = capfd.readouterr().out
    assert "step 100: the first; the next is compared with it" in out
    worse = next(line for line in out.splitlines() if "✗ worse" in line)
    assert "62.5 %" in worse
    assert "1000" in worse
    assert "curves: reports/saved.html" in out
    assert Path("reports/saved.html").stat().st_size > 10_000
    # What is known is read, not asked: pytest ran for the new checkpoint alone.
    assert out.count("1 passed in ") == 1


def test_a_checkpoint_that_is_saved_again_is_asked_again(save, capfd):
    save(100, 60)
    save(200, 60)
    assert watch("--once") == 0
    record = Path("reports/saved-200/run.json")
    # While that run asked: it ended later.
    later = datetime.fromisoformat(json.loads(record.read_text())["started"]).timestamp() + 5
    os.utime(record, (later + 5, later + 5))
    folder = save(200, 10)
    for file in folder.iterdir():
        os.utime(file, (later, later))
    capfd.readouterr()
    assert watch("--once") == 1
    assert capfd.readouterr().out.count("1 passed in ") == 1


def test_what_other_arguments_measured_is_no_measurement(save):
    checkpoint = Checkpoint(100, save(100, 60))
    Follower("saved", ARGUMENTS[1:], "trained:{checkpoint}").ask(checkpoint)
    arguments = (ARGUMENTS[1:], ["test_tones.py", "-q", "--ab-limit=8"])
    models = ("trained:{checkpoint}", "trained:{checkpoint}/")
    known = [Follower("saved", own, model).is_measured(checkpoint) for own in arguments for model in models]
    assert known == [True, False, False, False]


def test_a_checkpoint_that_cannot_be_measured_is_said_and_is_no_success(save, capfd):
    save(100, 60)
    save(200, "no number")
    assert watch("--once") == 6
    assert "step 200: not measured: " in capfd.readouterr().out


def test_it_waits_until_a_step(save):
    save(100, 20)
    command = [sys.executable, "-m", "pytest_audiobench.cli", *WATCH, "--until=200", "--every=0.1", *ARGUMENTS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("step 100: "):
            break
    save(200, 60)
    assert "step 200, against the best so far" in process.stdout.read()
    assert process.wait() == 0


def test_what_is_still_written_is_no_checkpoint_yet(save):
    save(100, 20)
    assert [each.step for each in checkpoints("saved/checkpoint-*", 60)[0]] == [100]
    folder = save(200, 20, state=False)
    assert [each.step for each in checkpoints("saved/checkpoint-*", 60)[0]] == [100]
    assert [each.step for each in checkpoints("saved/checkpoint-*", 0)[0]] == [100, 200]
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-2.safetensors"}}')
    assert [each.step for each in checkpoints("saved/checkpoint-*", 0)[0]] == [100]


def test_folders_without_a_step_and_two_of_one_are_refused(save, tmp_path):
    save(100, 20)
    Path("saved/checkpoint-last").mkdir()
    with pytest.raises(UsageError, match="no step is in the name of saved/checkpoint-last"):
        checkpoints("saved/checkpoint-*", 0)
    Path("other/checkpoint-100").mkdir(parents=True)
    with pytest.raises(UsageError, match="are both of step 100"):
        checkpoints("*/checkpoint-100", 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": "hf:saved"}, "does not say where the checkpoint goes"),
        ({"name": "a/b"}, "cannot be the name of runs"),
        ({"max_drop": "some"}, "some"),
    ],
)
def test_what_cannot_be_followed_is_refused_at_once(options, says):
    with pytest.raises(UsageError, match=says):
        Follower(**{"name": "saved", "arguments": (), **options})


def test_no_checkpoint_is_a_mistake_where_none_is_waited_for(save, capsys):
    assert watch("--once") == 4
    assert "no checkpoint in saved/checkpoint-* is whole" in capsys.readouterr().err


def test_what_is_not_whole_is_said_and_is_no_success(save, capfd):
    save(100, 60)
    save(200, 60, state=False)
    assert watch("--once") == 6
    assert "step 200: not measured: it is not whole: " in " ".join(capfd.readouterr().out.split())


def test_a_checkpoint_that_was_removed_before_it_was_asked_is_said(save, monkeypatch, capfd):
    save(100, 60)
    gone = save(200, 60)
    ask = Follower.ask
    monkeypatch.setattr(Follower, "ask", lambda self, each: (ask(self, each), shutil.rmtree(gone))[0])
    assert watch("--once") == 6
    assert "step 200: not measured: its folder was removed" in capfd.readouterr().out
