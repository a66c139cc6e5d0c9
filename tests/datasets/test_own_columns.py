"""Manifests whose columns have names of their own, and what is said where nobody named them."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError

LABELS = "filename,label,speaker\na.wav,three,ann\nb/c.wav,one,bo\nd.wav,one,\n"
NEMO = {"audio_filepath": "a.wav", "text": "open the box", "duration": 1.5, "words": [[0, 1]]}


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="labels.csv", **keywords):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return manifest(name, **keywords).read(Places(here=tmp_path))

    return read_text


@pytest.fixture
def refused(read):
    def sentence(*given, **keywords):
        with pytest.raises(UsageError) as raised:
            read(*given, **keywords)
        return str(raised.value)

    return sentence


def test_columns_are_named_and_every_other_one_is_metadata(read):
    first, second, third = read(
        LABELS, audio="filename", answer="label", choices="from answers", question="Which digit?"
    )
    assert (first.id, str(first.clips[0]), first.reference) == ("a.wav", "labels:a.wav", "three")
    assert (first.question, first.choices, first.metadata) == ("Which digit?", ("one", "three"), {"speaker": "ann"})
    assert second.id == "b/c.wav"
    assert third.metadata == {"speaker": None}


def test_named_columns_read_what_a_manifest_of_the_usual_names_says(read):
    rows = "a.wav,ann,dog|hen,hen,Which?\nb.wav,bo,dog|hen,A,\n"
    usual = read("audio,id,choices,answer,question\n" + rows)
    own = {"id": "who", "audio": "file", "choices": "options", "answer": "label", "question": "asked"}
    assert read("file,who,options,label,asked\n" + rows, **own) == usual


def test_a_row_of_json_keeps_its_plain_values_as_metadata(read):
    text = json.dumps(NEMO) + "\n" + json.dumps({**NEMO, "audio_filepath": "b.wav", "metadata": {"snr_db": 3}})
    first, second = read(text, "labels.jsonl", audio="audio_filepath", answer="text")
    assert (first.id, first.reference, first.metadata) == ("a.wav", "open the box", {"duration": 1.5})
    assert second.metadata == {"duration": 1.5, "snr_db": 3}


def test_a_tsv_is_read_with_its_quotes_as_they_are(read):
    (sample,) = read('path\tsentence\tage\na.wav\t"Who, me?" he said\t\n', "l.tsv", audio="path", answer="sentence")
    assert (sample.reference, sample.metadata) == ('"Who, me?" he said', {"age": None})


def test_a_question_may_be_a_column_or_the_words_for_all_rows(read):
    text = "audio,answer,asked\na.wav,x,Who?\nb.wav,y,\n"
    assert [sample.question for sample in read(text, question="asked")] == ["Who?", ""]
    assert [sample.question for sample in read(text, question="asked?")] == ["asked?", "asked?"]
    rows = '{"audio": "a.wav", "answer": "x", "asked": "Who?"}'
    assert [sample.question for sample in read(rows, "l.jsonl", question="asked")] == ["Who?"]


def test_references_are_further_true_texts(read):
    text = "audio,caption,others\na.wav,A dog barks,A dog|A hound barks|A dog barks\nb.wav,Rain,\n"
    first, second = read(text, answer="caption", references="others")
    assert first.references == ("A dog barks", "A dog", "A hound barks")
    assert (second.reference, second.references) == ("Rain", ())
    rows = '{"audio": "a.wav", "captions": ["A dog", "A hound"]}'
    assert read(rows, "l.jsonl", references="captions")[0].references == ("A dog", "A hound")


def test_a_list_of_choices_is_every_rows(read):
    samples = read(LABELS, audio="filename", answer="label", choices=["one", "two", "three"])
    assert {sample.choices for sample in samples} == {("one", "two", "three")}


def test_an_answer_outside_the_list_of_choices_is_refused(refused):
    message = refused(LABELS, audio="filename", answer="label", choices=["one", "two"])
    assert "line 2 has the answer 'three', which is not one of its choices: 'one', 'two'" in message
    assert message.endswith("(its answer is in 'label')")


@pytest.mark.parametrize(
    ("text", "name", "advice"),
    [
        (
            LABELS,
            "labels.csv",
            'manifest("labels.csv", audio="filename", answer="label", choices="from answers", '
            'question="Which label is it?")',
        ),
        ("path\tsentence\na.wav\thi\n", "cv.tsv", 'manifest("cv.tsv", audio="path", answer="sentence")'),
        (
            json.dumps({"wav": "a.wav", "caption": "rain"}),
            "n.jsonl",
            'manifest("n.jsonl", audio="wav", answer="caption")',
        ),
        ("File Name,Transcript\na.wav,hi\n", "t.csv", 'manifest("t.csv", audio="File Name", answer="Transcript")'),
    ],
)
def test_the_call_that_a_mistake_advises_reads_the_file(read, refused, text, name, advice):
    message = refused(text, name)
    assert f"; read it with {advice}, or with these keys in a TOML file" in message
    keywords = eval(advice.replace("manifest(", "dict(path=", 1))  # the advice is code
    assert read(text, keywords.pop("path"), **keywords)


def test_what_was_given_stays_in_the_advice(refused):
    message = refused(LABELS, answer="label", choices=["one", "three"])
    assert 'manifest("labels.csv", answer="label", choices=["one", "three"], audio="filename")' in message


def test_a_file_whose_columns_say_nothing_is_told_how_to_name_them(refused):
    message = refused("x,y\na.wav,hen\n", "n.csv")
    assert "no column 'audio' and no column 'answer' (it has 'x', 'y'); add it, or name" in message
    assert 'manifest("n.csv", audio="…", answer="…")' in message


def test_a_file_without_a_header_is_told_so(refused):
    assert "write a header above its rows, such as audio,answer" in refused("a.wav,dog\nb.wav,hen\n")


def test_all_named_columns_that_there_are_not_are_refused_with_the_nearest(refused):
    first, second, third = refused(LABELS, audio="filname", answer="lable", id="zoo").splitlines()
    assert "no column 'zoo', which id= names; it has 'filename', 'label', 'speaker'" in first
    assert "no column 'filname', which audio= names; did you mean 'filename'?" in second
    assert "no column 'lable', which answer= names; did you mean 'label'?" in third


@pytest.mark.parametrize(
    ("text", "keywords", "said"),
    [
        (LABELS, {"choices": ["one", "one"]}, "has the choice 'one' twice"),
        (LABELS + "e.wav,,x\n", {"choices": "from answers"}, "has an empty answer (id 'e.wav')"),
        ("filename,label\na.wav,x\nb.wav,x\n", {"choices": "from answers"}, "has the one answer 'x'"),
        (
            "filename,label\n" + "".join(f"{n}.wav,{n}\n" for n in range(1_001)),
            {"choices": "from answers"},
            "has 1,001 different answers, and the choices are its answers: 2 to 1,000",
        ),
        ("filename,label,choices\na.wav,x,x|y\n", {"choices": "from answers"}, "line 2 has choices of its own"),
        (LABELS + "a.wav,two,x\n", {}, "its ids are the paths of its audio: give each row an id, or remove one"),
        ("filename,label\n../a.wav,x\n", {}, "leaves its folder; write it relative to the folder, without .. (its a"),
        ("filename\tlabel\na.wav\tx\ty\n", {"name": "l.tsv"}, "line 2 has 3 cells under a header of 2; write each"),
    ],
)
def test_rows_that_do_not_fit_are_refused(refused, text, keywords, said):
    name = keywords.pop("name", "labels.csv")
    assert said in refused(text, name, audio="filename", answer="label", **keywords)


def test_a_later_row_that_lacks_a_named_column_is_told_its_name(refused):
    rows = json.dumps(NEMO) + '\n{"audio_filepath": "b.wav"}'
    message = refused(rows, "l.jsonl", audio="audio_filepath", answer="text")
    assert message.endswith("line 2 (id 'b.wav') has no answer; add it (its answer is in 'text')")


def test_a_header_of_a_million_names_is_refused_in_a_sentence_that_can_be_read(refused):
    message = refused(",".join(f"c{number}" for number in range(1_000_000)))
    assert "'c19' and 999,980 more); add it, or name the column that holds it" in message
    assert len(message) < 1_000


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).map(str.strip).filter(bool)


@given(
    st.lists(st.sampled_from(["file", "label", "Answer", "audio", "text"]) | NAMES, min_size=1, max_size=6), st.data()
)
def test_any_header_is_read_or_refused_and_the_advice_names_columns_that_it_has(tmp_path_factory, header, data):
    folder = tmp_path_factory.mktemp("any")
    cells = io.StringIO()
    csv.writer(cells).writerows([header, ["a.wav"] * len(header)])
    (folder / "l.csv").write_text(cells.getvalue(), encoding="utf-8")
    keywords = {
        name: data.draw(st.sampled_from(header)) for name in data.draw(st.sets(st.sampled_from(["id", "audio"])))
    }
    try:
        manifest("l.csv", **keywords).read(Places(here=folder))
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all(str(folder) in sentence for sentence in sentences)
        advised = [sentence.split("; read it with ")[1] for sentence in sentences if "; read it with " in sentence]
        for advice in advised:
            call = advice.removesuffix(", or with these keys in a TOML file")
            named = eval(call.replace("manifest(", "dict(path=", 1))  # the advice is code
            assert {named[name] for name in ("audio", "answer") if name in named} <= set(header)
