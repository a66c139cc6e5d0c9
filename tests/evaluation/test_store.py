"""The store keeps what was paid for, once, whatever dies."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.store import Store
from pytest_audiobench.evaluation.text_repair import LONGEST_TEXT, repaired
from pytest_audiobench.io.network_disk import network_file_system
from pytest_audiobench.models.messages import Output, Part, Response


def put(store, **answers):
    return store.put_batch({key.encode(): (Response.of(text), {}) for key, text in answers.items()}, {})


def texts(store, *keys):
    return {key.decode(): response.text for key, response in store.get_many([k.encode() for k in keys]).items()}


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
        assert store.get_many([b"k", b"other"]) == {b"k": response}


def test_the_first_write_wins_and_a_different_answer_is_noise(tmp_path):
    with Store(tmp_path / "s", "one") as first, Store(tmp_path / "s", "two") as second:
        assert put(first, a="yes").noise == 0
        written = put(second, a="no", b="new")
        assert written.noise == 1
        assert {key: response.text for key, response in written.held.items()} == {b"a": "yes", b"b": "new"}
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
        assert store.get_many([b"a", b"b"]) == {}
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
        from pytest_audiobench.evaluation.store import Store
        with Store(Path(sys.argv[1]), sys.argv[2]) as store:
            held = {}
            for n in range(60):
                held |= store.put_batch({b"%d" % n: (Response.of(sys.argv[2]), {})}, {}).held
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
        from pytest_audiobench.evaluation.store import Store
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


@given(st.text(st.characters()))
def test_repaired_text_is_valid_and_left_alone_when_it_was(text):
    fixed, changed = repaired(text)
    fixed.encode()
    assert changed == (fixed != text)
    assert repaired(fixed) == (fixed, False)


def test_surrogate_pairs_are_joined_and_lone_halves_replaced():
    assert repaired("a\ud83d\ude00b") == ("a😀b", True)
    assert repaired("a\ud83db") == ("a\ufffdb", True)


def test_a_runaway_answer_is_cut_and_counted(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        assert put(store, a="x" * (LONGEST_TEXT + 5), b="\ud800", c="fine").repaired == 2
        assert len(texts(store, "a")["a"]) == LONGEST_TEXT


def test_a_local_folder_is_no_network_file_system(tmp_path):
    assert network_file_system(tmp_path / "not" / "there" / "yet") is None


def test_claims_are_freed_by_death(tmp_path):
    from pytest_audiobench.evaluation.batch_locks import BatchLocks

    script = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from pytest_audiobench.evaluation.batch_locks import BatchLocks
        claims = BatchLocks(Path(sys.argv[1]))
        print(claims.take(b"batch one"), flush=True)
        time.sleep(60)
        """
    )
    holder = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "c")], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"True\n"
    with BatchLocks(tmp_path / "c") as claims:
        assert not claims.take(b"batch one")
        assert claims.take(b"batch two")
        os.kill(holder.pid, signal.SIGKILL)
        assert claims.take(b"batch one", wait=True)
        claims.free(b"batch one")
    holder.wait()
    holder.stdout.close()
