"""Rows as publishers write them: lines of text, codes, lists in a cell, tables that belong together, mixed clips."""

import json
import math
import re

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.declared import declared_loader
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import UNLISTED
from pytest_audiobench.errors import DataNotFound, UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.catalogue import protocol
from pytest_audiobench.protocols.multiple_choice.task import RULES

SAMPLE = '[sample]\nid = "{file}"\naudio = "{file}"\nanswer = "{label}"\n'


@pytest.fixture
def read(tmp_path):
    """The samples that ``text`` declares over files, by their paths below the folder of all data sets."""

    def samples(text, files, **given):
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content, encoding="utf-8")
        (tmp_path / "zoo.audiobench.toml").write_text(text, encoding="utf-8")
        load = declared_loader(tmp_path / "zoo.audiobench.toml")
        return load(**given).read(Places(here=tmp_path, shelves=[tmp_path]))

    return samples


STM = (
    '[data]\nrows = "legacy/*.stm"\nskip = ";;.*|.* ignore_time_segment_in_scoring"\n'
    "line = '(?P<talk>\\S+) 1 (?P<speaker>\\S+) (?P<from>\\S+) (?P<to>\\S+) <(?P<tags>[^>]*)> (?P<text>.*)'\n"
    '[sample]\nid = "{talk}-{from}"\naudio = "sph/{talk}.sph"\nstart = "{from}"\nend = "{to}"\nanswer = "{text}"\n'
)


def test_the_groups_of_a_line_are_its_columns_and_lines_to_skip_are_no_rows(read):
    talk = (
        ";; a comment\n\nA 1 A 0.5 2.25 <o,f0> i 'm\nA 1 A 3 4 <o> ignore_time_segment_in_scoring\r\nA 1 A 5 6 <o> ü\n"
    )
    first, second = read(STM, {"zoo/legacy/A.stm": talk})
    assert (first.id, first.reference, str(first.clips[0].source)) == ("A-0.5", "i 'm", "zoo:sph/A.sph")
    assert (second.reference, second.clips[0].edits[0].parameters) == ("ü", (("start_s", "5"), ("end_s", "6")))


def test_a_line_that_is_no_row_is_named(read):
    with pytest.raises(UsageError, match=r"A\.stm, line 2 is 'A 1 A', and not "):
        read(STM, {"zoo/legacy/A.stm": "A 1 A 1 2 <o> one\nA 1 A\n"})


def test_a_row_s_key_is_its_group_key_or_the_number_of_its_line(read):
    text = "[data]\nrows = \"list.txt\"\nline = '(?P<same>[01]) (?P<first>\\S+) (?P<second>\\S+)'\n"
    text += '[sample]\nid = "{key}"\naudio = ["wav/{first}", "wav/{second}"]\nanswer = "{same}"\n'
    samples = read(text, {"zoo/list.txt": "1 a/1.wav a/2.wav\n0 a/1.wav b/1.wav\n"})
    assert [(sample.id, sample.reference) for sample in samples] == [("1", "1"), ("2", "0")]
    assert [str(clip) for clip in samples[1].clips] == ["zoo:wav/a/1.wav", "zoo:wav/b/1.wav"]
    (named,) = read(text.replace("<first>", "<key>").replace("{first}", "{key}"), {"zoo/list.txt": "1 a.wav b.wav\n"})
    assert named.id == "a.wav"


CODES = (
    '[vocabulary.feelings]\nANG = "anger"\nHAP = "joy"\nEXC = "joy"\n'
    '[data]\nrows = "rows.csv"\nlabels = "{label|feelings}"\n' + SAMPLE.replace("{label}", "{label|feelings}")
)


def test_codes_are_the_words_of_their_vocabulary_among_the_choices_too(read):
    samples = read(CODES, {"zoo/rows.csv": "file,label\n1.wav,ANG\n2.wav,HAP\n3.wav,EXC\n"})
    assert [sample.reference for sample in samples] == ["anger", "joy", "joy"]
    assert samples[0].choices == ("anger", "joy")


def test_a_code_that_no_vocabulary_has_is_named_unless_where_leaves_its_row_out(read):
    files = {"zoo/rows.csv": "file,label\n1.wav,ANG\n2.wav,xxx\n"}
    with pytest.raises(UsageError, match=r"line 3 has 'xxx' in 'label', which is no feelings: .*; there are ANG"):
        read(CODES, files)
    taken = CODES.replace("labels =", 'where = { label = ["ANG", "HAP"] }\nlabels =')
    assert [sample.id for sample in read(taken, files)] == ["1.wav"]


def test_a_code_of_several_words_is_a_list_of_references_and_a_chain_of_transforms_is_taken_in_turn(read):
    text = '[vocabulary.says]\nw = ["woof", "bark"]\n[data]\nrows = "rows.csv"\n'
    text += SAMPLE.replace('answer = "{label}"', 'references = "{file|basename|stem|says}"')
    (sample,) = read(text, {"zoo/rows.csv": "file,label\na/b/w.wav,x\n"})
    assert sample.references == ("woof", "bark")


def test_a_parameter_has_its_word_too(read):
    text = '[vocabulary.language]\nde = "German"\nfr = "French"\n'
    text += '[parameters]\nto = ["de", "fr"]\n[data]\nrows = "{to}.csv"\n'
    text += SAMPLE + 'question = "Translate it into {to|language}."\n'
    (sample,) = read(text, {"zoo/fr.csv": "file,label\na.wav,x\n"}, to="fr")
    assert sample.question == "Translate it into French."
    with pytest.raises(UsageError, match=r"\[vocabulary\]: .* has no word for fr: .*lacks it; there is de"):
        read(text.replace('fr = "French"\n', ""), {})


@pytest.mark.parametrize(
    ("separator", "cell"),
    [(",", '"Bark,Dog , Animal"'), ("python", "\"['Bark', 'Dog', 'Animal']\""), (" - ", "Bark - Dog - Animal")],
)
def test_a_cell_that_is_a_list_is_split(read, separator, cell):
    text = f'[data]\nrows = "rows.csv"\nlabels = "{{label}}"\nlists = {{ label = "{separator}" }}\n'
    text += SAMPLE.replace('answer = "{label}"', 'references = "{label}"')
    first, second = read(text, {"zoo/rows.csv": f"file,label\n1.wav,{cell}\n2.wav,{cell.replace('Animal', 'Hen')}\n"})
    assert first.references == ("Bark", "Dog", "Animal")
    assert second.choices == ("Animal", "Bark", "Dog", "Hen")


@pytest.mark.parametrize(
    "cell",
    ["['a', 1]", "[a, b]", "__import__('os')", "{'a': 1}", "[" * 300, "['\\ud800']", "['\\x4']", "['a' 'b']", ""],
)
def test_a_cell_that_is_no_python_list_of_texts_is_named(read, cell):
    text = '[data]\nrows = "rows.jsonl"\nlists = { label = "python" }\n' + SAMPLE
    with pytest.raises(UsageError, match=r"line 1 has .*'label', which is not a list of texts as Python prints it"):
        read(text, {"zoo/rows.jsonl": json.dumps({"file": "a.wav", "label": cell})})


def test_flags_are_the_names_of_the_columns_that_have_a_1(read):
    text = '[data]\nrows = "rows.csv"\ntable = {}\nflags = { tags = ["no voice", "guitar", "flute"] }\n'
    text += SAMPLE.replace('answer = "{label}"', 'references = "{tags}"')
    table = '"clip"\t"guitar"\t"no voice"\t"flute"\t"file"\n"2"\t"1"\t"1"\t"0"\t"f/a.mp3"\n'
    (sample,) = read(text, {"zoo/rows.csv": table})
    assert (sample.references, sample.id) == (("no voice", "guitar"), "f/a.mp3")
    with pytest.raises(UsageError, match="line 2 has '2' in 'flute', where a 0 or a 1 should be"):
        read(text, {"zoo/rows.csv": table.replace('"0"', '"2"')})


def test_a_row_to_which_nothing_applies_has_the_empty_reference_where_that_is_said(read):
    text = '[data]\nrows = "rows.csv"\nflags = { tags = ["a", "b"] }\n' + SAMPLE
    files = {"zoo/rows.csv": "file,a,b\n1.wav,0,0\n2.wav,1,0\n"}
    samples = read(text.replace('answer = "{label}"', 'references = "{tags?}"'), files)
    assert [sample.truths for sample in samples] == [("",), ("a",)]
    with pytest.raises(UsageError, match="line 2 has no 'tags'"):
        read(text.replace('answer = "{label}"', 'references = "{tags}"'), files)
    with pytest.raises(UsageError, match="line 2 has no reference"):
        read(text.replace('answer = "{label}"', 'references = "{other?}"'), files)


def test_a_table_has_the_delimiter_the_quotes_and_the_escapes_that_are_declared(read):
    text = '[data]\nrows = "rows.tsv"\ntable = { quote = "", escape = "\\\\" }\n' + SAMPLE
    (sample,) = read(text, {"zoo/rows.tsv": 'file\tlabel\na.wav\t"Er sagte \\"ja\\" \\\\ nein\n'})
    assert sample.reference == '"Er sagte "ja" \\ nein'
    bars = '[data]\nrows = "SPEAKERS.TXT"\nheader = ["file", "label"]\ntable = { delimiter = "|" }\n'
    assert read(bars + SAMPLE, {"zoo/SPEAKERS.TXT": "a.wav | F\n"})[0].reference == "F"


def test_a_list_or_an_object_is_metadata_as_the_json_that_it_is(read):
    row = {"file": "a.wav", "label": "x", "kwargs": [{"n": 2, "frm": None}, {}], "none": []}
    text = '[data]\nrows = "rows.jsonl"\n' + SAMPLE + 'metadata = { kwargs = "{kwargs|json}", none = "{none|json}" }\n'
    (sample,) = read(text, {"zoo/rows.jsonl": json.dumps(row)})
    assert sample.metadata == {"kwargs": '[{"frm": null, "n": 2}, {}]', "none": "[]"}


SHUFFLED = (
    '[data]\nrows = "rows.jsonl"\n[sample]\nid = "{file}"\naudio = "{file}"\nshuffle = true\n'
    'choices = ["{label}", "{others}"]\nanswer = "{label}"\n'
)


def test_shuffled_choices_stand_where_the_sample_s_id_and_they_themselves_say_and_nowhere_more_than_elsewhere(read):
    rows = [{"file": f"{i}.wav", "label": "true", "others": ["false", "neither", "both"]} for i in range(400)]
    samples = read(SHUFFLED, {"zoo/rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows)})
    assert samples[0].choices == ("neither", "false", "both", "true")
    places = [sample.choices.index("true") for sample in samples]
    assert all(70 <= places.count(place) <= 130 for place in range(4))
    assert {tuple(sorted(sample.choices)) for sample in samples} == {("both", "false", "neither", "true")}


JOINED = (
    '[data]\nrows = "list.csv"\n[data.join.said]\nroot = "speech"\nrows = "{speaker}/*.trans.txt"\n'
    'on = "{path|stem}"\nto = "{folder}/{key}"\n'
    '[data.join.who]\nrows = "who.csv"\non = "{said.speaker}"\nto = "{id}"\n'
    '[sample]\nid = "{key}"\naudio = "{path}"\nanswer = "{said.text}"\nmetadata = { sex = "{who.sex}" }\n'
)
PARTS = {
    "zoo/list.csv": "path\ns2/u1.flac\ns1/u1.flac\n",
    "zoo/who.csv": "id,sex\ns1,F\ns2,M\n",
    "speech/s1/a.trans.txt": "u1 ONE\nu2 TWO\n",
    "speech/s2/b.trans.txt": "u1 THREE\n",
}


def test_a_row_has_the_columns_of_the_rows_of_other_tables_that_belong_to_it(read):
    first, second = read(JOINED, PARTS)
    assert [(each.reference, each.metadata) for each in (first, second)] == [
        ("THREE", {"sex": "M"}),
        ("ONE", {"sex": "F"}),
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"zoo/list.csv": "path\ns2/u9.flac\n"}, r"line 2 belongs to 's2/u9', which .*speech/.* does not have"),
        ({"zoo/who.csv": "id,sex\ns1,F\ns2,M\ns1,M\n"}, r"who\.csv, line 4 is 's1' as an earlier row is"),
        ({"zoo/who.csv": "id,gender\ns1,F\ns2,M\n"}, r"list\.csv, line 2 has no 'who\.sex'"),
    ],
)
def test_tables_that_do_not_belong_together_are_named(read, files, said):
    with pytest.raises(UsageError, match=said):
        read(JOINED, {**PARTS, **files})


@pytest.mark.parametrize("where", ['set = "a"', '"who.sex" = "F"'])
def test_rows_are_taken_by_their_own_columns_before_they_are_joined_and_by_the_others_after(read, where):
    text = (
        f'[data]\nrows = "list.csv"\nwhere = {{ {where} }}\n[data.join.who]\nrows = "who.csv"\non = "{{speaker}}"\n'
        'to = "{id}"\n[sample]\nid = "{key}"\naudio = "{path}"\nanswer = "{who.sex}"\n'
    )
    rows = "path,speaker,set\nu1.flac,s1,a\nu2.flac,s2,b\n"
    others = "id,sex\ns1,F\n" if where == 'set = "a"' else "id,sex\ns1,F\ns2,M\n"
    assert [each.reference for each in read(text, {"zoo/list.csv": rows, "zoo/who.csv": others})] == ["F"]


def test_another_table_s_set_that_is_not_here_is_asked_for(read):
    with pytest.raises(DataNotFound, match="--ab-data=speech=FOLDER"):
        read(JOINED, {name: content for name, content in PARTS.items() if name.startswith("zoo")})


MIXED = (
    '[data]\nrows = "mixtures.csv"\naudio_root = "speech"\n[sample]\nid = "{key}"\naudio = ["{a}", "{b}"]\n'
    'references = ["{x}", "{y}"]\n[sample.mix]\ngains = ["{a_gain}", "{b_gain}"]\n'
)


@pytest.mark.parametrize("length", ["longest", "shortest"])
def test_clips_are_mixed_by_their_gains_and_nothing_else(read, tmp_path, length):
    (tmp_path / "speech").mkdir()
    rate = 16_000
    waves = [np.sin(np.arange(frames) * hz * math.tau / rate) for frames, hz in ((4_000, 440), (6_000, 660))]
    for name, wave in zip("ab", waves, strict=True):
        soundfile.write(tmp_path / "speech" / f"{name}.flac", wave * 0.5, rate)
    table = "a,a_gain,b,b_gain,x,y\na.flac,0.25,b.flac,1.5,one,two\n"
    (sample,) = read(MIXED + f'length = "{length}"\n', {"zoo/mixtures.csv": table})
    (clip,) = sample.clips
    frames = {"longest": 6_000, "shortest": 4_000}[length]
    expected = np.zeros(frames)
    for wave, gain in zip(waves, (0.125, 0.75), strict=True):
        expected[: len(wave)] += wave[:frames] * gain
    played = decode(clip, rate, None).samples
    assert len(played) == frames
    assert np.abs(played - expected).max() < 1e-4
    assert sample.references == ("one", "two")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({'line = "x"': ""}, r"has no named group"),
        ({'line = "("': ""}, r"line: '\(' is not a pattern"),
        ({'skip = "x"': ""}, r"skip is of lines"),
        ({"line = '(?P<a>x)'": "", "table = {}": ""}, "has both 'line' and 'table'"),
        ({'table = { delimiter = "ab" }': ""}, "delimiter"),
        ({'join.a = { rows = "a.flac", on = "{file}" }': ""}, "is not a table of texts, which alone is joined"),
        ({'join.a = { rows = "a.csv", on = "{file|nothing}" }': ""}, "names the transform 'nothing'"),
        ({'join.a-b = { rows = "a.csv", on = "{file}" }': ""}, "'a-b' is not a name"),
    ],
)
def test_a_mistake_in_how_rows_are_read_is_named(read, changes, said):
    text = '[data]\nrows = "rows.csv"\n' + "".join(f"{line}\n" for line in changes) + SAMPLE
    with pytest.raises(UsageError, match=said):
        read(text, {})


def test_rows_of_parquet_are_not_left_out_for_want_of_another_table_s(read):
    text = '[data]\nrows = "rows.parquet"\njoin.a = { rows = "a.csv", on = "{file}", partial = true }\n' + SAMPLE
    with pytest.raises(UsageError, match=r"\[data\.join\], partial: rows of Parquet are not left out"):
        read(text, {})


def test_a_vocabulary_is_not_called_as_a_transform_is_and_gains_are_as_many_as_clips(read):
    with pytest.raises(UsageError, match="'stem' is not a name, or that of a transform"):
        read('[vocabulary.stem]\na = "b"\n[data]\nrows = "rows.csv"\n' + SAMPLE, {})
    with pytest.raises(UsageError, match="has 3 gains for 2 clips"):
        read(MIXED.replace("gains = [", 'gains = ["1", '), {})


def test_rows_of_parquet_have_their_codes_lists_flags_and_other_tables_too(read, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "zoo").mkdir()
    rows = {"file": ["a.wav", "b.wav"], "label": ["EXC", "ANG"], "tags": ["['x', 'y']", "['z']"]}
    flags = {"loud": [1, 0], "high": [1, 1]}
    pq.write_table(pa.table(rows | flags), tmp_path / "zoo" / "rows.parquet")
    text = CODES.replace("rows.csv", "rows.parquet").replace("labels =", 'lists = { tags = "python" }\nlabels =')
    text = text.replace("labels =", 'flags = { how = ["loud", "high"] }\nlabels =')
    text = text.replace("[sample]", '[data.join.more]\nrows = "more.csv"\non = "{file|stem}"\nto = "{id}"\n[sample]')
    text = text.replace('audio = "', 'audio = "wav/').replace(
        "answer =", 'metadata = { more = "{more.text}" }\nanswer ='
    )
    files = {"zoo/more.csv": "id,text\nb,B\na,A\n"}
    samples = list(read(text, files))
    assert [(each.reference, each.choices, each.metadata) for each in samples] == [
        ("joy", ("anger", "joy"), {"more": "A"}),
        ("anger", ("anger", "joy"), {"more": "B"}),
    ]
    listed = text.replace('answer = "{label|feelings}"', 'references = ["{tags}", "{how}"]')
    assert [each.truths for each in read(listed, files)] == [("x", "y", "loud", "high"), ("z", "high")]


def test_a_question_whose_answer_is_not_offered_is_wrong_where_its_benchmark_keeps_it(read):
    rows = [
        {"id": "a", "file": "a.wav", "choices": ["dog", "cat"], "label": "hen"},
        {"id": "b", "file": "b.wav", "choices": ["dog", "cat"], "label": "Cat."},
        {"id": "c", "file": "c.wav", "choices": ["dog"], "label": "dog"},
    ]
    fields = '[sample]\nid = "{id}"\naudio = "{file}"\nchoices = "{choices}"\nanswer = "{label}"\n'
    text = '[data]\nrows = "rows.jsonl"\n' + fields + 'unlisted = "wrong"\nleast_choices = 2\n'
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    unlisted, listed = read(text, {"zoo/rows.jsonl": lines})
    assert (unlisted.doubt, listed.doubt) == (UNLISTED, "")
    for name in RULES:
        scorer = protocol("multiple_choice").available[name]
        scores = scorer.score(unlisted, scorer.parse(unlisted, {"answer": Response.of("(A) dog")}))
        assert scores is None or scores["correct"] == 0.0, name
    letters = protocol("multiple_choice").available["letters"]
    assert letters.score(listed, letters.parse(listed, {"answer": Response.of("B")})) == {"correct": 1.0}


def test_a_row_of_parquet_that_offers_too_few_choices_is_left_out_too(read, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "zoo").mkdir()
    choices = [["dog", "cat"], ["dog"], [], None, ["cat", "dog"]]
    rows = {"id": list("abcde"), "choices": choices, "label": ["dog"] * 5}
    pq.write_table(pa.table(rows), tmp_path / "zoo" / "rows.parquet")
    text = '[data]\nrows = "rows.parquet"\n[sample]\nid = "{id}"\naudio = "{id}.wav"\nchoices = "{choices}"\n'
    samples = read(text + 'answer = "{label}"\nleast_choices = 2\n', {})
    assert [(sample.id, sample.choices) for sample in samples] == [("a", ("dog", "cat")), ("e", ("cat", "dog"))]
    with pytest.raises(UsageError, match="has no row that zoo takes"):
        read(text + 'answer = "{label}"\nleast_choices = 3\n', {})


def test_labels_may_be_those_of_another_table(read):
    text = (
        '[data]\nrows = "rows.csv"\nlabels = "{speaker.sex}"\n'
        '[data.join.speaker]\nrows = "speakers.csv"\non = "{speaker_id}"\nto = "{id}"\n'
        '[sample]\nid = "{file}"\naudio = "{file}"\nanswer = "{said}"\n'
    )
    files = {"zoo/rows.csv": "file,speaker_id,said\na.wav,1,F\nb.wav,2,M\n", "zoo/speakers.csv": "id,sex\n1,F\n2,M\n"}
    assert {sample.choices for sample in read(text, files)} == {("F", "M")}


def test_a_column_that_only_some_rows_of_a_merged_one_have_is_not_lost(read):
    text = '[data]\nrows = "rows.jsonl"\nmerge = "{id}"\n[sample]\nid = "{id}"\naudio = "{id}"\nanswer = "{id}"\n'
    rows = '{"id": "a"}\n{"id": "a", "note": "loud"}\n'
    (sample,) = read(text + 'metadata = { note = "{note?|json}" }\n', {"zoo/rows.jsonl": rows})
    assert sample.metadata == {"note": '[null, "loud"]'}


def test_a_row_without_any_of_the_files_that_may_be_its_clip_is_named(read):
    text = '[data]\nrows = "rows.jsonl"\n[sample]\nid = "{id}"\naudio = [["{new?}", "{old?}"]]\nanswer = "{id}"\n'
    with pytest.raises(UsageError, match=r"rows\.jsonl, line 2 has no audio"):
        list(read(text, {"zoo/rows.jsonl": '{"id": "a", "old": "a.wav"}\n{"id": "b"}\n'}))


@pytest.mark.parametrize("answer", ["{answer?}", "{answer?|upper}"])
def test_a_row_that_may_have_no_answer_is_not_left_out_for_it(read, answer):
    text = f'[data]\nrows = "rows.jsonl"\n[sample]\nid = "{{id}}"\naudio = "a.wav"\nanswer = "{answer}"\n'
    samples = read(text, {"zoo/rows.jsonl": '{"id": "a", "answer": null}\n{"id": "b", "answer": "X"}\n'})
    assert [(sample.id, sample.reference) for sample in samples] == [("a", ""), ("b", "X")]


WINDOWS = """
[parameters]
place = ["north", "south"]
[vocabulary.birds]
north = ["wren", "robin"]
south = ["lark"]
[vocabulary.species]
w = "wren"
r = "robin"
[data]
rows = "{place}.parquet"
[data.parts]
path = '(?:.*/)?(?P<file>(?P<recording>.+?)_(?P<second>\\d+)\\.ogg)'
[sample]
id = "{file|stem}"
audio = "{file}"
choices = "{place|birds}"
references = "{codes?|species}"
metadata = ["recording", "second"]
"""


def test_windows_have_the_parts_of_their_names_the_labels_of_their_place_and_none_where_nothing_is_true(read, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "zoo").mkdir()
    rows = {"path": ["at/a_b_005.ogg", "a_b_010.ogg"], "codes": [["w", "r"], []]}
    pq.write_table(pa.table(rows), tmp_path / "zoo" / "north.parquet")
    first, second = read(WINDOWS, {}, place="north")
    assert (first.id, str(first.clips[0]), first.truths) == ("a_b_005", "zoo:a_b_005.ogg", ("wren", "robin"))
    assert (second.truths, second.choices) == (("",), ("wren", "robin"))
    assert second.metadata == {"recording": "a_b", "second": "010"}
    pq.write_table(pa.table(rows | {"path": ["a.ogg", "b.ogg"]}), tmp_path / "zoo" / "north.parquet")
    with pytest.raises(UsageError, match=r"row 0 has 'a.ogg' in 'path', which .* does not match"):
        list(read(WINDOWS, {}, place="north"))


@pytest.mark.parametrize(("pattern", "said"), [("(", "is not a pattern"), (".*", "has no named group")])
def test_parts_of_a_column_are_groups_of_a_pattern(read, pattern, said):
    with pytest.raises(UsageError, match=rf"\[data\], path: .* {said}"):
        read(re.sub(r"path = '.*'", f"path = '{pattern}'", WINDOWS), {})
