"""Texts of rows that are asked aloud, by a voice of espeak-ng or as they lie ready; rows in rows, also of Parquet."""

import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import soundfile

from pytest_audiobench.audio import utterances
from pytest_audiobench.audio.clip import CellSource, CombinedSource
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.declared import declared_loader
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, UsageError

QUESTIONS = [
    {"id": "q1", "question": "who wrote it", "answer": "Nobody did.", "label": 0},
    {"id": "q1", "question": "who wrote it", "answer": "A sailor wrote it.", "label": 1},
    {"id": "q2", "question": "when was that", "answer": "It rained.", "label": 0},
    {"id": "q1", "question": "who wrote it", "answer": "It was a sailor.", "label": 1},
    {"id": "q2", "question": "when was that", "answer": "It is blue.", "label": 0},
    {"id": "q3", "question": "where is it", "answer": "In Rome.", "label": 1},
]
ASKED = """
[parameters]
voice = { values = ["en-us", "en-gb-scotland"], others = '[A-Za-z][\\w-]*' }

[data]
rows = "test-*.parquet"
merge = "{id}"
DATA

[sample]
id = "{id}"
ANSWERS

[sample.speech]
text = "{question}"
voice = "{voice}"
"""
RELEVANT = ASKED.replace("DATA", 'where = { label = "1" }').replace("ANSWERS", 'references = "{answer}"')


@pytest.fixture(autouse=True)
def speech_of_its_own(monkeypatch):
    """What is said in a test is stored in the test's folder, or nowhere."""
    monkeypatch.setattr(utterances, "_FOLDERS", [])


@pytest.fixture
def questions(tmp_path):
    """The samples of a declaration of questions, in two shards of Parquet."""
    folder = tmp_path / "quiz"
    folder.mkdir()
    for number, rows in enumerate((QUESTIONS[:4], QUESTIONS[4:])):
        table = pyarrow.table({name: [row[name] for row in rows] for name in rows[0]})
        pyarrow.parquet.write_table(table, folder / f"test-0000{number}-of-00002.parquet")

    def read(text, **given):
        (tmp_path / "quiz.audiobench.toml").write_text(text)
        places = Places(here=tmp_path, shelves=[tmp_path], cache=tmp_path / "cache")
        return list(declared_loader(tmp_path / "quiz.audiobench.toml")(**given).read(places))

    return read


def silence(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.zeros(1_600), 16_000)


def test_rows_of_several_shards_of_parquet_that_belong_together_are_one_question(questions, tmp_path):
    silence(tmp_path / "quiz/speech/en-us/q1.wav")
    relevant = questions(RELEVANT, voice="en-us")
    assert [(each.id, each.truths) for each in relevant] == [
        ("q1", ("A sailor wrote it.", "It was a sailor.")),
        ("q3", ("In Rome.",)),
    ]
    every = ASKED.replace("DATA", "").replace("ANSWERS", 'references = "{answer}"')
    assert [(each.id, len(each.truths)) for each in questions(every, voice="en-us")] == [
        ("q1", 3),
        ("q2", 2),
        ("q3", 1),
    ]


def test_questions_that_nothing_answers_are_taken_by_what_all_their_rows_say(questions, tmp_path):
    (tmp_path / "quiz/speech/en-us").mkdir(parents=True)
    text = ASKED.replace("DATA", 'throughout = { label = "0" }').replace("ANSWERS", 'answer = ""')
    assert [(each.id, each.truths) for each in questions(text, voice="en-us")] == [("q2", ("",))]


def test_ready_audio_is_called_as_the_voice_and_the_sample_and_what_lacks_is_named(questions, tmp_path):
    silence(tmp_path / "quiz/speech/Ava-1/q1.flac")
    first, second = questions(RELEVANT, voice="Ava-1")
    assert (str(first.clips[0]), first.metadata) == ("quiz:speech/Ava-1/q1.flac", {"transcript": "who wrote it"})
    with AudioIndex(None) as index:
        here, lacking = index.facts_of([first.clips[0], second.clips[0]])
    assert here.duration_s == pytest.approx(0.1)
    assert "speech/Ava-1/q3.wav" in str(lacking)


def test_a_voice_says_the_words_of_a_row_and_is_a_part_of_the_clip_s_identity(questions):
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    american, scottish = (questions(RELEVANT, voice=voice) for voice in ("en-us", "en-gb-scotland"))
    assert [each.id for each in american] == [each.id for each in scottish]
    assert [dict(each.clips[0].source.parameters)["voice"] for each in (american[0], scottish[0])] == [
        "en-us",
        "en-gb-scotland",
    ]
    assert american[0].metadata["transcript"] == "who wrote it"
    with AudioIndex(None) as index:
        digests = [facts.digest for facts in index.facts_of([each.clips[0] for each in (*american, *scottish)])]
    assert len(set(digests)) == 4


def test_what_takes_too_long_is_said_faster(questions):
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    slow = questions(RELEVANT, voice="en-us")
    fast = questions(RELEVANT + "most_seconds = 0.55\n", voice="en-us")
    longest = max(each.clips[0].source.duration_s for each in slow)
    assert longest > 0.55 >= max(each.clips[0].source.duration_s for each in fast)
    hurried = questions(RELEVANT + "most_seconds = 0.01\n", voice="en-us")
    assert {dict(each.clips[0].source.parameters)["rate_wpm"] for each in hurried} == {"450"}


def test_a_voice_that_nobody_has_is_one_sentence_that_says_what_to_do(questions, tmp_path):
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    with pytest.raises(DataNotFound, match="the voice 'Nobody' of quiz is not here") as caught:
        questions(RELEVANT, voice="Nobody")
    assert str(tmp_path / "quiz/speech/Nobody") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_espeak_ng_the_data_is_not_here(questions, monkeypatch):
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    from pytest_audiobench.audio import espeak

    espeak._places.cache_clear()
    with pytest.raises(DataNotFound, match=r"the voice 'en-us' of quiz is not here \(espeak-ng is not installed"):
        questions(RELEVANT, voice="en-us")


def test_words_that_cannot_be_said_are_named_with_their_sample(questions):
    text = RELEVANT.replace('text = "{question}"', 'text = "{answer}\\u0001"').replace('"1"', '["0", "1"]')
    with pytest.raises(UsageError, match=r"sample 'q3': .* holds a control character"):
        questions(text.replace('merge = "{id}"', 'merge = "{id}{answer}"'), voice="en-us")


@pytest.mark.parametrize("more", ["", "optional"])
def test_a_question_whose_answer_is_blank_is_named_with_its_row(questions, tmp_path, more):
    rows = [{"id": "q9", "question": "who", "answer": "", "label": 1}]
    table = pyarrow.table({name: [row[name] for row in rows] for name in rows[0]})
    for number in (0, 1):
        pyarrow.parquet.write_table(table, tmp_path / f"quiz/test-0000{number}-of-00002.parquet")
    (tmp_path / "quiz/speech/en-us").mkdir(parents=True)
    if more:
        (sample,) = questions(RELEVANT.replace('"{answer}"', '"{answer?}"'), voice="en-us")
        assert sample.truths == ("",)
        return
    with pytest.raises(UsageError, match=r"row group 0, row 0 has no 'answer'"):
        questions(RELEVANT, voice="en-us")


def test_a_list_in_a_row_of_parquet_is_rows_whose_clip_waits_in_its_cell(tmp_path):
    (tmp_path / "slots").mkdir()
    silence(tmp_path / "a.wav")
    cell = {"bytes": (tmp_path / "a.wav").read_bytes(), "path": "a.wav"}
    rows = {
        "audio": [cell, cell],
        "slots:": [["date=tuesday", "time=nine"], []],
        "transcript": ["on tuesday at nine", "stop"],
    }
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "slots" / "test.parquet")
    (tmp_path / "slots.audiobench.toml").write_text(
        '[data]\nrows = "test.parquet"\neach = "slots:"\nparts = { "slots:" = "(?P<slot>.+)=(?P<value>.+)" }\n'
        '[sample]\nid = "{key}-{slots:.number}"\naudio = "{audio}"\nquestion = "What is the {slot}?"\n'
        'answer = "{value}"\n'
    )
    samples = list(declared_loader(tmp_path / "slots.audiobench.toml")().read(Places(tmp_path, shelves=[tmp_path])))
    assert [(each.id, each.question, each.reference) for each in samples] == [
        ("0-1", "What is the date?", "tuesday"),
        ("0-2", "What is the time?", "nine"),
    ]
    assert all(isinstance(each.clips[0].source, CellSource) for each in samples)


def test_what_an_expression_finds_in_a_text_is_a_list_of_rows_within_those_of_another(tmp_path):
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked" / "rows.jsonl").write_text(
        '{"said": "from [time : nine] to [time : ten]", "takes": [{"file": "a"}, {"file": "b"}]}\n'
        '{"said": "tell me a joke", "takes": [{"file": "c"}]}\n'
    )
    (tmp_path / "asked.audiobench.toml").write_text(
        "[data]\nrows = 'rows.jsonl'\neach = ['takes', 'slots']\n"
        "matches = { said = { slots = '\\[(?P<slot>\\w+) : (?P<value>\\w+)\\]' } }\n"
        "[sample]\nid = '{file}-{slots.number}'\naudio = '{file}.wav'\nanswer = '{slot} {value}'\n"
    )
    samples = list(declared_loader(tmp_path / "asked.audiobench.toml")().read(Places(tmp_path, shelves=[tmp_path])))
    assert [(each.id, each.reference) for each in samples] == [
        ("a-1", "time nine"),
        ("a-2", "time ten"),
        ("b-1", "time nine"),
        ("b-2", "time ten"),
    ]


def test_clips_of_a_row_are_one_after_another_where_that_is_said(tmp_path):
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "rows.csv").write_text("a,b\n1.wav,2.wav\n")
    (tmp_path / "pairs.audiobench.toml").write_text(
        '[data]\nrows = "rows.csv"\n[sample]\nid = "{key}"\naudio = ["{a}", "{b}"]\njoin = 0.1\nanswer = "yes"\n'
    )
    (sample,) = declared_loader(tmp_path / "pairs.audiobench.toml")().read(Places(tmp_path, shelves=[tmp_path]))
    (clip,) = sample.clips
    assert isinstance(clip.source, CombinedSource)
    assert [str(part) for part in clip.source.clips] == ["pairs:1.wav", "pairs:2.wav"]
    assert dict(clip.source.parameters) == {"gap_s": "0.1"}


@pytest.mark.parametrize(
    ("sample", "mistake"),
    [
        ('audio = "{a}"\nspeech = { text = "{a}", voice = "en-us" }', "must have one of 'audio' and 'speech'"),
        ("", "must have one of 'audio' and 'speech'"),
        ('speech = { text = "{a}", voice = "en-us" }\njoin = 0', "clips that are mixed or said are one already"),
        ('speech = { text = "{a}" }', "has no 'voice'"),
        ('speech = { text = "{a", voice = "en-us" }', "has a brace that is no {column}"),
    ],
)
def test_what_is_heard_is_declared_once(tmp_path, sample, mistake):
    (tmp_path / "odd.audiobench.toml").write_text(
        f'[data]\nrows = "rows.csv"\n[sample]\nid = "{{a}}"\nanswer = "{{a}}"\n{sample}\n'
    )
    with pytest.raises(UsageError, match=mistake.replace("{", r"\{")):
        declared_loader(tmp_path / "odd.audiobench.toml")
