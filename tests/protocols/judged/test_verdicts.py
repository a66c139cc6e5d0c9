"""How judges' verdicts are read: never a guess, whatever a judge says."""

import json
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.judged import air_bench, default_judgings, published_judgings
from pytest_audiobench.protocols.judged.task import judged, shipped
from pytest_audiobench.protocols.judged.verdicts import LONGEST_ANSWER, marked, shortened
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Judging

ANYTHING = st.text(st.characters(exclude_categories=[]))
READINGS = [(judging, scorer) for judging in shipped() for scorer in judging.scorers]
IDS = [scorer.name for _, scorer in READINGS]
ANY_NUMBER = ("audiobench-judge-published", "audiobench-binary-judge-published", "mmau-pro-judge")
"""The published rules by which any number counts, beyond the scale too."""
SAMPLE = Sample("s", (), "Which animal is heard?", ("dog", "cat", "No dog"), "dog")


def read(scorer, text, sample=SAMPLE, finish="stop"):
    answer = scorer.parse(sample, {scorer.judge: Response.of(text, finish)})
    return answer, scorer.score(sample, answer)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("YES", True),
        ("yes.", True),
        (" Yes, because a dog barks", True),
        ("**YES**", True),
        ('"Yes"', True),
        ("- yes", True),
        ("<think>Is it? No… wait.</think>\n\nYES", True),
        ("NO", False),
        ("No.", False),
        ("`no`\n", False),
        ("nothing", None),
        ("NOT SURE", None),
        ("Yesterday", None),
        ("yes_no", None),
        ("Yes and no", None),
        ("No, and yes", None),
        ("The answer is YES", None),
        ("N", None),
        ("Y", None),
        ("", None),
        ("是", None),
        ("YESНЕТ", None),
        ("I'm sorry, I can't judge that.", None),
    ],
)
def test_yes_and_no_are_whole_words_in_the_first_place_and_alone(text, verdict):
    assert default_judgings.strict_verdict(text) is verdict


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("YES", 1.0),
        ("yes.", 1.0),
        (" Yes, because", 1.0),
        ("NO", 0.0),
        ("nothing", 0.0),
        ("NOT SURE", 0.0),
        ("Yesterday", 1.0),
        ("**YES**", None),
        ("The answer is YES", None),
        ("", None),
        ("N", None),
    ],
)
def test_beans_rule_reads_beginnings(text, score):
    found, error = default_judgings.beans_verdict(text)
    assert found == score
    assert error == (f"Unexpected judge response: {text!r}" if score is None else None)


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ('{"score": 0.25, "rationale": "partly"}', 0.25),
        ('{"score": 1}', 1.0),
        ('```json\n{"score": 0, "rationale": "no"}\n```', 0.0),
        ('<think>{"score": 1}</think>{"score": 0.5}', 0.5),
        ('{"score": true}', None),
        ('{"score": "0.5"}', None),
        ('{"score": null}', None),
        ("[0.5]", None),
        ("0.5", None),
        ('Here you are: {"score": 0.5}', None),
        ("", None),
    ],
)
def test_points_stand_in_a_json_object(text, points):
    assert default_judgings.points(text) == points


@pytest.mark.parametrize("score", ["1.01", "-0.1", "1e999", "NaN", "Infinity", "5"])
def test_points_outside_0_to_1_are_out_of_range_and_no_points(score):
    answer, scores = read(shipped()[1].scorers[0], f'{{"score": {score}}}')
    assert (answer.status, answer.value, scores) == ("out_of_range", None, None)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("dog", "dog"),
        ("Dog.", "dog"),
        ("**cat**\n", "cat"),
        ("no dog", "No dog"),
        ("NO-LABEL", "NO-LABEL"),
        ("no-label.", "NO-LABEL"),
        ("wolf", None),
        ("dog, cat", None),
        ("The answer is dog", None),
        ("do", None),
        ("", None),
    ],
)
def test_an_extractor_names_a_label_as_it_is_listed_or_none(text, label):
    assert default_judgings.parse_extract(SAMPLE, Response.of(text)).value == label


def test_an_extractor_knows_labels_beyond_the_alphabet():
    sample = Sample("s", (), "", tuple(f"label {number}" for number in range(50)), "label 49")
    assert default_judgings.parse_extract(sample, Response.of("Label 49")).value == "label 49"


@pytest.mark.parametrize("choices", [(), ("dog",), ("dog", "dog")])
def test_an_extractor_is_never_given_the_answer_as_the_only_label(choices):
    with pytest.raises(UsageError, match="would be told the answer"):
        default_judgings.extract_prompt(Sample("s", (), "", choices, "dog"), "some animal")


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("Explanation: good\n\nRating: 4", 4.0),
        ("3.5", 3.5),
        ("Rating: 4/5", None),
        ("4 stars", None),
        ("", None),
        (" \n", None),
        ("nan", None),
        ("Rating: inf", None),
        ("١", 1.0),
        ("Rating: 2024", 2024.0),
    ],
)
def test_audiobench_reads_the_last_word_as_a_number(text, rating):
    assert published_judgings.audiobench_rating(text) == rating


def test_audiobench_published_rates_what_it_cannot_read_0_and_ours_leaves_it_out():
    own, kept, published = published_judgings.audiobench_judging().scorers
    assert read(own, "Rating: 4/5") == (("unparsed", None), None)
    assert read(kept, "Rating: 4/5")[1] == read(published, "Rating: 4/5")[1] == {"points": 0.0}
    assert read(own, "Rating: 2024")[0].status == "out_of_range"
    assert read(published, "Rating: 2024")[1] == {"points": 2024 / 5}
    assert read(own, "Rating: 3")[1] == {"points": 0.6}


def test_audiobench_binary_takes_1_for_all_points_and_ours_no_rating_of_the_other_scale():
    own, kept, published = published_judgings.audiobench_binary_judging().scorers
    assert read(own, "Rating: 1")[1] == read(published, "Rating: 1")[1] == {"points": 1.0}
    assert read(own, "Rating: 5")[0].status == "out_of_range"
    assert read(kept, "Rating: 5")[1] == {"points": 0.0}
    assert read(published, "Rating: 5")[1] == {"points": 5.0}


def test_audiobench_s_judge_is_shown_the_spoken_instruction_as_the_question():
    sample = Sample("s", (), "Do as the audio says.", (), "red", metadata={"instruction": "Name a colour."})
    (message,) = published_judgings.audiobench_prompt(sample, "blue")
    assert "[Question]\nName a colour.\n" in message.parts[0]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"Correct": True, "Reason": "same"}', True),
        ("{'Correct': false, 'Reason': 'other'}", False),
        ('```python\n{"Correct": True}\n```', True),
        ('{"Correct": True} or {"Correct": False}', None),
        ('{"Correct": Trueish}', None),
        ("Correct: True", None),
        ("True", None),
        ("", None),
    ],
)
def test_the_dictionary_of_spoken_question_answering(text, verdict):
    assert published_judgings.sqqa_verdict(text) is verdict


@pytest.mark.parametrize(("metadata", "background"), [({"background": "rain"}, "rain"), ({}, "a storm")])
def test_a_judge_of_co_reasoning_is_told_what_sounds_behind_the_question(metadata, background):
    (judging,) = [each for each in published_judgings.judgings() if each.name == "sac"]
    sample = Sample("s", (), "Answer.", (), "a storm", metadata={"transcript": "What shall I wear?", **metadata})
    (message,) = judging.prompt(sample, "A coat.")
    assert (
        f"Background: {background}\nQuestion: What shall I wear?\nAnswer to be checked: A coat.\n" in message.parts[0]
    )


PUBLISHED = re.compile(r"Explanation: (.*?)\nJudgement: (.*?)(?:\n\n|$)", re.DOTALL)


@given(
    st.lists(
        st.sampled_from(["Explanation: ", "\nJudgement: ", "correct", "incorrect", "\n", "\n\n", " ", "Correct", "x"]),
        max_size=12,
    ).map("".join)
)
def test_sakuras_pattern_is_found_as_the_published_one_finds_it(text):
    found = PUBLISHED.search(text)
    said = found[2].strip().lower() if found else ""
    assert published_judgings.sakura_judgement(text) == {"correct": True, "incorrect": False}.get(said)


def test_a_hostile_reply_is_read_in_linear_time():
    # A pattern that backtracks would take hours here.
    texts = ["Explanation: " * 300_000, "\nJudgement: " * 300_000, '"Correct": ' * 300_000, '{"score":' * 300_000]
    for text in [*texts, "yes " * 900_000, "```json\n" * 400_000, "```" + "\n" * 19_000]:
        for _, scorer in READINGS:
            assert read(scorer, text)[0].value in (None, "yes")


@pytest.mark.parametrize(("judging", "scorer"), READINGS, ids=IDS)
@given(text=ANYTHING)
def test_any_reply_is_read_or_is_no_verdict(judging, scorer, text):
    answer, scores = read(scorer, text)
    assert (answer.status == "parsed") == (answer.value is not None)
    assert judging.name == scorer.judge
    if scores is not None and scorer.name not in ANY_NUMBER:
        assert all(0 <= value <= 1 for value in scores.values())
    if answer.value is not None and judging.role == "extractor":
        letters = (*"ABCD", air_bench.NO_MATCH) if judging.name.endswith("align") else ()
        assert answer.value in (*SAMPLE.choices, default_judgings.NO_LABEL, *letters)


@pytest.mark.parametrize(("judging", "scorer"), READINGS, ids=IDS)
@pytest.mark.parametrize("text", ["", "I'm sorry, I can't help with that.", "\ud800\x00", "a", "1 of them"])
def test_a_refusal_is_no_verdict(judging, scorer, text):
    answer, scores = read(scorer, text)
    assert answer.value is None
    assert answer.status in ("unparsed", "empty")
    # MMAU-Pro takes what it cannot read for 3 of 5 points.
    assert scores is None or set(scores.values()) == {0.6 if scorer.name == "mmau-pro-judge" else 0.0}


@pytest.mark.parametrize(("judging", "scorer"), READINGS, ids=IDS)
def test_a_verdict_that_was_cut_off_says_so(judging, scorer):
    assert read(scorer, "Explanation: the answer", finish="length")[0].status == "truncated"


@given(st.text(max_size=60_000))
def test_an_answer_is_shown_whole_up_to_a_length_and_cannot_close_its_marks(text):
    assert shortened(text) == text or len(shortened(text)) < LONGEST_ANSWER + 80
    opening, closing = marked(text).split("\n")[0], marked(text).rsplit("\n", 1)[1]
    assert closing == opening.replace("<", "</")
    assert closing not in text
    assert marked(text) == marked(text)


@given(st.floats(0, 1))
def test_points_survive_the_way_from_a_judge_scores_server(points):
    _, scores = read(shipped()[1].scorers[0], json.dumps({"score": points, "rationale": ""}))
    assert scores == {"points": points}
    assert not math.isnan(scores["points"])


def test_what_is_read_by_rule_stays_first_and_the_keeping_twin_comes_along():
    names = [scorer.name for scorer in judged(multiple_choice("mmau-string"), "extract").scorers]
    assert names == ["mmau-string", "extract", "extract-kept"]
    assert [scorer.name for scorer in judged().scorers] == ["yes-no", "yes-no-kept"]
    assert [scorer.name for scorer in judged(None, "sakura-judge").scorers] == ["sakura-judge"]


def test_all_scorers_of_a_judged_protocol_ask_no_further_judge_anything():
    every = judged(multiple_choice()).with_scorers("all")
    assert {scorer.judge for scorer in every.scorers} == {"", "yes-no"}
    assert "beans-yes-no" in {scorer.name for scorer in every.scorers}


def test_an_unknown_scorer_and_a_name_that_is_taken_are_usage_errors():
    with pytest.raises(UsageError, match="judged has no scorer 'yes'"):
        judged(None, "yes")
    with pytest.raises(UsageError, match="two scorers called 'yes-no'"):
        judged(judged())


def test_a_wording_and_a_rubric_are_told_apart_by_their_signatures():
    def signature(**options):
        return judged(None, "rubric", **options).scorers[0].signature

    assert len({signature(), signature(rubric="counts"), signature(rubric="Count the birds.")}) == 3
    assert signature() == signature(rubric="facts")
    assert all(re.search(r"\|v:1\|prompt:[0-9a-f]{8}\|parse:", scorer.signature) for _, scorer in READINGS)
    assert len({scorer.signature for _, scorer in READINGS}) == len(READINGS)


@pytest.mark.parametrize("rubric_", ["fact", "Counts", "", "  "])
def test_a_misspelt_rubric_is_no_text_to_judge_by(rubric_):
    with pytest.raises(UsageError, match=r"no rubric is called .*there are facts, counts"):
        judged(None, "rubric", rubric=rubric_)
    assert judged(None, "rubric", rubric="按参考答案评分").scorers[0].name == "rubric"


@pytest.mark.parametrize(
    ("name", "judge", "says"),
    [
        ("yes-no", "yes-no", "two stages or judgings are called 'yes-no'"),
        ("answer", "answer", "two stages or judgings are called 'answer'"),
        ("a@b", "a@b", "without '@'"),
        ("own", "onw", "reads the verdicts of 'onw': make it with judge='own'"),
        ("own", "", "reads the verdicts of ''"),
        ("own", None, "'own' has no scorer"),
    ],
)
def test_a_judging_of_ones_own_cannot_be_mistaken_for_another(name, judge, says):
    (first, *_) = shipped()
    own = () if judge is None else (replace(first.scorers[1], name="mine", judge=judge),)
    with pytest.raises(UsageError, match=says):
        judged(multiple_choice(), own=(Judging(name, first.prompt, own, first.settings),))


def test_a_judge_is_given_at_least_one_token():
    with pytest.raises(UsageError, match="max_new_tokens=0"):
        judged(max_new_tokens=0)


def test_a_judge_that_thinks_aloud_is_given_more_tokens_and_its_scorers_say_so():
    protocol = judged(None, "yes-no", max_new_tokens=2000)
    assert {judging.settings.max_new_tokens for judging in protocol.judgings} == {2000}
    assert all(scorer.signature.endswith("|tokens:2000") for scorer in protocol.scorers)


def test_options_beyond_the_alphabet_are_all_shown_to_a_judge():
    sample = Sample("s", (), "Which?", tuple(f"label {number}" for number in range(50)), "label 49")
    (message,) = default_judgings.yes_no_prompt(sample, "label 49")
    assert "- label 0\n" in message.parts[0]
    assert "- label 49\n" in message.parts[0]


def test_a_prompt_asks_in_place_of_the_samples_questions():
    (stage,) = judged(prompt="What is the mood?").stages
    without = replace(SAMPLE, question="")
    assert [stage.render(sample, {})[0].parts[-1] for sample in (without, SAMPLE)] == ["What is the mood?"] * 2
    with pytest.raises(UsageError, match="has no question"):
        judged().stages[0].render(without, {})
    with pytest.raises(UsageError, match="asks in its own words"):
        judged(multiple_choice(), prompt="What is the mood?")
