"""Reasoning changed by rule: which sentences it has, and what each change leaves of it."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.reasoned_choice.reasoning_changes import BY_RULE, changed, sentences
from pytest_audiobench.stats.weighted_sums import area_weights

REASONING = "A dog barks twice. Then a door shuts! Is it a cat? No, so it is a dog."
TEXTS = st.text(st.sampled_from("ab1 .!?\n。…\"')BI,"), max_size=60) | st.text(max_size=60)
SHARES = st.integers(0, 100).map(lambda percent: percent / 100)


def early(text: str, kept: float) -> str:
    return changed(text, "early", seed="s", kept=kept)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("A dog barks. It is (B).", ["A dog barks.", "It is (B)."]),
        ("It lasts 3.5 s. Then e.g. a cat, i.e. none.", ["It lasts 3.5 s.", "Then e.g. a cat, i.e. none."]),
        ("1. A dog barks.\n2. So it is B.", ["1. A dog barks.", "2. So it is B."]),
        ("Step 1. I listen. Step 2. I choose.", ["Step 1. I listen.", "Step 2. I choose."]),
        ("Is it B. The dog? It is B. The cat is C.", ["Is it B.", "The dog?", "It is B.", "The cat is C."]),
        ('He says "stop." She goes.', ['He says "stop."', "She goes."]),
        ("Hmm... a dog... Or a cat.", ["Hmm... a dog...", "Or a cat."]),
        (
            "Dogs, cats, etc. are heard at 5 a.m. in No. 4. No. It is",
            ["Dogs, cats, etc. are heard at 5 a.m. in No. 4.", "No.", "It is"],
        ),
        ("狗在叫。所以答案是B！对吗？", ["狗在叫。", "所以答案是B！", "对吗？"]),
        ("First line\n\n  second line \r\nthird", ["First line", "second line", "third"]),
        ("A dog.\n---\n- It barks.", ["A dog.", "---\n- It barks."]),
        ("no punctuation at all", ["no punctuation at all"]),
        ("Really?! Yes.**", ["Really?!", "Yes.**"]),
        ("What ! ! !", ["What ! ! !"]),
        (" ... ", ["..."]),
        (" ", []),
    ],
)
def test_a_text_is_cut_into_its_sentences(text: str, cut: list[str]) -> None:
    assert sentences(text) == cut


@given(TEXTS)
def test_sentences_lose_nothing_but_the_space_between_them(text: str) -> None:
    cut = sentences(text)
    assert "".join("".join(cut).split()) == "".join(text.split())
    assert all(one and one == one.strip() for one in cut)
    assert len(cut) < 2 or all(any(c.isalnum() for c in one) for one in cut)


@pytest.mark.parametrize(
    ("kept", "left"),
    [(0, ""), (0.1, ""), (0.125, "A dog barks twice."), (0.5, "A dog barks twice. Then a door shuts!"), (1, REASONING)],
)
def test_early_keeps_the_first_sentences_halves_rounded_up(kept: float, left: str) -> None:
    assert early(REASONING, kept) == left


def test_early_counts_in_decimals() -> None:
    text = " ".join(f"Sentence {i} of a hundred." for i in range(100))
    assert [len(sentences(early(text, percent / 100))) for percent in range(101)] == list(range(101))
    assert len(sentences(early(text, 0.285))) == 29  # 28.499999999999996 as floats


@given(TEXTS, SHARES, SHARES)
def test_more_kept_holds_what_less_kept_held(text: str, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert early(text, more).startswith(early(text, less))


@given(TEXTS)
def test_all_sentences_are_the_reasoning_itself(text: str) -> None:
    assert early(text, 1.0) == (text if text.strip() else "")


def test_filler_has_as_many_words() -> None:
    assert changed("A dog\nbarks.", "filler", seed="s") == "... ... ..."
    assert changed("狗叫 B", "filler", seed="s") == "... ... ..."


def test_truncated_is_the_first_half_of_the_words_as_they_stood() -> None:
    assert changed("A dog\n barks twice.  Yes.", "truncated", seed="s") == "A dog\n barks"
    assert changed("狗在叫。", "truncated", seed="s") == "狗在"


@given(
    st.lists(st.sampled_from(["A dog.", "It barks!", "So?", "Yes."]), min_size=2, max_size=6), st.text("ab", max_size=3)
)
def test_shuffled_sentences_are_the_same_in_another_order(cut: list[str], seed: str) -> None:
    text = "\n".join(cut)
    other = changed(text, "shuffled", seed=seed)
    assert Counter(sentences(other)) == Counter(cut)
    assert other.count("\n") == len(cut) - 1
    assert (other != text) == (len(set(cut)) > 1)


def test_the_order_is_drawn_from_the_seed() -> None:
    text = " ".join(f"Sentence {i} is here." for i in range(6))
    orders = {changed(text, "shuffled", seed=str(i)) for i in range(20)}
    assert len(orders) > 15
    assert changed(REASONING, "shuffled", seed="sakura_animal_0_single") == (
        "Then a door shuts! Is it a cat? A dog barks twice. No, so it is a dog."
    )


def test_one_sentence_cannot_be_shuffled() -> None:
    assert changed("So it is a dog.\n", "shuffled", seed="s") == "So it is a dog.\n"


def test_the_injected_option_closes_whatever_was_reasoned() -> None:
    assert changed("It is (A).", "inject", seed="s", injected="(B) dog") == (
        "It is (A). So the answer must be (B) dog."
    )
    assert changed(" \n", "inject", seed="s", injected="(B) dog") == "So the answer must be (B) dog."


@pytest.mark.parametrize("how", [how for how in BY_RULE if how != "inject"])
@pytest.mark.parametrize("nothing", ["", " \n\t"])
def test_no_reasoning_stays_none(how: str, nothing: str) -> None:
    assert changed(nothing, how, seed="s", kept=0.5) == ""


@given(TEXTS, st.sampled_from(BY_RULE), SHARES)
def test_a_change_is_the_same_each_time(text: str, how: str, kept: float) -> None:
    once, again = (changed(text, how, seed="s", kept=kept, injected="(A) cat") for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    "hostile",
    [
        "!" * 100_000,
        "! " * 50_000,
        ")" * 100_000,
        "a." * 50_000,
        "a. " * 33_000,
        " " * 100_000,
        "e.g. " * 20_000,
        "a\n" * 50_000,
        "." * 50_000 + ")" * 50_000,
        "x" * 100_000,
    ],
)
@pytest.mark.parametrize("how", BY_RULE)
def test_hostile_text_of_any_kind_is_changed(how: str, hostile: str) -> None:
    assert len(changed(hostile, how, seed="s", kept=0.5, injected="(A) cat")) <= 4 * len(hostile)


@pytest.mark.parametrize(
    ("how", "kept", "injected", "told"),
    [
        ("reversed", 1.0, "", "the changes by rule are early, filler, truncated, shuffled, inject"),
        ("early", 1.1, "", "kept=1.1 is not a share"),
        ("early", float("nan"), "", "kept=nan is not a share"),
        ("inject", 1.0, " ", "inject needs the option"),
    ],
)
def test_what_cannot_be_changed_says_so(how: str, kept: float, injected: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        changed(REASONING, how, seed="s", kept=kept, injected=injected)


def worst_area_error(n: int) -> float:
    """How far the area over eleven doses can lie from the one over all of n sentences, for a curve that never falls.

    Both are weighted means of the values after 0 to n sentences, and such a curve is a mixture of single steps: the
    worst is a step where the sums of the weights differ most.
    """
    text = " ".join(f"Sentence {i} is here." for i in range(n))
    doses = [float(dose) for dose in range(0, 101, 10)]
    by_sentence, by_dose = [0.0] * (n + 1), [0.0] * (n + 1)
    for count, weight in enumerate(area_weights([count / n for count in range(n + 1)])):
        by_sentence[count] += weight
    for dose, weight in zip(doses, area_weights(doses), strict=True):
        by_dose[len(sentences(early(text, dose / 100)))] += weight
    gaps = [one - other for one, other in zip(accumulate(by_sentence), accumulate(by_dose), strict=True)]
    return max(map(abs, gaps))


def test_eleven_doses_come_within_five_points_of_the_area_over_all_sentences() -> None:
    errors = {n: worst_area_error(n) for n in range(1, 31)}
    assert max(errors.values()) == pytest.approx(0.05)
    # The table of docs/suites/faithfulness-reasoning.md.
    assert {n: round(100 * errors[n], 1) for n in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30)} == {
        **{1: 5.0, 2: 0.0, 3: 5.0, 4: 2.5, 5: 5.0, 6: 3.3, 8: 3.8, 10: 0.0, 15: 5.0, 20: 2.5, 30: 3.3},
    }
