"""How speech is asked for, and how word errors are counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.transcription import basic_words, transcription, word_errors

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))


def test_the_samples_own_question_goes_before_the_default_instruction() -> None:
    (stage,) = transcription().stages
    assert stage.task == "transcription"
    plain = Sample("a", (CLIP,), "", reference="seven")
    assert stage.render(plain, {}) == (Message("user", (AudioSlot(0), "Transcribe the speech.")),)
    asked = Sample("a", (CLIP,), "Which digit?", reference="seven")
    assert stage.render(asked, {})[0].parts[1] == "Which digit?"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello,  World!", ["hello", "world"]),
        ("don’t `tis' 'quoted'", ["don't", "tis", "quoted"]),
        ("ﬁve Ⅷ", ["five", "viii"]),
        ("well-known snake_case", ["well", "known", "snake", "case"]),
        ("…", []),
        ("5 € 50", ["5", "50"]),
    ],
)
def test_basic_words_are_lower_case_without_punctuation(text, words) -> None:
    assert basic_words(text) == words


@pytest.mark.parametrize(
    ("reference", "answer", "errors"),
    [
        ("the cat sat", "The cat sat.", (0, 0, 0, 3)),
        ("the cat sat", "the bat sat", (1, 0, 0, 3)),
        ("the cat sat", "cat sat", (0, 1, 0, 3)),
        ("the cat sat", "the big cat sat", (0, 0, 1, 3)),
        ("the cat sat", "", (0, 3, 0, 3)),
        ("the cat sat", "…", (0, 3, 0, 3)),
        ("", "two words", (0, 0, 2, 0)),
        ("", "", (0, 0, 0, 0)),
    ],
)
def test_word_errors(reference, answer, errors) -> None:
    assert tuple(word_errors(reference, answer).values()) == errors


def test_an_empty_answer_is_all_deletions_and_a_cut_one_counts_its_words() -> None:
    (reading,) = transcription().readings
    sample = Sample("a", (CLIP,), "", reference="one two three")
    empty = reading.parse(sample, {"answer": Response.of("  ")})
    assert empty.status == "empty"
    assert reading.score(sample, empty) == {"S": 0, "D": 3, "I": 0, "N": 3, "correct": 0.0}
    cut = reading.parse(sample, {"answer": Response.of("one two", "length")})
    assert cut.status == "truncated"
    assert reading.score(sample, cut) == {"S": 0, "D": 1, "I": 0, "N": 3, "correct": 0.0}
    assert reading.metrics == ("wer",)


def test_an_unknown_reading_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="wer-basic"):
        transcription("wer")


@given(st.text(max_size=60), st.text(max_size=60))
def test_counts_balance_for_any_text(reference, answer) -> None:
    errors = word_errors(reference, answer)
    assert errors["N"] == len(basic_words(reference))
    assert errors["N"] - errors["D"] + errors["I"] == len(basic_words(answer))
    assert word_errors(answer, answer)["S"] == 0
