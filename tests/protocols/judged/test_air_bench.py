"""AIR-Bench's judgings: their prompts byte for byte, and what of a reply is a rating or a letter."""

import hashlib

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.judging import with_judges
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.judged import air_bench
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from tests.evaluation.tiny import Speaker, handle

TALK = Sample(
    "s", (), "What does the speaker mean?", (), "That it is late.", {"meta_info": "A man says: {it} is late."}
)
ANIMALS = ("dog", "cat", "hen", "frog")
CHAT, CHAT_SWAPPED = air_bench.chat_judgings()
PUBLISHED_ALIGN, ALIGN = air_bench.align_judgings()
SCORERS = {scorer.name: scorer for judging in (CHAT, CHAT_SWAPPED) for scorer in judging.scorers}


def digest(judging, sample, answer):
    (message,) = judging.prompt(sample, answer)
    return hashlib.sha256(message.parts[0].encode()).hexdigest()


def test_the_chat_s_prompts_are_those_that_the_published_code_makes():
    # build_test_file of score_chat.py at 983247666e2a; the second with answer_gt and response exchanged.
    answer = 'It is "late" {0}.'
    assert digest(CHAT, TALK, answer) == "d7cbf268b0b9e8ca981b8e5ebc41706e346e40b9d6f819a19590376da56afc20"
    assert digest(CHAT_SWAPPED, TALK, answer) == "d773e8f2220484e452ffb3302ff5ecebfd777043a4cf23ed6c94992b40ba5e0b"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (4, "09003c2b6eb7e72fb6611d6fdd0030a88cc7073947ab41fb07e85888baf92d8b"),
        (3, "c40f7b9d076fbaf739bd89e35ff26c00bc158971be60ca3cca42ae4493a7d9dd"),
        (2, "c40f7b9d076fbaf739bd89e35ff26c00bc158971be60ca3cca42ae4493a7d9dd"),
    ],
)
def test_the_alignment_s_prompt_is_the_published_one_which_lists_two_of_three_options(options, expected):
    # build_test_file of align_in_foundation.py at 983247666e2a.
    sample = Sample("s", (), "Which animal is heard?", ANIMALS[:options], "cat")
    assert digest(PUBLISHED_ALIGN, sample, 'I hear "mew" {0}.') == expected
    assert [f"({letter})" in ALIGN.prompt(sample, "mew")[0].parts[0] for letter in "ABCD"] == [
        number < options for number in range(4)
    ]


@pytest.mark.parametrize(
    ("reply", "ours", "published"),
    [
        ("8 6", (8, 6), (8, 6)),
        (" 10 1\n", (10, 1), (10, 1)),
        ("8, 6.5", (8, 6.5), None),
        ("9\n9", (9, 9), None),
        ("8  6", (8, 6), None),
        ("<think>4 4</think>8 6", (8, 6), None),
        ("Assistant 1: 8 Assistant 2: 6", None, None),
        ("8/10 6/10", None, None),
        ("8 6 7", None, None),
        ("8", None, None),
        ("", None, None),
        ("eight six", None, None),
        ("1_0 6", None, (10, 6)),
    ],
)
def test_two_ratings_are_read_where_a_reply_is_nothing_else(reply, ours, published):
    assert air_bench.read_ratings(reply) == ours
    assert air_bench.read_ratings_as_published(reply) == published


@pytest.mark.parametrize(("reply", "ours", "published"), [("0 5", None, 0.5), ("0 0", None, 0.0), ("11 5", None, None)])
def test_ratings_out_of_range_are_left_out_but_that_the_published_rule_takes_0(reply, ours, published):
    verdicts = {judging: Response.of(reply) for judging in (CHAT_SWAPPED.name, CHAT.name)}
    for name, points in (("air-bench-chat", ours), ("air-bench-chat-second", published)):
        answer = SCORERS[name].parse(TALK, verdicts)
        scores = SCORERS[name].score(TALK, answer)
        assert (scores or {"points": None})["points"] == points
        assert answer.status == ("parsed" if points is not None else "out_of_range")


def test_of_two_verdicts_of_which_one_cannot_be_read_ours_takes_neither_and_the_published_rule_the_other():
    verdicts = {CHAT.name: Response.of("8 6"), CHAT_SWAPPED.name: Response.of("I cannot say.")}
    points = {name: scorer.score(TALK, scorer.parse(TALK, verdicts)) for name, scorer in SCORERS.items()}
    assert points == {
        "air-bench-chat": None,
        "air-bench-chat-kept": {"points": 0.0},
        "air-bench-chat-published": {"points": 0.6},
        "air-bench-chat-second": {"points": 0.6},
        "air-bench-chat-first": None,
    }


def test_each_of_several_judges_is_asked_in_both_places():
    protocol = judged(None, "air-bench-chat")
    judges = {alias: handle(Speaker("8 6", name=alias), alias) for alias in ("a", "b")}
    bound = with_judges(protocol, judges).protocol
    assert [stage.name for stage in bound.stages if stage.role == "judge"] == [
        *("air-bench-chat@a", "air-bench-chat-swapped@a", "air-bench-chat@b", "air-bench-chat-swapped@b"),
    ]
    replies = {"air-bench-chat@a": "8 6", "air-bench-chat-swapped@a": "4 8", "air-bench-chat@b": "1 9"}
    earlier = {stage: Response.of(reply) for stage, reply in replies.items()}
    scorers = {scorer.name: scorer for scorer in bound.scorers}
    assert scorers["air-bench-chat@a"].parse(TALK, earlier).value == "5.0"
    assert scorers["air-bench-chat@b"].parse(TALK, earlier).status == "empty"


def test_a_sample_without_a_description_or_without_options_is_refused_before_anybody_is_asked():
    assert "has no meta_info" in SCORERS["air-bench-chat"].sample_problem(Sample("s", (), "What?", (), "this"))
    assert "offers no options" in ALIGN.scorers[0].sample_problem(TALK)


@pytest.mark.parametrize(
    ("reply", "status", "value"),
    [
        ("B", "parsed", "B"),
        ("(B).", "parsed", "B"),
        ("**A**", "parsed", "A"),
        ("<think>A or B?</think>\nB", "parsed", "B"),
        ("NO-MATCH", "parsed", "NO-MATCH"),
        ("NO-MATCH.", "parsed", "NO-MATCH"),
        ("E", "out_of_range", None),
        ("b", "unparsed", None),
        ("A or B", "unparsed", None),
        ("cat", "unparsed", None),
        ("", "empty", None),
    ],
)
def test_an_aligner_says_one_letter_or_that_nothing_matches(reply, status, value):
    sample = Sample("s", (), "Which animal is heard?", ANIMALS, "cat")
    answer = ALIGN.scorers[0].parse(sample, {"align": Response.of(reply)})
    assert answer == (status, value)
    scores = {"B": {"correct": 1.0, "no_match": 0.0}, "NO-MATCH": {"correct": 0.0, "no_match": 1.0}, None: None}
    assert ALIGN.scorers[0].score(sample, answer) == scores.get(value, {"correct": 0.0, "no_match": 0.0})


def test_four_options_are_listed_whatever_there_are():
    stage = multiple_choice(prompt="{question}\n{options_dotted_four}").answering
    for options, expected in ((2, "C. None\nD. None"), (3, "C. hen\nD. None"), (4, "C. hen\nD. frog")):
        (message,) = stage.messages(Sample("s", (), "Which?", ANIMALS[:options], "cat"), {})
        assert message.parts[-1] == f"Which?\nA. dog\nB. cat\n{expected}"
