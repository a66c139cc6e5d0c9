"""BLEU, chrF and TER from per-sample statistics: what the sums give is what sacrebleu's corpus scores give."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from pytest_audiobench.metrics.definitions.translations import (
    bleu_statistics,
    chrf_statistics,
    sentence_bleu,
    ter_statistics,
)
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.tokenizers import TOKENIZERS, bleu_signature, lacking

HERE = [tokenizer for tokenizer in TOKENIZERS if not lacking(tokenizer)]
VOCABULARY = ("the", "a", "cat", "dog", "sat", "on", "mat", "猫", "が", "いる", "今天", "。", ",", "don't", "9.5")
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=12)
TEXTS = WORDS.map(" ".join)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8)


def estimate(metric, rows):
    return metric_kind(metric).estimate(rows, None)


@pytest.mark.parametrize("tokenizer", HERE)
@given(pairs=PAIRS)
@settings(max_examples=25, deadline=None)
def test_bleu_of_sums_is_sacrebleus_corpus_score(tokenizer, pairs):
    ours = estimate("bleu", [bleu_statistics(said, [true], tokenizer) for said, true in pairs]).value
    theirs = BLEU(tokenize=tokenizer, force=True).corpus_score([p[0] for p in pairs], [[p[1] for p in pairs]]).score
    assert ours == theirs


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None)
def test_several_references_count_as_sacrebleu_counts_them(rows):
    said, first, second = (list(column) for column in zip(*rows, strict=True))
    for name, make, theirs in (
        ("bleu", lambda text, refs: bleu_statistics(text, refs, "13a"), BLEU(force=True)),
        ("chrf", chrf_statistics, CHRF()),
        ("chrfpp", chrf_statistics, CHRF(word_order=2)),
    ):
        ours = estimate(name, [make(text, refs) for text, *refs in rows]).value
        assert ours == theirs.corpus_score(said, [first, second]).score


@given(PAIRS)
@settings(max_examples=25, deadline=None)
def test_ter_is_sacrebleus_where_references_have_words(pairs):
    ours = estimate("ter", [ter_statistics(said, [true]) for said, true in pairs]).value
    theirs = TER().corpus_score([p[0] for p in pairs], [[p[1] for p in pairs]]).score
    assert math.isnan(ours) if not any(true for _, true in pairs) else ours == pytest.approx(theirs / 100.0)


def plain_bleu(pairs):
    """Papineni's formula over whitespace tokens, for corpora where every order matches."""
    logs = 0.0
    for n in range(1, 5):
        matched = total = 0
        for said, true in pairs:
            grams = [Counter(zip(*(text.split()[i:] for i in range(n)), strict=False)) for text in (said, true)]
            matched += sum((grams[0] & grams[1]).values())
            total += sum(grams[0].values())
        logs += math.log(matched / total) / 4
    said_len, true_len = (sum(len(pair[side].split()) for pair in pairs) for side in (0, 1))
    return 100 * min(1.0, math.exp(1 - true_len / said_len)) * math.exp(logs)


def test_bleu_agrees_with_the_formula_written_out():
    pairs = [
        ("the cat sat on the mat today", "the cat sat on the mat"),
        ("a dog barks at the cat", "a dog barks loudly at the cat on the mat"),
    ]
    found = estimate("bleu", [bleu_statistics(said, [true], "13a") for said, true in pairs])
    assert found.value == pytest.approx(plain_bleu(pairs))
    assert found.method == "no interval: 2 samples, 20 needed"


@given(PAIRS, st.integers(0, 8), st.randoms())
@settings(max_examples=25, deadline=None)
def test_neither_the_order_of_samples_nor_a_shard_moves_a_corpus_score(pairs, cut, random):
    for name, make in (
        ("bleu", lambda said, true: bleu_statistics(said, [true], "char")),
        ("chrf", lambda said, true: chrf_statistics(said, [true])),
        ("ter", lambda said, true: ter_statistics(said, [true])),
    ):
        rows = [make(*pair) for pair in pairs]
        mixed = rows[cut:] + rows[:cut]
        random.shuffle(mixed)
        one, other = estimate(name, rows), estimate(name, mixed)
        assert other.value == pytest.approx(one.value, rel=1e-12, nan_ok=True)
        if one.lower is not None:
            assert (other.lower, other.upper) == pytest.approx((one.lower, one.upper), rel=1e-9)


@given(st.lists(TEXTS.filter(lambda text: len(text.split()) > 3), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_an_answer_that_is_its_reference_scores_best(texts):
    assert estimate("bleu", [bleu_statistics(text, [text], "13a") for text in texts]).value == pytest.approx(100.0)
    assert estimate("chrf", [chrf_statistics(text, [text]) for text in texts]).value == pytest.approx(100.0)
    assert estimate("ter", [ter_statistics(text, [text]) for text in texts]).value == 0.0


@pytest.mark.parametrize("tokenizer", HERE)
@given(said=st.text(max_size=30), true=st.text(max_size=30))
@settings(max_examples=25, deadline=None)
def test_any_text_is_scored_within_bounds(tokenizer, said, true):
    assert 0.0 <= estimate("bleu", [bleu_statistics(said, [true], tokenizer)]).value <= 100.0 + 1e-9
    assert 0.0 <= estimate("chrfpp", [chrf_statistics(said, [true])]).value <= 100.0 + 1e-9
    assert ter_statistics(said, [true])["edits"] >= 0


@pytest.mark.parametrize("tokenizer", HERE)
@pytest.mark.parametrize("text", ["\ud800", "a\0b", "\0", "\udfff猫", "\u2028", "👨‍👩‍👧", "e\u0301"])
def test_lone_surrogates_and_nul_crash_no_tokenizer(tokenizer, text):
    found = bleu_statistics(f"{text} one two", ["one two"], tokenizer)
    assert found["sys_len"] >= 2


def test_empty_answers_and_references_are_defined():
    empty = bleu_statistics("", ["one two three four"], "13a")
    assert (empty["sys_len"], empty["ref_len"]) == (0, 4)
    assert estimate("bleu", [empty]).value == 0.0
    assert estimate("bleu", [bleu_statistics("", [""], "13a")]).value == 0.0
    assert estimate("chrf", [chrf_statistics("", [""])]).value == 0.0
    assert ter_statistics("", ["one two"]) == {"edits": 2, "ref_words": 2}
    assert math.isnan(estimate("ter", [ter_statistics("one", [""])]).value)
    # An empty answer costs a good corpus its brevity, nothing else.
    good = bleu_statistics("one two three four", ["one two three four"], "13a")
    assert estimate("bleu", [good, empty]).value == pytest.approx(100 * math.exp(-1))


def test_a_short_perfect_answer_needs_effective_order():
    short = bleu_statistics("Good morning.", ["Good morning."], "13a")
    assert sentence_bleu(short, effective_order=False) == 0.0
    assert sentence_bleu(short, effective_order=True) == pytest.approx(100.0)


@pytest.mark.parametrize("tokenizer", HERE)
def test_our_signature_is_sacrebleus_own(tokenizer):
    scorer = BLEU(tokenize=tokenizer)
    scorer.corpus_score(["a"], [["a"]])
    assert bleu_signature(tokenizer, references="1") == str(scorer.get_signature())


def test_an_interval_of_clustered_samples_counts_clusters():
    said = ("one two three four", "one two three four five", "one two three four five six")
    rows = [bleu_statistics(said[n // 2], ["one two three four"], "13a") for n in range(6)]
    found = metric_kind("bleu").estimate(rows, ["a", "a", "b", "b", "c", "c"])
    assert "3 clusters" in found.method
