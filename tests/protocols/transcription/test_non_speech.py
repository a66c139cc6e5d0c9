"""Answers to clips in which nobody speaks: nothing, a statement of it, or words that were made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.answer_failures import failures
from pytest_audiobench.protocols.transcription.non_speech import content_of, hallucination
from pytest_audiobench.protocols.transcription.task import transcription

SILENT = Sample("hum/1", (), "")

NOTHING = [
    *("", "  ", "...", "♪", "♪♪ ♫", "[music]", "[Music] [Applause]", "[BLANK_AUDIO]", "<|nospeech|>", "<unk>"),
    *(
        "(silence)",
        "(gentle music)",
        "*silence*",
        "（音乐）",
        "Silence.",
        "<|startoftranscript|><|nospeech|>",
        "No speech.",
        "(no speech detected)",
        "(dramatic music)",
        "(speaking in foreign language)",
        "♪ Music ♪",
        "「音楽」",
        "{silence}",
        "Transcription: [silence]",
    ),
]
DECLINED = [
    "There is no speech in this audio.",
    "No speech detected.",
    "The audio is completely silent.",
    "I’m sorry, but I cannot transcribe this audio as there is no speech.",
    "There is no speech in this audio. It contains the sound of rain.",
    "The audio contains only the sound of a dog barking.",
    "Nobody is speaking.",
    "There isn't any speech in the recording; it's just static.",
    "[noise] There are no spoken words to transcribe.",
    "I'm sorry, I can't hear anything",
    "I don't hear anything.",
    "As an AI language model, I cannot hear audio.",
    "There is only silence.",
    "The audio is white noise.",
    "The audio contains a low hum",
    "The audio contains no speech, only a continuous hum.",
]
WORDS = [
    "Thank you for watching!",
    "you",
    "[Music] Thank you.",
    "I'm sorry.",
    "I can't hear you.",
    "(hello there)",
    "No.",
    "no words can describe how I feel",
    'There is no speech. He says "hello".',
    "Thank you. There is no speech in this audio.",
    "No one is talking to me, said the king.",
    "The audio contains only a promise to my mother.",
    "字幕由Amara.org社区提供",
    "I can't speak.",
    "Don't speak.",
    "I have no words.",
    "I am not talking to you.",
    "Nobody spoke to me.",
    "No one can hear me speak.",
    "No, I spoke to someone.",
    "I couldn't find the words.",
    "Without a word",
    "(no)",
    "(audio in)",
    '["thank you", "bye"]',
    "A low hum.",
]


@pytest.mark.parametrize("text", NOTHING)
def test_markers_are_no_words(text):
    assert content_of(text) == ("nothing", "")


@pytest.mark.parametrize("text", DECLINED)
def test_a_plain_statement_that_nobody_speaks_is_no_transcript(text):
    assert content_of(text) == ("declined", "")


@pytest.mark.parametrize("text", WORDS)
def test_everything_else_is_words(text):
    assert content_of(text).kind == "words"


@given(st.text(max_size=60))
def test_every_text_is_one_of_the_three_and_only_words_have_words(text):
    content = content_of(text)
    assert (content.kind == "words") == bool(content.words)


@given(st.lists(st.sampled_from(["[", "(", "*", "<|", "a", " ", ")", "]", "|>", "♪"]), max_size=30).map("".join))
def test_brackets_of_any_kind_never_break_it(text):
    assert content_of(text).kind in ("nothing", "declined", "words")


def scored(name, text, reference="", language="en"):
    scorer = hallucination(language=language).available[name]
    sample = Sample("a", (), "", reference=reference)
    answer = scorer.parse(sample, {"answer": Response.of(text)})
    return answer.status, scorer.score(sample, answer)


def test_the_three_shares_add_up_to_one_and_only_made_up_words_are_insertions():
    for text in NOTHING + DECLINED + WORDS:
        _, found = scored("non-speech", text)
        assert found["hallucinated"] + found["silent"] + found["declined"] == 1.0
        assert (found["inserted"] > 0) == bool(found["hallucinated"])
    assert scored("non-speech", "[Music] Thank you.")[1]["inserted"] == 2.0
    assert scored("non-speech", "谢谢观看", language="zh")[1]["inserted"] == 4.0


def test_silence_is_an_answer_and_a_statement_is_told_apart():
    assert scored("non-speech", "")[0] == "parsed"
    assert scored("non-speech", "There is no speech.")[0] == "refused"


@pytest.mark.parametrize(("text", "words"), [("[music]", 1), ("♪", 1), ("<|nospeech|>", 1), ("There is no speech.", 4)])
def test_the_published_rule_takes_markers_and_statements_for_words(text, words):
    found = scored("non-speech-thenirock", text)[1]
    assert found == {"hallucinated": 1.0, "inserted": float(words), "silent": 0.0}
    assert scored("non-speech", text)[1]["hallucinated"] == 0.0


def test_the_published_rule_by_its_own_chain_of_jiwers():
    from jiwer import Compose, RemoveMultipleSpaces, RemovePunctuation, Strip, ToLowerCase

    chain = Compose([ToLowerCase(), RemovePunctuation(), RemoveMultipleSpaces(), Strip()])
    for text in NOTHING + DECLINED + WORDS:
        words = [word for word in chain(text).split(" ") if word]
        assert scored("non-speech-thenirock", text)[1]["inserted"] == len(words)


def test_a_scorer_of_silence_refuses_speech_and_the_other_way_round():
    asked = hallucination("non-speech")
    spoken = Sample("s", (), "", reference="open the door")
    with pytest.raises(UsageError, match="somebody speaks in 's'"):
        asked.fitting([spoken])
    with pytest.raises(UsageError, match="'hum/1' has a reference without words"):
        transcription("insertions").fitting([SILENT])
    assert asked.fitting([SILENT]) is asked or asked.fitting([SILENT]).scorers == asked.scorers


def test_silence_about_silence_is_no_failure_and_runaway_answers_are():
    assert failures(SILENT, Response.of(""), "words") == ()
    assert failures(Sample("s", (), "", reference="hi"), Response.of(""), "words") == ("empty",)
    assert failures(SILENT, Response.of("one two three four five six"), "words") == ("runaway",)
    assert "loop" in failures(SILENT, Response.of("thank you " * 20), "words")


def test_silence_is_asked_about_as_speech_is_so_that_nobody_is_told():
    silent, spoken = hallucination().answering, transcription().answering
    assert silent.messages(SILENT, {}) == spoken.messages(SILENT, {})
    assert (silent.name, silent.task, silent.settings) == (spoken.name, spoken.task, spoken.settings)
