"""An array in a JSON file is read element by element, whatever the file's length and wherever it is cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets import published_layouts
from pytest_audiobench.datasets.published_layouts import elements
from pytest_audiobench.errors import UsageError

OBJECTS = st.lists(
    st.dictionaries(st.text(max_size=4), st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=4)
)


@given(OBJECTS, st.sampled_from([None, 1]), st.booleans())
def test_elements_are_those_that_json_reads(tmp_path_factory, objects, indent, ascii_only):
    path = tmp_path_factory.mktemp("json") / "long.json"
    whole = {"before": "é ] [ , {", "audios": objects, "after": [1]}
    path.write_text(json.dumps(whole, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    assert list(elements(path, "audios")) == objects


@pytest.mark.parametrize("chunk_bytes", [1, 2, 7, 64])
def test_it_does_not_matter_where_a_chunk_ends(tmp_path, monkeypatch, chunk_bytes):
    monkeypatch.setattr(published_layouts, "_CHUNK_BYTES", chunk_bytes)
    objects = [{"text": 'über 日本 \\ " ]', "number": 12.5, "inner": [{"a": []}]} for _ in range(5)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"audios": objects}, ensure_ascii=False), encoding="utf-8")
    assert list(elements(path, "audios")) == objects


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no array 'audios'"),
        (b'{"other": []}', "no array 'audios'"),
        (b'{"audios": [{"a": 1}, {"a": ', "cannot be read as JSON"),
        (b'{"audios": [{"a": 1} nonsense]}', "cannot be read as JSON"),
        (b'{"audios": [{"a": "\\ud800"}]}', "cannot be read as JSON"),
        (b'{"audios": [' + b"[" * 100_000, "cannot be read as JSON"),
        (b'{"audios": [{"a": "\xff"}]}', "not UTF-8"),
        (b'{"audios": [{"a": "' + b"x" * 3_000_000, "without an end to one of its parts"),
    ],
)
def test_what_is_no_such_file_is_told_in_one_sentence(tmp_path, content, said):
    path = tmp_path / "long.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"long\.json") as error:
        list(elements(path, "audios", most_bytes=2_000_000))
    assert said in str(error.value)
    assert len(str(error.value)) < 500


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"none\.json cannot be read"):
        list(elements(tmp_path / "none.json", "audios"))
