from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.gate.config import matches


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("sakura*", "sakura[animal-single]", True),
        ("sakura[animal-single]", "sakura[animal-single]", True),
        ("sakura[animal-single]", "sakuraa", False),
        ("sakura[*-single]", "sakura[animal-single]", True),
        ("sakura[*-single]", "sakura[animal-multi]", False),
        ("sakura[!a]", "sakura[b]", False),
        ("bundled/*", "bundled/digits", True),
        ("bundled/digit?", "bundled/digits", True),
        ("bundled/digit?", "bundled/digit", False),
        ("digits", "bundled/digits", False),
        ("a.c", "abc", False),
        ("(a|b)+", "a", False),
        ("*", "", True),
        ("a*c", "a\nc", True),
        ("Sakura", "sakura", False),
    ],
)
def test_only_star_and_question_mark_are_special(pattern, text, expected):
    assert matches(pattern, text) is expected


@given(st.text())
def test_an_id_matches_itself(text):
    assert matches(text, text)


@given(st.text(), st.text(), st.text())
def test_a_star_covers_anything_between(start, middle, end):
    assert matches(f"{start}*{end}", start + middle + end)
