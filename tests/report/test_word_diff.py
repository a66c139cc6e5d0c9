"""Where a transcript and its reference part: runs of words, by the words that the protocol compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, ScorerRecord
from pytest_audiobench.report.page.word_diff import MOST_WORDS, word_diff, words_of


def transcription(scorer: str, **options: str) -> ItemRecord:
    scorers = [ScorerRecord(scorer, f"{scorer}|v:1", CoverageRecord(*[0] * 9))]
    return ItemRecord(
        index=0, nodeid="n", eval="e", suite="s", model="m", protocol="transcription", scorers=scorers, options=options
    )


ITEM = transcription("wer-basic")
words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12)


def test_the_words_are_those_that_the_scorer_compared() -> None:
    by_scorer = words_of(ITEM)
    assert by_scorer is not None
    found = word_diff(
        "It's Five, Sir!", "it's six sir please", "wer-basic", by_scorer, {"S": 1, "D": 0, "I": 1, "N": 3}
    )
    assert found is not None
    assert found.by == "wer-basic"
    assert found.runs == [("=", "it's", "it's"), ("S", "five", "six"), ("=", "sir", "sir"), ("I", "", "please")]


def test_counts_that_do_not_fit_make_it_a_diff_of_plain_words() -> None:
    found = word_diff("It's Five", "it's five", "wer-basic", words_of(ITEM), {"S": 1, "D": 0, "I": 0, "N": 2})
    assert found is not None
    assert found.by == ""
    assert [sign for sign, _, _ in found.runs] == ["S"]


def test_a_scorer_of_characters_is_a_diff_of_characters() -> None:
    item = transcription("cer-basic", language="zh")
    found = word_diff("天氣好", "天气好", "cer-basic", words_of(item), {"CS": 1, "CD": 0, "CI": 0, "CN": 3})
    assert found is not None
    assert (found.by, found.joint) == ("cer-basic", "")
    assert found.runs == [("=", "天", "天"), ("S", "氣", "气"), ("=", "好", "好")]


@pytest.mark.parametrize("scores", [{"correct": 1.0}, {}])
def test_answers_without_counts_of_errors_have_no_diff(scores: dict[str, float]) -> None:
    assert word_diff("a", "b", "letters", None, scores) is None


def test_a_runaway_answer_has_no_diff() -> None:
    counts = {"S": 0, "D": 0, "I": MOST_WORDS, "N": 1}
    assert word_diff("a", "a " * (MOST_WORDS + 1), "wer-basic", words_of(ITEM), counts) is None


@given(words, words)
def test_the_runs_hold_both_texts_and_the_counts(reference: list[str], said: list[str]) -> None:
    counts = token_errors(reference, said)
    found = word_diff(" ".join(reference), " ".join(said), "wer-basic", words_of(ITEM), counts)
    assert found is not None
    assert " ".join(wanted for _, wanted, _ in found.runs if wanted).split() == reference
    assert " ".join(said for _, _, said in found.runs if said).split() == said
    lengths = {
        sign: sum(len((b if sign == "I" else a).split()) for s, a, b in found.runs if s == sign) for sign in "SDI"
    }
    assert lengths == {name: counts[name] for name in "SDI"}
