"""The first place at which two JSON values differ."""

import copy
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.verifier.differences import MISSING, first_difference, json_excerpt

KEYS = st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
_STEP = re.compile(r'\.?([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


def resolved(value, path):
    """What is at ``path``; MISSING where nothing does."""
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        assert step, path[at:]
        key = int(step[2]) if step[2] is not None else json.loads(step[3]) if step[3] is not None else step[1]
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return MISSING
        at = step.end()
    return value


@given(VALUES)
def test_equal_values_have_no_difference(value):
    assert first_difference(value, copy.deepcopy(value)) is None


@given(VALUES, VALUES)
def test_a_difference_is_found_exactly_where_the_texts_differ(before, after):
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (first_difference(before, after) is None) == same


@given(VALUES, VALUES)
def test_the_path_leads_to_both_values(before, after):
    found = first_difference(before, after)
    if found is not None:
        assert resolved(before, found.path) is found.before or resolved(before, found.path) == found.before
        assert resolved(after, found.path) is found.after or resolved(after, found.path) == found.after


@given(VALUES, VALUES)
def test_the_other_way_round_it_is_the_same_place(before, after):
    there, back = first_difference(before, after), first_difference(after, before)
    assert (there and there.path) == (back and back.path)


@given(st.lists(VALUES, min_size=1, max_size=6), st.data())
def test_of_several_changed_places_the_first_is_named(values, data):
    places = data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1))
    changed = [["changed", value] if at in places else value for at, value in enumerate(values)]
    found = first_difference(values, changed)
    assert found is not None
    assert found.path.startswith(f"[{min(places)}]")


def test_true_one_and_one_point_nought_differ_as_they_do_in_a_hash():
    assert first_difference(1, True) is not None
    assert first_difference(1, 1.0) is not None


def test_a_path_reads_as_one_would_write_it():
    before = {"samples": {"digits-017": {"choices": ["one", "two", "three"], "metadata": {"speaker": "ann"}}}}
    after = copy.deepcopy(before)
    after["samples"]["digits-017"]["choices"][2] = "four"
    assert first_difference(before, after) == ('samples["digits-017"].choices[2]', "three", "four")


@given(st.text(max_size=300), st.text(max_size=300))
def test_what_is_shown_is_short_and_plain(one, other):
    text = json_excerpt(one, other)
    assert len(text) <= 62
    assert text.replace("…", "").isascii()


def test_a_long_text_is_cut_to_where_it_differs():
    one, other = "x" * 500 + "cat" + "y" * 500, "x" * 500 + "dog" + "y" * 500
    assert "cat" in json_excerpt(one, other)
    assert "dog" in json_excerpt(other, one)


def test_nothing_is_called_nothing():
    assert json_excerpt(MISSING, "x") == "nothing"
