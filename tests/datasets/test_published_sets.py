"""Published data sets, checked on every row against what a study recorded of them."""

import io
import json
import re
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.catalogue import dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, UsageError
from tests.datasets.layouts import sakura_json

DATA = Path(__file__).parents[2].parent / "shared" / "data"
TRACKS = ("animal", "emotion", "gender", "language")

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published manifests are not at {DATA}")


def places(tmp_path, **named):
    return Places(here=tmp_path, named=named)


def recorded(name):
    with (DATA / "recorded" / "manifests" / f"{name}_manifest.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def file_name(sample):
    (clip,) = sample.clips
    assert isinstance(clip.source, FileSource)
    return clip.source.path.rpartition("/")[2]


def letter(sample):
    return "ABCDEFGHIJ"[sample.choices.index(sample.reference)]


@needs_data
def test_a_track_of_sakura_at_both_hops_is_its_samples_at_each(tmp_path):
    here = places(tmp_path, sakura=DATA / "sakura-metadata")
    both = {one.id: one for one in dataset("sakura", "animal").read(here)}
    each = [one for hop in ("single", "multi") for one in dataset("sakura", "animal", hop).read(here)]
    assert dataset("sakura", "animal").name == "sakura/animal"
    assert both == {one.id: one for one in each}
    assert len(both) == len(each)


@needs_data
@pytest.mark.parametrize("hop", ["single", "multi"])
@pytest.mark.parametrize("track", TRACKS)
def test_every_sakura_row_is_read_as_the_study_read_it(tmp_path, track, hop):
    samples = dataset("sakura", track, hop).read(places(tmp_path, sakura=DATA / "sakura-metadata"))
    ours = {file_name(s): (s.question, list(s.choices), letter(s)) for s in samples}
    theirs = {
        row["audio_path"].rpartition("/")[2]: (row["question"], row["choices_list"], row["true_letter"])
        for row in recorded(track)
        if row["id"].endswith(hop)
    }
    assert len(samples) == len(ours) == 500
    assert ours == theirs


@needs_data
@pytest.mark.parametrize("track", TRACKS)
def test_sakura_reads_the_same_from_its_csv(tmp_path, track):
    folder = Path("data") / track.capitalize()
    (tmp_path / folder).mkdir(parents=True)
    shutil.copy(DATA / "sakura" / folder / "metadata.csv", tmp_path / folder)
    from_json = dataset("sakura", track, "multi").read(places(tmp_path, sakura=DATA / "sakura"))
    from_csv = dataset("sakura", track, "multi").read(places(tmp_path, sakura=tmp_path))
    assert from_json == from_csv


@needs_data
def test_sakura_audio_lies_where_the_samples_say(tmp_path):
    samples = dataset("sakura", "emotion", "single").read(places(tmp_path, sakura=DATA / "sakura"))
    assert len(samples) == 100
    assert all(s.clips[0].source.location.is_file() for s in samples)


def test_a_sakura_sample_tells_its_recording_and_groups(tmp_path):
    layout = sakura_json()
    layout.put(tmp_path)
    animals = layout.made(tmp_path)
    sample = layout.read(tmp_path)[1]
    assert (animals.name, animals.cluster, animals.groups) == (
        "sakura/animal/single",
        "recording",
        ("track", "hop", "label"),
    )
    assert (sample.id, sample.question, sample.choices, sample.reference) == (
        "animal/cat1.wav/single",
        "Which animal’s sound is it?",
        ("dog", "cat", "frog", "cow"),
        "cat",
    )
    assert sample.metadata == {"track": "animal", "hop": "single", "label": "cat", "recording": "cat1.wav"}
    assert str(sample.clips[0]) == "sakura:data/Animal/audio/cat1.wav"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"single_answer": "(a) cat"}, "not one of its options"),
        ({"single_instruction": "Which animal? (a) dog (c) cat"}, "lettered a, c"),
        ({"single_instruction": "Which animal?"}, "no option"),
        ({"attribute_label": None}, "attribute_label"),
    ],
)
def test_a_sakura_file_of_another_layout_is_refused(tmp_path, cells, said):
    layout = sakura_json()
    layout.put(tmp_path, [{**row, **cells} if number == 1 else row for number, row in enumerate(layout.rows)])
    with pytest.raises(UsageError, match=r"metadata\.json.*cat1\.wav") as error:
        layout.read(tmp_path)
    assert said in str(error.value)


def test_unknown_tracks_hops_and_splits_are_refused():
    with pytest.raises(UsageError, match="animal, emotion, gender, language"):
        dataset("sakura", "colour", "single")
    with pytest.raises(UsageError, match="single, multi"):
        dataset("sakura", "animal", "double")
    with pytest.raises(UsageError, match="test-mini"):
        dataset("mmau", "dev")


@pytest.mark.parametrize("name", ["sakura", "mmau", "mmar"])
def test_a_set_that_is_not_here_says_where_it_was_looked_for(tmp_path, name):
    with pytest.raises(DataNotFound, match="--ab-data"):
        dataset(name).read(Places(here=tmp_path, shelves=[tmp_path]))


@needs_data
def test_every_mmau_row_is_read_as_the_study_read_it(tmp_path):
    samples = dataset("mmau").read(places(tmp_path, mmau=DATA / "mmau"))
    ours = {
        s.id: (s.question, " ".join(f"({'ABCDEFGHIJ'[i]}) {c}" for i, c in enumerate(s.choices)), letter(s))
        for s in samples
    }
    theirs = {row["id"]: (row["question"], row["choices"], row["true_letter"]) for row in recorded("mmau")}
    assert len(samples) == len(ours) == 1000
    assert ours == theirs


@needs_data
def test_mmau_keeps_questions_that_offer_one_text_twice(tmp_path):
    samples = dataset("mmau").read(places(tmp_path, mmau=DATA / "mmau"))
    assert sum(len(set(s.choices)) < len(s.choices) for s in samples) == 27
    assert all(s.reference in s.choices for s in samples)
    assert {s.metadata["category"] for s in samples} == {"Reasoning", "Information Extraction"}


def test_mmau_keeps_a_question_whose_answer_is_not_offered(tmp_path):
    row = {
        "id": "m1",
        "audio_id": "./test-mini-audios/m1.wav",
        "question": "What? ",
        "choices": ["a dog", "a hen"],
        "answer": "a cow",
        "task": "sound",
        "category": ["Reasoning"],
    }
    (tmp_path / "mmau-test-mini.json").write_text(json.dumps([row]))
    (sample,) = dataset("mmau").read(places(tmp_path, mmau=tmp_path))
    assert (sample.question, sample.reference, str(sample.clips[0])) == (
        "What?",
        "a cow",
        "mmau:test-mini-audios/m1.wav",
    )
    assert sample.metadata["category"] == "Reasoning"


# A row of mmau-test-mini.json of https://github.com/Sakshi113/MMAU has these keys and values of these forms; the same
# of test_mini.parquet of gamma-lab-umd/MMAU-test-mini on the hub is context {bytes}, instruction, choices
# ["(A) Man", …], answer "(A) Man" and other_attributes, a text of JSON. mmau-test.json has "answer": "" in each row.
MMAU_FORMS = [
    (["Man", "Woman", "Child", "Robot"], "Man"),
    (["3 ", " 4"], "4"),
    (["Yes", "Yes", "No"], "Yes"),
    (["(b) minor", "C major", "D", "E", "F", "G", "A", "B"], "C major"),
    (["a dog", "a hen"], "a cow"),
    (["First speaker shows doubt", "second speaker"], "second speaker"),
]


def mmau_rows(split="test-mini"):
    rows = []
    for number in range(24):
        choices, answer = MMAU_FORMS[number % len(MMAU_FORMS)]
        rows.append(
            {
                "id": f"3fe64f3d-{number:04d}",
                "audio_id": f"./{split}-audios/3fe64f3d-{number:04d}.wav",
                "question": f"Based on the given audio, what is heard {number} times? ",
                "choices": choices,
                "answer": answer if split == "test-mini" else "",
                "dataset": ("AudioSet", "MusicBench", "IEMOCAP")[number % 3],
                "task": ("sound", "music", "speech")[number % 3],
                "split": split,
                "category": ("Reasoning", "Information Extraction")[number % 2],
                "sub-category": "Acoustic Source Inference",
                "difficulty": ("easy", "medium", "hard")[number % 3],
            }
        )
    return rows


def put_hub_layout(folder, rows, sound):
    pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    about = ("id", "task", "category", "sub-category", "difficulty", "dataset")

    def lettered(row, text):
        places = [place for place, choice in enumerate(row["choices"]) if choice.strip() == text.strip()]
        return f"({'ABCDEFGH'[places[0]]}) {text}" if places else text

    table = pa.table(
        {
            "context": [{"bytes": sound(row)} for row in rows],
            "instruction": [row["question"] for row in rows],
            "choices": [
                [f"({letter}) {text}" for letter, text in zip("ABCDEFGH", row["choices"], strict=False)] for row in rows
            ],
            "answer": [lettered(row, row["answer"]) for row in rows],
            "other_attributes": [json.dumps({name: row[name] for name in about}) for row in rows],
        }
    )
    folder.mkdir()
    pq.write_table(table, folder / "test_mini.parquet", row_group_size=9)


def wave(row):
    file = io.BytesIO()
    seconds = np.arange(800) / 8000
    soundfile.write(file, 0.1 * np.sin(2 * np.pi * (300 + 20 * int(row["id"][-4:])) * seconds), 8000, format="WAV")
    return file.getvalue()


def test_mmau_as_the_hub_has_it_is_the_same_set(tmp_path):
    rows, git, hub = mmau_rows(), tmp_path / "git", tmp_path / "hub"
    put_hub_layout(hub, rows, wave)
    (git / "test-mini-audios").mkdir(parents=True)
    (git / "mmau-test-mini.json").write_text(json.dumps(rows))
    for row in rows:
        (git / row["audio_id"]).write_bytes(wave(row))
    in_files = dataset("mmau").read(places(tmp_path, mmau=git))
    in_cells = list(dataset("mmau").read(places(tmp_path, mmau=hub)))
    assert [replace(each, clips=()) for each in in_cells] == [replace(each, clips=()) for each in in_files]
    assert [each.reference for each in in_cells[:6]] == ["Man", "4", "Yes", "C major", "a cow", "second speaker"]
    assert in_cells[3].choices[0] == "(b) minor"
    assert in_cells[0].metadata == {
        "task": "sound",
        "category": "Reasoning",
        "sub-category": "Acoustic Source Inference",
        "difficulty": "easy",
        "dataset": "AudioSet",
    }
    with AudioIndex(tmp_path / "index.sqlite") as index:
        keys = [index.facts_of([each.clips[0] for each in some]) for some in (in_cells, in_files)]
    assert keys[0] == keys[1]


def test_mmau_whose_attributes_are_no_json_is_refused_by_its_row(tmp_path):
    rows = mmau_rows()
    put_hub_layout(tmp_path / "hub", rows, wave)
    import pyarrow.parquet as pq

    file = tmp_path / "hub" / "test_mini.parquet"
    table = pq.read_table(file)
    broken = [*table["other_attributes"].to_pylist()[:-1], "{'id': 'm24'}"]
    pq.write_table(table.set_column(4, "other_attributes", [broken]), file)
    with pytest.raises(UsageError, match=r"row 23 has no JSON in 'other_attributes'"):
        list(dataset("mmau").read(places(tmp_path, mmau=tmp_path / "hub")))


def test_a_set_that_is_not_here_names_the_rows_of_every_layout(tmp_path):
    with pytest.raises(DataNotFound, match=r"has no mmau-test-mini\.json and no test_mini\.parquet\)"):
        dataset("mmau").read(places(tmp_path, mmau=tmp_path))
    with pytest.raises(DataNotFound, match=r"has no mmau-test\.json\)"):
        dataset("mmau", "test").read(places(tmp_path, mmau=tmp_path))


def test_the_hub_s_rows_of_test_mini_are_never_taken_for_those_of_test(tmp_path):
    put_hub_layout(tmp_path / "hub", mmau_rows(), wave)
    with pytest.raises(DataNotFound, match=r"which has no mmau-test\.json"):
        dataset("mmau", "test").read(places(tmp_path, mmau=tmp_path / "hub"))


def test_mmau_s_test_has_no_references_and_its_rows_as_they_were_published(tmp_path):
    rows = mmau_rows("test")
    (tmp_path / "mmau-test.json").write_text(json.dumps(rows))
    test, here = dataset("mmau", "test"), places(tmp_path, mmau=tmp_path)
    samples = test.read(here)
    assert (test.name, test.withheld, len(samples)) == ("mmau/test", True, 24)
    assert {(each.reference, each.references) for each in samples} == {("", ())}
    assert [row for _, row in test.submission.rows(here)] == rows
    assert [id_ for id_, _ in test.submission.rows(here)] == [each.id for each in samples]


@pytest.mark.parametrize(
    ("name", "rows", "archive", "folder"),
    [
        ("mmar", "MMAR-meta.json", "mmar-audio.tar.gz", "audio"),
        ("mmau", "mmau-test-mini.json", "test-mini-audios.tar.gz", "test-mini-audios"),
    ],
)
def test_audio_that_is_still_packed_is_named_with_the_command_that_unpacks_it(tmp_path, name, rows, archive, folder):
    here = tmp_path / "a folder"
    sound = here / folder / "m1.wav"
    sound.parent.mkdir(parents=True)
    sound.write_bytes(wave({"id": "0001"}))
    # A row of MMAR-meta.json of BoJack/MMAR has audio_path "./audio/x.wav", and one of MMAU audio_id.
    row = {"id": "m1", "question": "?", "choices": ["a", "b"], "answer": "a"}
    row |= dict.fromkeys(("audio_path", "audio_id"), f"./{folder}/m1.wav")
    (here / rows).write_text(json.dumps([row]))
    with tarfile.open(here / archive, "w:gz") as packed:
        packed.add(sound.parent, folder)
    shutil.rmtree(sound.parent)
    with pytest.raises(DataNotFound, match=f"still packed in {re.escape(archive)}") as error:
        dataset(name).read(places(tmp_path, **{name: here}))
    subprocess.run(str(error.value).partition("unpack it: ")[2], shell=True, check=True)
    (sample,) = dataset(name).read(places(tmp_path, **{name: here}))
    assert sample.clips[0].source.location.read_bytes() == wave({"id": "0001"})


@needs_data
def test_every_mmar_row_is_read_and_997_were_recorded(tmp_path):
    samples = dataset("mmar").read(places(tmp_path, mmar=DATA / "mmar"))
    assert len({s.id for s in samples}) == len({file_name(s) for s in samples}) == len(samples) == 1000
    assert all(s.reference in s.choices for s in samples)
    assert not any(field in s.metadata for s in samples for field in ("thinking", "cue", "rubric"))
    ours = {file_name(s): (s.question, list(s.choices)) for s in samples}
    theirs = {row["audio_path"].rpartition("/")[2]: (row["question"], row["choices_list"]) for row in recorded("mmar")}
    assert len(theirs) == 997
    assert theirs.items() <= ours.items()


@needs_data
def test_mmar_as_the_hub_has_it_is_the_same_set(tmp_path):
    rows = [json.loads(line) for line in (DATA / "mmar" / "MMAR-meta.jsonl").read_text().splitlines()]
    (tmp_path / "MMAR-meta.json").write_text(json.dumps(rows))
    hub = dataset("mmar").read(places(tmp_path, mmar=tmp_path))
    git = dataset("mmar").read(places(tmp_path, mmar=DATA / "mmar"))
    assert len(hub) == len(git) > 900
    for first, second in zip(hub, git, strict=True):
        assert (first.id, str(first.clips[0]), first.choices) == (second.id, str(second.clips[0]), second.choices)
        assert (first.reference, first.metadata) == (second.reference, second.metadata)


@needs_data
def test_the_study_keyed_13_mmar_questions_to_an_option_that_only_contains_the_answer(tmp_path):
    samples = {file_name(s): s for s in dataset("mmar").read(places(tmp_path, mmar=DATA / "mmar"))}
    differing = 0
    for row in recorded("mmar"):
        sample = samples[row["audio_path"].rpartition("/")[2]]
        containing = next(c for c in sample.choices if sample.reference.lower() in c.lower())
        assert row["true_letter"] == "ABCDEFGHIJ"[sample.choices.index(containing)]
        differing += row["true_letter"] != letter(sample)
    assert differing == 13
