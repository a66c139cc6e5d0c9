"""Rows of Parquet files as publishers write them, and files that are broken, whose audio is played from its cell."""

import base64
import hashlib
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.clip import ArraySource, CellSource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.clip_record import clip_of, recipe_of
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.edits import gain, trim
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.datasets.bundled import bundled, bundled_folder
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.parquet_rows import ParquetSamples, distinct_values, parquet_files, parquet_rows
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import AudioError, UsageError
from pytest_audiobench.evaluation.selection import select

pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
pq = pytest.importorskip("pyarrow.parquet")

RATE_HZ = 16_000
DIGITS = bundled("digits").read(Places(here=bundled_folder()))[:24]
FILES = [sample.clips[0].source.location.read_bytes() for sample in DIGITS]
AUDIO = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
FEATURES = {
    "id": {"dtype": "string", "_type": "Value"},
    "audio": {"sampling_rate": RATE_HZ, "_type": "Audio"},
    "label": {"dtype": "string", "_type": "Value"},
    "number": {"dtype": "int64", "_type": "Value"},
}


def published(rows=range(24)):
    """A table with the Audio feature of Hugging Face's datasets and the metadata that they write beside it."""
    rows = list(rows)
    audio = [{"bytes": FILES[row], "path": f"{DIGITS[row].id}.flac"} for row in rows]
    columns = {
        "id": pa.array([DIGITS[row].id for row in rows]),
        "audio": pa.array(audio, AUDIO),
        "label": pa.array([DIGITS[row].reference for row in rows]),
        "choices": pa.array([list(DIGITS[row].choices) for row in rows]),
        "number": pa.array(rows, pa.int64()),
    }
    return pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": FEATURES}})})


def put(folder, *tables, group_rows=5):
    """The tables as shards of one split; the files as a reader has them."""
    root = DataRoot("digits", folder)
    for number, table in enumerate(tables):
        path = folder / "data" / f"test-{number:05d}-of-{len(tables):05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, row_group_size=group_rows)
    return parquet_files(root, "data/test-*.parquet")


def rows_of(files, columns=("id",), **options):
    return [row for _, row in parquet_rows(files, columns, **options)]


def refused(files, columns=("id",), **options):
    with pytest.raises(UsageError) as error:
        rows_of(files, columns, **options)
    return str(error.value)


def clips_of(files, column="audio", rate=None):
    return [row[column] for row in rows_of(files, (), audio={column: rate})]


def facts_of(clips, path=None):
    with AudioIndex(path, settle_s=0) as index:
        return index.facts_of(clips)


def keys(clips):
    return [fact.digest if isinstance(fact, ClipFacts) else str(fact) for fact in facts_of(clips)]


def waves(lists, type_=None, **columns):
    columns = {name: pa.array(values) for name, values in columns.items()}
    return pa.table({"audio": pa.array(lists, pa.list_(type_ or pa.float32())), **columns})


# Values


def test_rows_come_in_order_from_all_shards_each_with_its_place(tmp_path):
    files = put(tmp_path, published(range(13)), published(range(13, 24)))
    placed = list(parquet_rows(files, ["id", "number"]))
    assert [row for _, row in placed] == [{"id": DIGITS[n].id, "number": n} for n in range(24)]
    assert str(placed[20][0]) == f"{tmp_path}/data/test-00001-of-00002.parquet, row group 1, row 2"


def test_values_are_what_json_rows_give(tmp_path):
    row = {"n": 3, "x": 0.5, "yes": True, "text": "grüß\ngott", "list": ["a", None], "none": None, "of": {"a": [1]}}
    files = put(tmp_path, pa.Table.from_pylist([row, dict.fromkeys(row)]))
    assert json.dumps(rows_of(files, list(row))) == json.dumps([row, dict.fromkeys(row)])


def test_a_field_of_a_struct_is_a_column(tmp_path):
    files = put(tmp_path, published())
    assert rows_of(files, ["audio.path"])[3] == {"audio.path": f"{DIGITS[3].id}.flac"}


def test_categories_are_read_as_their_texts(tmp_path):
    table = pa.table({"label": pa.array(["cat", "dog", "cat"]).dictionary_encode()})
    files = put(tmp_path, table)
    assert rows_of(files, ["label"], where={"label": "cat"}) == [{"label": "cat"}] * 2


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        ({"number": 7}, [7]),
        ({"number": [21, 2, 99]}, [2, 21]),
        ({"label": "eight", "number": list(range(12))}, [n for n in range(12) if DIGITS[n].reference == "eight"]),
        ({"label": "none of them"}, []),
    ],
)
def test_rows_are_chosen_by_equality_and_membership(tmp_path, where, numbers):
    files = put(tmp_path, published(range(13)), published(range(13, 24)))
    placed = list(parquet_rows(files, ["number"], where))
    assert [row["number"] for _, row in placed] == numbers
    assert [place.row_group * 5 + place.row + 13 * (place.file == files[1]) for place, _ in placed] == numbers


def test_rows_without_a_value_are_chosen_by_none(tmp_path):
    files = put(tmp_path, pa.table({"id": ["a", "b", "c"], "split": ["x", None, None]}))
    assert rows_of(files, where={"split": None}) == [{"id": "b"}, {"id": "c"}]
    assert rows_of(files, where={"split": "x"}) == [{"id": "a"}]


def test_labels_are_the_distinct_values_of_a_column_in_order(tmp_path):
    files = put(tmp_path, published(range(13)), published(range(13, 24)))
    assert distinct_values(files, "label") == sorted({sample.reference for sample in DIGITS})
    assert distinct_values(files, "label", {"number": 4}) == [DIGITS[4].reference]


# Audio


def test_embedded_audio_has_the_key_the_length_and_the_sound_of_the_same_file(tmp_path):
    clips = clips_of(put(tmp_path, published()))
    assert [(fact.digest, fact.duration_s) for fact in facts_of(clips)] == [
        (fact.digest, fact.duration_s) for fact in facts_of([sample.clips[0] for sample in DIGITS])
    ]
    for clip, sample in zip(clips, DIGITS, strict=True):
        for edits in ((), (trim(0.1, 0.2), gain(-6))):
            there, here = (decode(each.edited(*edits), 8_000, 0.25) for each in (clip, sample.clips[0]))
            assert there.pcm_digest == here.pcm_digest


def test_keys_do_not_depend_on_shards_row_groups_or_folders(tmp_path):
    one = clips_of(put(tmp_path / "a", published(), group_rows=24))
    many = clips_of(put(tmp_path / "b", published(range(7)), published(range(7, 8)), published(range(8, 24))))
    assert keys(one) == keys(many) == [hashlib.sha256(data).hexdigest() for data in FILES]


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
def test_a_list_of_floats_is_a_waveform_at_the_rate_of_its_column(tmp_path, type_):
    lists = [np.sin(np.arange(100 * n) / 9).astype(np.float32) / 2 for n in (3, 1, 4)]
    clips = clips_of(put(tmp_path, waves(lists, type_=type_, rate=[8000, 16000, 22050])), rate="rate")
    arrays = [ArraySource.of(wave, rate_hz) for wave, rate_hz in zip(lists, (8000, 16000, 22050), strict=True)]
    assert keys(clips) == [array.digest for array in arrays]
    for clip, array in zip(clips, arrays, strict=True):
        assert decode(clip, 16_000, None).pcm_digest == decode(Clip(array), 16_000, None).pcm_digest


def test_a_waveform_finds_its_rate_beside_it_or_in_the_metadata_of_its_feature(tmp_path):
    decoded = pa.struct([("array", pa.list_(pa.float64())), ("sampling_rate", pa.int64()), ("path", pa.string())])
    cell = {"array": [0.0, 0.5, -0.5], "sampling_rate": 8000, "path": "a.wav"}
    (beside,) = clips_of(put(tmp_path / "a", pa.table({"audio": pa.array([cell], decoded)})))
    features = {"info": {"features": {"audio": {"sampling_rate": 8000, "_type": "Audio"}}}}
    table = waves([[0.0, 0.5, -0.5]]).replace_schema_metadata({"huggingface": json.dumps(features)})
    (described,) = clips_of(put(tmp_path / "b", table))
    (given,) = clips_of(put(tmp_path / "c", waves([[0.0, 0.5, -0.5]])), rate=8000)
    assert keys([beside]) == keys([described]) == keys([given])
    assert "without a rate" in refused(put(tmp_path / "d", waves([[0.0]])), (), audio={"audio": None})


def test_a_column_of_paths_gives_the_files_beside_the_table(tmp_path):
    (tmp_path / "digit.flac").write_bytes(FILES[0])
    files = put(tmp_path, pa.table({"id": ["a", "b"], "audio": ["digit.flac", None]}))
    rows = rows_of(files, audio={"audio": None})
    assert rows == [{"id": "a", "audio": Clip(FileSource(files[0].root, "digit.flac"))}, {"id": "b", "audio": None}]
    assert "leaves its folder" in refused(
        put(tmp_path, pa.table({"audio": ["../digit.flac"]})), (), audio={"audio": None}
    )


def test_a_column_of_lists_of_paths_gives_several_clips_in_a_row(tmp_path):
    paths = pa.array([["a.flac", "./b.flac"], None], pa.list_(pa.string()))
    files = put(tmp_path, pa.table({"audio": paths}))
    first, second = (row["audio"] for row in rows_of(files, (), audio={"audio": None}))
    assert [str(clip) for clip in first] == ["digits:a.flac", "digits:b.flac"]
    assert second is None
    for cell, said in ((["a.flac", "/b.flac"], "leaves its folder"), ([], "no path"), (["a", None], "a null")):
        text = refused(put(tmp_path, pa.table({"audio": [["a.flac"], cell]})), (), audio={"audio": None})
        assert "row group 0, row 1 has" in text
        assert said in text


def classes(labels, names=("dog", "cat", "hen")):
    """Labels as Hugging Face's datasets write their ClassLabel: numbers, and the names in the file's metadata."""
    feature = {"names": list(names), "_type": "ClassLabel"}
    is_list = isinstance(labels[0], list)
    feature = {"feature": feature, "_type": "Sequence"} if is_list else feature
    metadata = {"huggingface": json.dumps({"info": {"features": {"label": feature}}})}
    type_ = pa.list_(pa.int64()) if is_list else pa.int64()
    return pa.table({"label": pa.array(labels, type_)}).replace_schema_metadata(metadata)


def test_a_class_label_is_its_name_in_values_labels_and_where(tmp_path):
    files = put(tmp_path, classes([2, 0, 1, -1, 0]))
    assert [row["label"] for row in rows_of(files, ["label"])] == ["hen", "dog", "cat", None, "dog"]
    assert distinct_values(files, "label") == ["cat", "dog", "hen"]
    assert rows_of(files, ["label"], where={"label": ["hen", "cat"]}) == [{"label": "hen"}, {"label": "cat"}]
    several = put(tmp_path / "several", classes([[2, 0], []]))
    assert rows_of(several, ["label"]) == [{"label": ["hen", "dog"]}, {"label": []}]


def test_a_label_that_a_file_has_no_name_for_is_refused(tmp_path):
    files = put(tmp_path, classes([0, 3]))
    assert "row group 0 has 3 in 'label', which has the labels 0 to 2; fetch it again" in refused(files, ["label"])
    assert "has no label 'cow' in 'label'; there are dog, cat, hen" in refused(files, where={"label": "cow"})


def test_a_clip_is_rebuilt_from_its_recipe(tmp_path):
    files = put(tmp_path, published())
    lists = put(tmp_path / "lists", waves([[0.5] * 40]))
    for clip in (clips_of(files)[8], clips_of(files)[9].edited(gain(3)), clips_of(lists, rate=8000)[0]):
        recipe = json.loads(json.dumps(recipe_of(clip)))
        root = clip.source.file.root
        assert clip_of(recipe, lambda name, root=root: FileSource(root, name.removeprefix("digits:"))) == clip


def test_facts_of_cells_are_remembered_until_their_file_changes(tmp_path):
    memory = tmp_path / "index.sqlite"
    clips = clips_of(put(tmp_path, published()))
    first = facts_of(clips, memory)
    with AudioIndex(memory) as index:
        assert index.facts_of(clips[3:9]) == first[3:9]
    other = clips_of(put(tmp_path, published(reversed(range(24)))))
    assert [fact.digest for fact in facts_of(other, memory)] == [fact.digest for fact in reversed(first)]


def test_mmaus_test_mini_is_read_as_it_is_published(tmp_path):
    about = {"id": "3fe64f3d", "task": "sound", "category": "Reasoning", "sub-category": "Event", "difficulty": "easy"}
    row = {
        "context": {"bytes": FILES[0]},
        "instruction": "Who speaks?",
        "choices": ["(A) Man", "(B) Woman", "(C) Child", "(D) Robot"],
        "answer": "(A) Man",
        "other_attributes": json.dumps(about),
    }
    pq.write_table(pa.Table.from_pylist([row] * 20), tmp_path / "test_mini.parquet")
    files = parquet_files(DataRoot("mmau", tmp_path), "test_mini.parquet")
    texts = ["instruction", "choices", "answer", "other_attributes"]
    rows = rows_of(files, texts, audio={"context": None})
    assert len(rows) == 20
    assert {name: rows[19][name] for name in texts} == {name: row[name] for name in texts}
    assert keys([rows[19]["context"]]) == [hashlib.sha256(FILES[0]).hexdigest()]


# What is broken


def test_shards_that_are_missing_are_named(tmp_path):
    files = put(tmp_path, *[published(range(n, n + 1)) for n in range(4)])
    files[0].location.unlink()
    files[2].location.unlink()
    with pytest.raises(UsageError, match=r"lacks data/test-00000-of-00004\.parquet: 2 of 4 shards"):
        parquet_files(files[0].root, "data/*.parquet")
    with pytest.raises(UsageError, match=r"holds no train\.parquet"):
        parquet_files(files[0].root, "train.parquet")
    with pytest.raises(UsageError, match="leaves its folder"):
        parquet_files(files[0].root, "../*.parquet")


@pytest.mark.parametrize("bytes_left", [0, 3, 100, 5000, -1, -200])
def test_a_shard_that_is_cut_off_is_refused(tmp_path, bytes_left):
    files = put(tmp_path, published())
    whole = files[0].location.read_bytes()
    files[0].location.write_bytes(whole[:bytes_left])
    text = refused(files)
    assert "test-00000-of-00001.parquet" in text
    assert "fetch it again" in text
    assert "\n" not in text


def test_a_column_that_is_not_there_once_is_refused_with_all_others(tmp_path):
    table = pa.table([["a"], ["b"], ["c"]], names=["id", "id", "label"])
    text = refused(put(tmp_path, table), ["id", "lable"], where={"x": 1}, audio={"audio": None})
    assert [line.partition(".parquet ")[2].partition(";")[0] for line in text.splitlines()] == [
        "has 2 columns called 'id'",
        "has no column 'lable'",
        "has no column 'x'",
        "has no column 'audio'",
    ]


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (pa.array([b"a"]), "binary"),
        (pa.array([0], pa.timestamp("us")), "timestamp"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "map"),
        (pa.array([{"a": [b"x"]}]), "struct"),
    ],
)
def test_values_that_json_does_not_have_are_refused(tmp_path, array, name):
    text = refused(put(tmp_path, pa.table({"x": array})), ["x"])
    assert f"has {name}" in text
    assert "in 'x', which JSON does not have" in text


@pytest.mark.parametrize("value", [float("nan"), [1.0, float("inf")], {"a": [float("nan")]}], ids=str)
def test_a_number_that_json_does_not_have_is_refused_with_its_row(tmp_path, value):
    fine = value and {float: 1.0, list: [1.0], dict: {"a": [1.0]}}[type(value)]
    files = put(tmp_path, pa.Table.from_pylist([{"id": n, "x": value if n == 7 else fine} for n in range(9)]))
    assert "row group 1, row 2 has a number that is not finite" in refused(files, ["x"])
    assert "row group 1, row 2 has" in refused(files, ["x"], where={"id": [5, 7, 8]})
    assert len(rows_of(files, ["x"], where={"id": [5, 6, 8]})) == 3


def test_a_text_that_is_not_utf8_is_refused_with_its_row(tmp_path):
    raw = pa.array([b"fine", b"\xff\xfe"]).view(pa.string())
    assert "row group 0, row 1 has bytes in 'id' that are not UTF-8" in refused(put(tmp_path, pa.table({"id": raw})))


@pytest.mark.parametrize(
    ("column", "value"), [("number", "7"), ("number", True), ("label", 8), ("choices", "one"), ("number", [1, 2.5])]
)
def test_a_value_of_another_type_than_its_column_is_refused(tmp_path, column, value):
    text = refused(put(tmp_path, published()), where={column: value})
    assert f"in {column!r}" in text
    assert "where" in text


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (None, "no audio in it (null)"),
        ({"bytes": None, "path": "x.flac"}, "no audio in it (null)"),
        ({"bytes": b"", "path": None}, "0 bytes are not a readable audio file"),
        ({"bytes": b"<html>404</html>", "path": None}, "not audio that libsndfile can read"),
        ({"bytes": FILES[2][:900], "path": None}, "damaged|cut off|not audio"),
    ],
)
def test_a_cell_without_audio_fails_its_own_sample_and_no_other(tmp_path, cell, sentence):
    cells = [{"bytes": data, "path": None} for data in FILES]
    cells[11] = cell
    clips = clips_of(put(tmp_path, pa.table({"audio": pa.array(cells, AUDIO)})))
    with pytest.raises(AudioError, match=sentence.replace("(", r"\(").replace(")", r"\)")) as error:
        decode(clips[11], RATE_HZ, None)
    assert "row group 2, row 1" in str(error.value)
    assert keys(clips)[:11] == [hashlib.sha256(data).hexdigest() for data in FILES[:11]]
    assert decode(clips[12], RATE_HZ, None).pcm_digest == decode(DIGITS[12].clips[0], RATE_HZ, None).pcm_digest


@pytest.mark.parametrize(
    ("wave", "sentence"),
    [
        ([0.0, float("nan"), 0.1], "1 of 3 samples are not a number"),
        ([0.0, 1e300], "1 are infinite"),
        ([0.0, None], "1 of its samples are null"),
        ([], "no sound in it"),
        (None, r"no audio in it \(null\)"),
    ],
    ids=str,
)
def test_a_waveform_that_is_none_is_named_with_its_row(tmp_path, wave, sentence):
    clips = clips_of(put(tmp_path, waves([[0.1] * 50] * 8 + [wave], type_=pa.float64())), rate=RATE_HZ)
    with pytest.raises(AudioError, match=rf"row group 1, row 3, audio: .*{sentence}"):
        decode(clips[8], RATE_HZ, None)
    assert len(decode(clips[7], RATE_HZ, None).samples) == 50


def test_a_rate_that_is_none_is_refused_with_its_row(tmp_path):
    files = put(tmp_path, waves([[0.1]] * 3, rate=[8000, None, 8000]))
    assert "row group 0, row 1 has None in 'rate', which is not a rate" in refused(files, (), audio={"audio": "rate"})


@pytest.mark.parametrize("type_", [pa.list_(pa.list_(pa.float32())), pa.list_(pa.int16()), pa.int64(), pa.list_(AUDIO)])
def test_a_column_that_holds_no_audio_is_refused(tmp_path, type_):
    files = put(tmp_path, pa.table({"audio": pa.nulls(3, type_)}))
    assert "which is not audio" in refused(files, (), audio={"audio": 8000})


def test_a_cell_that_is_gone_is_an_error_of_its_sample(tmp_path):
    (file,) = put(tmp_path, published(range(5)))
    gone = [Clip(CellSource(file, column, *place)) for column, place in (("audio", (0, 5)), ("audio", (3, 0)))]
    gone.append(Clip(CellSource(file, "sound", 0, 0)))
    for clip, words in zip(gone, ("no such row", "no such row", "no column 'sound'"), strict=True):
        with pytest.raises(AudioError, match=words):
            decode(clip, RATE_HZ, None)
    assert len([fact for fact in facts_of(gone) if isinstance(fact, AudioError)]) == 3
    file.location.unlink()
    with pytest.raises(AudioError, match="no such file"):
        decode(Clip(CellSource(file, "audio", 0, 0)), RATE_HZ, None)


# A child's ru_maxrss starts at its parent's, which may have loaded torch; VmHWM is the child's own.
BOMB = """
import sys
from pathlib import Path
from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.parquet_rows import parquet_files, parquet_rows

files = parquet_files(DataRoot("bomb", Path(sys.argv[1])), "*.parquet")
try:
    rows = [row for _, row in parquet_rows(files, ["text", "list"], audio={"audio": None})]
except Exception as error:
    print(type(error).__name__, error)
clips = [row["audio"] for _, row in parquet_rows(files, (), audio={"audio": None})]
with AudioIndex(None) as index:
    print(len(index.facts_of(clips[:70])))
status = Path("/proc/self/status").read_text().split()
print(int(status[status.index("VmHWM:") + 1]) // 1024)
"""


def test_a_small_file_that_unfolds_to_much_does_not_fill_the_memory(tmp_path):
    text, data = "a" * 20_000_000, bytes(20_000_000)
    indices = pa.array(np.zeros(2000, dtype=np.int32))
    columns = {
        "text": pa.DictionaryArray.from_arrays(indices, pa.array([text])),
        "audio": pa.DictionaryArray.from_arrays(indices, pa.array([data])),
        "list": pa.array([[1] * 3] * 2000),
    }
    table = pa.table(columns).replace_schema_metadata(None)
    pq.write_table(table, tmp_path / "bomb.parquet", compression="zstd", store_schema=False, write_statistics=False)
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    command = [sys.executable, "-c", BOMB, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    error, count, megabytes = run.stdout.splitlines()
    assert "row group 0, row 0 has more than 10000000 characters in 'text'" in error
    assert count == "70"
    assert int(megabytes) < 600  # unfolded they are 80 GB


DAMAGE = """
import random, sys
from pathlib import Path
from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.parquet_rows import parquet_files, parquet_rows
from pytest_audiobench.errors import UsageError

folder = Path(sys.argv[1])
(file,) = files = parquet_files(DataRoot("digits", folder), "data/*.parquet")
whole, draw, ends = file.location.read_bytes(), random.Random(1), {"read": 0, "refused": 0}
footer = int.from_bytes(whole[-8:-4], "little")
for _ in range(200):
    damaged = bytearray(whole)
    for _ in range(draw.choice([1, 3])):
        place = draw.choice([draw.randrange(len(whole)), len(whole) - 8 - draw.randrange(footer)])
        damaged[place] = draw.randrange(256)
    file.location.write_bytes(damaged)
    try:
        list(parquet_rows(files, ["id", "choices", "number"], {"number": [1, 2, 20]}))
        clips = [row["audio"] for _, row in parquet_rows(files, (), audio={"audio": None})]
        with AudioIndex(None) as index:
            index.facts_of(clips)
        ends["read"] += 1
    except UsageError as error:
        assert str(file.location) in str(error), error
        ends["refused"] += 1
print(ends["read"] > 20, ends["refused"] > 20)
"""


def test_damage_anywhere_in_a_file_is_a_sentence_that_names_it_and_never_ends_the_process(tmp_path):
    put(tmp_path, published())  # pyarrow ends the process over some footers that contradict themselves
    process = subprocess.run([sys.executable, "-c", DAMAGE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (0, "True True\n"), process.stderr


def test_without_pyarrow_one_sentence_says_what_to_install(tmp_path):
    files = put(tmp_path, published())
    script = (
        "import sys\n"
        "sys.modules['pyarrow'] = sys.modules['pyarrow.parquet'] = None\n"
        "from pathlib import Path\n"
        "from pytest_audiobench.audio.clip import DataRoot\n"
        "from pytest_audiobench.datasets.parquet_rows import parquet_files, parquet_rows\n"
        f"files = parquet_files(DataRoot('digits', Path({str(tmp_path)!r})), '{files[0].path}')\n"
        "try:\n    next(parquet_rows(files, ['id']))\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "UsageError Parquet files need pyarrow: pip install 'pytest-audiobench[parquet]'\n"


def test_a_pcm_wav_in_a_cell_sounds_as_in_a_file(tmp_path):
    wave = io.BytesIO()
    soundfile.write(wave, np.linspace(-0.5, 0.5, 4000), RATE_HZ, format="WAV", subtype="PCM_16")
    (tmp_path / "a.wav").write_bytes(wave.getvalue())
    (clip,) = clips_of(put(tmp_path, pa.table({"audio": pa.array([wave.getvalue()])})))
    file = Clip(FileSource(DataRoot("mine", tmp_path), "a.wav"))
    assert decode(clip, 22_050, None).pcm_digest == decode(file, 22_050, None).pcm_digest


# Samples and runs


def sample_of(place, row):
    return Sample(row["id"], (row["audio"],), "Which digit is spoken?", tuple(row["choices"]), row["label"])


def samples_of(files, where=None):
    return ParquetSamples(files, ["id", "label", "choices"], sample_of, where, audio={"audio": None})


def test_samples_are_made_of_the_rows_that_are_asked_for(tmp_path):
    files = put(tmp_path, published(range(13)), published(range(13, 24)))
    made = []
    samples = ParquetSamples(files, ["id"], lambda place, row: made.append(row["id"]) or Sample(row["id"], (), ""))
    assert len(samples) == 24
    assert made == []
    assert [sample.id for sample in samples.at([20, 3, 14, 3])] == [DIGITS[n].id for n in (20, 3, 14, 3)]
    assert sorted(made) == sorted(DIGITS[n].id for n in (3, 14, 20))
    assert [sample.id for sample in samples] == [sample.id for sample in DIGITS]
    assert samples[-1].id == DIGITS[23].id
    assert [sample.id for sample in samples[11:15]] == [DIGITS[n].id for n in range(11, 15)]


def test_samples_are_counted_and_chosen_among_those_that_where_lets_through(tmp_path):
    files = put(tmp_path, published(range(13)), published(range(13, 24)))
    samples = samples_of(files, {"number": [2, 11, 12, 17]})
    assert len(samples) == 4
    assert [sample.id for sample in samples.at([3, 1])] == [DIGITS[17].id, DIGITS[11].id]
    with pytest.raises(IndexError):
        samples[4]


def test_an_id_that_repeats_in_a_table_is_named_before_anything_is_asked(tmp_path):
    files = put(tmp_path, published([1, 2, 3]), published([5, 3]))
    dataset = Dataset("digits", lambda places: samples_of(files))
    with AudioIndex(None) as index, pytest.raises(UsageError, match=f"the id '{DIGITS[3].id}' more than once"):
        select(dataset, Places(here=tmp_path), index, handle=None)


EVAL = """
import pytest
from pytest_audiobench import multiple_choice, perturb
from pytest_audiobench.audio.edits import white_noise
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.parquet_rows import ParquetSamples, parquet_files
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation, per_clip
from pytest_audiobench.datasets.sample import Sample

def sample(place, row):
    return Sample(row["id"], (row["audio"],), "Which digit is spoken?", tuple(row["choices"]), row["label"])

def read(places):
    files = parquet_files(places.find("digits", "data/test-*.parquet"), "data/test-*.parquet")
    return ParquetSamples(files, ["id", "label", "choices"], sample, audio={"audio": None})

NOISY = Perturbation("noisy", "noisy", per_clip(lambda places: lambda clip, own: clip.edited(white_noise(0, seed=own))))

def test_clean(evaluate):
    assert evaluate(Dataset("digits", read), multiple_choice())["accuracy"] > 0.5

def test_noisy(evaluate):
    evaluate(perturb(Dataset("digits", read), NOISY), multiple_choice())
"""


def run_over(folder, name, *tables, **options):
    """The record of a run over these shards, and its page; run and shards lie in the folder ``name``."""
    put(folder / name, *tables, **options)
    (folder / "test_digits.py").write_text(EVAL)
    where = ("--ab-reports=reports", "--ab-store=store.sqlite", f"--ab-data=digits={name}", f"--ab-run={name}")
    run(folder, "pytest", "-q", "-p", "no:cacheprovider", "--ab-report-audio=all", *where)
    reports = folder / "reports" / name
    return json.loads((reports / "run.json").read_text()), (reports / "report.html").read_text()


def test_a_run_over_shards_has_excerpts_on_its_page_and_is_verified_from_them(tmp_path):
    record, page = run_over(tmp_path, "three", *[published(range(n, n + 8)) for n in (0, 8, 16)])
    assert [item["errors"] for item in record["items"]] == [[], []]
    mp3 = base64.b64decode(max(re.findall(r"[A-Za-z0-9+/]{2000,}={0,2}", page), key=lambda text: text.count("VVV")))
    assert soundfile.info(io.BytesIO(mp3)).format == "MP3"
    verify = ("pytest_audiobench.cli", "verify", "reports/three")
    assert "of 24 clips were not looked at" in " ".join(run(tmp_path, *verify).split())
    assert "looked at" not in run(tmp_path, *verify, "--data", "digits=three")
    put(tmp_path / "three", *[published(range(n, n + 8)) for n in (16, 8, 0)])
    assert "is other audio than the run's" in run(tmp_path, *verify, "--data", "digits=three", status=1)


def test_the_same_rows_in_other_shards_give_the_same_hashes_and_ask_nothing(tmp_path):
    first, _ = run_over(tmp_path, "one", published(), group_rows=24)
    second, _ = run_over(tmp_path, "three", *[published(range(n, n + 8)) for n in (16, 0, 8)], group_rows=3)
    assert [item["hashes"] for item in first["items"]] == [item["hashes"] for item in second["items"]]
    assert [item["asking"]["asked"] for item in first["items"]] == [24, 24]
    assert [item["asking"]["asked"] for item in second["items"]] == [0, 0]


def run(folder, module, *arguments, status=0):
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert process.returncode == status, process.stdout + process.stderr
    return process.stdout
