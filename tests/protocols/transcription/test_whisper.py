"""Whisper's normalisers, and what keeps runaway answers from breaking them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whisper_normalizer.basic import BasicTextNormalizer
from whisper_normalizer.english import EnglishTextNormalizer

from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.texts import without_asides, without_special_tokens, without_tags

ENGLISH, BASIC = EnglishTextNormalizer(), BasicTextNormalizer()
PIECES = st.sampled_from(["Mr. Smith ", "it's ", "(aside) ", "<unk>", "[laugh] ", "twenty one ", "$5.50 ", "½ ", "ö, "])


@settings(max_examples=30, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=9))
def test_long_texts_come_out_as_the_library_makes_them(pieces):
    text = "".join(pieces) * (5000 // len("".join(pieces)) + 1)
    assert whisper.english(text).split() == ENGLISH(text).split()
    assert whisper.basic(text).split() == BASIC(text).split()


def test_a_run_of_digits_that_breaks_the_library_is_read_in_pieces():
    with pytest.raises(AssertionError):
        ENGLISH("1" * 5000)
    assert whisper.english("1" * 5000).split() == ["1" * 1000] * 5
    assert len(whisper.english("one " * 4400 + "decillion")) > 4000


@pytest.mark.parametrize("hostile", ["<", "(", "[", " ", "<("])
def test_brackets_that_never_close_cost_no_quadratic_time(hostile):
    # The library takes hours for these.
    assert len(whisper.english(hostile * 1_000_000).split()) <= 1
    assert len(whisper.basic(hostile * 1_000_000).split()) <= 1


def test_what_stands_between_brackets_goes():
    assert without_tags("a <b> [c] d> <e") == "a   d> <e"
    assert without_asides("a (b) () (c") == "a  () (c"
    assert without_special_tokens("<|en|>a<|b\n|>c<|") == " a<|b\n|>c<|"


def test_numbers_spellings_and_contractions():
    assert whisper.english("It's Mr. Smith's colour, twenty-one!").split() == [
        "it",
        "is",
        "mister",
        "smith",
        "is",
        "color",
        "21",
    ]
    assert whisper.graphemes("สวัสดี").split() == list("สวสด")


@pytest.mark.parametrize("text", ["⑳" * 3_000, "①" * 200_000, "①2" * 3_000])
def test_circled_digits_without_end_are_normalised(text):
    assert whisper.english(text).replace(" ", "").isdecimal()
