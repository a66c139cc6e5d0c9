"""Error counts are those of a shortest alignment, jiwer's own, and add up over utterances."""

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import character_errors, rate, token_errors
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.transcription.task import transcription

WORDS = st.lists(st.sampled_from(["a", "b", "the", "cat", "sät", "日"]), max_size=9)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)


def distance(one, other):
    """Levenshtein's recursion, row by row: a second implementation."""
    row = list(range(len(other) + 1))
    for number, token in enumerate(one, start=1):
        before, row[0] = row[0], number
        for place, compared in enumerate(other, start=1):
            best = min(before + (token != compared), row[place] + 1, row[place - 1] + 1)
            before, row[place] = row[place], best
    return row[-1]


def total(errors):
    return errors["S"] + errors["D"] + errors["I"]


@pytest.mark.parametrize(
    ("reference", "said", "errors"),
    [
        ("the cat sat", "the cat sat", (0, 0, 0, 3)),
        ("the cat sat", "the bat sat", (1, 0, 0, 3)),
        ("the cat sat", "cat sat", (0, 1, 0, 3)),
        ("the cat sat", "the big cat sat", (0, 0, 1, 3)),
        ("the cat sat", "", (0, 3, 0, 3)),
        ("", "two words", (0, 0, 2, 0)),
        ("", "", (0, 0, 0, 0)),
        ("yes", "no i do not", (1, 0, 3, 1)),
    ],
)
def test_counts(reference, said, errors):
    assert tuple(token_errors(reference.split(), said.split()).values()) == errors


@settings(deadline=None)
@given(WORDS, WORDS)
def test_the_sum_is_the_distance_and_counts_balance(reference, said):
    errors = token_errors(reference, said)
    assert total(errors) == distance(reference, said)
    assert errors["N"] == len(reference)
    assert errors["N"] - errors["D"] + errors["I"] == len(said)
    assert min(errors.values()) >= 0
    assert errors["S"] + errors["D"] <= errors["N"]


@settings(deadline=None)
@given(WORDS, WORDS)
def test_the_total_is_symmetric_and_nothing_differs_from_itself(one, other):
    assert total(token_errors(one, other)) == total(token_errors(other, one))
    assert total(token_errors(one, one)) == 0


@settings(deadline=None)
@given(WORDS, WORDS)
def test_the_split_is_jiwers(reference, said):
    errors, theirs = token_errors(reference, said), jiwer.process_words(" ".join(reference), " ".join(said))
    assert (errors["S"], errors["D"], errors["I"]) == (theirs.substitutions, theirs.deletions, theirs.insertions)


@settings(deadline=None)
@given(PAIRS)
def test_utterances_pool_to_jiwers_rates_in_any_order_and_over_any_shards(pairs):
    counts = [token_errors(reference, said) for reference, said in pairs]
    found = {name: metric_kind(name).estimate(counts, None).value for name in ("wer", "mer", "wil", "wip")}
    for name in found:
        assert metric_kind(name).estimate(counts[::-1], None).value == pytest.approx(found[name], nan_ok=True)
    summed = {key: sum(one[key] for one in counts) for key in "SDIN"}
    assert metric_kind("wer").estimate([summed], None).value == pytest.approx(found["wer"], nan_ok=True)
    if summed["N"]:
        theirs = jiwer.process_words(*([" ".join(pair[side]) for pair in pairs] for side in (0, 1)))
        assert found == pytest.approx({name: getattr(theirs, name) for name in found})


@settings(deadline=None)
@given(PAIRS)
def test_errors_of_a_text_that_was_joined_are_at_most_those_of_its_parts(pairs):
    joined = ([word for pair in pairs for word in pair[side]] for side in (0, 1))
    assert total(token_errors(*joined)) <= sum(total(token_errors(reference, said)) for reference, said in pairs)


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_characters_are_counted_in_any_text(reference, said):
    errors = character_errors(reference, said)
    assert errors["CS"] + errors["CD"] + errors["CI"] == distance(reference, said)
    assert errors["CN"] == len(reference)


def test_scorers_that_compare_the_same_words_share_one_alignment(monkeypatch):
    aligned, align = [], jiwer.process_words
    monkeypatch.setattr(jiwer, "process_words", lambda *texts: aligned.append(texts[:2]) or align(*texts))
    sample = Sample("a", (), "", reference="These words are shared by no other test.")
    for name in ("wer-basic", "lower-nopunct", "au-harness"):
        scorer = transcription().available[name]
        answer = scorer.parse(sample, {"answer": Response.of("these words were shared by no other test")})
        counts = scorer.score(sample, answer)
        assert (counts["S"], counts["D"], counts["I"], counts["N"]) == (1, 0, 0, 8)
    assert len(aligned) == 2, "one of words, and one of characters"


def test_characters_beyond_unicode_texts_are_counted_too():
    assert character_errors("\ud800a\x00", "\ud801a") == {"CS": 1, "CD": 1, "CI": 0, "CN": 3}


def test_a_samples_own_rate_without_a_reference_is_the_number_of_insertions():
    assert rate(token_errors(["a", "b"], ["a"])) == 0.5
    assert rate(token_errors([], ["a", "b"])) == 2.0 == jiwer.wer("", "a b")
    assert rate(token_errors([], [])) == 0.0
    assert rate(character_errors("ab", "a"), "C") == 0.5
