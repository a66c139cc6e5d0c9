"""A run whose store is damaged, foreign, or on a full disk loses nothing, and says who must act."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from .conftest import EVAL


@pytest.fixture
def disk(tmp_path):
    """A file system of its own that can be full: called with its size, it is made or given room."""
    place = tmp_path / "disk"
    place.mkdir()

    def give(size):
        how = ["-o", f"remount,size={size}" if os.path.ismount(place) else f"size={size}"]
        done = subprocess.run(["mount", "-t", "tmpfs", *how, "none", place], capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
        return place

    yield give
    if os.path.ismount(place):
        subprocess.run(["umount", "-l", place], check=True)


def test_an_edited_answer_is_counted_and_asked_again(suite):
    suite.tones()
    suite.write(test_it=EVAL)
    assert suite.run("--ab-store=s.sqlite").ret == 0
    first = suite.last()[0]
    with closing(sqlite3.connect("s.sqlite")) as connection, connection:
        connection.execute('UPDATE answer SET outputs = replace(outputs, \'"text","\', \'"text","not \') WHERE id = 1')
        connection.execute("UPDATE answer SET outputs = substr(outputs, 1, 9) WHERE id = 2")
        connection.execute("UPDATE answer SET detail = CAST(x'ff' AS TEXT) WHERE id = 3")
    result = suite.run("--ab-store=s.sqlite", log="asked")
    assert result.ret == 0
    ((item,), (before,)) = suite.last()[0]["items"], first["items"]
    assert item["hashes"] == before["hashes"]
    assert (item["asking"]["damaged"], item["asking"]["asked"], item["asking"]["noise"]) == (3, 4, 0)
    assert "3 stored answers were damaged and not used" in item["warnings"]
    assert suite.run("--ab-store=s.sqlite").ret == 0
    assert suite.last()[0]["items"][0]["asking"]["damaged"] == 0


def thesis(path):
    path.write_text("this is my thesis, " * 100)


def folder(path):
    path.mkdir()


def newer(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE meta (name, value); CREATE TABLE answer (key); INSERT INTO meta VALUES ('schema', '9')"
        )


def foreign(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url)")


@pytest.mark.parametrize(
    ("make", "sentence", "workers"),
    [
        (thesis, "cannot be used as a store (file is not a database)", []),
        (thesis, "cannot be used as a store (file is not a database)", ["-n2"]),
        (folder, "cannot be used as a store (unable to open database file)", []),
        (newer, "is a store of version 9/None, this release writes 1/1", []),
        (foreign, "is a database of something else", []),
    ],
)
def test_a_file_that_is_no_store_is_refused_once_before_the_first_request(suite, make, sentence, workers):
    suite.tones()
    suite.write(test_it=EVAL, test_more=EVAL)
    make(suite.path / "s.sqlite")
    content = None if (suite.path / "s.sqlite").is_dir() else (suite.path / "s.sqlite").read_bytes()
    result = suite.run("--ab-store=s.sqlite", *workers, log="asked")
    said = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said.count(sentence) == 1
    assert "--ab-store" in said
    assert not (suite.path / "asked").exists()
    assert content is None or (suite.path / "s.sqlite").read_bytes() == content


def test_a_further_store_that_is_not_there_is_refused_before_the_first_request(suite):
    suite.tones()
    suite.write(test_it=EVAL)
    result = suite.run("--ab-store=s.sqlite", "--ab-store=team.sqlite", log="asked")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "team.sqlite cannot be read as a store" in result.stderr.str()
    assert not (suite.path / "asked").exists()


@pytest.mark.parametrize(("size", "workers"), [("64k", []), ("144k", []), ("64k", ["-n2"])])
def test_a_full_disk_of_the_store_is_the_instruments_failure_and_loses_nothing(suite, disk, size, workers):
    suite.tones()
    suite.write(test_it=EVAL)
    assert suite.run("--ab-store=whole.sqlite").ret == 0
    whole = suite.last()[0]["hashes"]
    store = disk(size) / "s.sqlite"
    result = suite.run(f"--ab-store={store}", *workers, log="first")
    assert result.ret == 6
    assert f"{store} cannot be" in result.stdout.str()
    assert "run again, which asks only what is missing" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    disk("8m")
    assert suite.run(f"--ab-store={store}", *workers, log="second").ret == 0
    assert suite.last()[0]["hashes"] == whole
    asking = suite.last()[0]["items"][0]["asking"]
    assert asking["asked"] + asking["known"] == 40
    assert asking["damaged"] == 0
    if size == "144k":
        assert asking["known"] > 0


@pytest.mark.parametrize(("size", "workers"), [("4k", []), ("160k", []), ("4k", ["-n2"]), ("64k", ["-n2"])])
def test_a_full_disk_of_the_reports_is_the_instruments_failure(suite, disk, size, workers):
    suite.tones()
    suite.write(test_it=EVAL)
    reports = disk(size) / "reports"
    result = suite.run("--ab-store=s.sqlite", f"--ab-reports={reports}", *workers, log="first")
    assert result.ret == 6
    assert f"{reports}" in result.stdout.str()
    assert "(No space left on device): make room there and run again" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    disk("16m")
    assert suite.run("--ab-store=s.sqlite", f"--ab-reports={reports}", *workers, log="second").ret == 0
    assert not (suite.path / "second").exists() or size == "4k"


def test_two_runs_at_once_on_one_store_ask_everything_once_and_give_the_same(suite):
    suite.tones()
    suite.write(test_it=EVAL)
    command = [sys.executable, "-m", "pytest", "--ab-store=s.sqlite", "--ab-model=tone:one,log=asked,sleepy=0.05"]
    runs = [
        subprocess.Popen([*command, f"--ab-run={name}", "-p", "no:cacheprovider"], stdout=subprocess.DEVNULL)
        for name in ("one", "two")
    ]
    assert [run.wait() for run in runs] == [0, 0]
    asked = [line for line in (suite.path / "asked").read_text().split() if line != "load"]
    assert sorted(asked) == sorted(f"tone-{number}" for number in range(40))
    records = [json.loads((suite.path / "reports" / name / "run.json").read_text()) for name in ("one", "two")]
    assert records[0]["hashes"] == records[1]["hashes"]
    assert sum(record["answers"]["asked"] for record in records) == 40


JUMPS = """
_clock, _jumps = time.time, 0

def ask(self, batch, answered=ToneModel.ask):
    global _jumps
    _jumps += 1
    # A year back, then two years on, and so forth.
    offset = (-1) ** _jumps * _jumps * 31_536_000
    time.time = lambda: _clock() + offset
    return answered(self, batch)

ToneModel.ask = ask
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_clock_that_jumps_in_a_run_and_before_it_is_resumed_loses_and_changes_nothing(suite, workers):
    suite.tones()
    suite.write(test_it=EVAL)
    assert suite.run("--ab-store=calm.sqlite").ret == 0
    calm = suite.last()[0]["hashes"]
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + JUMPS)
    died = suite.run(workers, "--ab-store=s.sqlite", log="asked", die="tone-17", how="kill")
    assert died.ret != 0
    answered = [line for line in (suite.path / "asked").read_text().split() if line != "load"]
    assert 0 < len(answered) < 40
    assert suite.run(workers, "--ab-store=s.sqlite", log="asked").ret == 0
    (record, _) = suite.last()
    assert record["hashes"] == calm
    asked = [line for line in (suite.path / "asked").read_text().split() if line != "load"]
    assert set(asked) == {f"tone-{number}" for number in range(40)}
    # Those of the batch that was on its way when the process died.
    assert len(asked) - 40 <= 4
    assert suite.run(workers, "--ab-store=s.sqlite", log="again").ret == 0
    assert not (suite.path / "again").exists()


def test_a_store_with_other_columns_is_refused_once_and_keeps_its_answers(suite):
    suite.tones()
    suite.write(test_it=EVAL, test_more=EVAL)
    assert suite.run("--ab-store=s.sqlite").ret == 0
    with closing(sqlite3.connect("s.sqlite")) as connection, connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            connection.execute(f'ALTER TABLE "{table}" ADD COLUMN of_another_release TEXT')
    result = suite.run("--ab-store=s.sqlite", log="asked")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert said.count("s.sqlite cannot be used as a store (") == 1
    assert "Traceback" not in said
    assert not (suite.path / "asked").exists()
    with closing(sqlite3.connect("s.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM answer").fetchone() == (40,)
