"""Mistakes in what people write: one sentence for one, a line each for several, ten of them at most."""

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, nearest


def report(mistakes):
    with pytest.raises(UsageError) as raised:
        mistakes.check()
    return str(raised.value)


def broken():
    raise UsageError("a.toml: b is 3\na.toml: c is 4")


def test_without_a_mistake_nothing_is_raised():
    mistakes = Mistakes()
    assert mistakes.attempt(3, int, "4") == 4
    mistakes.check()
    assert not mistakes


def test_a_mistake_alone_is_its_sentence():
    mistakes = Mistakes()
    mistakes.add("a.toml: b is 3")
    assert report(mistakes) == "a.toml: b is 3"


@pytest.mark.parametrize(("count", "end"), [(10, ""), (11, " (and 1 more)"), (3_000, " (and 2,990 more)")])
def test_ten_mistakes_are_shown_and_the_others_counted(count, end):
    mistakes = Mistakes()
    for number in range(count):
        mistakes.add(f"a.jsonl, line {number}")
    assert report(mistakes) == "\n".join(f"a.jsonl, line {number}" for number in range(10)) + end


def test_a_sentence_about_a_name_ends_with_the_nearest():
    mistakes = Mistakes()
    mistakes.add("a.yaml has no label 'dig'", "dig", ["dog", "cat"])
    mistakes.add("a.yaml has no label 'zoo'", "zzz", ["dog"], "write one")
    assert report(mistakes) == "a.yaml has no label 'dig'; did you mean 'dog'?\na.yaml has no label 'zoo'; write one"


def test_an_error_of_several_sentences_is_several_mistakes_and_what_was_tried_has_its_stand_in():
    mistakes = Mistakes()
    assert mistakes.attempt(0, broken) == 0
    assert report(mistakes) == "a.toml: b is 3\na.toml: c is 4"


def test_a_sentence_is_one_line_of_bounded_length():
    mistakes = Mistakes()
    mistakes.add("a.toml: b\n\nis " + "3" * 10**6)
    text = report(mistakes)
    assert text.startswith("a.toml: b")
    assert "\n" not in text
    assert len(text) == 10_000


def test_an_unknown_key_names_the_nearest_or_what_is_allowed():
    mistakes = Mistakes()
    assert mistakes.check_keys("a.toml", {"requires": 1, "zzz": 2, "eval": 3}, ("eval", "require")) == {"require"}
    assert report(mistakes).splitlines() == [
        "a.toml has the unknown key 'requires'; did you mean 'require'?",
        "a.toml has the unknown key 'zzz'; allowed: eval, require",
    ]


def test_a_key_that_is_there_is_not_what_another_stands_for():
    assert Mistakes().check_keys("a.toml", {"requires": 1, "require": 2}, ("eval", "require")) == set()


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("dig", ["dog", "cat"], "did you mean 'dog'?"),
        ("bells", ["bell", "balls", "cat"], "did you mean 'bell' or 'balls'?"),
        ("acuracy", ["accuracy", "accuracy_drop"], "did you mean 'accuracy'?"),
        ("colour", ["cluster"], "there is cluster"),
        ("zzz", [], "there are none"),
        ("zzz", [f"a{n}" for n in range(12)], "there are a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 and 2 more"),
    ],
)
def test_the_nearest_name_is_offered_else_what_there_is(name, known, text):
    assert nearest(name, known) == text
