"""How answers go wrong is told from their texts, whatever protocol reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.answer_failures import FAILURES, failures


def of(text, reference="the cat sat on the mat", *, expects="words", finish="stop", choices=()):
    sample = Sample("s", (), "q", choices=choices, reference=reference)
    return failures(sample, Response.of(text, finish), expects)


def test_a_good_transcript_is_in_no_class():
    assert of("The cat sat on the mat.") == ()


def test_phones_where_words_were_wanted_are_another_task():
    assert of("dh ah0 k ae1 t s ae1 t aa n dh ah m ae t") == ("wrong_task",)
    assert of("dh ax k ae t s ae t", reference="dh ax k ae t s ae t") == ()
    assert of("dh ah k ae t", expects="open") == ()


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("猫坐在垫子上", "the cat sat on the mat"),
        ("the cat sat on the mat", "猫坐在垫子上"),
        ("кошка сидела на коврике", "the cat sat"),
        ("我今天去学校了", "私は今日学校に行きました"),
    ],
)
def test_an_answer_in_another_script_is_a_translation_or_worse(text, reference):
    assert "wrong_script" in of(text, reference)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("私は今日学校に行きました", "今日は学校に行く"),
        ("東京", "とうきょう"),
        ("naïve café", "naive cafe"),
        ("1 2 3", "one two three"),
        ("hello 世界 hello", "hello world hello"),
        ("ｶﾀｶﾅ", "カタカナ"),
    ],
)
def test_the_references_own_script_is_no_failure(text, reference):
    assert of(text, reference) == ()


def test_a_loop_is_a_run_that_the_reference_does_not_hold():
    assert "loop" in of("the cat " * 4)
    assert "loop" in of("猫" * 9 + "坐", "猫坐在垫子上")
    assert "loop" not in of("the cat the cat the cat")
    assert of("no no no no", "no no no no") == ()
    assert "loop" in of("on and on and so on " * 30, expects="option", choices=("on", "off"))


def test_a_runaway_is_three_times_the_reference_and_five_words_more():
    words = [f"w{number}" for number in range(24)]
    assert of(" ".join(words[:23])) == ()
    assert of(" ".join(words)) == ("runaway",)
    assert of(" ".join(words), expects="open") == ()


def test_refusals_are_none_where_that_is_what_was_said():
    assert of("I'm sorry, I cannot hear any audio.") == ("refused",)
    assert of("I'm sorry, I cannot hear you.", "i'm sorry, i cannot hear you") == ()


def test_an_option_that_sounds_like_a_refusal_is_an_option():
    options = ("I don't know how to move on.", "Stop making excuses!")
    assert of("(A) I don't know how to move on.", reference=options[1], expects="option", choices=options) == ()


def test_to_name_a_language_is_not_to_decline():
    assert of("Korea recognizes English as a language.", expects="open") == ()
    assert of("As a language model, I only read texts.", expects="open") == ("refused",)


def test_empty_and_cut_answers_say_so():
    assert of("  ") == ("empty",)
    assert of("the cat", finish="length") == ("truncated",)


@given(st.text(), st.text(), st.sampled_from(["words", "option", "open"]))
def test_any_text_is_classed_and_its_own_reference_is_never_foreign(text, reference, expects):
    assert set(of(text, reference, expects=expects)) <= set(FAILURES)
    assert not {"wrong_task", "wrong_script", "loop", "runaway", "refused"} & set(of(text, text, expects=expects))


@pytest.mark.parametrize(
    "text",
    ["I can't transcribe this.", "I am unable to translate it", "We cannot describe that", "No audio was provided."],
)
def test_what_declines_a_task_in_words_is_refused(text):
    assert "refused" in failures(Sample("a", (), "", reference="a dog barks"), Response.of(text), "words")


def test_wide_letters_are_no_other_script():
    assert failures(Sample("a", (), "", reference="abc def"), Response.of("ＡＢＣ ＤＥＦ"), "words") == ()


def test_reasoning_in_the_questions_own_language_is_not_foreign_to_options_in_another():
    sample = Sample("s", (), "Which word is spoken?", choices=("사과", "바나나"), reference="사과")
    assert failures(sample, Response.of("The speaker says an apple, so the answer is 사과"), "option") == ()
    assert failures(sample, Response.of("это яблоко"), "option") == ("wrong_script",)


@given(st.lists(st.sampled_from(("no", "yes", "the", "cat", "a")), max_size=40))
def test_a_loop_is_up_to_20_words_that_come_four_times_in_a_row(words):
    longest = min(20, len(words) // 4)
    looped = any(
        words[at : at + 3 * cycle] == words[at + cycle : at + 4 * cycle]
        for cycle in range(1, longest + 1)
        for at in range(len(words) - 4 * cycle + 1)
    )
    assert ("loop" in of(" ".join(words), reference="cat", expects="open")) == looped
