"""Data, checkpoints and runs behind addresses of fsspec, by its own file systems in memory and on this machine."""

import json
import shutil
import subprocess
import sys
import zipfile

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.datasets.bundled import fixtures_folder
from pytest_audiobench.datasets.places import folders
from pytest_audiobench.datasets.remote_places import is_remote, local_copy
from pytest_audiobench.errors import InfrastructureError, UsageError
from pytest_audiobench.models.hf.checkpoint import Checkpoint

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bucket():
    """Writes files of ``memory://bucket``; returns the file system."""
    memory = fsspec.filesystem("memory")
    memory.store.clear()

    class Bucket:
        def put(self, path, content):
            memory.pipe_file(f"/bucket/{path}", content)

        def remove(self, path):
            memory.rm_file(f"/bucket/{path}")

    yield Bucket()
    memory.store.clear()


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ("s3://bucket/words", True),
        ("hf://datasets/lab/words", True),
        ("gs://bucket", True),
        ("memory://a", True),
        ("https://example.org/run", False),
        ("/data/words", False),
        ("owner/name", False),
        ("s3://", False),
    ],
)
def test_an_address_is_told_from_a_path(text, remote):
    assert is_remote(text) is remote


def test_a_folder_is_copied_with_all_below_it(bucket):
    bucket.put("words/test.csv", b"id,text\n")
    bucket.put("words/audio/a.wav", b"a")
    folder = local_copy("memory://bucket/words")
    assert folder.name == "words"
    assert contents(folder) == {"test.csv": b"id,text\n", "audio/a.wav": b"a"}


def test_what_changed_is_copied_again_and_what_is_gone_is_removed(bucket):
    bucket.put("words/test.csv", b"one")
    bucket.put("words/old.csv", b"old")
    bucket.put("words/same.csv", b"same")
    folder = local_copy("memory://bucket/words")
    before = (folder / "same.csv").stat().st_ino
    bucket.put("words/test.csv", b"two")
    bucket.remove("words/old.csv")
    assert contents(local_copy("memory://bucket/words")) == {"test.csv": b"two", "same.csv": b"same"}
    assert (folder / "same.csv").stat().st_ino == before


def test_a_damaged_copy_is_made_anew(bucket):
    bucket.put("words/test.csv", b"id,text\n")
    folder = local_copy("memory://bucket/words")
    (folder / "test.csv").write_bytes(b"")
    assert contents(local_copy("memory://bucket/words")) == {"test.csv": b"id,text\n"}


def test_a_file_of_the_same_size_is_copied_again_where_its_place_knows_no_entity_tags(tmp_path):
    address = f"zip://words::file://{tmp_path}/words.zip"
    for content in ("one", "two"):
        with zipfile.ZipFile(tmp_path / "words.zip", "w") as archive:
            archive.writestr("words/a.csv", content)
        assert contents(local_copy(address)) == {"a.csv": content.encode()}


def test_a_file_is_copied_alone(bucket):
    bucket.put("runs/run.json", b"{}")
    assert local_copy("memory://bucket/runs/run.json").read_bytes() == b"{}"


def test_data_of_a_run_may_lie_behind_an_address(bucket, tmp_path):
    bucket.put("words/test.csv", b"id,text\n")
    named, shelves = folders(["words=memory://bucket/words"], tmp_path, "--ab-data")
    assert (contents(named["words"]), shelves) == ({"test.csv": b"id,text\n"}, [])


@pytest.mark.parametrize(
    ("address", "kind", "says"),
    [
        ("memory://bucket/gone", UsageError, "there is nothing at memory://bucket/gone"),
        ("nowhere://bucket/words", UsageError, "is not an address that fsspec knows"),
        ("memory://bucket/evil", UsageError, "do not trust it"),
    ],
)
def test_what_cannot_be_copied_is_one_sentence(bucket, address, kind, says):
    bucket.put("evil/a\nb.csv", b"a")
    with pytest.raises(kind, match=says):
        local_copy(address)


def test_a_server_that_is_away_is_no_user_s_mistake():
    with pytest.raises(InfrastructureError, match=r"ftp://127\.0\.0\.1:1/words cannot be read") as caught:
        local_copy("ftp://ada:secret@127.0.0.1:1/words")
    assert "secret" not in str(caught.value)


def test_a_shelf_behind_an_address_is_refused(bucket, tmp_path):
    with pytest.raises(UsageError, match="name the one data set"):
        folders(["memory://bucket"], tmp_path, "--ab-data")


def test_a_checkpoint_behind_an_address_is_read_without_what_is_not_needed(tmp_path):
    source = next(path.parent for path in sorted(fixtures_folder().rglob("model.safetensors")))
    shutil.copytree(source, tmp_path / "model")
    (tmp_path / "model" / "optimizer.bin").write_bytes(b"0" * 1000)
    checkpoint = Checkpoint.find(f"file://{tmp_path / 'model'}")
    assert checkpoint.digests() == Checkpoint.find(str(source)).digests()
    assert not (checkpoint.folder / "optimizer.bin").exists()


def test_finished_runs_behind_an_address_are_compared_verified_and_scored(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_words.py").write_text(
        "from pytest_audiobench import dataset, multiple_choice\n"
        "def test_digits(evaluate):\n"
        "    evaluate(dataset('bundled', 'digits'), multiple_choice())\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ab-run=first", "--ab-limit=8"]
    subprocess.run(command, check=True, capture_output=True)
    shutil.move(tmp_path / "reports" / "first", tmp_path / "bucket" / "first")
    run = f"file://{tmp_path / 'bucket' / 'first'}"
    assert main(["verify", run]) == 0
    assert main(["score", run]) == 0
    capsys.readouterr()
    assert main(["compare", run, run, "--format", "json"]) == 0
    assert "digits" in json.dumps(json.loads(capsys.readouterr().out))
