"""Our own words and characters."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.protocols.transcription.texts import basic_characters, basic_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello,  World!", "hello world"),
        ("don’t `tis' 'quoted'", "don't tis quoted"),
        ("ﬁve Ⅷ", "five viii"),
        ("well-known snake_case", "well known snake case"),
        ("…", ""),
        ("5 € 50", "5 50"),
        ("rock 'n' roll", "rock n roll"),
        ("a\u00a0b\tc", "a b c"),
    ],
)
def test_words_are_lower_case_without_punctuation(text, words):
    assert basic_text(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("नमस्ते, दुनिया!", "नमस्ते दुनिया"),
        ("สวัสดี ครับ", "สวัสดี ครับ"),
        ("مَرحَبًا", "مَرحَبًا"),
        ("cafe\u0301", "café"),
        ("می\u200cخواهم co\u00adop", "میخواهم coop"),
        ("hello\u200bworld", "hello world"),
        ("I ❤️ you 👨\u200d👩", "i you"),
        ("\u0301 a", "a"),
    ],
)
def test_marks_stay_upon_letters_and_go_with_anything_else(text, words):
    assert basic_text(text) == words


def test_characters_have_no_spaces_and_one_width():
    assert basic_characters("ＡＢＣ 打电话 。") == "abc打电话"
    assert basic_characters("ｶﾀｶﾅ") == "カタカナ"


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=40))
def test_any_text_normalises_and_what_is_normal_stays(text):
    words = basic_text(text)
    assert basic_text(words) == words
    assert all(unicodedata.category(character)[0] in "LNM" or character in "' " for character in words)
    assert not any(word.startswith("'") or word.endswith("'") for word in words.split())


@settings(deadline=None)
@given(st.text(max_size=40))
def test_case_and_surrounding_punctuation_make_no_difference(text):
    assert basic_text(f"  «{text}»! ") == basic_text(text)
