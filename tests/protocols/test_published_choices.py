"""The published rules for choices: what each sees, and what none may do."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice import published_scorers
from pytest_audiobench.protocols.multiple_choice.task import RULES, multiple_choice
from pytest_audiobench.protocols.protocol import Answer

GOLDEN = Path(__file__).parents[2].parent / "shared" / "conformance" / "golden_audiobench.json"
ANIMALS = ("dog", "cat", "hen", "frog")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", Answer("parsed", "B")),
        ("  B. cat\n", Answer("parsed", "B")),
        ("The answer is B.", Answer("parsed", "B")),
        ("The answer is (B)", Answer("parsed", "B")),
        ("The answer\nis B\n.", Answer("parsed", "B")),
        ("A man is speaking", Answer("parsed", "A")),
        ("Dogs bark.", Answer("parsed", "D")),
        ("b", Answer("unparsed")),
        ("(B) cat", Answer("unparsed")),
        ("E", Answer("unparsed")),
        ("I'm sorry, I can't", Answer("unparsed")),
        ("None", Answer("unparsed")),
        ("", Answer("empty")),
        ("\n", Answer("empty")),
    ],
)
def test_air_bench_looks_at_the_first_character_and_the_last_but_one(text, expected) -> None:
    assert published_scorers.read_air_bench(text, ANIMALS) == expected


def test_a_letter_that_is_not_offered_is_wrong_and_stays_in_the_score() -> None:
    sample = Sample("two", (), "Which?", ("dog", "cat"), "cat")
    for name in ("air-bench", "air-bench-keep", "ultraeval", "voicebench-like", "kimi-vb"):
        scorer = multiple_choice().available[name]
        answer = scorer.parse(sample, {"answer": Response.of("D.")})
        assert answer == Answer("out_of_range")
        assert scorer.score(sample, answer) == {"correct": 0.0}


@pytest.mark.parametrize(
    ("text", "voicebench", "kimi", "ultraeval"),
    [
        ("The answer is (B) cat.", "B", "B", "B"),
        ("b", "B", "B", "B"),
        ("B) cat", "B", "B", "B"),
        ("<1> B. cat", "B", "B", "B"),
        ("答案是b", "B", "B", "B"),
        ("答案是‘b’", "B", "B", None),
        ("答案是'b'", None, None, "B"),
        # The next word's first letter is taken for an option.
        ("The answer is a cat", "A", "A", "A"),
        ("The correct answer is dog", "D", "D", "D"),
        # The first phrase of the list counts, not the last of the text; of two letters the earlier in the alphabet.
        ("I would choose c. No, the answer is b", "B", "B", "B"),
        ("(d) or (c)", "C", "C", "C"),
        ("is \\( \\boxed{b}", "B", "B", "B"),
        # What only VoiceBench has.
        ("Final answer: B", "B", None, None),
        ("{b}", "B", None, None),
        ("**B: cat**", "B", None, None),
        ("My pick:\n\n**B", "B", None, None),
        ("cat", None, None, None),
        ("B\ncat", None, None, None),
        ("A man is speaking", None, None, None),
        ("I'm sorry, I can't", None, None, None),
        ("E", None, None, None),
    ],
)
def test_the_first_phrase_of_the_list_gives_the_letter(text, voicebench, kimi, ultraeval) -> None:
    found = [
        read(text, ANIMALS).value
        for read in (published_scorers.read_voicebench, published_scorers.read_kimi, published_scorers.read_ultraeval)
    ]
    assert found == [voicebench, kimi, ultraeval]


def test_there_are_as_many_phrases_as_can_ever_be_the_first() -> None:
    reads = (published_scorers.read_voicebench, published_scorers.read_kimi, published_scorers.read_ultraeval)
    voicebench, kimi, ultraeval = (read.args[0] for read in reads)
    assert (len(voicebench), len(kimi), len(ultraeval)) == (168, 158, 158)
    for pairs in (voicebench, kimi, ultraeval):
        whole = [f"{before}@{behind}" for before, behind in pairs]
        assert all(text.count("@") == 1 for text in whole)
        assert [text for number, text in enumerate(whole) if any(one in text for one in whole[:number])] == []


@pytest.mark.skipif(not GOLDEN.exists(), reason="the recorded scores are not on this machine (../shared/conformance)")
def test_audiobenchs_recorded_scores_are_repeated() -> None:
    cases = [case for case in json.loads(GOLDEN.read_bytes()) if case["metric"] == "mmau_string_match_golden"]
    pairs = [pair for case in cases for pair in case["inputs"]["pairs"]]
    assert len(pairs) >= 60
    scorer = multiple_choice().available["audiobench-mmau"]
    for pair in pairs:
        sample = Sample("one", (), "?", tuple(pair["choices"]), pair["reference"])
        answer = scorer.parse(sample, {"answer": Response.of(pair["prediction"])})
        assert scorer.score(sample, answer) == {"correct": pair["recorded_score"]}


def test_audiobench_cuts_the_letters_of_the_choices_and_keeps_the_answers() -> None:
    choices = ("(A) Man", "(B) A woman")
    assert published_scorers.read_audiobench_mmau("Man", choices).value == "A"
    assert published_scorers.read_audiobench_mmau("(A) Man", choices).value is None
    assert published_scorers.has_same_tokens_lettered("A", "(A) Man", choices)
    assert published_scorers.read_audiobench_mmau("A man", ("A man", "A woman")).value == "A"


TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(["a", "B", "(C)", "is ", "answer: ", "**", "d.", "dog", "\n", "\ud800", "\0", "I'm sorry", "‘"]),
    max_size=10,
).map("".join)


@pytest.mark.parametrize("name", sorted(RULES))
@settings(max_examples=60)
@given(text=TEXTS, count=st.integers(2, 5), finish=st.sampled_from(["stop", "length", "refusal", "unknown"]))
def test_no_rule_reads_an_option_that_was_not_offered(name, text, count, finish) -> None:
    choices = (*ANIMALS, "cow")[:count]
    answer = RULES[name].read(text, choices, finish)
    assert (answer.status == "parsed") == (answer.value is not None)
    assert answer.value is None or answer.value in "ABCDE"[:count]
    for truth in choices:
        points = RULES[name].points(Sample("one", (), "?", choices, truth), answer)
        assert points is None or 0.0 <= points <= 1.0
        assert points is not None or RULES[name].companions


@given(TEXTS)
def test_scorer_a_read_letter_again_gives_the_same_letter(text) -> None:
    for name in ("letters", "air-bench", "voicebench-like", "kimi-vb", "ultraeval"):
        answer = RULES[name].read(text, ANIMALS, "stop")
        if answer.value is not None:
            assert RULES[name].read(answer.value, ANIMALS, "stop") == answer


@given(st.lists(st.sampled_from(["B. cat", "cat", "A", ""]), max_size=12))
def test_a_drawn_letter_is_worth_a_quarter_and_a_skipped_one_nothing(texts) -> None:
    sample = Sample("one", (), "?", ANIMALS, "cat")
    scores = {
        name: [RULES[name].points(sample, RULES[name].read(text, ANIMALS, "stop")) for text in texts]
        for name in ("air-bench", "air-bench-keep", "voicebench-like", "ultraeval")
    }
    right, unread = texts.count("B. cat"), texts.count("cat") + texts.count("")
    assert sum(scores["voicebench-like"]) == right + unread / 4
    assert sum(scores["ultraeval"]) == sum(scores["air-bench-keep"]) == right
    assert len([score for score in scores["air-bench"] if score is not None]) == len(texts) - unread
