"""Manifests as Kaldi, ESPnet, NeMo, Lhotse and Hugging Face's datasets write them, read as they lie."""

import gzip
import json
from contextlib import suppress

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io import bounded_lines

RATE_HZ = 8_000


@pytest.fixture
def folder(tmp_path):
    """Two recordings of 2 s, which get louder, and what is written beside them."""
    (tmp_path / "wav").mkdir()
    for name in ("a", "b"):
        soundfile.write(tmp_path / "wav" / f"{name}.wav", np.linspace(0, 0.5, 2 * RATE_HZ), RATE_HZ)

    def make(**texts):
        for name, text in texts.items():
            (tmp_path / name.replace("__", ".")).write_text(text, encoding="utf-8")
        return tmp_path

    return make


def read(folder, path=".", **keywords):
    return list(manifest(path, **keywords).read(Places(here=folder)))


def refused(folder, path=".", **keywords):
    with pytest.raises(UsageError) as raised:
        read(folder, path, **keywords)
    return str(raised.value)


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def heard(sample):
    """How long the clip is and how loud it begins, in hundredths."""
    samples = decode(sample.clips[0], RATE_HZ, None).samples
    return len(samples) / RATE_HZ, round(float(samples[0]) * 100)


KALDI = {
    "wav__scp": "u1 wav/a.wav\nu2 wav/b.wav\n",
    "text": "u1 HELLO WORLD\nu2 GOOD  DAY\n",
    "utt2spk": "u1 ann\nu2 bo\n",
    "utt2lang": "u1 en\nu2 de\n",
}


def test_a_folder_of_kaldi_is_read_with_its_speakers_and_languages(folder):
    first, second = read(folder(**KALDI))
    assert (first.id, first.reference, first.metadata) == ("u1", "HELLO WORLD", {"speaker": "ann", "language": "en"})
    assert (str(second.clips[0]).partition(":")[2], second.reference) == ("wav/b.wav", "GOOD  DAY")
    assert heard(first) == (2.0, 0)


def test_the_file_wav_scp_stands_for_its_folder(folder):
    assert read(folder(**KALDI), "wav.scp") == read(folder(), ".")
    assert manifest("data/test_clean").name == manifest("data/test_clean/wav.scp").name == "test_clean"


def test_what_kaldi_says_of_utterances_may_be_the_answer(folder):
    samples = read(folder(**KALDI), answer="language", choices="from answers", question="Which language?")
    assert [(sample.reference, sample.choices) for sample in samples] == [("en", ("de", "en")), ("de", ("de", "en"))]
    assert samples[0].metadata == {"text": "HELLO WORLD", "speaker": "ann"}


def test_segments_are_cut_out_of_recordings_in_any_order_of_the_files(folder):
    files = {"wav__scp": "r2 wav/b.wav\nr1 wav/a.wav\n", "text": "u3 c\nu1 a\nu2 b\n"}
    samples = read(folder(**files, segments="u1 r1 0.0 1.0\nu2 r2 1.0 1.5\nu3 r1 1.0 2.0\n"))
    assert [(sample.id, sample.reference) for sample in samples] == [("u1", "a"), ("u2", "b"), ("u3", "c")]
    assert [heard(sample) for sample in samples] == [(1.0, 0), (0.5, 25), (1.0, 25)]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"wav__scp": "u1 sph2pipe -f wav x.sph |\nu2 wav/b.wav\n"},
            "line 1 (id 'u1') is a command, which is never run",
        ),
        ({"wav__scp": "u1 wav/a.wav\nu2 dump/raw.ark:17\n"}, "is in the archive 'dump/raw.ark:17', which is not read"),
        ({"wav__scp": "u1 wav/a.wav\nu2\n"}, "line 2 (id 'u2') has no path behind its id; add it"),
        ({"wav__scp": "u1 wav/a.wav\nu2 ../b.wav\n"}, "names '../b.wav', which leaves"),
        ({"wav__scp": "u1 /nowhere/a.wav\nu2 wav/b.wav\n"}, "give root= a folder that has it"),
        ({"wav__scp": "u1 wav/c.wav\nu2 wav/b.wav\n"}, "where paths begin elsewhere, such as in the folder from which"),
        ({"wav__scp": "u1 wav/a.wav\nu1 wav/b.wav\nu2 wav/b.wav\n"}, "has the id 'u1' on line 1 and on line 2"),
        ({"text": "u1 HELLO\n"}, "line 2 (id 'u2') has no answer; add it (its answer is in 'text')"),
        ({"text": "u1 a\nu2 b\nu3 c\n"}, "text has 1 utterances that wav.scp lacks, such as 'u3'"),
        ({"segments": "u1 r9 0 1\nu2 u2 0 1\n"}, "is of the recording 'r9', which wav.scp does not have"),
        ({"segments": "u1 u1 0\nu2 u2 0 1\n"}, "has no two numbers of seconds behind its recording"),
        ({"segments": "u1 u1 1 0.5\nu2 u2 0 1\n"}, "begins at 1 s and lasts -0.5 s, not a part"),
    ],
)
def test_what_kaldis_files_lack_is_said_in_a_sentence(folder, files, said):
    assert said in refused(folder(**{**KALDI, **files}))


def test_no_command_of_a_manifest_runs(folder, tmp_path):
    refused(folder(**{**KALDI, "wav__scp": f"u1 touch {tmp_path}/ran |\nu2 wav/b.wav\n"}))
    assert not (tmp_path / "ran").exists()


def test_paths_of_a_recipe_begin_where_root_says(folder):
    recipe = folder()
    dump = recipe / "dump" / "test"
    dump.mkdir(parents=True)
    (dump / "wav.scp").write_text(f"u1 wav/a.wav\nu2 {recipe}/wav/b.wav\n")
    (dump / "text").write_text("u1 a\nu2 b\n")
    assert "give root= that folder" in refused(recipe, "dump/test")
    samples = read(recipe, "dump/test", root=".")
    assert [str(sample.clips[0]) for sample in samples] == ["test:wav/a.wav", "test:wav/b.wav"]


def test_a_csv_beside_nothing_names_audio_below_root(folder):
    recipe = folder(labels__csv="audio,answer\na.wav,x\n")
    (sample,) = read(recipe, "labels.csv", root="wav")
    assert heard(sample) == (2.0, 0)


def test_the_json_of_espnet_is_read_where_its_input_is_sound(folder):
    sound = {"input": [{"feat": "wav/a.wav", "filetype": "sound", "name": "input1"}], "output": [{"text": "hello"}]}
    place = folder(data__json=json.dumps({"utts": {"u1": {**sound, "utt2spk": "ann"}}}, indent=4))
    (sample,) = read(place, "data.json")
    assert (sample.id, sample.reference, sample.metadata) == ("u1", "hello", {"utt2spk": "ann"})
    features = {"input": [{"feat": "x.ark:1"}], "output": [{"text": "hello"}]}
    folder(data__json=json.dumps({"utts": {"u1": features, "u2": {"input": []}}}, indent=4))
    said = refused(place, "data.json").splitlines()
    assert said[0].endswith("utterance 'u1' has 'mat' as its input, and only 'sound' is audio")
    assert said[1].endswith("utterance 'u2' has no input with a 'feat' and no output with a 'text'; add them")


@pytest.mark.parametrize("name", ["test.json", "test.jsonl"])
def test_lines_of_nemo_are_read_and_cut_at_their_offsets(folder, name):
    whole = {"audio_filepath": "wav/a.wav", "duration": 2.0, "text": "hello", "lang": "en"}
    place = folder(**{name.replace(".", "__"): lines(whole, {**whole, "offset": 1.0, "duration": 0.5, "text": "you"})})
    first, second = read(place, name)
    assert (first.id, first.reference, first.metadata) == ("wav/a.wav", "hello", {"duration": 2.0, "lang": "en"})
    assert (second.id, second.reference, heard(second)) == ("wav/a.wav@1", "you", (0.5, 25))
    assert manifest(name).name == "test"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"offset": 1.0}, "line 2 has None where a number of seconds should be"),
        ({"offset": "1", "duration": 1}, "line 2 has '1' where a number of seconds should be"),
        ({"offset": 1.0, "duration": 0}, "line 2 begins at 1 s and lasts 0 s"),
        ({"audio_filepath": None}, "line 2 has no path of its audio"),
        ({"text": None}, "line 2 (id 'wav/b.wav') has no answer; add it (its answer is in 'text')"),
        ({"audio_filepath": "wav/a.wav"}, "has the id 'wav/a.wav' on line 1 and on line 2"),
    ],
)
def test_broken_lines_of_nemo_are_named(folder, row, said):
    rows = [{"audio_filepath": "wav/a.wav", "text": "a"}, {"audio_filepath": "wav/b.wav", "text": "b", **row}]
    assert said in refused(folder(test__json=lines(*rows)), "test.json")


def recording(name, **others):
    source = {"type": "file", "channels": [0], "source": f"wav/{name}.wav"}
    length = {"sampling_rate": RATE_HZ, "num_samples": 2 * RATE_HZ, "duration": 2.0}
    return {"id": name, "sources": [source], **length, **others}


def cut(name, supervisions=None, **others):
    said = {
        "id": f"{name}-s",
        "recording_id": name,
        "start": 0.0,
        "duration": 1.0,
        "channel": 0,
        "text": f"word {name}",
    }
    said |= {"language": "en", "speaker": "ann", "custom": {"x": 1}}
    part = {"id": f"{name}-cut", "start": 0.0, "duration": 2.0, "channel": 0}
    rest = {"supervisions": [said] if supervisions is None else supervisions, "recording": recording(name)}
    return {**part, **rest, "type": "MonoCut", **others}


def pack(folder, name, *rows):
    with gzip.open(folder / name, "wt", encoding="utf-8") as file:
        file.write(lines(*rows))


def test_cuts_of_lhotse_are_read(folder):
    place = folder()
    pack(place, "x_cuts_test.jsonl.gz", cut("a"), cut("b", start=1.0, duration=0.5))
    for path in (".", "x_cuts_test.jsonl.gz"):
        first, second = read(place, path)
        assert (first.id, first.reference) == ("a-cut", "word a")
        assert first.metadata == {"language": "en", "speaker": "ann", "duration": 2.0}
        assert [heard(first), heard(second)] == [(2.0, 0), (0.5, 25)]


def test_recordings_and_supervisions_of_lhotse_are_read_together(folder):
    place = folder()
    pack(place, "x_recordings_test.jsonl.gz", recording("b"), recording("a"))
    said = {
        "id": "s1",
        "recording_id": "a",
        "start": 1.0,
        "duration": 1.0,
        "channel": 0,
        "text": "one",
        "speaker": "ann",
    }
    pack(place, "x_supervisions_test.jsonl.gz", said, {**said, "id": "s2", "recording_id": "b", "start": 0.5})
    for path in (".", "x_recordings_test.jsonl.gz", "x_supervisions_test.jsonl.gz"):
        samples = read(place, path)
        assert [(sample.id, *heard(sample)) for sample in samples] == [("s1", 1.0, 25), ("s2", 1.0, 12)]
    (place / "x_recordings_test.jsonl.gz").unlink()
    assert "has no file of recordings beside it" in refused(place, "x_supervisions_test.jsonl.gz")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (cut("a", type="MixedCut"), "line 2 is a MixedCut, and only MonoCut, MultiCut, Cut are read"),
        (cut("a", recording=None), "line 2 has no recording, only features or nothing"),
        (cut("a", supervisions=[]), "line 2 has 0 supervisions, not one"),
        (cut("a", channel=1), "line 2 is channel 1 of several in a file"),
        (cut("a", duration="2"), "line 2 has '2' where a number of seconds should be"),
        (cut("a", supervisions=5), "line 2 has 0 supervisions, not one"),
        (cut("a", channel={}), "line 2 is channel {} of several in a file"),
        (cut("a", recording={"duration": 1, "sources": [{"channels": 3}]}), "line 2 is channel 0 of several in a file"),
        (cut("a", recording={"duration": 1}), "line 2 is of a recording without sources"),
        (
            cut("a", recording=recording("a", transforms=[{"name": "Speed"}])),
            "with transforms, which are not done again",
        ),
        (
            cut("a", recording=recording("a", sources=[{"type": "command", "channels": [0], "source": "touch ran"}])),
            "has sound of the type 'command', not 'file', and commands are never run",
        ),
        (
            cut("a", recording=recording("a", sources=[{"type": "shar", "channels": [0], "source": ""}])),
            "has sound of the type 'shar', not 'file'; save its audio as files",
        ),
    ],
)
def test_what_is_not_read_of_lhotse_is_said_in_a_sentence(folder, row, said):
    place = folder()
    pack(place, "cuts.jsonl.gz", cut("b"), row)
    assert said in refused(place, "cuts.jsonl.gz")


def test_several_files_of_cuts_are_to_be_named(folder):
    place = folder()
    for split in ("dev", "test"):
        pack(place, f"cuts_{split}.jsonl.gz", cut("a"))
    assert 'name one: manifest("cuts_dev.jsonl.gz")' in refused(place)


def test_a_manifest_of_ones_own_may_be_packed(folder):
    place = folder()
    pack(place, "own.jsonl.gz", {"audio": "wav/a.wav", "answer": "x"})
    assert [sample.reference for sample in read(place, "own.jsonl.gz")] == ["x"]
    assert manifest("own.jsonl.gz").name == "own"


def test_packed_lines_are_bounded_and_broken_ones_are_named(folder, monkeypatch):
    place = folder()
    pack(place, "own.jsonl.gz", *[{"id": str(n), "audio": "wav/a.wav", "answer": "x"} for n in range(2_000)])
    (place / "cut.jsonl.gz").write_bytes((place / "own.jsonl.gz").read_bytes()[:-20])
    assert "cannot be unpacked" in refused(place, "cut.jsonl.gz")
    with gzip.open(place / "long.jsonl.gz", "wb") as file:
        file.write(b" " * 11_000_000)
    assert "line 1 is longer than 10 MB" in refused(place, "long.jsonl.gz")
    monkeypatch.setattr(bounded_lines, "_MOST_UNPACKED_BYTES", 10_000)
    assert "unpacks to more than" in refused(place, "own.jsonl.gz")


pa = pytest.importorskip("pyarrow", reason="tables are read by pyarrow, which is not installed")
AUDIO = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
FEATURES = {
    "audio": {"sampling_rate": RATE_HZ, "_type": "Audio"},
    "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
    "room": {"dtype": "string", "_type": "Value"},
}


def table(folder, features=FEATURES):
    sound = (folder / "wav" / "a.wav").read_bytes()
    columns = {
        "audio": pa.array([{"bytes": sound, "path": f"{number}.wav"} for number in range(4)], AUDIO),
        "label": pa.array([0, 1, 1, 0], pa.int64()),
        "room": pa.array(["hall"] * 4),
    }
    metadata = {"huggingface": json.dumps({"info": {"features": features}})} if features else None
    return pa.table(columns).replace_schema_metadata(metadata)


def saved(folder, shards, **state):
    """A data set as ``datasets`` saves it to disk, with a batch for every two rows."""
    files = [f"data-{number:05d}-of-{len(shards):05d}.arrow" for number in range(len(shards))]
    for name, shard in zip(files, shards, strict=True):
        with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, shard.schema) as writer:
            writer.write_table(shard, max_chunksize=2)
    state = {"_data_files": [{"filename": name} for name in files], "_split": "test", **state}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": FEATURES}))
    return folder


@pytest.mark.parametrize("features", [FEATURES, None], ids=["names in the tables", "names beside the tables"])
def test_a_data_set_that_was_saved_to_disk_is_read(folder, features):
    place = folder()
    saved(place, [table(place, features), table(place, features)])
    samples = read(place, answer="label", choices="from answers", question="Which animal?", name="pets")
    assert [(sample.id, sample.reference) for sample in samples[:5]] == [
        ("0", "cat"),
        ("1", "dog"),
        ("2", "dog"),
        ("3", "cat"),
        ("4", "cat"),
    ]
    assert (len(samples), samples[0].choices, samples[0].metadata) == (8, ("cat", "dog"), {"room": "hall"})
    assert [heard(sample) for sample in (samples[0], samples[7])] == [(2.0, 0), (2.0, 0)]


def test_splits_that_were_saved_together_are_to_be_named(folder):
    place = folder(dataset_dict__json='{"splits": ["dev", "test"]}')
    assert "holds the splits 'dev', 'test'; name one: manifest(\"dev\")" in refused(place)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"_indices_data_files": [{"filename": "indices.arrow"}]}, "save it again after flatten_indices()"),
        ({"_data_files": []}, "names no Arrow files"),
        ({"_data_files": 3}, "names no Arrow files"),
        ({"_data_files": [{"filename": "../x.arrow"}]}, "leaves its data root"),
    ],
)
def test_a_state_that_cannot_be_followed_is_said(folder, state, said):
    place = folder()
    assert said in refused(saved(place, [table(place)], **state), answer="label")


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_packed_batches_are_refused_before_they_are_unpacked(folder, codec):
    place = folder()
    saved(place, [table(place)])
    options = pa.ipc.IpcWriteOptions(compression=codec)
    file, schema = str(place / "data-00000-of-00001.arrow"), table(place).schema
    with pa.OSFile(file, "wb") as sink, pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_table(table(place))
    assert "its batches are packed" in refused(place, answer="label")


def test_damaged_arrow_files_are_said_and_nothing_of_them_is_read(folder):
    place = folder()
    saved(place, [table(place)])
    file = place / "data-00000-of-00001.arrow"
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:100], b"x" * 500):
        file.write_bytes(damaged)
        said = refused(place, answer="label")
        assert "not a whole Arrow stream" in said or "is empty" in said


def test_a_damaged_byte_anywhere_in_an_arrow_file_ends_in_samples_or_in_a_sentence(folder):
    place = folder()
    saved(place, [table(place)])
    file = place / "data-00000-of-00001.arrow"
    whole = file.read_bytes()
    sound = whole.index(b"RIFF")
    for number in [*range(0, sound, 9), *range(len(whole) - 600, len(whole), 9)]:
        file.write_bytes(whole[:number] + bytes([whole[number] ^ 0x9B]) + whole[number + 1 :])
        with suppress(UsageError):
            read(place, answer="label")


def test_parquet_is_read_as_a_file_a_pattern_and_a_folder(folder):
    import pyarrow.parquet as parquet

    place = folder()
    for number in range(2):
        parquet.write_table(table(place), place / f"test-{number:05d}-of-00002.parquet")
    for path, count in ((".", 8), ("test-*.parquet", 8), ("test-00000-of-00002.parquet", 4)):
        samples = read(place, path, answer="label", choices="from answers", name="pets")
        assert [sample.id for sample in samples] == [str(number) for number in range(count)]
        assert (samples[1].reference, heard(samples[-1])) == ("dog", (2.0, 0))
    assert manifest("test-*.parquet").name == "test"


def test_splits_beside_each_other_in_parquet_are_to_be_named(folder):
    import pyarrow.parquet as parquet

    place = folder()
    for split in ("dev", "test"):
        parquet.write_table(table(place), place / f"{split}-00000-of-00001.parquet")
    assert "holds 'dev', 'test' as Parquet; name one: manifest(\"dev*.parquet\", answer=" in refused(
        place, answer="label"
    )


def test_columns_of_tables_are_named_as_those_of_any_manifest(folder):
    import pyarrow.parquet as parquet

    place = folder()
    parquet.write_table(table(place), place / "x.parquet")
    assert 'manifest("x.parquet", answer="label", choices="from answers"' in refused(place, "x.parquet")


def test_paths_in_a_table_are_files_beside_it(folder):
    import pyarrow.parquet as parquet

    place = folder()
    parquet.write_table(pa.table({"path": ["wav/a.wav"], "id": [7], "digit": [3]}), place / "x.parquet")
    (sample,) = read(place, "x.parquet", audio="path", answer="digit")
    assert (sample.id, sample.reference, heard(sample)) == ("7", "3", (2.0, 0))
