"""cpWER's counts: the best assignment of heard talkers to true ones, whatever their numbers."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.metrics.multi_talker_errors import cp_errors
from pytest_audiobench.metrics.registry import metric_kind

TEXTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=5), max_size=4)


def distance(reference, said):
    """Levenshtein's distance, written out once more."""
    row = list(range(len(said) + 1))
    for i, wanted in enumerate(reference, 1):
        above, row = row, [i]
        for j, word in enumerate(said, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (wanted != word)))
    return row[-1]


def fewest(references, heard):
    """All permutations, the shorter side filled up with talkers who say nothing."""
    size = max(len(references), len(heard))
    references = [*references, *[[]] * (size - len(references))]
    heard = [*heard, *[[]] * (size - len(heard))]
    return min(
        sum(itertools.starmap(distance, zip(references, order, strict=True))) for order in itertools.permutations(heard)
    )


@given(TEXTS, TEXTS)
def test_the_errors_are_the_fewest_over_all_permutations(references, heard) -> None:
    found = cp_errors(references, heard)
    assert found.errors == fewest(references, heard)
    assert found.words == sum(map(len, references))
    assert found.words - found.deletions + found.insertions == sum(map(len, heard))
    assert min(found) >= 0
    assert found.substitutions + found.deletions <= found.words


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_the_counts_are_those_of_meeteval(references, heard) -> None:
    wer = pytest.importorskip("meeteval.wer", reason="the counts of meeteval need the extra meeting")

    texts = [[" ".join(words) for words in side] for side in (references, heard)]
    theirs = wer.cp_word_error_rate(*texts)
    found = cp_errors(references, heard)
    assert (found.errors, found.words) == (theirs.errors, theirs.length)
    assert (found.missed, found.extra) == (theirs.missed_speaker, theirs.falarm_speaker)


@given(TEXTS, TEXTS, st.randoms(use_true_random=False))
def test_the_order_of_talkers_moves_nothing(references, heard, random) -> None:
    found = cp_errors(references, heard)
    random.shuffle(references)
    random.shuffle(heard)
    assert cp_errors(references, heard) == found


@given(TEXTS)
def test_what_is_said_in_any_order_has_no_errors(references) -> None:
    assert cp_errors(references, references[::-1]).errors == 0


def test_talkers_left_over_are_deleted_or_inserted_whole() -> None:
    assert cp_errors([["a", "b"], ["c", "d"]], [["c", "d"]]) == (0, 2, 0, 4, 1, 0)
    assert cp_errors([["a", "b"]], [["c", "d"], ["a", "b"], ["x", "y", "z"]]) == (0, 0, 5, 2, 0, 2)
    assert cp_errors([["a"], ["b"]], []) == (0, 2, 0, 2, 2, 0)
    assert cp_errors([], [["a"]]) == (0, 0, 1, 0, 0, 1)
    assert cp_errors([], []) == (0, 0, 0, 0, 0, 0)


def test_any_words_can_be_compared() -> None:
    assert cp_errors([["\ud800", "\0", "你"]], [["\ud800", "好"]]).errors == 2


def test_a_crowd_of_true_talkers_is_assigned_too() -> None:
    crowd = [[f"w{number}", "and", f"v{number}"] for number in range(60)]
    assert cp_errors(crowd, crowd[::-1]) == (0, 0, 0, 180, 0, 0)
    assert cp_errors(crowd, crowd[:40]) == (0, 60, 0, 180, 20, 0)


def test_of_equally_few_errors_those_with_the_fewest_substitutions_count() -> None:
    # Either heard talker costs the reference three errors in all; the second replaces no word.
    assert cp_errors([["a", "b"]], [["x", "b"], ["a", "b", "c", "d"]])[:3] == (0, 0, 4)
    assert cp_errors([["a"], ["b", "c"]], [["b"], ["a", "d"]])[:3] == (0, 1, 1)


def test_a_thousand_lines_of_answer_are_counted() -> None:
    found = cp_errors([["a", "b"], ["c"]], [["x"]] * 1_000 + [["c"], ["a", "b"]])
    assert (found.errors, found.extra) == (1_000, 1_000)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_the_rate_is_pooled_over_samples_and_does_not_know_their_order(samples) -> None:
    counts = [cp_errors(*sample) for sample in samples]
    kind = metric_kind("cpwer")
    value = kind.estimate([count.statistics for count in counts], None).value
    words = sum(count.words for count in counts)
    if words:
        assert value == sum(count.errors for count in counts) / words
        assert kind.estimate([count.statistics for count in counts[::-1]], None).value == value
    else:
        assert value != value


def test_thousands_of_heard_talkers_are_assigned_as_a_few():
    references = [[f"w{number}", *"abcdefg"[: number % 7]] for number in range(12)]
    heard = [["b", "a"] for _ in range(3_000)]
    found = cp_errors(references, [*heard, *references])
    assert (found.errors, found.insertions) == (6_000, 6_000)


@given(
    st.lists(st.lists(st.sampled_from("ab"), max_size=4), max_size=2),
    st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=7),
)
@settings(deadline=None)
def test_many_heard_talkers_leave_the_errors_the_fewest(references, heard) -> None:
    assert cp_errors(references, heard).errors == fewest(references, heard)
