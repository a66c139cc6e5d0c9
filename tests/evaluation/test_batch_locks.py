"""A claim keeps other processes out, and nobody longer than its owner lives."""

import pytest

from pytest_audiobench.evaluation.batch_executor import BatchLocks

from .meter import other_process

HOLDER = """
import sys
from pathlib import Path
from pytest_audiobench.evaluation.batch_executor import BatchLocks

locks = BatchLocks(Path(sys.argv[1]))
for key in sys.argv[2:]:
    assert locks.acquire(key.encode())
print("ready", flush=True)
for line in sys.stdin:
    command, _, key = line.strip().partition(" ")
    if command == "free":
        locks.release(key.encode())
        print("freed", flush=True)
    elif command == "take":
        print(locks.acquire(key.encode()), flush=True)
"""


@pytest.fixture
def holder(tmp_path):
    """Makes another process that holds locks, and is told of others."""
    started = []

    def hold(*keys):
        started.append(other_process(HOLDER, tmp_path / "c", *keys))
        return started[-1]

    yield hold
    for process in started:
        process.kill()
        process.communicate()


def reply_to(process, command):
    process.stdin.write(command + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_claims_are_freed_by_death(tmp_path, holder):
    other = holder("batch one")
    with BatchLocks(tmp_path / "c") as locks:
        assert not locks.acquire(b"batch one")
        assert locks.acquire(b"another batch")
        other.kill()
        assert locks.acquire(b"batch one", wait=True)


def test_a_freed_claim_is_free_for_others_and_the_rest_is_not(tmp_path, holder):
    other = holder("a-------", "b-------")
    with BatchLocks(tmp_path / "c") as locks:
        assert reply_to(other, "free a-------") == "freed"
        assert locks.acquire(b"a-------")
        assert not locks.acquire(b"b-------")


def test_a_claim_of_this_process_keeps_others_out_until_it_is_freed(tmp_path, holder):
    other = holder()
    with BatchLocks(tmp_path / "c") as locks:
        assert locks.acquire(b"a" * 32)
        assert reply_to(other, "take " + "a" * 32) == "False"
        locks.release(b"a" * 32)
        assert reply_to(other, "take " + "a" * 32) == "True"


def test_closing_frees_all_claims(tmp_path, holder):
    with BatchLocks(tmp_path / "c") as locks:
        assert locks.acquire(b"a" * 32)
    assert reply_to(holder(), "take " + "a" * 32) == "True"


def test_neighbouring_keys_are_claimed_apart(tmp_path, holder):
    holder("a------a")
    with BatchLocks(tmp_path / "c") as locks:
        # The offset has two bits less than these eight bytes.
        assert locks.acquire(b"a------e")
        assert locks.acquire(b"b------a")
        assert not locks.acquire(b"a------a")


def test_every_key_has_a_place_in_the_lock_file(tmp_path):
    with BatchLocks(tmp_path / "c") as locks:
        for key in (b"\x00" * 32, b"\xff" * 32):
            assert locks.acquire(key)
            locks.release(key)
