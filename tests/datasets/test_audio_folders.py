"""Folders of audio without a manifest: one for each class, and Hugging Face's audiofolder."""

import json
import os

import pytest

from pytest_audiobench.datasets import audio_folders
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, UsageError


@pytest.fixture
def folder(tmp_path):
    """Makes ``sounds`` with the files, empty unless they have a text."""

    def make(*paths, **texts):
        for path, text in [
            *((path, "") for path in paths),
            *((name.replace("__", "."), t) for name, t in texts.items()),
        ]:
            (tmp_path / "sounds" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "sounds" / path).write_text(text)
        return tmp_path / "sounds"

    return make


def read(folder, path="sounds", **keywords):
    return manifest(path, **keywords).read(Places(here=folder.parent))


def refused(*given, **keywords):
    with pytest.raises(UsageError) as raised:
        read(*given, **keywords)
    return str(raised.value)


def test_each_folder_is_a_label_and_its_audio_files_are_samples(folder):
    place = folder(
        "hen/b.wav", "dog/2.FLAC", "dog/1.wav", "dog/notes.txt", "dog/.hidden.wav", ".git/x.wav", "README.md"
    )
    samples = read(place, "sounds/", question="Which animal?")
    assert [(sample.id, sample.reference) for sample in samples] == [
        ("dog/1.wav", "dog"),
        ("dog/2.FLAC", "dog"),
        ("hen/b.wav", "hen"),
    ]
    assert {(sample.question, sample.choices) for sample in samples} == {("Which animal?", ("dog", "hen"))}
    assert str(samples[0].clips[0]) == "sounds:dog/1.wav"
    assert samples[0].clips[0].source.location == place.resolve() / "dog" / "1.wav"


def test_a_list_of_choices_may_have_more_than_the_folders(folder):
    samples = read(folder("dog/1.wav", "hen/1.wav"), choices=["hen", "cow", "dog"])
    assert {sample.choices for sample in samples} == {("hen", "cow", "dog")}


def test_a_folder_may_lie_where_data_lies_by_its_name(folder):
    place = folder("dog/1.wav", "hen/1.wav")
    dataset = manifest(".", data="sounds")
    assert dataset.name == "sounds"
    assert len(dataset.read(Places(here=place / "elsewhere", named={"sounds": place}))) == 2
    with pytest.raises(DataNotFound, match="--ab-data=sounds=FOLDER"):
        dataset.read(Places(here=place))


@pytest.mark.parametrize(
    ("paths", "keywords", "said"),
    [
        (["a.wav"], {}, "holds audio, but neither a list of it nor a folder for each class"),
        (["a.txt"], {}, "holds neither audio files in a folder for each class"),
        (["dog/1.wav", "hen/1.wav", "a.wav"], {}, "holds 'a.wav' beside the folders of its classes"),
        (["dog/1.wav"], {}, "has the one answer 'dog'"),
        (["dog/1.txt", "hen/1.txt"], {}, "lists no sample"),
        (["test/dog/1.wav", "train/dog/1.wav"], {}, """splits 'test', 'train'; name one: manifest("sounds/test")"""),
        (["clips/dog/1.wav", "clips/hen/1.wav"], {}, """so it is not a class; perhaps manifest("sounds/clips")?"""),
        (["dog/1.wav", "hen/1.wav"], {"answer": "label"}, "a folder for each class has no columns; leave out answer"),
        (["dog/1.wav", "hen/1.wav"], {"choices": ["dog", "cow"]}, "hen/1.wav has the answer 'hen', which is not one"),
        (["dog/1.wav", "hen/1.wav"], {"cluster": "speaker"}, "dog/1.wav has no 'speaker', which is the cluster"),
        (["do\\g/1.wav", "hen/1.wav"], {}, "backslash"),
    ],
)
def test_a_folder_that_is_no_set_of_classes_is_refused(folder, paths, keywords, said):
    message = refused(folder(*paths), **keywords)
    assert said in message
    assert all("sounds" in sentence for sentence in message.splitlines())


def test_a_linked_class_is_refused_and_not_left_out(folder):
    place = folder("dog/1.wav", "hen/1.wav")
    (place / "cow").symlink_to(place / "dog")
    (place / "loop").symlink_to(place)
    first, second = refused(place).splitlines()
    assert first.endswith("sounds/cow is a symbolic link; put the folder itself there")
    assert "sounds/loop is a symbolic link" in second


def test_entries_without_end_are_refused_whatever_they_are(folder, monkeypatch):
    monkeypatch.setattr(audio_folders, "MOST_ENTRIES", 50)
    place = folder(*(f"dog/.{number}" for number in range(30)), *(f"hen/{number}.txt" for number in range(30)))
    assert refused(place).endswith("sounds holds over 50 entries; list the files to read in a CSV")


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser lists every folder")
def test_a_class_that_cannot_be_listed_is_refused(folder):
    place = folder("dog/1.wav", "hen/1.wav")
    (place / "dog").chmod(0)
    assert "dog cannot be listed" in refused(place)


def test_a_folder_that_there_is_not_is_named_in_full(folder):
    place = folder("dog/1.wav")
    assert refused(place, "sound") == f"there is no file or folder {place.parent.resolve() / 'sound'}; correct the path"


CSV = "file_name,label,speaker\ndata/a.wav,dog,ann\ndata/b.wav,hen,bo\n"


def test_an_audiofolder_is_read_by_the_metadata_in_it(folder):
    first, second = read(folder("data/a.wav", "data/b.wav", metadata__csv=CSV), answer="label", choices="from answers")
    assert (first.id, first.reference, first.choices) == ("data/a.wav", "dog", ("dog", "hen"))
    assert second.metadata == {"speaker": "bo"}
    assert str(second.clips[0]) == "sounds:data/b.wav"


def test_an_audiofolder_may_have_objects_and_several_files_in_a_row(folder):
    row = json.dumps({"file_names": ["a.wav", "b.wav"], "transcription": "hi", "words": []})
    (sample,) = read(folder(metadata__jsonl=row), answer="transcription")
    assert [str(clip) for clip in sample.clips] == ["sounds:a.wav", "sounds:b.wav"]
    assert (sample.id, sample.metadata) == ("a.wav;b.wav", {})


def test_an_audiofolder_without_an_answer_is_told_the_call_that_reads_it(folder):
    message = refused(folder(metadata__csv=CSV))
    assert 'manifest("sounds", answer="label", choices="from answers", question="Which label is it?")' in message


def test_a_split_is_read_by_its_own_metadata_or_by_that_above_it(folder):
    rows = "file_name,text\ntrain/a.wav,one\ntest/b.wav,two\ntest/deep/c.wav,three\n"
    place = folder("train/a.wav", "test/b.wav", metadata__csv=rows)
    assert [sample.id for sample in read(place, "sounds/test", answer="text")] == ["test/b.wav", "test/deep/c.wav"]
    (place / "test" / "metadata.csv").write_text("file_name,text\nb.wav,two\n")
    (sample,) = read(place, "sounds/test", answer="text")
    assert (sample.id, str(sample.clips[0])) == ("b.wav", "test:b.wav")


def test_metadata_above_a_folder_that_is_no_split_is_not_read(folder):
    place = folder("clips/dog/a.wav", "clips/hen/b.wav", metadata__csv=CSV)
    assert len(read(place, "sounds/clips")) == 2


def test_splits_are_not_asked_together(folder):
    rows = "file_name,text\ndata/train/a.wav,one\ndata/test/b.wav,two\n"
    message = refused(folder(metadata__csv=rows), answer="text")
    assert message.endswith(
        """lists audio of 'data/test' and 'data/train'; name one of its splits: """
        """manifest("sounds/data/test", answer="text")"""
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["metadata.csv", "metadata.jsonl"], "holds both metadata.csv and metadata.jsonl; name the one to read"),
        (["metadata.parquet"], "metadata.parquet, which is not read; save it as metadata.jsonl"),
    ],
)
def test_metadata_that_is_not_one_readable_file_is_refused(folder, names, said):
    assert said in refused(folder(*names))
