"""The index knows files by their bytes, remembers them between runs, and notices every change."""

from __future__ import annotations

import hashlib
import inspect
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import ArraySource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.file_facts import FileFacts, FileMemory
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.audio.location import FileKey
from pytest_audiobench.errors import AudioError, UsageError

OLD_NS = 1_600_000_000 * 10**9


def clip_of(file: Path) -> Clip:
    return Clip(FileSource(DataRoot("mine", file.parent), file.name))


def wav(file: Path, level: float = 0.1, duration_s: float = 0.5) -> Clip:
    soundfile.write(file, np.full(round(16_000 * duration_s), level), 16_000)
    return clip_of(file)


def facts_of(index: AudioIndex, clips: Sequence[Clip]) -> list[ClipFacts]:
    facts = index.facts_of(clips)
    assert not [fact for fact in facts if isinstance(fact, AudioError)]
    return [fact for fact in facts if isinstance(fact, ClipFacts)]


def remembered(memory: Path) -> list[tuple[str, float | None]]:
    with sqlite3.connect(memory) as database:
        return database.execute("SELECT digest, duration_s FROM files_2").fetchall()


def test_a_file_is_known_by_its_encoded_bytes_and_its_headers_length(tmp_path: Path) -> None:
    clip = wav(tmp_path / "a.wav", duration_s=0.5)
    with AudioIndex(None) as index:
        (facts,) = facts_of(index, [clip])
    assert facts == (hashlib.sha256((tmp_path / "a.wav").read_bytes()).hexdigest(), 0.5)
    assert clip.key_from(facts.digest) == facts.digest


def test_files_of_the_same_content_share_a_digest(tmp_path: Path) -> None:
    clips = [wav(tmp_path / "a.wav"), wav(tmp_path / "b.wav"), wav(tmp_path / "c.wav", level=0.2)]
    with AudioIndex(None) as index:
        first, second, third = facts_of(index, clips)
    assert first == second != third


def test_facts_come_in_the_order_of_the_clips_errors_among_them(tmp_path: Path) -> None:
    known = wav(tmp_path / "a.wav")
    array = Clip(ArraySource.of(np.ones(800), 8_000))
    clips = [array, clip_of(tmp_path / "missing.wav"), known, known.edited(edits.pad(1, 0)), known]
    with AudioIndex(None) as index:
        facts = index.facts_of(clips)
    assert facts[0] == ClipFacts(array.source.digest, 0.1)  # type: ignore[union-attr]
    assert isinstance(facts[1], AudioError)
    assert facts[2] == facts[4] == ClipFacts(facts[3].digest, 0.5)  # type: ignore[union-attr]
    assert facts[3].duration_s == 1.5  # type: ignore[union-attr]


def test_two_roots_of_one_name_are_two_folders(tmp_path: Path) -> None:
    """Sources compare by their root's name, which travels; files are told apart by where they lie."""
    for number, name in enumerate(("here", "there")):
        (tmp_path / name).mkdir()
        wav(tmp_path / name / "a.wav", level=0.1 * number)
    with AudioIndex(None) as index:
        first, second = facts_of(index, [clip_of(tmp_path / name / "a.wav") for name in ("here", "there")])
    assert first.digest != second.digest


def test_what_one_run_learned_the_next_one_knows(tmp_path: Path) -> None:
    memory = tmp_path / "cache" / "audio.sqlite"
    clips = [wav(tmp_path / f"{number}.wav", level=number / 100) for number in range(70)]
    with AudioIndex(memory, settle_s=0) as index:
        first = facts_of(index, clips)
        assert index.is_persistent
    assert {digest for digest, _ in remembered(memory)} == {fact.digest for fact in first}
    facts = FileMemory(memory)
    keys = [FileKey.of((tmp_path / f"{number}.wav").stat()) for number in range(70)]
    facts.remember(dict.fromkeys(keys, FileFacts("from memory", 1.0)))
    facts.close()
    with AudioIndex(memory, settle_s=0) as index:
        assert {fact.digest for fact in facts_of(index, clips)} == {"from memory"}


@pytest.mark.parametrize(
    "damage",
    [
        "digest = 'f' || substr(digest, 2)",
        "digest = CAST(x'ff' AS TEXT)",
        "digest = 7",
        "duration_s = 3600.0",
        "duration_s = NULL",
        "size = size + 1, checksum = checksum",
        "checksum = 'text'",
    ],
)
def test_a_damaged_row_is_read_from_its_file_again(tmp_path: Path, damage: str) -> None:
    memory, clips = tmp_path / "audio.sqlite", [wav(tmp_path / f"{n}.wav", level=n / 10) for n in range(3)]
    with AudioIndex(memory, settle_s=0) as index:
        first = facts_of(index, clips)
    with sqlite3.connect(memory) as database:
        database.execute(f"UPDATE files_2 SET {damage} WHERE rowid = 2")
    with AudioIndex(memory, settle_s=0) as index:
        assert facts_of(index, clips) == first


def test_a_file_changed_in_place_with_size_and_mtime_kept_is_read_again(tmp_path: Path) -> None:
    memory, file = tmp_path / "audio.sqlite", tmp_path / "a.wav"
    clip = wav(file, level=0.1)
    os.utime(file, ns=(OLD_NS, OLD_NS))
    with AudioIndex(memory, settle_s=0) as index:
        (before,) = facts_of(index, [clip])
        state = file.stat()
        wav(file, level=0.2)
        os.utime(file, ns=(OLD_NS, OLD_NS))
        assert (file.stat().st_size, file.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
        (after,) = facts_of(index, [clip])
    assert before.digest != after.digest
    assert remembered(memory) == [(after.digest, after.duration_s)]


def test_a_file_is_not_remembered_while_it_is_young(tmp_path: Path) -> None:
    """A file with an old mtime is young all the same when its inode was just changed."""
    memory = tmp_path / "audio.sqlite"
    young, restored = wav(tmp_path / "young.wav"), wav(tmp_path / "restored.wav")
    os.utime(tmp_path / "restored.wav", ns=(OLD_NS, OLD_NS))
    assert inspect.signature(AudioIndex).parameters["settle_s"].default >= 1
    with AudioIndex(memory, settle_s=3600) as index:
        facts_of(index, [young, restored])
        assert remembered(memory) == []
    with AudioIndex(memory, settle_s=0) as index:
        facts_of(index, [young, restored])
        assert len(remembered(memory)) == 2


def test_a_file_from_the_future_is_not_remembered(tmp_path: Path) -> None:
    clip = wav(tmp_path / "a.wav")
    os.utime(tmp_path / "a.wav", ns=(4 * OLD_NS, 4 * OLD_NS))
    with AudioIndex(tmp_path / "audio.sqlite", settle_s=0) as index:
        facts_of(index, [clip])
    assert remembered(tmp_path / "audio.sqlite") == []


def test_weights_are_digested_by_the_same_memory(tmp_path: Path) -> None:
    memory, weights = tmp_path / "audio.sqlite", tmp_path / "model.safetensors"
    weights.write_bytes(bytes(range(256)) * 5000)
    with AudioIndex(memory, settle_s=0) as index:
        digest = index.digest_of(weights)
        assert digest == hashlib.sha256(weights.read_bytes()).hexdigest() == index.digest_of(weights)
        with pytest.raises(UsageError, match=r"none\.safetensors: cannot be read"):
            index.digest_of(tmp_path / "none.safetensors")
        with pytest.raises(UsageError, match="cannot be read"):
            index.digest_of(tmp_path)
    assert remembered(memory) == [(digest, None)]


@pytest.mark.parametrize("content", [b"this is not a database, it is a text of some length" * 100, b""])
def test_a_damaged_memory_is_done_without(tmp_path: Path, content: bytes) -> None:
    memory = tmp_path / "audio.sqlite"
    memory.write_bytes(content)
    clip = wav(tmp_path / "a.wav")
    with AudioIndex(memory, settle_s=0) as index:
        assert index.is_persistent == (content == b"")
        assert facts_of(index, [clip]) == facts_of(index, [clip])


def test_a_memory_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """The folder's place is taken by a file: nobody, not even root, can write below it."""
    (tmp_path / "taken").touch()
    clip = wav(tmp_path / "a.wav")
    with AudioIndex(tmp_path / "taken" / "audio.sqlite", settle_s=0) as index:
        assert not index.is_persistent
        assert facts_of(index, [clip]) == facts_of(index, [clip])


def test_a_memory_that_breaks_while_in_use_is_done_without(tmp_path: Path) -> None:
    memory, clip = tmp_path / "audio.sqlite", wav(tmp_path / "a.wav")
    with AudioIndex(memory, settle_s=0) as index:
        first = facts_of(index, [clip])
        with sqlite3.connect(memory) as database:
            database.execute("DROP TABLE files_2")
        assert facts_of(index, [clip]) == first
        assert not index.is_persistent


def test_processes_share_one_memory_at_once(tmp_path: Path) -> None:
    for number in range(400):
        wav(tmp_path / f"{number}.wav", level=number / 1000, duration_s=0.05)
    script = (
        "import sys; from pathlib import Path\n"
        "from pytest_audiobench.audio import file_facts\n"
        "from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource\n"
        "from pytest_audiobench.audio.index import AudioIndex\n"
        "file_facts._PATIENCE_S = 600.0\n"
        "folder = Path(sys.argv[1]); root = DataRoot('mine', folder)\n"
        "clips = [Clip(FileSource(root, f'{number}.wav')) for number in range(400)]\n"
        "with AudioIndex(folder / 'audio.sqlite', settle_s=0) as index:\n"
        "    for start in range(0, 400, 20):\n"
        "        facts = index.facts_of(clips[start:start + 20])\n"
        "        print(*(fact.digest for fact in facts))\n"
        "    assert index.is_persistent\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = {worker.communicate()[0] for worker in workers}
    assert [worker.returncode for worker in workers] == [0] * 4
    expected = {hashlib.sha256((tmp_path / f"{number}.wav").read_bytes()).hexdigest() for number in range(400)}
    assert len(said) == 1
    assert set(said.pop().split()) == expected == {digest for digest, _ in remembered(tmp_path / "audio.sqlite")}
