"""The door for files that anyone may have edited: a typed value, or the first mistake with its place in plain words."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.strict_json import FileKind
from pytest_audiobench.records.baseline import (
    BaselineEval,
    BaselineFigure,
    BaselineFile,
    BaselineModel,
    BaselineScorer,
    SampleLine,
    UncommonEntries,
)
from pytest_audiobench.records.fields import Count, Digest, Name, Number, Record, Status, Time, plain
from pytest_audiobench.records.reading import convert, decode, read_file
from pytest_audiobench.records.run import PooledHashes, RunRecord

KIND = FileKind("baseline", "audiobench baseline save", "make it again")


class Book(Record, frozen=True, array_like=True):
    title: str
    pages: Count
    lent: bool = False


class Shelf(Record, frozen=True):
    name: str
    books: Sequence[Book] = ()
    weights: Mapping[Name, Number] = {}
    lists: Mapping[str, Sequence[Count]] = {}
    labels: Annotated[Sequence[str], Meta(min_length=1)] = ("all",)
    note: Annotated[str, Meta(max_length=5)] | None = None
    digest: Digest = "0" * 64
    built: Time = "2026-11-21T19:06:00Z"
    status: Status = "parsed"
    parts: Sequence[tuple[Literal["text", "audio"], str]] = ()


class Library(Record, frozen=True, kw_only=True):
    schema: Literal["audiobench.library/2"] = "audiobench.library/2"
    open: bool
    shelves: Sequence[Shelf]


BASELINE = BaselineFile(
    version="1",
    run="nightly",
    finished="2026-11-20T09:01:30Z",
    hashes=PooledHashes(None, None, None),
    model=BaselineModel("listener", "baseline:listener", "ab", {"weights": "ab12"}, None),
    limit=None,
    epochs=1,
    missing=[],
    evals=[
        BaselineEval(
            eval="animals",
            suite="sakura",
            dataset="sakura-animals",
            protocol="multiple-choice",
            epochs=1,
            limited=False,
            cluster=None,
            hashes={"input_hash": "ab"},
            scorers=[
                BaselineScorer(
                    "letters",
                    "letters|v:1",
                    ["correct"],
                    [BaselineFigure("accuracy", 0.5, 0.1, 0.9, 2, "share", "higher")],
                )
            ],
            groups={"k1": {"hop": "single"}},
            prompt="ab",
            samples=[
                SampleLine("s1", 0, [[1.0]], "ab", "=", None, "k1", "ab"),
                SampleLine("s2", 0, [None], "ab", "=", None, None, "ab", UncommonEntries(["refused"], ["refused"])),
            ],
        )
    ],
)


def refusal(shelf: Any, **changes: Any) -> str:
    value = {"schema": "audiobench.library/2", "open": True, "shelves": [{"name": "low"}, shelf], **changes}
    with pytest.raises(UsageError) as refused:
        decode(json.dumps(value).encode(), "library.json", KIND, Library)
    name, _, sentence = str(refused.value).partition(": ")
    says, _, remedy = sentence.rpartition(": ")
    assert (name, remedy) == ("library.json", "make it again")
    return says


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"status": "fine"}, ", status must be one of 'parsed', 'unparsed', 'refused', 'empty', 'out_of_range',"),
        ({"note": "longer"}, ", note must be a text of length at most 5, not of 6"),
        ({"labels": []}, ", labels must be a list of length at least 1, not of 0"),
        ({"labels": ["a", 3]}, ", labels 2 must be a text, not 3"),
        ({"labels": {"a": 1}}, ", labels must be a list, not an object"),
        ({"digest": "ABC"}, ", digest must be 64 hexadecimal digits, not 'ABC'"),
        ({"built": "2026-11-21"}, ", built must be a time such as 2026-11-21T19:06:00Z, not '2026-11-21'"),
        ({"weights": {"a": 1, "b": "x"}}, ", weights, 'b' must be a number, not 'x'"),
        ({"weights": []}, ", weights must be an object, not a list"),
        ({"lists": {"a": [1], "b": [1, -1]}}, ", lists, 'b' 2 must be a whole number of at least 0, not -1"),
        ({"parts": [["text", "a"], ["video", "b"]]}, ", parts 'video' 1 must be one of 'text', 'audio', not 'video'"),
        ({"parts": [["text"]]}, ", parts 'text' must be a list of length 2, not of 1"),
        ({"books": [["Emma", 2.5]]}, ", books 'Emma', pages must be a whole number, not 2.5"),
        ({"books": [["Emma", 9, False], [5, 9]]}, ", books 2, title must be a text, not 5"),
        (
            {"books": [["Emma", 2**53]]},
            f", books 'Emma', pages must be a whole number of at most {2**53 - 1}, not {2**53}",
        ),
        ({"books": [["Emma", 1, 1]]}, ", books 'Emma', lent must be true or false, not 1"),
        ({"books": [["Emma"]]}, ", books 'Emma' must be a list of length at least 2, not of 1"),
        ({"books": [["Emma", 1, True, 4]]}, ", books 'Emma' must be a list of length at most 3, not of 4"),
        ({"books": [{"title": "Emma", "pages": 1}]}, ", books 1 must be a list, not an object"),
        ({"lable": 1}, " has the unknown 'lable' (is it 'labels'?)"),
        ({"qqqqqq": 1}, " has the unknown 'qqqqqq'"),
    ],
)
def test_every_kind_of_mistake_is_said_with_its_place(changes: dict[str, Any], says: str) -> None:
    assert refusal({"name": "top", **changes}).startswith(f"shelves 'top'{says}")


def test_what_has_no_name_is_named_by_its_number() -> None:
    assert refusal({"name": 5}) == "shelves 2, name must be a text, not 5"
    assert refusal({"labels": ["a"]}) == "shelves 2 has no 'name'"
    assert refusal([]) == "shelves 2 must be an object, not a list"


def test_a_name_that_is_too_long_is_said_to_be_one() -> None:
    says = "a name in shelves 'top', weights must be a text of length at most 10000, not of 10001"
    assert refusal({"name": "top", "weights": {"a": 1, "y" * 10_001: 1}}) == says


def test_a_mistake_beside_a_list_is_named_by_its_member_alone() -> None:
    assert refusal({"name": "top"}, open=None) == "open must be true or false, not null"


def test_the_first_mistake_is_told_and_no_other() -> None:
    assert refusal({"name": "top", "note": "too long", "status": "fine"}).count("must be") == 1


def test_a_text_of_a_mistake_is_cut_and_on_one_line() -> None:
    says = refusal({"name": "top", "status": "\x1b[2J\n" * 10_000})
    assert len(says) < 300
    assert says.isprintable()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_named_by_their_line(number: str) -> None:
    content = f'{{"schema":"audiobench.library/2",\n"open":true,\n"shelves":[{{"weights":{{"a":{number}}}}}]}}'
    with pytest.raises(UsageError, match=f"library.json, line 3 holds {number}, which is not a number: make it again"):
        decode(content.encode(), "library.json", KIND, Library)


def test_a_number_beyond_the_largest_is_not_finite() -> None:
    value = '{"schema":"audiobench.library/2","open":true,"shelves":[{"name":"a","weights":{"x":1e999}}]}'
    with pytest.raises(UsageError, match="shelves 'a', weights, 'x' must be a finite number, not inf"):
        decode(value.encode(), "library.json", KIND, Library)


def test_texts_of_numbers_are_numbers_only_where_that_is_asked_for() -> None:
    value = {"name": "top", "weights": {"a": "0.5", "b": "x"}}
    with pytest.raises(UsageError, match=r"weights, 'a' must be a number, not '0.5'"):
        convert(value, "shelf", KIND, Shelf)
    with pytest.raises(UsageError, match="weights, 'b' must be a number, not 'x'"):
        convert(value, "shelf", KIND, Shelf, strict=False)
    del value["weights"]["b"]
    assert convert(value, "shelf", KIND, Shelf, strict=False).weights == {"a": 0.5}


def test_a_number_too_large_for_a_float_is_not_finite() -> None:
    assert refusal({"name": "top", "weights": {"a": 10**400}}).startswith(
        "shelves 'top', weights, 'a' must be a finite number, not 1000"
    )
    with pytest.raises(UsageError, match="weights, 'a' must be a finite number, not 'nan'"):
        convert({"name": "top", "weights": {"a": "nan"}}, "shelf", KIND, Shelf, strict=False)


@pytest.mark.parametrize("change", [{"status": "\ud800"}, {"\ud800": 1}], ids=["in a word", "in a key"])
def test_half_of_a_surrogate_pair_where_none_can_be_is_one_sentence(change: dict[str, Any]) -> None:
    assert refusal({"name": "top", **change}) == "'\\ud800' has half of a surrogate pair"


def test_half_of_a_surrogate_pair_in_a_text_is_kept() -> None:
    assert convert({"name": "\ud800"}, "shelf", KIND, Shelf).name == "\ud800"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b" \n", "library.json is empty: make it again"),
        (b'{"schema":', "line 1 is not JSON .it ends too early: the file was cut"),
        (b'{\n<<<<<<< ours\n"a": 1}', "line 2 is not JSON .it has both versions of a merge conflict"),
        (b"hello", "is not a baseline: write one with audiobench baseline save"),
        (b"[1]", "is not a baseline: it has no schema where 'audiobench.library/2' is expected"),
        (b'{"schema":"audiobench.run/2"}', "is not a baseline: it has the schema 'audiobench.run/2'"),
        (b'{"schema":5}', "is not a baseline: it has the schema 5"),
        (b'{"schema":"audiobench.library/1"}', "another version of pytest-audiobench wrote, and this one reads"),
        (b'{"schema":"audiobench.library/2","open":true,"open":true}', "has 'open' twice"),
        (b'{"schema":"audiobench.library/2","open":"\xff"}', "line 1 is not UTF-8"),
        (b'{"schema":' + b"[" * 100_000, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b'{"schema":' + b"9" * 10_000 + b"}", "a number has too many digits"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of git-lfs"),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_sentence(content: bytes, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        decode(content, "library.json", KIND, Library)
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


def test_a_file_with_a_byte_order_mark_is_read() -> None:
    content = b'\xef\xbb\xbf{"schema":"audiobench.library/2","open":true,"shelves":[]}'
    assert decode(content, "library.json", KIND, Library) == Library(open=True, shelves=[])


def test_a_file_that_cannot_be_read_or_is_too_large_is_named(tmp_path: Path) -> None:
    path = tmp_path / "library.json"
    with pytest.raises(UsageError, match=r"library.json cannot be read \(No such file or directory\)"):
        read_file(path, KIND, Library, 100)
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_file(tmp_path, KIND, Library, 100)
    content = '{"schema":"audiobench.library/2","open":true,"shelves":[]}'
    path.write_text(content)
    assert read_file(path, KIND, Library, len(content)) == Library(open=True, shelves=[])
    with pytest.raises(UsageError, match=r"library.json holds more than 0 MB, which no baseline does"):
        read_file(path, KIND, Library, len(content) - 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_file_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = plain_json(Library(open=False, shelves=[]))
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert read_file(pipe, KIND, Library, 1000) == Library(open=False, shelves=[])
    writer.join()


def plain_json(record: Record) -> bytes:
    return json.dumps(plain(record)).encode()


def test_a_record_reads_back_as_it_was_written() -> None:
    assert decode(plain_json(BASELINE), "main.json", KIND, BaselineFile) == BASELINE


def test_a_sample_of_a_baseline_is_named_by_its_id_and_its_column() -> None:
    value = plain(BASELINE)
    value["evals"][0]["samples"][1][8]["statuses"] = ["fine"]
    with pytest.raises(UsageError, match="evals 'animals', samples 's2', uncommon, statuses 1 must be one of"):
        decode(json.dumps(value).encode(), "main.json", KIND, BaselineFile)
    value["evals"][0]["samples"][1][2] = [{"wer": "0.5"}]
    with pytest.raises(UsageError, match=r"evals 'animals', samples 's2', scores 1, 'wer' must be a number, not '0.5'"):
        decode(json.dumps(value).encode(), "main.json", KIND, BaselineFile)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for name, member in members for place in places(member, (*path, name))]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(place=st.sampled_from(places(plain(BASELINE))), value=json_values)
def test_whatever_stands_anywhere_in_a_file_it_is_read_or_refused_in_a_sentence(
    place: tuple[Any, ...], value: Any
) -> None:
    edited = copy.deepcopy(plain(BASELINE))
    owner = edited
    for name in place[:-1]:
        owner = owner[name]
    owner[place[-1]] = value
    outcome = read_or_refused(json.dumps(edited).encode())
    if isinstance(outcome, str):
        assert outcome.startswith("main.json")
        assert outcome.isprintable()
    else:
        assert decode(plain_json(outcome), "main.json", KIND, BaselineFile) == outcome


def read_or_refused(content: bytes) -> BaselineFile | str:
    try:
        return decode(content, "main.json", KIND, BaselineFile)
    except UsageError as error:
        return str(error)


def test_the_schema_is_known_before_all_else_is_read() -> None:
    content = b'{"schema":"audiobench.run/1","epochs":"all"}'
    with pytest.raises(UsageError, match=r"has the schema 'audiobench.run/1', which another version"):
        decode(content, "run.json", KIND, RunRecord)
