"""Declared data sets: every layout, and what a row may be, read by the one reader; and rows that break."""

import csv
import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import soundfile

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.bundled import bundled, bundled_folder
from pytest_audiobench.datasets.declared import declared_loader
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.transforms import TRANSFORMS, split_options
from pytest_audiobench.errors import DataNotFound, UsageError

ROWS = [{"file": f"clip{i}.wav", "label": ("dog", "cat", "hen")[i % 3], "speaker": f"s{i // 2}"} for i in range(20)]
SAMPLE = '[sample]\nid = "{file|stem}"\naudio = "audio/{file}"\nanswer = "{label}"\nmetadata = ["speaker"]\n'


def written(path, rows):
    """``rows`` in the format of the path's suffix, as publishers write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            table = csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t", lineterminator="\n")
            table.writerow(rows[0])
            table.writerows(["" if cell is None else cell for cell in row.values()] for row in rows)


@pytest.fixture
def declared(tmp_path):
    """What makes the data sets of a file of ``text``."""

    def loader(text):
        (tmp_path / "zoo.audiobench.toml").write_text(text)
        return declared_loader(tmp_path / "zoo.audiobench.toml")

    return loader


@pytest.fixture
def read(tmp_path, declared):
    """The samples of a data set that ``text`` declares over ``rows``."""

    def samples(text, rows=ROWS, file="rows.csv", **given):
        written(tmp_path / "zoo" / file, rows)
        return declared(text)(**given).read(Places(here=tmp_path, shelves=[tmp_path]))

    return samples


@pytest.mark.parametrize("file", ["rows.json", "rows.jsonl", "rows.csv", "rows.tsv"])
def test_every_format_gives_the_same_samples(read, file):
    samples = read(f'[data]\nrows = "{file}"\n{SAMPLE}', file=file)
    assert [sample.id for sample in samples] == [f"clip{i}" for i in range(20)]
    assert str(samples[1].clips[0]) == "zoo:audio/clip1.wav"
    assert (samples[1].reference, samples[1].metadata) == ("cat", {"speaker": "s0"})


def test_members_of_an_object_have_their_names_as_key(read):
    rows = {f"audio/{row['file']}": row for row in ROWS}
    text = '[data]\nrows = "rows.json"\n[sample]\nid = "{key|basename}"\naudio = "{key}"\nanswer = "{label}"\n'
    assert str(read(text, rows, "rows.json")[3].clips[0]) == "zoo:audio/clip3.wav"


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_without_a_header_has_the_columns_that_are_declared(read, tmp_path, suffix):
    between = {"csv": ",", "tsv": "\t"}[suffix]
    text = f'[data]\nrows = "bare.{suffix}"\nheader = ["file", "label"]\n' + SAMPLE
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / f"bare.{suffix}").write_text(f"a.wav{between}dog\nb.wav{between}cat\n")
    assert [sample.reference for sample in read(text)] == ["dog", "cat"]


def test_a_sample_may_have_no_answer(read):
    text = SAMPLE.replace('"{label}"', '""')
    assert [sample.truths for sample in read(f'[data]\nrows = "rows.csv"\n{text}')] == [("",)] * 20


def test_rows_are_taken_by_a_value_or_by_one_of_several(read):
    assert len(read('[data]\nrows = "rows.csv"\nwhere = { label = "dog" }\n' + SAMPLE)) == 7
    both = '[data]\nrows = "rows.csv"\nwhere = { label = ["dog", "cat"], speaker = "s0" }\n'
    assert [sample.id for sample in read(both + SAMPLE)] == ["clip0", "clip1"]


def test_labels_of_a_column_are_every_sample_s_choices_even_those_of_rows_that_have_others(read):
    samples = read('[data]\nrows = "rows.csv"\nlabels = "{label}"\n' + SAMPLE)
    assert {sample.choices for sample in samples} == {("cat", "dog", "hen")}


def test_labels_that_are_numbers_are_sorted_as_numbers(read):
    rows = [{"file": f"{number}.wav", "label": str(number)} for number in (10, 2, 0)]
    samples = read('[data]\nrows = "rows.json"\nlabels = "{label}"\n' + SAMPLE, rows, "rows.json")
    assert samples[0].choices == ("0", "2", "10")


def test_labels_of_a_file_stand_in_its_order(read, tmp_path):
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "labels.txt").write_text("hen\ndog\n\ncat\nowl\n")
    samples = read('[data]\nrows = "rows.csv"\nlabels = "labels.txt"\n' + SAMPLE)
    assert samples[0].choices == ("hen", "dog", "cat", "owl")


def test_a_sample_has_several_clips_options_and_references_in_columns_or_in_a_list(read):
    row = {"id": 7, "a": "1.wav", "b": "2.wav", "x": "dog", "y": "cat", "z": None, "said": ["bark", "woof"]}
    fields = '[sample]\nid = "pair-{id}"\nchoices = ["{x}", "{y}", "{z?}"]\nreferences = "{said}"\n'
    text = f'[data]\nrows = "rows.jsonl"\n{fields}audio = ["{{a}}", "{{b}}"]\n'
    (sample,) = read(text, [row], "rows.jsonl")
    assert (sample.id, [str(clip) for clip in sample.clips]) == ("pair-7", ["zoo:1.wav", "zoo:2.wav"])
    assert (sample.choices, sample.reference, sample.references) == (("dog", "cat"), "bark", ("bark", "woof"))
    text = f'[data]\nrows = "rows.jsonl"\n{fields}audio = "{{clips}}"\n'
    (listed,) = read(text, [{**row, "clips": ["1.wav", "2.wav"]}], "rows.jsonl")
    assert listed.clips == sample.clips


def test_rows_of_one_text_are_one_row_and_what_differs_in_them_is_a_list(read):
    rows = [
        {"clip": "b", "n": "1", "caption": "A dog.", "year": "2019"},
        {"clip": "a", "n": "2", "caption": "Rain.", "year": "2019"},
        {"clip": "b", "n": "3", "caption": "A dog barks.", "year": "2019"},
        {"clip": "b", "n": "4", "caption": "A dog.", "year": "2019"},
    ]
    text = (
        '[data]\nrows = "rows.csv"\nmerge = "{clip}"\n'
        '[sample]\nid = "{clip}"\naudio = "{clip}.wav"\nreferences = "{caption}"\nmetadata = ["year"]\n'
    )
    samples = list(read(text, rows))
    assert [(each.id, each.truths, each.metadata) for each in samples] == [
        ("b", ("A dog.", "A dog barks.", "A dog."), {"year": "2019"}),
        ("a", ("Rain.",), {"year": "2019"}),
    ]


JOINED = (
    '[data]\nrows = "rows.csv"\n[data.join.other]\nrows = "other.csv"\non = "{sentence}"\nto = "{sentence}"\n{more}'
    '[sample]\nid = "{clip}"\naudio = "{clip}.wav"\nreferences = "{other.text}"\n'
)


@pytest.mark.parametrize("more", ["", "partial = true\n"])
def test_a_row_that_another_table_lacks_is_left_out_where_that_is_said(read, tmp_path, more):
    written(tmp_path / "zoo" / "other.csv", [{"sentence": "1", "text": "Hund"}, {"sentence": "3", "text": "Kuh"}])
    rows = [{"clip": name, "sentence": number} for name, number in (("a", "1"), ("b", "2"), ("c", "3"))]
    text = JOINED.replace("{more}", more)
    if not more:
        with pytest.raises(UsageError, match=r"line 3 belongs to '2', which .*other.csv does not have"):
            list(read(text, rows))
        return
    assert [(each.id, each.reference) for each in read(text, rows)] == [("a", "Hund"), ("c", "Kuh")]


def test_a_text_that_is_json_has_its_members_as_columns_or_is_a_list(read):
    row = {
        "file": "a.wav",
        "about": json.dumps({"id": 7, "said": ["bark", "woof"]}),
        "options": '["(a) dog", "(b) cat"]',
    }
    text = (
        '[data]\nrows = "rows.csv"\njson = ["about", "options"]\nwhere = { "about.id" = "7" }\n'
        '[sample]\nid = "{about.id}"\naudio = "{file}"\nchoices = "{options|unlettered}"\nreferences = "{about.said}"\n'
        'metadata = ["about.age"]\n'
    )
    (sample,) = read(text, [row, {**row, "about": '{"id": 8}'}])
    assert (sample.id, sample.choices, sample.references) == ("7", ("dog", "cat"), ("bark", "woof"))
    assert sample.metadata == {"about.age": None}
    with pytest.raises(UsageError, match=r"line 2 has no JSON in 'about' \(Expecting"):
        read(text, [{**row, "about": "{'id': 7}"}])


LAYOUTS = """
[parameters]
kind = ["dog", "cat"]
[data]
rows = "{kind}.jsonl"
[sample]
id = "{id}"
audio = "{file}"
answer = "{label}"
[[layout]]
parameters = { kind = "cat" }
[layout.data]
rows = ["all.json", "all.csv"]
where = { kind = "{kind}" }
[layout.sample]
id = "{name}"
audio = "{sound}"
answer = "{called}"
"""


def test_the_first_layout_whose_rows_are_there_is_read_and_none_that_is_of_other_parameters(read, tmp_path):
    rows = [{"name": f"n{i}", "sound": "s.wav", "called": "tom", "kind": ("dog", "cat")[i % 2]} for i in range(20)]
    assert [sample.id for sample in read(LAYOUTS, rows, "all.csv", kind="cat")] == [f"n{i}" for i in range(1, 20, 2)]
    with pytest.raises(DataNotFound, match=r"has no dog\.jsonl\)"):
        read(LAYOUTS, rows, "all.csv", kind="dog")
    (sample,) = read(LAYOUTS, [{"id": "c", "file": "c.wav", "label": "cat"}], "cat.jsonl", kind="cat")
    assert (sample.id, str(sample.clips[0])) == ("c", "zoo:c.wav")


def test_a_value_whose_answers_are_withheld_is_no_part_of_the_others(read, declared):
    text = '[parameters]\nsplit = ["dev"]\n[data]\nrows = "rows.jsonl"\n' + SAMPLE.replace("{file|", "{split}-{file|")
    text += '[submission]\nparameters = { split = ["test", "later"] }\nprediction = "said"\nformat = "jsonl"\n'
    rows = [{**row, "label": ""} for row in ROWS]
    assert {sample.reference for sample in read(text, rows, "rows.jsonl", split="later")} == {""}
    with pytest.raises(UsageError, match="line 1 has no 'label'"):
        read(text, rows, "rows.jsonl")
    assert [declared(text)(split=split).withheld for split in ("dev", "test", "later")] == [False, True, True]
    assert declared(text)().submission is None


def test_an_option_that_is_a_number_is_its_text(read):
    row = {"file": "a.wav", "label": "3", "options": [2, 3, "four", 5.5]}
    (sample,) = read('[data]\nrows = "rows.jsonl"\n' + SAMPLE + 'choices = "{options}"\n', [row], "rows.jsonl")
    assert sample.choices == ("2", "3", "four", "5.5")


def test_a_parameter_is_filled_in_and_one_that_is_left_out_stands_for_all_its_values(read):
    text = (
        '[parameters]\nkind = ["dog", "cat"]\nsplit = "test"\n'
        '[data]\nrows = "{split}.csv"\nwhere = { label = "{kind}" }\n'
        '[sample]\nid = "{kind}-{file}"\naudio = "{split}/{file}"\nanswer = "{label}"\n'
    )
    assert {sample.id for sample in read(text, file="test.csv", kind="dog")} == {
        f"dog-clip{i}.wav" for i in range(0, 20, 3)
    }
    assert len(read(text, file="test.csv")) == 14


def test_a_data_set_is_called_by_its_file_and_the_parameters_that_are_given_or_the_only_ones(declared):
    files = '[data]\nrows = "{kind}-{split}.csv"\n'
    load = declared('[parameters]\nkind = ["dog", "cat"]\nsplit = "test"\n' + files + SAMPLE)
    assert [load().name, load("dog").name, load(split="test", kind="cat").name] == [
        "zoo/test",
        "zoo/dog/test",
        "zoo/cat/test",
    ]
    with pytest.raises(UsageError, match="zoo has no kind 'cow'; it has dog, cat"):
        load("cow")


def test_an_open_parameter_has_values_that_are_evals_and_others_that_are_asked_for(declared):
    named = 'kind = { values = ["dog"], others = ["cat"] }\nlanguage = { values = ["en"], others = "[a-z]+" }\n'
    load = declared(f'[parameters]\n{named}[data]\nrows = "{{language}}/{{kind}}.csv"\n' + SAMPLE)
    assert [load().name, load("cat", "de").name] == ["zoo", "zoo/cat/de"]
    with pytest.raises(UsageError, match="zoo has no kind 'cow'; it has dog, cat"):
        load("cow")
    with pytest.raises(UsageError, match=r"zoo has no language '\.\./de'; it has en, what matches \[a-z\]\+"):
        load("cat", "../de")


def touched(folder, *files):
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()


CLASSES = (
    '[data]\nrows = "{label}/*.wav"\nlabels = "{label}"\n[sample]\nid = "{key}"\naudio = "{key}"\nanswer = "{label}"\n'
)


def test_a_file_of_audio_is_a_row_and_the_names_of_its_folders_are_columns(tmp_path, declared):
    touched(tmp_path / "zoo", "hen/2.wav", "dog/1.wav", "hen/10.wav", "hen/.hidden.wav", "hen/note.txt", "readme.md")
    samples = declared(CLASSES)().read(Places(here=tmp_path, shelves=[tmp_path]))
    assert [(sample.id, sample.reference) for sample in samples] == [
        ("dog/1.wav", "dog"),
        ("hen/10.wav", "hen"),
        ("hen/2.wav", "hen"),
    ]
    assert {sample.choices for sample in samples} == {("dog", "hen")}
    assert str(samples[0].clips[0]) == "zoo:dog/1.wav"


def test_a_folder_that_lacks_its_file_is_named_and_not_left_out(tmp_path, declared):
    touched(tmp_path / "zoo", "hen/2.wav", "dog/1.txt", "cat/1.WAV")
    with pytest.raises(UsageError, match=r"there is no .*dog/\*\.wav, and its folder must not be left out") as raised:
        declared(CLASSES)().read(Places(here=tmp_path, shelves=[tmp_path]))
    assert len(str(raised.value).splitlines()) == 2


def test_a_name_that_stands_twice_in_a_path_is_the_same_twice(tmp_path, declared):
    touched(tmp_path / "zoo", "s1/s1-a+a.wav", "s1/s2-a+a.wav", "s1/s1-a+b.wav")
    text = CLASSES.replace("{label}/*", "{speaker}/{speaker}-{label}+{label}").replace('"{key}"', '"{speaker}"', 1)
    (sample,) = declared(text)().read(Places(here=tmp_path, shelves=[tmp_path]))
    assert (sample.id, str(sample.clips[0])) == ("s1", "zoo:s1/s1-a+a.wav")


def test_asterisks_of_one_name_stand_for_different_texts(tmp_path, declared):
    touched(tmp_path / "zoo", "03-01-hen-02.wav", "03-02-dog-01.wav")
    samples = declared(CLASSES.replace("{label}/*", "*-*-{label}-*"))().read(Places(here=tmp_path, shelves=[tmp_path]))
    assert [sample.reference for sample in samples] == ["hen", "dog"]


def test_lines_of_text_are_a_key_and_words_and_folder_is_where_their_file_lies(tmp_path, declared):
    (tmp_path / "zoo" / "b" / "1").mkdir(parents=True)
    (tmp_path / "zoo" / "b" / "1" / "text.txt").write_text("u1 ONE  TWO\n\nu2\tTHREE\n")
    text = '[data]\nrows = ["a/{session}/text.txt", "b/{session}/text.txt"]\n[sample]\nid = "{session}-{key}"\n'
    samples = declared(text + 'audio = "{folder}/{key}.flac"\nanswer = "{text}"\n')().read(
        Places(here=tmp_path, shelves=[tmp_path])
    )
    assert [(sample.id, str(sample.clips[0]), sample.reference) for sample in samples] == [
        ("1-u1", "zoo:b/1/u1.flac", "ONE  TWO"),
        ("1-u2", "zoo:b/1/u2.flac", "THREE"),
    ]


PLACE = "<Audio><AudioHere></Audio>"
CONVERSATIONS = [
    {
        "id": f"c{number}",
        "task": task,
        "messages": [
            {"role": "user", "content": f"A: {PLACE} B: {PLACE}"},
            {"role": "assistant", "content": answer},
        ],
        "audio_paths": ["audio/a.wav", f"audio/{number}.wav"][: 1 + (task == "pair")],
    }
    for number, (task, answer) in enumerate([("pair", "A"), ("pair", "B"), ("solo", "B")])
]
TALKS = (
    '[data]\nrows = "test/rows.FORMAT"\nwhere = { task = ["pair", "solo"] }\n[sample]\nid = "{id}"\n'
    'audio = "test/{audio_paths}"\nquestion = "{messages.0.content}"\nanswer = "{messages.1.content}"\n'
)


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet"])
def test_a_member_of_a_list_of_objects_is_named_by_its_number_and_paths_have_what_stands_before_them(
    declared, tmp_path, suffix
):
    file = tmp_path / "zoo" / "test" / f"rows.{suffix}"
    if suffix == "parquet":
        file.parent.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(CONVERSATIONS), file)
    else:
        written(file, CONVERSATIONS)
    samples = declared(TALKS.replace("FORMAT", suffix))().read(Places(here=tmp_path, shelves=[tmp_path]))
    assert [(sample.id, sample.question, sample.reference) for sample in samples] == [
        ("c0", f"A: {PLACE} B: {PLACE}", "A"),
        ("c1", f"A: {PLACE} B: {PLACE}", "B"),
        ("c2", f"A: {PLACE} B: {PLACE}", "B"),
    ]
    assert [[str(clip) for clip in sample.clips] for sample in samples] == [
        ["zoo:test/audio/a.wav", "zoo:test/audio/0.wav"],
        ["zoo:test/audio/a.wav", "zoo:test/audio/1.wav"],
        ["zoo:test/audio/a.wav"],
    ]


@pytest.mark.parametrize("column", ["messages.2.content", "messages.1.text", "messages.one.content", "audio_paths.0.x"])
def test_a_member_that_a_list_does_not_have_is_named(read, column):
    text = TALKS.replace("FORMAT", "jsonl").replace("messages.1.content", column)
    with pytest.raises(UsageError, match=rf"line 1 has no '{column}', which is not the published layout"):
        list(read(text, CONVERSATIONS, "test/rows.jsonl"))


COUNTED = (
    '[parameters]\nkind = ["dog", "cat"]\n[vocabulary.rows]\ndog = "7"\ncat = "8"\n'
    '[data]\nrows = "rows.FORMAT"\nwhere = { label = "{kind}" }\ncount = "{kind|rows}"\n' + SAMPLE
)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_part_of_a_set_is_never_read_as_all_of_it(declared, tmp_path, suffix):
    file = tmp_path / "zoo" / f"rows.{suffix}"
    if suffix == "parquet":
        file.parent.mkdir()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), file)
    else:
        written(file, ROWS)
    load, places = declared(COUNTED.replace("FORMAT", suffix)), Places(here=tmp_path, shelves=[tmp_path])
    assert len(load("dog").read(places)) == 7
    for given in ({"kind": "cat"}, {}):
        with pytest.raises(UsageError, match=rf"rows\.{suffix} has 7 rows of zoo/cat, which has 8; fetch it again$"):
            load(**given).read(places)


def test_rows_that_a_benchmark_leaves_out_are_rows_of_it_all_the_same(read):
    rows = [{**row, "options": ["dog", "cat"][: 1 + number % 2]} for number, row in enumerate(ROWS)]
    text = '[data]\nrows = "rows.jsonl"\ncount = 20\n' + SAMPLE + 'choices = "{options}"\nleast_choices = 2\n'
    assert len(read(text, rows, "rows.jsonl")) == 10


@pytest.mark.parametrize(
    ("part", "lengths_s"),
    [
        ("first_seconds = 0.3", [0.2, 0.3]),
        ('first_seconds = "{kind|seconds}"', [0.2, 0.25]),
        ('start = "{from}"\nend = "{to}"\nfirst_seconds = 0.3', [0.1, 0.3]),
    ],
)
def test_of_a_longer_clip_the_first_seconds_are_asked_about_and_a_shorter_one_stays(read, tmp_path, part, lengths_s):
    rate_hz, ramp = 16_000, np.arange(8_000, dtype=np.float32) / 10_000
    rows = [{"file": f"{name}.wav", "label": "dog", "from": 0.1, "to": 5} for name in ("short", "long")]
    for row, frames in zip(rows, (3_200, 8_000), strict=True):
        touched(tmp_path / "zoo", f"audio/{row['file']}")
        soundfile.write(tmp_path / "zoo" / "audio" / row["file"], ramp[:frames], rate_hz, "FLOAT")
    text = (
        '[parameters]\nkind = ["dog"]\n[vocabulary.seconds]\ndog = "0.25"\n'
        '[data]\nrows = "rows.jsonl"\nwhere = { label = "{kind}" }\n' + SAMPLE + part + "\n"
    )
    clips = [decode(sample.clips[0], rate_hz, None).samples for sample in read(text, rows, "rows.jsonl")]
    begin = 1_600 if "start" in part else 0
    assert [len(clip) for clip in clips] == [round(length_s * rate_hz) for length_s in lengths_s]
    for clip in clips:
        np.testing.assert_array_equal(clip, ramp[begin : begin + len(clip)])


LONG = (
    '[data]\nrows = "rows.json"\nlist = "films"\neach = "scenes"\nwhere = { tags = ["a", "b"] }\n'
    '[sample]\nid = "{film}-{id}"\naudio = [["{path}.opus", "{path}.wav"]]\nstart = "{from}"\nend = "{to}"\n'
    'answer = "{says|gigaspeech_text}"\noptional = ["mood"]\n'
)
SCENE = {"id": "1", "tags": ["x", "b"], "from": 1, "to": "2.5", "says": "HELLO <PERIOD>", "mood": "sad"}


def film(*scenes):
    return {"version": 3, "films": [{"film": "f", "path": "p", "mood": None, "id": "outer", "scenes": list(scenes)}]}


def test_rows_within_rows_of_a_named_array_have_the_columns_of_both_and_parts_of_recordings(read):
    left_out = ({"tags": ["x"]}, {"says": "<NOISE>"})
    scenes = [SCENE | changes for changes in ({}, *left_out, {"id": "2", "tags": ["a"], "mood": ""})]
    first, second = read(LONG, film(*scenes), "rows.json")
    assert [(sample.id, sample.metadata) for sample in (first, second)] == [("f-1", {"mood": "sad"}), ("f-2", {})]
    (clip,) = first.clips
    assert (str(clip.source), clip.edits[0].parameters) == ("zoo:p.opus", (("start_s", "1"), ("end_s", "2.5")))
    assert first.reference == "HELLO"


def test_a_clip_is_the_first_of_its_files_that_is_there_or_the_first(read, tmp_path):
    touched(tmp_path / "zoo", "p.wav")
    assert [str(sample.clips[0].source) for sample in read(LONG, film(SCENE), "rows.json")] == ["zoo:p.wav"]
    touched(tmp_path / "zoo", "p.opus")
    assert [str(sample.clips[0].source) for sample in read(LONG, film(SCENE), "rows.json")] == ["zoo:p.opus"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"from": "soon"}, "has 'soon' where a number of seconds should be"),
        ({"from": True}, "has True where a number"),
        ({"to": "inf"}, "has 'inf' where a number"),
        ({"from": 3}, "lasts from 3 s to 2.5 s"),
    ],
)
def test_a_part_that_is_none_is_named_with_its_place(read, changes, said):
    with pytest.raises(UsageError, match=r"rows\.json, films 1, scenes 1 ") as raised:
        read(LONG, film(SCENE | changes), "rows.json")
    assert said in str(raised.value)


def test_a_task_has_the_file_s_layout_and_its_own_rows(read):
    text = (
        f'groups = ["speaker"]\n[data]\nrows = "rows.csv"\n{SAMPLE}'
        '[[task]]\nname = "dogs"\ndata.where = { label = "dog" }\n'
        '[[task]]\nname = "who"\nsample.answer = "{speaker}"\n'
    )
    assert {sample.reference for sample in read(text, task="dogs")} == {"dog"}
    assert len({sample.reference for sample in read(text, task="who")}) == 10
    with pytest.raises(UsageError, match="zoo has no task 'cats'; it has dogs, who"):
        read(text, task="cats")


def test_a_parameter_of_a_file_without_tasks_may_be_called_task(read):
    text = f'[parameters]\ntask = ["dog", "hen"]\n[data]\nrows = "rows.csv"\nwhere = {{ label = "{{task}}" }}\n{SAMPLE}'
    assert {sample.reference for sample in read(text, task="hen")} == {"hen"}
    assert {sample.reference for sample in read(text)} == {"dog", "hen"}


def test_a_set_that_is_not_here_is_looked_for_under_its_root(tmp_path, declared):
    with pytest.raises(DataNotFound, match="--ab-data=shelter=FOLDER"):
        declared('[data]\nroot = "shelter"\nrows = ["a.csv", "b.csv"]\n' + SAMPLE)().read(Places(here=tmp_path))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"file": "a.wav", "label": None}, "line 21 has no 'label'"),
        (
            {"file": "a.wav", "Label": "dog"},
            r"line 21 has no 'label'.* \(it has 'file', 'Label'\); .* correct the column",
        ),
        ({"file": "a.wav", "label": {"en": "dog"}}, "line 21 has no text in 'label'"),
        ({"file": "a.wav", "label": ["dog", None]}, "line 21 has no list of texts in 'label'"),
        ({"file": "a.wav", "label": ["dog", "cat"]}, "line 21 has a list in 'label'"),
        ({"file": "../a.wav", "label": "dog"}, "line 21 has an audio path that cannot be used: .*leaves its folder"),
        ({"file": "a.wav", "label": "dog", "speaker": ["s1", "s2"]}, "line 21 has a list in 'speaker'"),
    ],
)
def test_a_row_that_is_not_as_declared_is_named(read, row, said):
    with pytest.raises(UsageError, match=said):
        read('[data]\nrows = "rows.jsonl"\n' + SAMPLE, [*ROWS, row], "rows.jsonl")


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ('where = { label = "cow" }\n', "has no row that zoo takes"),
        ('labels = "labels.txt"\n', "labels.txt is not there"),
    ],
)
def test_nothing_to_ask_is_a_mistake(read, layout, said):
    with pytest.raises(UsageError, match=said):
        read(f'[data]\nrows = "rows.csv"\n{layout}{SAMPLE}')


def test_all_broken_rows_are_named_at_once(read):
    rows = [*ROWS, {"file": "a.wav"}, {"label": "dog"}]
    with pytest.raises(UsageError) as raised:
        read('[data]\nrows = "rows.jsonl"\n' + SAMPLE, rows, "rows.jsonl")
    assert [sentence.partition("line ")[2][:20] for sentence in str(raised.value).splitlines()] == [
        "21 has no 'label', w",
        "22 has no 'file', wh",
    ]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("rows.json", "3", "neither a list nor an object"),
        ("rows.json", '[{"file": "a.wav"}', "cannot be read as JSON"),
        ("rows.csv", "file,label\na.wav,dog,more\n", "more than its 2 cells"),
        ("rows.csv", 'file,label\n"a.wav,dog\n', "cannot be read"),
        ("rows.tsv", "file\tlabel\na.wav\tdog\tmore\n", "3 cells in 2 columns"),
    ],
)
def test_a_file_that_is_cut_or_of_another_form_is_refused(tmp_path, declared, file, content, said):
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / file).write_text(content)
    with pytest.raises(UsageError, match=said):
        declared(f'[data]\nrows = "{file}"\n' + SAMPLE)().read(Places(here=tmp_path, shelves=[tmp_path]))


def test_transforms_are_twelve_at_most():
    assert len(TRANSFORMS) <= 12


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("basename", "a/b/c.wav", "c.wav"),
        ("before_options", "Which? (a) dog (b) cat", "Which?"),
        ("capitalize", "animal", "Animal"),
        ("faithfulness_letter", "Affected", "A"),
        ("faithfulness_letter", "Unheard", None),
        ("gigaspeech_text", "ONE <COMMA> TWO <PERIOD>", "ONE TWO"),
        ("gigaspeech_text", "ONE <NOISE>", None),
        ("json", 'a "b"', '"a \\"b\\""'),
        ("option_text", "(b) Affected", "Affected"),
        ("options", "Which? (a) dog (b) cat", ("dog", "cat")),
        ("spaced", "Acoustic_guitar", "Acoustic guitar"),
        ("stem", "a.b.wav", "a.b"),
        ("stem", "bare", "bare"),
        ("unlettered", "(B) (a) dog", "(a) dog"),
        ("unlettered", "Not affected", "Not affected"),
        ("upper", "xl", "XL"),
    ],
)
def test_a_transform_reads_a_column_beside_the_choices(name, text, value):
    assert TRANSFORMS[name](text, ("Not affected", "Affected")) == value


def test_options_are_those_after_the_last_a():
    assert split_options("As in (a), which? (a) one (b) two") == ("As in (a), which?", ("one", "two"))


def test_options_have_capital_letters_where_none_is_small():
    assert split_options("(A) One.\n(B) Two. ") == ("", ("One.", "Two."))
    assert split_options("Which? (a) vitamin (A) (b) none") == ("Which?", ("vitamin (A)", "none"))
    with pytest.raises(ValueError, match="lettered A, C"):
        split_options("(A) one (C) two")


@pytest.fixture
def shards(tmp_path):
    """Puts rows with audio in their cells into the folder ``zoo`` as two shards with row groups of five."""
    pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    digits = bundled("digits").read(Places(here=bundled_folder()))[:20]

    def put(audio=True):
        cells = [{"bytes": each.clips[0].source.location.read_bytes(), "path": None} for each in digits]
        rows = {
            "id": [each.id for each in digits],
            "split": [("test", "dev")[number % 4 == 3] for number in range(20)],
            "context": pa.array(cells, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
            "file": [each.clips[0].source.location.name for each in digits],
            "label": [each.reference for each in digits],
            "choices": pa.array([list(each.choices) for each in digits]),
        }
        table = pa.table(rows if audio else {name: rows[name] for name in rows if name != "context"})
        folder = tmp_path / "zoo" / "data"
        folder.mkdir(parents=True)
        for number, part in enumerate((table.slice(0, 8), table.slice(8))):
            pq.write_table(part, folder / f"rows-{number:05d}-of-00002.parquet", row_group_size=5)
        return digits

    return put


PARQUET = (
    '[data]\nrows = "data/rows-*.parquet"\nwhere = { split = "test" }\n'
    '[sample]\nid = "{id}"\naudio = "{context}"\nchoices = "{choices}"\nanswer = "{label}"\n'
    'metadata = ["split", "age"]\n'
)


def test_audio_in_the_cells_of_shards_is_the_audio_of_the_same_bytes_in_files(tmp_path, declared, shards):
    taken = [each for number, each in enumerate(shards()) if number % 4 != 3]
    samples = list(declared(PARQUET)().read(Places(here=tmp_path, shelves=[tmp_path])))
    assert [(each.id, each.reference, each.choices) for each in samples] == [
        (each.id, each.reference, each.choices) for each in taken
    ]
    assert samples[0].metadata == {"split": "test", "age": None}
    with AudioIndex(tmp_path / "index.sqlite") as index:
        in_cells, in_files = (index.facts_of([each.clips[0] for each in some]) for some in (samples, taken))
    assert in_cells == in_files


def test_a_row_of_shards_has_its_number_among_all_rows_as_key(tmp_path, declared, shards):
    digits = shards()
    samples = declared(PARQUET.replace('id = "{id}"', 'id = "{key}"'))().read(Places(here=tmp_path, shelves=[tmp_path]))
    numbers = [number for number in range(20) if number % 4 != 3]
    assert [(each.id, each.reference) for each in samples] == [(str(n), digits[n].reference) for n in numbers]
    assert [samples[place].id for place in (9, 0)] == [str(numbers[9]), "0"]


def test_labels_of_shards_are_the_distinct_values_of_their_column(tmp_path, declared, shards):
    digits = shards(audio=False)
    text = PARQUET.replace('"{context}"', '"audio/{file}"').replace('choices = "{choices}"\n', "")
    text = text.replace('where = { split = "test" }', 'labels = "{label}"')
    samples = list(declared(text)().read(Places(here=tmp_path, shelves=[tmp_path])))
    assert {each.choices for each in samples} == {tuple(sorted({each.reference for each in digits}))}
    assert str(samples[0].clips[0]).startswith("zoo:audio/")


def test_a_column_that_the_shards_lack_and_a_shard_that_is_lacking_are_named(tmp_path, declared, shards):
    shards()
    places = Places(here=tmp_path, shelves=[tmp_path])
    with pytest.raises(UsageError, match=r"rows-00000-of-00002.parquet.*'lable'"):
        list(declared(PARQUET.replace("{label}", "{lable}"))().read(places))
    (tmp_path / "zoo" / "data" / "rows-00001-of-00002.parquet").unlink()
    with pytest.raises(UsageError, match=r"lacks data/rows-00001-of-00002\.parquet: 1 of 2 shards; fetch them"):
        list(declared(PARQUET)().read(places))


@pytest.mark.parametrize("rate", ["16000", '"rate"'])
def test_waveforms_of_shards_have_the_declared_rate_or_that_of_a_column(tmp_path, declared, rate):
    pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    waves = pa.array([[0.0, 0.5, -0.5]] * 20, pa.list_(pa.float32()))
    (tmp_path / "zoo").mkdir()
    table = pa.table({"id": [str(number) for number in range(20)], "audio": waves, "rate": [16_000] * 20})
    pq.write_table(table, tmp_path / "zoo" / "test.parquet")
    text = '[data]\nrows = "test.parquet"\nRATE[sample]\nid = "{id}"\naudio = "{audio}"\nanswer = "dog"\n'
    places = Places(here=tmp_path, shelves=[tmp_path])
    samples = list(declared(text.replace("RATE", f"rate = {rate}\n"))().read(places))
    assert [sample.clips[0].source.rate_hz for sample in samples] == [16_000] * 20
    with pytest.raises(UsageError, match=r"test\.parquet has waveforms in 'audio' without a rate"):
        list(declared(text.replace("RATE", ""))().read(places))
    with pytest.raises(UsageError, match=r"\[data\], rate is of waveforms in Parquet files"):
        declared(text.replace("RATE", f"rate = {rate}\n").replace("test.parquet", "test.csv"))
