"""What a model said is made valid text once, at the store's door."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.evaluation import answer_store as text_repair
from pytest_audiobench.evaluation.answer_store import LONGEST_MESSAGE, LONGEST_TEXT, message, repaired


@given(st.text(st.characters()))
def test_repaired_text_is_valid_and_left_alone_when_it_was(text):
    fixed, changed = repaired(text)
    fixed.encode()
    assert changed == (fixed != text)
    assert repaired(fixed) == (fixed, False)


def test_surrogate_pairs_are_joined_and_lone_halves_replaced():
    assert repaired("a\ud83d\ude00b") == ("a😀b", True)
    assert repaired("a\ud83db") == ("a\ufffdb", True)
    assert repaired("\ude00\ud83d") == ("\ufffd\ufffd", True)


def test_valid_text_beside_a_lone_half_is_kept_as_it_was():
    assert repaired("\x00😀\ud83d é") == ("\x00😀\ufffd é", True)


def test_the_longest_text_is_kept_whole_and_a_longer_one_is_cut():
    assert repaired("x" * LONGEST_TEXT) == ("x" * LONGEST_TEXT, False)
    assert repaired("x" * LONGEST_TEXT + "y") == ("x" * LONGEST_TEXT, True)


def test_a_text_that_is_cut_within_a_pair_is_still_valid(monkeypatch):
    monkeypatch.setattr(text_repair, "LONGEST_TEXT", 3)
    assert repaired("ab\ud83d\ude00") == ("ab\ufffd", True)


@given(st.text(st.characters()))
def test_a_message_is_one_line_of_valid_text(text):
    line = message(ValueError(text))
    line.encode()
    assert line == " ".join(line.split())


def test_a_message_is_no_longer_than_its_bound():
    assert message("x" * (LONGEST_MESSAGE + 1)) == "x" * LONGEST_MESSAGE
    assert message(" a\n\n b\t") == "a b"
