"""Trials of speakers, by words and by scores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.speaker_verification import INSTRUCTION, verification


def scored(name, text, reference="same", score=None):
    scorer = verification(name).scorers[0]
    asked = Sample("a", (), "", reference=reference)
    response = Response.of(text)
    if score is not None:
        response = replace(response, outputs=(replace(response.outputs[0], score=score),))
    return scorer.score(asked, scorer.parse(asked, {"answer": response}))


def value(metric, statistics):
    return metric_kind(metric).estimate(statistics, None).value


def test_the_question_is_salmonns_unless_the_sample_has_its_own() -> None:
    (stage,) = verification().stages
    assert stage.render(Sample("a", (), "", reference="yes"), {})[0].parts == (INSTRUCTION,)
    assert stage.render(Sample("a", (), "One speaker?", reference="yes"), {})[0].parts == ("One speaker?",)


@pytest.mark.parametrize(
    ("reference", "right"),
    [("yes", 1.0), ("Same", 1.0), ("target", 1.0), ("no", 0.0), ("different", 0.0), ("nontarget", 0.0)],
)
def test_truths_have_several_names(reference, right) -> None:
    assert scored("same-speaker", "Yes.", reference)["correct"] == right


def test_a_truth_that_is_neither_is_a_mistake_in_the_data() -> None:
    with pytest.raises(UsageError, match="the reference of a trial is yes, same or target"):
        scored("same-speaker", "Yes", "maybe")


def test_a_constant_yes_is_chance_by_ours_and_perfect_on_the_published_list() -> None:
    both = [scored("same-speaker", "Yes", truth) for truth in ("same", "same", "same", "different")]
    assert value("balanced_accuracy", both) == 0.5
    alike = [scored("salmonn-sv", "Yes</s>") for _ in range(4)]
    assert value("accuracy", alike) == 1.0


def test_a_listener_without_words_answers_by_letter() -> None:
    scorer = verification().scorers[0]
    asked = Sample("a", (), "", ("yes", "no"), "no")
    read = {text: scorer.parse(asked, {"answer": Response.of(text)}) for text in ("A", "B", "C")}
    assert read == {"A": ("parsed", "yes"), "B": ("parsed", "no"), "C": ("out_of_range", None)}


def test_a_refusal_is_right_by_the_published_rule_and_wrong_by_ours() -> None:
    refusal = "I'm sorry, I cannot tell."
    assert scored("salmonn-sv", refusal, "different")["correct"] == 1.0
    assert scored("same-speaker", refusal, "different")["correct"] == 0.0


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(("Yes", "yes</s>", "Yes.", "No", "no</s>", "", "yes </s>")), st.booleans()),
        min_size=1,
    )
)
def test_the_published_rule_by_another_hand(trials) -> None:
    right = 0
    for text, same in trials:
        heard = text.lower()
        if heard[-4:] == "</s>":
            heard = heard[:-4]
        right += (heard.strip() == "yes") is same
    found = [scored("salmonn-sv", text, "same" if same else "different") for text, same in trials]
    assert value("accuracy", found) == pytest.approx(right / len(trials))


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("0.83", 0.83),
        ("Similarity: .5", 0.5),
        ("I would say 70%.", 0.7),
        ("70 percent", 0.7),
        ("8/10", 0.8),
        ("8 out of 10, I think", 0.8),
        ("1", 1.0),
        ("0,7", 0.7),
        ("Speaker 1 and speaker 2: 0.3", 0.3),
        ("2 speakers, 0.9", 0.9),
        ("There are 2 different voices: 10%", 0.1),
    ],
)
def test_a_similarity_is_the_first_number(text, score) -> None:
    assert scored("similarity", text)["trial_score"] == pytest.approx(score)


@pytest.mark.parametrize(
    "text", ["42", "", "two", "I cannot tell.", "12/10", "3/0", "1.2.3", "2024-01-01", "1 person", "1,5"]
)
def test_an_answer_without_a_similarity_has_no_score(text) -> None:
    assert scored("similarity", text)["has_score"] == 0.0


def test_the_models_own_score_goes_before_the_text_and_a_no_turns_it_round() -> None:
    assert scored("similarity", "Yes, 0.2", score=0.9)["trial_score"] == 0.9
    assert scored("similarity", "No", score=0.9)["trial_score"] == -0.9
    assert scored("similarity", "Perhaps", score=0.9)["has_score"] == 0.0


def test_scored_trials_have_an_equal_error_rate() -> None:
    trials = [("0.9", "same"), ("0.8", "same"), ("0.1", "different"), ("I cannot tell.", "different")]
    assert value("eer_interpolated", [scored("similarity", *trial) for trial in trials]) == pytest.approx(0.5)


@settings(deadline=None)
@given(st.text())
def test_any_text_has_a_score_within_bounds_or_none(text) -> None:
    found = scored("similarity", text)
    assert 0.0 <= found["trial_score"] <= 1.0
