"""Phones in text, and the foldings of TIMIT's 61 to 48 to 39."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import PHONES, folded, phone_tokens

MAPS = Path(__file__).parents[2].parent / "shared" / "conformance" / "timit_phone_maps.json"
TOKENS = st.lists(st.sampled_from([*sorted(PHONES), "dog", "ˈ", "\ud800"]), max_size=12)


@pytest.mark.skipif(not MAPS.exists(), reason="the published folding is not on this machine (../shared/conformance)")
@pytest.mark.parametrize(("phones", "column"), [(48, "map61to48"), (39, "map61to39")])
def test_the_folding_is_the_published_one(phones, column) -> None:
    published = json.loads(MAPS.read_text())[column]
    assert set(published) == PHONES - {"cl", "vcl"}
    for phone, into in published.items():
        assert folded([phone], phones) == ([into] if into else [])


@pytest.mark.parametrize(("phones", "count"), [(39, 39), (48, 48)])
def test_each_set_has_as_many_phones_as_its_name_says(phones, count) -> None:
    assert len(set(folded(sorted(PHONES), phones))) == count
    assert len(PHONES - {"cl", "vcl", "sil"}) == 61


@given(TOKENS)
def test_folding_twice_is_folding_once_and_48_lies_on_the_way_to_39(tokens) -> None:
    for phones in (39, 48, 61):
        assert folded(folded(tokens, phones), phones) == folded(tokens, phones)
    assert folded(folded(tokens, 48), 39) == folded(tokens, 39)


@given(TOKENS)
def test_what_is_no_phone_is_never_dropped(tokens) -> None:
    others = [token for token in tokens if token not in PHONES]
    assert [token for token in folded(tokens, 39) if token not in PHONES] == others


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("SH IY1 HH AE1 D", ["sh", "iy", "hh", "ae", "d"]),
        ("sh, iy; hh | ae / d.", ["sh", "iy", "hh", "ae", "d"]),
        ("[dh ax-h] h#", ["dh", "ax-h", "h#"]),
        ("K2 AH3 W0 AH0", ["k2", "ah3", "w0", "ah"]),
        ("she had", ["she", "had"]),
        ("\n ... ,", []),
        ("", []),
    ],
)
def test_tokens_lose_punctuation_and_stress_and_nothing_else(text, tokens) -> None:
    assert phone_tokens(text) == tokens


@given(st.text(max_size=60))
def test_scorer_the_tokens_again_changes_nothing(text) -> None:
    tokens = phone_tokens(text)
    assert phone_tokens(" ".join(tokens)) == tokens


def test_no_phones_are_no_rate() -> None:
    empty = {"S": 0, "D": 0, "I": 2, "N": 0, "other": 0.0, "said": 0.0}
    assert metric_kind("per").estimate([empty], None).value != 0
    assert metric_kind("per").estimate([empty, {"S": 1, "D": 0, "I": 0, "N": 4}], None).value == 0.75
    assert metric_kind("other_tokens").estimate([empty], None).method.endswith("the answers hold no tokens")
