"""The store keeps what was paid for, once, whatever dies."""

import json
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from dataclasses import replace

import pytest

from pytest_audiobench.errors import InfrastructureError, UsageError
from pytest_audiobench.evaluation import answer_store
from pytest_audiobench.evaluation.answer_store import LONGEST_TEXT, Store
from pytest_audiobench.evaluation.batch_executor import Counts
from pytest_audiobench.io import network_disk
from pytest_audiobench.io.network_disk import network_file_system
from pytest_audiobench.models.messages import Output, Part, Response

from .meter import known_responses


def put(store, **answers):
    return store.put_batch({key.encode(): (Response.of(text), {}) for key, text in answers.items()}, {})


def texts(store, *keys):
    return {key.decode(): response.text for key, response in known_responses(store, [k.encode() for k in keys]).items()}


def test_an_answer_comes_back_as_it_was(tmp_path):
    response = Response(
        (
            Output((Part("text", "a\x00b\x1b[31m"), Part("audio", "abc")), "length", 0.25),
            Output((Part("text", "two"),)),
        ),
        usage={"prompt_tokens": 3},
        latency_s=0.5,
        truncated_s=(1.5,),
    )
    with Store(tmp_path / "store.sqlite", "one") as store:
        store.put_batch({b"k": (response, {"audio": []})}, {})
    with Store(tmp_path / "store.sqlite", "two") as store:
        assert known_responses(store, [b"k", b"other"]) == {b"k": response}


def test_the_first_write_wins_and_a_different_answer_is_noise(tmp_path):
    with Store(tmp_path / "s", "one") as first, Store(tmp_path / "s", "two") as second:
        assert put(first, a="yes").noise == 0
        written = put(second, a="no", b="new")
        assert written.noise == 1
        assert {key: response.text for key, response in written.responses.items()} == {b"a": "yes", b"b": "new"}
        assert texts(first, "a", "b") == {"a": "yes", "b": "new"}
        assert put(second, a="yes").noise == 0


def test_refresh_knows_only_what_its_own_run_asked(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        put(store, a="old", b="same")
    with Store(tmp_path / "s", "two", refresh=True) as store:
        assert texts(store, "a", "b") == {}
        assert put(store, a="new", b="same").noise == 1
        assert texts(store, "a", "b") == {"a": "new", "b": "same"}
    with Store(tmp_path / "s", "three") as store:
        assert texts(store, "a", "b") == {"a": "new", "b": "same"}


def test_failures_lie_apart_and_only_permanent_ones_are_known(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        store.put_batch({}, {b"a": ("no such codec", True), b"b": ("timed out", False)})
        assert store.failures([b"a", b"b"]) == {b"a": "no such codec"}
        assert known_responses(store, [b"a", b"b"]) == {}
    with Store(tmp_path / "s", "two", refresh=True) as store:
        assert store.failures([b"a"]) == {}


def test_further_stores_are_only_read(tmp_path):
    with Store(tmp_path / "team", "one") as team:
        put(team, a="theirs")
    with Store(tmp_path / "mine", "two", extras=[tmp_path / "team"]) as mine:
        assert texts(mine, "a") == {"a": "theirs"}
        put(mine, a="mine")
    with Store(tmp_path / "team", "three") as team:
        assert texts(team, "a") == {"a": "theirs"}


def test_a_file_that_is_no_store_is_a_usage_error(tmp_path):
    (tmp_path / "s").write_text("this is my thesis, " * 100)
    with pytest.raises(UsageError, match="cannot be used as a store"):
        Store(tmp_path / "s", "one")
    assert (tmp_path / "s").read_text().startswith("this is my thesis")


def test_a_store_of_another_version_is_a_usage_error(tmp_path):
    Store(tmp_path / "s", "one").close()
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    connection.close()
    with pytest.raises(UsageError, match="version 99/1"):
        Store(tmp_path / "s", "one")


def test_many_processes_write_at_once_and_agree(tmp_path):
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from pytest_audiobench.models.messages import Response
        from pytest_audiobench.evaluation.answer_store import Store
        with Store(Path(sys.argv[1]), sys.argv[2]) as store:
            held = {}
            for n in range(60):
                held |= store.put_batch({b"%d" % n: (Response.of(sys.argv[2]), {})}, {}).responses
            print(sorted((key, response.text) for key, response in held.items()))
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "s")]
    running = [subprocess.Popen([*command, f"run{n}"], stdout=subprocess.PIPE) for n in range(3)]
    said = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(said) == 1


def test_a_killed_writer_loses_no_whole_batch(tmp_path):
    script = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from pytest_audiobench.models.messages import Response
        from pytest_audiobench.evaluation.answer_store import Store
        store = Store(Path(sys.argv[1]), "one")
        store.put_batch({b"a": (Response.of("kept"), {})}, {})
        store._connection.execute("BEGIN IMMEDIATE")
        store._write([(b"b", "[]", "{}", "one", 0.0)])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "s")], check=False)
    assert done.returncode == -signal.SIGKILL
    with Store(tmp_path / "s", "two") as store:
        assert texts(store, "a", "b") == {"a": "kept"}
        assert put(store, b="after").noise == 0


def test_a_runaway_answer_is_cut_and_counted(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        assert put(store, a="x" * (LONGEST_TEXT + 5), b="\ud800", c="fine").repaired == 2
        assert len(texts(store, "a")["a"]) == LONGEST_TEXT


def test_every_repaired_piece_of_an_answer_is_counted(tmp_path):
    pieces = Output((Part("text", "\ud800"), Part("text", "\ud800"), Part("text", "fine")))
    with Store(tmp_path / "s", "one") as store:
        written = store.put_batch({b"a": (Response((pieces, Output((Part("text", "fine"),)))), {})}, {})
        assert written.repaired == 2
        assert written.responses == known_responses(store, [b"a"])


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=str)
            for table in ("failure", "noise", "meta")
        }, connection.execute("SELECT key, outputs, detail, run, created, digest FROM answer ORDER BY key").fetchall()


def test_stores_are_put_together_alike_in_whatever_order(tmp_path):
    for name, text in (("one", "early"), ("two", "late"), ("three", "alone")):
        with Store(tmp_path / name, name) as store:
            put(store, a=text, **{name: "own"}) if name != "three" else put(store, three=text)
            store.put_batch({}, {name[:2].encode(): (f"{name} failed", False)})
            store.keep_note("hearing:m", name)
    merged = []
    for order in (("one", "two", "three"), ("three", "two", "one", "two")):
        with Store(tmp_path / "-".join(order), "merged", merged=True) as store:
            assert [store.absorb(tmp_path / name) for name in order] == [0] * len(order)
            assert texts(store, "a", "one", "two", "three") == {
                "a": "late",
                "one": "own",
                "two": "own",
                "three": "alone",
            }
            assert store.passed_failures([b"on"]) == {b"on": "one failed"}
            assert store.notes("hearing:") == [("hearing:m", "two")]
        merged.append(rows(tmp_path / "-".join(order))[1])
    assert merged[0] == merged[1]
    assert [row[1] for row in rows(tmp_path / "one-two-three")[0]["noise"]] == [b"a"]


def test_only_a_merged_store_takes_a_failure_for_the_last_word(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        store.put_batch({}, {b"a": ("the server was away", False), b"b": ("no audio", True)})
        assert store.failures([b"a", b"b"]) == {b"b": "no audio"}
        assert store.passed_failures([b"a", b"b"]) == {}
    with Store(tmp_path / "s", "two", merged=True) as store:
        assert store.failures([b"a", b"b"]) == {b"b": "no audio"}
        assert store.passed_failures([b"a", b"b"]) == {b"a": "the server was away"}


def test_damaged_rows_are_counted_and_left_where_they_are(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        put(store, a="yes", b="no")
    with closing(sqlite3.connect(tmp_path / "s")) as connection, connection:
        connection.execute("UPDATE answer SET run = 'another' WHERE id = 1")
    with Store(tmp_path / "t", "two") as store:
        assert store.absorb(tmp_path / "s") == 1
        assert texts(store, "a", "b") == {"b": "no"}
        with pytest.raises(UsageError, match="cannot be read as a store"):
            store.absorb(tmp_path / "absent")


def test_a_local_folder_is_no_network_file_system(tmp_path):
    assert network_file_system(tmp_path / "not" / "there" / "yet") is None


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """Makes the table of mounts say so, with the test's folder in place of a question mark."""

    def mount(*lines):
        table = tmp_path / "mounts"
        table.write_text("".join(line.replace("?", str(tmp_path)) + "\n" for line in lines))
        monkeypatch.setattr(network_disk, "_MOUNTS", table)

    return mount


@pytest.mark.parametrize(
    "kind", ["nfs4", "lustre", "fuse.juicefs", "fuse.rclone", "fuse.blobfuse2", "fuse.ceph-fuse", "fuse.sshfs"]
)
def test_a_store_on_a_network_disk_is_refused_before_it_is_made(kind, tmp_path, mounted):
    mounted("/dev/sda1 / ext4 rw 0 0", f"server:/home ? {kind} rw 0 0")
    with pytest.raises(UsageError, match=rf"network file system \({kind}\).*--ab-store FILE; audiobench merge"):
        Store(tmp_path / "s", "one")
    assert not (tmp_path / "s").exists()


def test_the_disk_that_a_store_lies_on_is_the_innermost(tmp_path, mounted):
    mounted("server:/home ? nfs4 rw 0 0", "/dev/sdb1 ?/local\\040disk ext4 rw 0 0", "server:/ ?/loc nfs rw 0 0")
    Store(tmp_path / "local disk" / "s", "one").close()
    assert network_file_system(tmp_path / "loc" / "s") == "nfs"
    assert network_file_system(tmp_path / "locations" / "s") == "nfs4"


def noise(path):
    """What lost, in the order of losing: key, text and the run that had said it."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT key, outputs, run FROM noise ORDER BY id").fetchall()
    connection.close()
    return [(key, json.loads(outputs)[0][0][0][1], run) for key, outputs, run in rows]


def test_noise_keeps_the_text_that_lost_and_whose_it_was(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        put(store, a="yes")
    with Store(tmp_path / "s", "two") as store:
        put(store, a="no")
    assert noise(tmp_path / "s") == [(b"a", "no", "two")]


def test_noise_keeps_the_text_that_a_refresh_replaced(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        put(store, a="old")
    with Store(tmp_path / "s", "two", refresh=True) as store:
        put(store, a="new")
    assert noise(tmp_path / "s") == [(b"a", "old", "one")]


def test_within_a_refreshed_run_the_first_write_wins_again(tmp_path):
    with Store(tmp_path / "s", "one", refresh=True) as store:
        put(store, a="first")
        assert put(store, a="second").noise == 1
        assert texts(store, "a") == {"a": "first"}
    assert noise(tmp_path / "s") == [(b"a", "second", "one")]


def test_an_answer_that_a_refresh_only_confirms_counts_as_its_own(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        put(store, a="same")
    with Store(tmp_path / "s", "two", refresh=True) as store:
        assert put(store, a="same").noise == 0
        assert texts(store, "a") == {"a": "same"}


def test_a_refresh_does_not_take_further_stores_for_an_answer(tmp_path):
    with Store(tmp_path / "team", "one") as team:
        put(team, a="theirs")
    with Store(tmp_path / "mine", "one", refresh=True, extras=[tmp_path / "team"]) as mine:
        assert texts(mine, "a") == {}


def test_what_stands_in_the_own_store_wins_over_further_ones_and_they_in_their_order(tmp_path):
    for name in ("x", "y"):
        with Store(tmp_path / name, "one") as extra:
            put(extra, a=name, **{name: name, "both": name})
    with Store(tmp_path / "mine", "two", extras=[tmp_path / "x", tmp_path / "y"]) as mine:
        put(mine, a="mine")
        assert texts(mine, "a", "x", "y", "both") == {"a": "mine", "x": "x", "y": "y", "both": "x"}


def test_failures_of_further_stores_are_not_taken_over(tmp_path):
    with Store(tmp_path / "team", "one") as team:
        team.put_batch({}, {b"a": ("no such codec", True)})
    with Store(tmp_path / "mine", "two", extras=[tmp_path / "team"]) as mine:
        assert mine.failures([b"a"]) == {}


@pytest.mark.parametrize("text", [None, "this is my thesis, " * 100])
def test_a_further_store_that_is_none_is_a_usage_error_and_is_not_made(tmp_path, text):
    team = tmp_path / "team"
    if text:
        team.write_text(text)
    with pytest.raises(UsageError, match=r"team cannot be read as a store .* leave it out of --ab-store"):
        Store(tmp_path / "mine", "one", extras=[team])
    assert team.exists() == bool(text)


@pytest.mark.parametrize(("name", "version"), [("schema", "99/1"), ("keys", "1/99")])
def test_a_further_store_of_another_version_is_a_usage_error(tmp_path, name, version):
    Store(tmp_path / "team", "one").close()
    with sqlite3.connect(tmp_path / "team") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = ?", (name,))
    connection.close()
    with pytest.raises(UsageError, match=f"version {version}"):
        Store(tmp_path / "mine", "one", extras=[tmp_path / "team"])


def test_a_folder_that_is_not_there_yet_is_made(tmp_path):
    Store(tmp_path / "a" / "b" / "s", "one").close()
    assert (tmp_path / "a" / "b" / "s").is_file()


def test_a_failure_that_passes_later_is_known_as_an_answer(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        store.put_batch({}, {b"a": ("busy", False)})
        put(store, a="yes")
        assert texts(store, "a") == {"a": "yes"}


def test_the_last_failure_of_a_sample_stands(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        store.put_batch({}, {b"a": ("no such file", False), b"b": ("no such codec", True)})
    with Store(tmp_path / "s", "two", refresh=True) as store:
        store.put_batch({}, {b"a": ("no such codec", True), b"b": ("no such file", False)})
        assert store.failures([b"a", b"b"]) == {b"a": "no such codec"}
    with Store(tmp_path / "s", "three") as store:
        assert store.failures([b"a", b"b"]) == {b"a": "no such codec"}


def test_an_answer_is_found_among_more_keys_than_one_question_to_the_file_may_name(tmp_path):
    names = [f"k{n}" for n in range(1201)]
    with Store(tmp_path / "s", "one") as store:
        put(store, **dict.fromkeys(names, "yes"))
        assert len(texts(store, *names)) == 1201
        assert put(store, **dict.fromkeys(names, "no")).noise == 1201
        store.put_batch({}, {f"f{n}".encode(): ("bad", True) for n in range(1201)})
        assert len(store.failures([f"f{n}".encode() for n in range(1201)])) == 1201


def test_a_batch_that_cannot_be_written_is_not_written_in_part(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        ((pages,),) = store._connection.execute("PRAGMA page_count")
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(InfrastructureError, match=r"read or written \(database or disk is full\): make room"):
            store.put_batch({b"a": (Response.of("yes"), {})}, {b"b": ("x" * 100_000, True)})
        assert texts(store, "a") == {}
        put(store, a="no")
        assert texts(store, "a") == {"a": "no"}


def test_short_and_long_answers_come_back_alike(tmp_path):
    long = [
        Response((Output((Part("text", "x" * n),), "length", score),)) for n in range(60, 110) for score in (None, 1.5)
    ]
    with Store(tmp_path / "s", "one") as store:
        keys = [str(n).encode() for n in range(len(long))]
        store.put_batch({key: (response, {}) for key, response in zip(keys, long, strict=True)}, {})
        assert known_responses(store, keys) == dict(zip(keys, long, strict=True))


def test_times_come_back_as_they_were_told(tmp_path):
    response = replace(Response.of("yes"), latency_s=2, first_token_s=0.5, share_s=0.25)
    with Store(tmp_path / "s", "one") as store:
        written = store.put_batch({b"a": (response, {})}, {}).responses
        assert known_responses(store, [b"a"]) == written == {b"a": response}


def test_notes_are_found_by_how_their_names_begin(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        store.keep_note("hearing:a:x", "1")
        store.keep_note("hearing:b:x", "2")
        store.keep_note("hearing:a:y", "3")
        store.keep_note("hearing%", "4")
        assert store.notes("hearing:a:") == [("hearing:a:x", "1"), ("hearing:a:y", "3")]
        assert store.notes("hearing%") == [("hearing%", "4")]


def test_of_notes_of_one_name_the_last_is_kept_and_the_own_wins(tmp_path):
    with Store(tmp_path / "team", "one") as team:
        team.keep_note("n:a", "theirs")
        team.keep_note("n:b", "theirs")
    with Store(tmp_path / "mine", "two", extras=[tmp_path / "team"]) as mine:
        mine.keep_note("n:a", "first")
        mine.keep_note("n:a", "mine")
        assert dict(mine.notes("n:")) == {"n:a": "mine", "n:b": "theirs"}


def test_a_note_that_is_too_long_to_be_one_is_left_out(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        store.keep_note("n:fits", "x" * 65536)
        store.keep_note("n:long", "x" * 65537)
        assert [name for name, _ in store.notes("n:")] == ["n:fits"]


@pytest.mark.parametrize("place", ["first", "further"])
def test_a_store_that_lacks_a_column_is_refused_in_a_sentence_and_left_as_it_is(tmp_path, place):
    Store(tmp_path / "s", "one").close()
    with closing(sqlite3.connect(tmp_path / "s")) as connection, connection:
        connection.execute("ALTER TABLE answer DROP COLUMN digest")
    further = {"extras": [tmp_path / "s"]} if place == "further" else {}
    with pytest.raises(UsageError, match=r"s cannot be .* a store \(no such column: digest\): .* --ab-store"):
        Store(tmp_path / ("mine" if further else "s"), "two", **further)
    with closing(sqlite3.connect(tmp_path / "s")) as connection:
        assert "digest" not in [row[1] for row in connection.execute("PRAGMA table_info(answer)")]


def test_a_row_without_a_digest_is_asked_again(tmp_path):
    with Store(tmp_path / "s", "new") as store:
        put(store, a="mine")
        store.keep_note("hearing:x", "mine")
        with closing(sqlite3.connect(tmp_path / "s")) as other, other:
            other.execute("UPDATE answer SET digest = NULL")
            other.execute("INSERT OR REPLACE INTO meta VALUES ('hearing:x', 'theirs')")
        assert texts(store, "a") == {}
        assert store.notes("hearing:") == []
        assert store.damaged == {b"a"}
        assert put(store, a="mine").noise == 0
        assert texts(store, "a") == {"a": "mine"}
        assert store.damaged == set()


def test_a_clock_that_jumps_changes_no_answer(tmp_path, monkeypatch):
    with Store(tmp_path / "s", "one") as store:
        for now, answers in ((4e9, {"a": "first"}), (-1e9, {"a": "second", "b": "first"}), (0.0, {"b": "second"})):
            monkeypatch.setattr(time, "time", lambda now=now: now)
            put(store, **answers)
        assert texts(store, "a", "b") == {"a": "first", "b": "first"}
    monkeypatch.setattr(time, "time", lambda: -2e9)
    with Store(tmp_path / "s", "two", refresh=True) as store:
        put(store, a="new")
        assert texts(store, "a", "b") == {"a": "new"}
    with Store(tmp_path / "s", "three") as store:
        assert texts(store, "a", "b") == {"a": "new", "b": "first"}
        assert store.damaged == set()


def test_a_damaged_row_gives_way_to_what_is_asked_in_its_place(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        put(store, a="yes", b="no")
        with closing(sqlite3.connect(tmp_path / "s")) as connection, connection:
            connection.execute("UPDATE answer SET run = 'two' WHERE key = ?", (b"a",))
        assert texts(store, "a", "b") == {"b": "no"}
        assert put(store, a="new").noise == 0
        assert texts(store, "a", "b") == {"a": "new", "b": "no"}


def test_a_score_that_is_no_number_comes_back(tmp_path):
    response = Response((Output((Part("text", "yes"),), "stop", float("inf")),), {"tokens": 2**70}, float("-inf"))
    with Store(tmp_path / "s", "one") as store:
        store.put_batch({b"a": (response, {})}, {})
        assert known_responses(store, [b"a"]) == {b"a": response}


def test_a_store_that_another_program_locks_is_the_instruments_trouble(tmp_path, monkeypatch):
    monkeypatch.setattr(answer_store, "_PATIENCE_S", 0.2)
    with Store(tmp_path / "s", "one") as store, closing(sqlite3.connect(tmp_path / "s", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InfrastructureError, match=r"s cannot be read or written \(database is locked\)"):
            put(store, a="yes")
        with pytest.raises(InfrastructureError, match="database is locked"):
            Store(tmp_path / "s", "two")
        other.execute("ROLLBACK")
        put(store, a="yes")
        assert texts(store, "a") == {"a": "yes"}


def test_fresh_answers_are_those_of_the_run_and_of_runs_at_its_state_that_did_not_end(tmp_path):
    with Store(tmp_path / "s", "ended", started=10.0, state=lambda: "here") as store:
        assert store.find([b"a"], fresh=True) == {}
        put(store, a="old")
        store.end_run()
    for run, state in (("killed", "here"), ("elsewhere", "there")):
        with Store(tmp_path / "s", run, started=time.time() - 60, state=lambda state=state: state) as store:
            store.find([b"a"], fresh=True)
            put(store, **{run: run})
    keys = [b"a", b"killed", b"elsewhere"]
    with Store(tmp_path / "s", "now", started=time.time(), state=lambda: "here") as store:
        assert set(store.find(keys)) == set(keys)
        assert list(store.find(keys, fresh=True)) == [b"killed"]
        assert store.find(keys, fresh=True)[b"killed"].earlier is not None
        store.put_batch({b"a": (Response.of("new"), {})}, {}, fresh=True)
        assert store.find(keys, fresh=True)[b"a"] == (Response.of("new"), None)
        store.end_run()
    with Store(tmp_path / "s", "later", started=time.time(), state=lambda: "here") as store:
        assert store.find(keys, fresh=True) == {}
    assert noise(tmp_path / "s") == [(b"a", "old", "ended")]


def test_a_failure_of_an_earlier_run_is_not_fresh_either(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        store.put_batch({}, {b"a": ("no such codec", True)})
    with Store(tmp_path / "s", "two", started=time.time()) as store:
        assert store.failures([b"a"], fresh=True) == {}
        assert store.failures([b"a"]) == {b"a": "no such codec"}


@pytest.mark.parametrize("clock_s", [-1e18, 0.0, 4e18])
def test_an_answer_of_any_time_has_a_day(clock_s):
    counts = Counts()
    counts.add_reused([clock_s])
    assert counts.oldest == counts.newest == ("9999-12-31" if clock_s > 0 else "1970-01-01")
