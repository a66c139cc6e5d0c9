"""Where fetched data is looked for, and what of it may be read."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.datasets.fetch_records import check_complete, read_record, recorded_names
from pytest_audiobench.datasets.places import Places, data_root
from pytest_audiobench.errors import DataNotFound, UsageError


def part(splits, complete, needed_by="words"):
    return {
        "address": f"hub:lab/{'-'.join(splits) or 'all'}",
        "patterns": [],
        "into": "",
        "unpacked": True,
        "revision": "0" * 40,
        "pinned": False,
        "needed_by": [needed_by],
        "parameters": {"split": splits} if splits else {},
        "complete": complete,
        "files": [["test.csv", 3, "0" * 64]] if complete else [],
        "archives": [],
    }


@pytest.fixture
def words(tmp_path):
    """Writes the record of a data set with these parts; returns its folder."""

    def write(*parts):
        record = {"schema": "audiobench.fetch/1", "name": "words", "time": "2026-01-01T00:00:00Z", "parts": parts}
        (tmp_path / "words.fetch.json").write_text(json.dumps(record))
        (tmp_path / "words").mkdir(exist_ok=True)
        return tmp_path / "words"

    return write


def test_only_the_evals_whose_files_lack_are_refused(words):
    folder = words(part(["clean"], True), part(["other"], False))
    check_complete(folder, "words", "words", {"split": "clean"})
    with pytest.raises(DataNotFound, match=r"is not complete, since its fetch did not end; run audiobench fetch words"):
        check_complete(folder, "words", "words", {"split": "other"})


def test_what_every_eval_needs_is_needed_by_each(words):
    with pytest.raises(DataNotFound, match="is not complete"):
        check_complete(words(part([], False)), "words", "words", {"split": "clean"})


def test_a_part_of_another_benchmark_in_the_same_folder_is_not_needed(words):
    check_complete(words(part([], False, "sentences")), "words", "words", {"split": "clean"})


def test_a_folder_without_a_record_is_read_as_it_is(tmp_path):
    check_complete(tmp_path / "words", "words", "words", {})
    assert read_record(tmp_path, "words") is None


def test_a_record_that_was_written_anew_is_read_anew(words):
    folder = words(part(["clean"], False))
    assert not read_record(folder.parent, "words").parts[0].complete
    words(part(["clean"], True))
    assert read_record(folder.parent, "words").parts[0].complete
    assert recorded_names(folder.parent) == ["words"]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"schema": "audiobench.fetch/2"}', '{"schema": "audiobench.fetch/1", "name": 3}']
)
def test_a_damaged_record_is_one_sentence(tmp_path, content):
    (tmp_path / "words.fetch.json").write_text(content)
    with pytest.raises(UsageError, match=r"words\.fetch\.json"):
        read_record(tmp_path, "words")


@pytest.mark.parametrize(
    ("given", "variables", "folder"),
    [
        ("/a", {"AUDIOBENCH_DATA_ROOT": "/b"}, "/a"),
        (None, {"AUDIOBENCH_DATA_ROOT": "/b", "AUDIOBENCH_DATA": "/c"}, "/b"),
        (None, {"AUDIOBENCH_DATA": "words=/w:/c:/d", "XDG_CACHE_HOME": "/x"}, "/c"),
        (None, {"AUDIOBENCH_DATA": "words=/w", "XDG_CACHE_HOME": "/x"}, "/x/audiobench/data"),
        (None, {"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/audiobench/data"),
        ("~/data", {"HOME": "/h"}, "/h/data"),
    ],
)
def test_the_data_root_is_the_first_that_is_named(monkeypatch, given, variables, folder):
    for name in ("AUDIOBENCH_DATA_ROOT", "AUDIOBENCH_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert data_root(given) == Path(folder)


def test_a_folder_that_is_given_twice_is_named_once_where_data_lacks(tmp_path):
    with pytest.raises(DataNotFound) as lack:
        Places(here=tmp_path, shelves=[tmp_path, tmp_path]).find("words", "test.csv")
    assert str(lack.value).count(str(tmp_path / "words")) == 1
