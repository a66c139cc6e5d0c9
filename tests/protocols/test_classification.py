"""How a label is asked for, and how published rules differ from ours on one answer."""

from __future__ import annotations

import pytest

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.classification.task import classification

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))
FEELINGS = ("angry", "happy", "neutral", "sad")


def sample(reference="happy", choices=FEELINGS, question="How does the speaker feel?"):
    return Sample("a", (CLIP,), question, choices, reference)


def scored(name, text, asked=None, finish="stop"):
    (scorer,) = [one for one in classification(name).scorers if one.name == name]
    asked = asked or sample()
    return scorer.score(asked, scorer.parse(asked, {"answer": Response.of(text, finish)}))


def correct(name, text, **options):
    return scored(name, text, **options)["correct"] == 1.0


def test_the_prompt_lists_the_labels_without_letters() -> None:
    (stage,) = classification().stages
    text = "How does the speaker feel?\nAnswer with one of these labels and nothing else: angry, happy, neutral, sad."
    assert stage.render(sample(), {}) == (Message("user", (AudioSlot(0), text)),)
    assert stage.task == "choice"


def test_a_prompt_may_be_named_and_must_be_fillable() -> None:
    (stage,) = classification(prompt="salmonn-emotion").stages
    assert stage.render(sample(), {})[0].parts[1] == "Describe the emotion of the speaker in one word."
    with pytest.raises(UsageError, match=r"unknown placeholder \{answer\}"):
        classification(prompt="{answer}")
    with pytest.raises(UsageError, match="write a brace as"):
        classification(prompt="{labels")


def test_the_reference_never_reaches_the_prompt() -> None:
    (stage,) = classification().stages
    assert stage.render(sample("happy"), {}) == stage.render(sample("sad"), {})


IGNORING_CASE = {"ultraeval-prefix", "cmi-bench-label", "midashenglm-contains", "xares-llm"}
ALL_PUBLISHED = {*IGNORING_CASE, "exact-label", "qwen2-audio-exact"}


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("happy", ALL_PUBLISHED | {"label", "dynamic-superb"}),
        (
            "Happy",
            {"label", "dynamic-superb", *IGNORING_CASE, "salmonn-emotion", "salmonn-emotion-keep"},
        ),
        ("Happy.", {"label", *IGNORING_CASE}),
        ("happy\n", {"label", "dynamic-superb", *IGNORING_CASE, "exact-label"}),
        ("happy or sad", {"ultraeval-prefix", "midashenglm-contains"}),
        ("not happy", {"cmi-bench-label", "midashenglm-contains"}),
        ("unhappy", {"cmi-bench-label", "midashenglm-contains"}),
        ("The speaker is happy", {"label", "cmi-bench-label", "midashenglm-contains"}),
        ("I'm sorry, I can't say whether they are happy.", {"cmi-bench-label", "midashenglm-contains"}),
        ("", set()),
    ],
)
def test_one_answer_is_right_by_some_rules_and_wrong_by_others(text, right) -> None:
    names = set(classification().available) - {"gender"}
    assert {name for name in names if correct(name, text)} == right


def test_a_woman_is_female_only_to_the_scorer_that_says_so() -> None:
    asked = sample("female", ("male", "female"))
    assert correct("gender", "A woman is speaking.", asked=asked)
    assert not correct("label", "A woman is speaking.", asked=asked)
    assert not correct("gender", "A man and a woman are speaking.", asked=asked)
    assert correct("gender", "A happy woman", asked=sample())


@pytest.mark.parametrize(
    ("code", "answer", "statistics"),
    [
        ("exc", "Happy", 1.0),
        ("hap", "Happy</s>", 1.0),
        ("neu", "Happy", 0.0),
        ("fru", "Happy", None),
        ("xxx", "Sad", None),
    ],
)
def test_salmonns_emotions_are_four_and_others_are_left_out(code, answer, statistics) -> None:
    found = scored("salmonn-emotion", answer, asked=sample(code))
    assert (found and found["correct"]) == statistics


def test_an_answer_without_an_end_is_left_out_and_shown_beside() -> None:
    asked = sample("hap")
    assert scored("salmonn-emotion", "Happy", asked=asked, finish="length") is None
    assert scored("salmonn-emotion-keep", "Happy", asked=asked, finish="length")["correct"] == 1.0
    names = [scorer.name for scorer in classification("salmonn-emotion").scorers]
    assert names == ["salmonn-emotion", "salmonn-emotion-keep"]


def test_a_label_within_another_can_never_be_answered_by_cmi_benchs_rule() -> None:
    asked = sample("electric guitar", ("guitar", "electric guitar"))
    assert not correct("cmi-bench-label", "electric guitar", asked=asked)
    assert correct("label", "electric guitar", asked=asked)


def test_numbers_are_over_the_tasks_own_labels() -> None:
    scorer = classification().scorers[0]
    answers = [("happy", "happy"), ("sad", "sad"), ("sad", "I'm sorry, I cannot tell."), ("sad", "joyful")]
    statistics = [scored("label", text, asked=sample(true)) for true, text in answers]
    found = {name: metric_kind(name).estimate(statistics, None).value for name in scorer.metrics}
    assert found == pytest.approx(
        {"accuracy": 0.5, "macro_f1": (1 + 0.5) / 2, "weighted_f1": (1 + 3 * 0.5) / 4, "balanced_accuracy": 2 / 3}
    )


def test_a_mistake_in_the_data_is_named() -> None:
    with pytest.raises(UsageError, match="'a' has no choices"):
        scored("label", "happy", asked=sample(choices=()))
    with pytest.raises(UsageError, match="its reference 'calm' is not one of its choices"):
        scored("label", "happy", asked=sample("calm"))


def test_labels_that_differ_in_case_alone_are_one() -> None:
    assert correct("label", "HAPPY", asked=sample("Happy", ("happy", "Happy", "sad")))


@pytest.mark.parametrize(
    ("text", "right"),
    [("Yes, there is no doubt.", 1.0), ("YES", 1.0), ("There is yes", 0.0), ("No idea", 0.0), ("A", 1.0)],
)
def test_choices_of_yes_and_no_are_read_as_such(text, right) -> None:
    assert scored("label", text, asked=sample("Yes", ("Yes", "No")))["correct"] == right
