import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.errors import DataNotFound, UsageError

GOOD = {"id": "s1", "audio": "a.wav", "question": "Which animal?", "choices": ["dog", "hen"], "answer": "hen"}


def write(folder, *rows, name="set.jsonl"):
    path = folder / name
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def read(path, **how):
    return manifest(path, **how).read(Places(here=path.parent))


def one(folder, **changes):
    row = {name: value for name, value in {**GOOD, **changes}.items() if value != "absent"}
    (sample,) = read(write(folder, row))
    return sample


def mistakes(path, **how):
    with pytest.raises(UsageError) as error:
        read(path, **how)
    return str(error.value).split("\n")


def refused(path, **how):
    (sentence,) = mistakes(path, **how)
    return sentence


def test_a_jsonl_row_becomes_a_sample(tmp_path):
    sample = one(tmp_path, metadata={"speaker": "ann", "take": 3, "noisy": False, "snr_db": 2.5, "room": None})
    assert (sample.id, sample.question, sample.choices, sample.reference) == (
        "s1",
        "Which animal?",
        ("dog", "hen"),
        "hen",
    )
    assert sample.metadata == {"speaker": "ann", "take": 3, "noisy": False, "snr_db": 2.5, "room": None}
    (clip,) = sample.clips
    assert isinstance(clip.source, FileSource)
    assert str(clip) == "set:a.wav"
    assert clip.source.location == tmp_path.resolve() / "a.wav"


def test_a_csv_row_becomes_the_same_sample(tmp_path):
    path = tmp_path / "set.csv"
    path.write_text('id,audio,question,choices,answer,speaker\ns1,a.wav,"Which, then?",dog|hen,B,ann\n')
    (sample,) = read(path)
    assert (sample.question, sample.choices, sample.reference) == ("Which, then?", ("dog", "hen"), "hen")
    assert sample.metadata == {"speaker": "ann"}


def test_several_clips_of_one_sample(tmp_path):
    assert [str(clip) for clip in one(tmp_path, audio=["a.wav", "b/c.wav"]).clips] == ["set:a.wav", "set:b/c.wav"]
    path = tmp_path / "set.csv"
    path.write_text("id,audio,question,choices,answer\ns1,a.wav; b.wav,Same?,yes|no,no\n")
    assert [str(clip) for clip in read(path)[0].clips] == ["set:a.wav", "set:b.wav"]


def test_a_csv_cell_in_quotes_may_span_lines(tmp_path):
    path = tmp_path / "set.csv"
    path.write_text('id,audio,question,choices,answer\ns1,a.wav,"One\n\ntwo?",,yes\n')
    assert read(path)[0].question == "One\n\ntwo?"


def test_a_byte_order_mark_and_blank_lines_are_no_matter(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n\r\n  \n")
    assert [sample.id for sample in read(path)] == ["s1"]


def test_nothing_is_read_before_an_eval_runs(tmp_path):
    dataset = manifest(tmp_path / "later.jsonl")
    write(tmp_path, GOOD, name="later.jsonl")
    assert dataset.name == "later"
    assert len(dataset.read(Places(here=tmp_path))) == 1


def test_a_relative_manifest_lies_beside_the_test_file(tmp_path):
    write(tmp_path, GOOD)
    assert len(manifest("set.jsonl").read(Places(here=tmp_path))) == 1


def test_a_manifest_may_lie_in_a_data_folder_by_its_name(tmp_path):
    write(tmp_path, GOOD)
    listed = manifest("set.jsonl", data="mine")
    (sample,) = listed.read(Places(here=tmp_path / "elsewhere", named={"mine": tmp_path}))
    assert sample.id == "s1"
    with pytest.raises(DataNotFound, match="--ab-data=mine=FOLDER"):
        listed.read(Places(here=tmp_path))


def test_name_cluster_and_groups_are_carried(tmp_path):
    path = write(tmp_path, {**GOOD, "metadata": {"speaker": "ann"}})
    dataset = manifest(path, name="mine", cluster="speaker", groups=("speaker",))
    assert (dataset.name, dataset.cluster, dataset.groups) == ("mine", "speaker", ("speaker",))
    assert str(dataset.read(Places(tmp_path))[0].clips[0]) == "mine:a.wav"


@pytest.mark.parametrize("answer", ["hen", " hen ", "B", "b", "(b)", "(B)", "B.", "b)"])
def test_an_answer_may_be_the_text_or_its_letter(tmp_path, answer):
    assert one(tmp_path, answer=answer).reference == "hen"


def test_an_option_that_is_a_letter_is_taken_at_its_word(tmp_path):
    assert one(tmp_path, choices=["B", "A"], answer="A").reference == "A"


def test_a_question_for_all_rows(tmp_path):
    path = write(tmp_path, {"id": "s1", "audio": "a.wav", "answer": "open the box"})
    (sample,) = read(path, question="Transcribe.")
    assert (sample.question, sample.choices, sample.reference) == ("Transcribe.", (), "open the box")
    assert read(path)[0].question == ""


def test_a_missing_manifest_is_named_in_full(tmp_path):
    assert str(tmp_path.resolve() / "gone.jsonl") in refused(tmp_path / "gone.jsonl")


def test_duplicate_ids_name_both_lines(tmp_path):
    message = refused(write(tmp_path, GOOD, {**GOOD, "id": "s2"}, GOOD))
    assert "'s1' on line 1 and on line 3" in message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"answer": "cow"}, "the answer 'cow', which is not one of its choices: 'dog', 'hen'"),
        ({"answer": "C"}, "not one of its choices"),
        ({"answer": None}, "has no answer"),
        ({"answer": 3}, "a number as its answer"),
        ({"id": None}, "has no id"),
        ({"id": " "}, "an empty id"),
        ({"id": 7}, "a number as its id"),
        ({"id": "a\x00b"}, "control character in its id"),
        ({"id": "a\nb"}, "control character in its id"),
        ({"audio": None}, "has no audio"),
        ({"audio": []}, "has no audio"),
        ({"audio": ["a.wav", 1]}, "a list as its audio"),
        ({"audio": ""}, "the path is empty"),
        ({"audio": "../a.wav"}, "leaves its folder"),
        ({"audio": "x/../../a.wav"}, "leaves its folder"),
        ({"audio": "/etc/passwd"}, "leaves its folder"),
        ({"audio": "C:/a.wav"}, "leaves its folder"),
        ({"audio": "x\\a.wav"}, "backslash"),
        ({"audio": "a\x00.wav"}, "control character"),
        ({"question": ["?"]}, "a list as its question"),
        ({"choices": "dog|hen"}, "a text as its choices"),
        ({"choices": ["dog", 2]}, "a list as its choices"),
        ({"choices": ["dog", " "]}, "an empty choice"),
        ({"choices": ["hen", "dog", "hen"]}, "'hen' twice"),
        ({"metadata": ["x"]}, "a list as its metadata"),
        ({"metadata": {"x": [1]}}, "a list in its metadata 'x'"),
        ({"metadata": {"x": {}}}, "an object in its metadata 'x'"),
        ({"metadata": {"x": 2**53}}, "above 2^53"),
        ({"choises": ["dog"]}, "the unknown key 'choises'; did you mean 'choices'"),
    ],
)
def test_a_wrong_field_is_refused_with_its_line_and_reason(tmp_path, changes, said):
    message = refused(write(tmp_path, {**GOOD, "id": "fine"}, {**GOOD, **changes}))
    assert f"{tmp_path.resolve() / 'set.jsonl'}, line 2" in message
    assert said in message


def test_an_error_names_the_sample(tmp_path):
    assert "line 1 (id 's1') has the answer" in refused(write(tmp_path, {**GOOD, "answer": "cow"}))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "is JSON but no object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "s1", "metadata": {"x": NaN}}', "NaN is not JSON"),
        ('{"id": "a\\ud800"}', "surrogate pair"),
    ],
)
def test_a_line_that_is_no_object_is_refused(tmp_path, line, said):
    message = refused(write(tmp_path, GOOD, line))
    assert "line 2" in message
    assert said in message


def test_an_overflowing_number_is_refused(tmp_path):
    path = write(tmp_path, json.dumps({**GOOD, "metadata": {"x": 0}}).replace('"x": 0', '"x": 1e999'))
    assert "which is not a number" in refused(path)


def test_a_pair_of_escapes_is_a_character(tmp_path):
    path = write(tmp_path, json.dumps({**GOOD, "question": "😀?"}))
    assert "\\ud83d" in path.read_text()
    assert read(path)[0].question == "😀?"


def test_a_line_over_ten_megabytes_is_refused(tmp_path):
    assert "line 2 is longer than 10 MB" in refused(write(tmp_path, GOOD, {**GOOD, "question": "x" * 10_000_000}))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_another_encoding_is_refused(tmp_path, encoding, suffix):
    path = tmp_path / f"set{suffix}"
    path.write_bytes('id,audio,question,choices,answer,"é"\n'.encode(encoding))
    assert "line 1 is not UTF-8" in refused(path)


@pytest.mark.parametrize("name", ["set.jsonl", "set.csv"])
def test_an_empty_manifest_is_refused(tmp_path, name):
    (tmp_path / name).write_text("")
    assert re.search("lists no sample|is empty", refused(tmp_path / name))


def test_a_csv_header_alone_is_refused(tmp_path):
    assert "lists no sample" in refused(write(tmp_path, "id,audio,question,choices,answer", name="set.csv"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["id,audio,question,choices", "s1,a.wav,?,dog"], "line 1 has no column 'answer'"),
        (["id,audio,answer,answer", "s1,a.wav,x,y"], "'answer' twice"),
        (["id,audio,answer,metadata", "s1,a.wav,x,{}"], "its own column"),
        (["id,audio,question,answer", "s1,a.wav,Which, then?,x"], "line 2 has 5 cells under a header of 4"),
        (["id,audio,question,answer", 's1,a.wav,"open,x', "s2,b.wav,?,x"], "line 3 is not CSV"),
        (["id,audio,question,answer", "s1,../a.wav,?,x"], "line 2 (id 's1') has an audio path"),
    ],
)
def test_a_broken_csv_is_refused(tmp_path, rows, said):
    assert said in refused(write(tmp_path, *rows, name="set.csv"))


def test_a_file_of_another_kind_is_refused(tmp_path):
    assert ".jsonl" in refused(write(tmp_path, GOOD, name="set.xlsx"))


def test_a_folder_is_no_manifest(tmp_path):
    (tmp_path / "set.jsonl").mkdir()
    assert "cannot be read" in refused(tmp_path / "set.jsonl")


def test_a_cluster_that_a_row_lacks_is_refused(tmp_path):
    path = write(tmp_path, {**GOOD, "metadata": {"speaker": "ann"}}, {**GOOD, "id": "s2"})
    assert "line 2 (id 's2') has no 'speaker'" in refused(path, cluster="speaker")


def test_a_group_that_no_row_has_is_refused(tmp_path):
    path = write(tmp_path, {**GOOD, "metadata": {"speaker": "ann"}})
    assert "no metadata field 'speakr'" in refused(path, groups=("speakr",))


@settings(deadline=None)
@example("./A:")
@given(st.text(max_size=20) | st.lists(st.sampled_from(["..", ".", "", "a", "b c", "C:", "~"])).map("/".join))
def test_no_accepted_path_leaves_its_folder(written):
    try:
        path = relative_path(written)
    except ValueError:
        return
    parts = path.split("/")
    assert not ({"..", "", "."} & set(parts))
    assert relative_path(path) == path
    assert "\\" not in path


@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([*GOOD, "metadata", "anwser"]) | st.text(max_size=3),
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.integers()),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_rows_are_samples_or_at_most_ten_sentences_that_name_file_and_line(tmp_path_factory, changes):
    path = write(tmp_path_factory.mktemp("any"), *({**GOOD, "id": str(n), **row} for n, row in enumerate(changes)))
    try:
        samples = read(path)
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all(str(path) in sentence and "line " in sentence for sentence in sentences)
    else:
        assert len(samples) == len(changes)
        assert all(not sample.choices or sample.reference in sample.choices for sample in samples)


def test_all_mistakes_of_a_manifest_are_named_at_once(tmp_path):
    rows = [
        GOOD,
        {**GOOD, "id": "s2", "answer": "cow", "audio": "../a.wav", "metadata": {"a": [], "b": {}}},
        "{",
        {"id": "s3", "audio": "a.wav", "anwser": "hen"},
        {**GOOD, "answer": ["cow", "hen", "cat"]},
        {**GOOD, "id": 7, "choices": "dog|hen", "answer": 3},
    ]
    path = write(tmp_path, *rows)
    expected = [
        "line 2 (id 's2') has the answer 'cow', which is not one of its choices: 'dog', 'hen'",
        "line 2 (id 's2') has an audio path that cannot be used",
        "line 2 (id 's2') has a list in its metadata 'a'",
        "line 2 (id 's2') has an object in its metadata 'b'",
        "line 3 is not JSON",
        "line 4 (id 's3') has the unknown key 'anwser'; did you mean 'answer'?",
        "line 5 (id 's1') has the answer 'cow'",
        "line 5 (id 's1') has the answer 'cat'",
        "has the id 's1' on line 1 and on line 5",
        "line 6 has a text as its choices",
    ]
    sentences = mistakes(path)
    assert [said in sentence for said, sentence in zip(expected, sentences, strict=True)] == [True] * 10
    assert sentences[-1].endswith(" (and 2 more)")


def test_of_many_bad_lines_ten_are_shown_and_the_others_counted(tmp_path):
    rows = [{**GOOD, "id": f"s{n}", **({"answer": "cow"} if n % 200 == 7 else {})} for n in range(10_000)]
    sentences = mistakes(write(tmp_path, *rows))
    assert [int(sentence.split("line ")[1].split()[0]) for sentence in sentences] == [8 + 200 * n for n in range(10)]
    assert sentences[-1].endswith("correct either (and 40 more)")


def test_a_line_after_which_nothing_can_be_read_is_named_behind_the_mistakes_before_it(tmp_path):
    path = write(tmp_path, {**GOOD, "answer": "cow"}, {**GOOD, "question": "x" * 10_000_000}, {**GOOD, "answer": "cow"})
    first, second = mistakes(path)
    assert "line 1 (id 's1') has the answer 'cow'" in first
    assert "line 2 is longer than 10 MB" in second


def test_all_mistakes_of_a_csv_are_named_at_once(tmp_path):
    rows = ["id,audio,choices,answer", 's1,a.wav,"a"|b,a', "s2,b.wav,a|b", "s3,../c.wav,a|b,c", "s4,d.wav,a|b,B"]
    sentences = mistakes(write(tmp_path, *rows, name="set.csv"))
    expected = [
        "line 2 is not CSV",
        "line 3 has 3 cells",
        "line 4 (id 's3') has the answer",
        "line 4 (id 's3') has an aud",
    ]
    assert [said in sentence for said, sentence in zip(expected, sentences, strict=True)] == [True] * 4


def test_all_mistakes_of_a_csv_header_are_named_at_once(tmp_path):
    sentences = mistakes(write(tmp_path, "id,take,take,take,metadata", "s1,1,2,3,{}", name="set.csv"))
    expected = ["no column 'audio' and no column 'answer'", "its own column", "the column 'take' 3 times"]
    assert [said in sentence for said, sentence in zip(expected, sentences, strict=True)] == [True] * 3


def test_all_groups_that_no_row_has_are_named_with_the_nearest(tmp_path):
    path = write(tmp_path, {**GOOD, "metadata": {"speaker": "ann"}})
    first, second = mistakes(path, groups=("speakr", "zoo"))
    assert "no metadata field 'speakr' to group by; did you mean 'speaker'?" in first
    assert "no metadata field 'zoo' to group by; it has speaker" in second
