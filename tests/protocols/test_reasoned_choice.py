"""A choice asked with reasoning or without, alone or held against the answer to the clean clip."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.requests import Requester
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Answer
from pytest_audiobench.protocols.reasoned_choice.task import reasoned_choice

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))
SAMPLE = Sample("cat0", (CLIP,), "Which animal?", ("dog", "cat", "hen"), "cat")
QUESTION = "Which animal? Select one option from the provided choices.\n(A) dog (B) cat (C) hen."
LISTED = "Which animal?\n(A) dog\n(B) cat\n(C) hen"
THINK = "Please think and reason about the input audio before you respond."
ANSWERS = {
    "right": "(B) cat",
    "wrong": "(A) dog",
    "other": "(C) hen",
    "beyond": "(E)",
    "refused": "I'm sorry, I can't.",
}


def text(protocol, stage="answer") -> str:
    (own,) = (one for one in protocol.stages if one.name == stage)
    (message,) = (one for one in own.messages(SAMPLE, {}) if one.role == "user")
    return "".join(part for part in message.parts if isinstance(part, str))


def scored(protocol, scorer="letters", sample=SAMPLE, **texts):
    own = protocol.available[scorer]
    earlier = {stage: Response.of(ANSWERS.get(said, said)) for stage, said in texts.items()}
    return own.score(sample, own.parse(sample, earlier))


@pytest.mark.parametrize(
    ("style", "reasoning", "asked", "limit"),
    [
        ("af3", True, f"{QUESTION} {THINK}", 512),
        ("af3", False, f"{QUESTION} ", 512),
        ("qwen", False, f"{QUESTION}\n\nTemplate:\n<Conclusion>\n[Letter]\n</Conclusion>", 128),
        (
            "qwen",
            True,
            f"{QUESTION} {THINK}\n\nTemplate:\n<Reasoning>\n[thinking]\n</Reasoning>\n"
            "<Conclusion>\n[Letter]\n</Conclusion>",
            1024,
        ),
        (
            "plain",
            False,
            "Which animal?\n(A) dog\n(B) cat\n(C) hen\nAnswer with the letter of the correct option.",
            256,
        ),
    ],
)
def test_each_style_asks_in_its_own_words(style, reasoning, asked, limit) -> None:
    protocol = reasoned_choice(style=style, reasoning=reasoning)
    assert text(protocol) == asked
    assert (protocol.answering.task, protocol.answering.settings.max_new_tokens) == ("choice", limit)


def test_the_studys_clips_stand_behind_the_text_and_qwen_has_its_system_message() -> None:
    (stage,) = reasoned_choice(style="qwen").stages
    system, user = stage.messages(SAMPLE, {})
    assert system.role == "system"
    assert system.parts[0].startswith("You are Qwen, a virtual human")
    assert user.parts[1:] == (AudioSlot(0),)
    (plain,) = reasoned_choice().stages[0].messages(SAMPLE, {})
    assert plain.parts[0] == AudioSlot(0)


def test_words_system_message_and_limit_can_be_others() -> None:
    protocol = reasoned_choice(style="qwen", template="{question}? {options_in_line}", system="", max_new_tokens=9)
    assert protocol.stages[0].messages(SAMPLE, {}) == (
        Message("user", ("Which animal?? (A) dog (B) cat (C) hen", AudioSlot(0))),
    )
    assert protocol.stages[0].settings.max_new_tokens == 9
    assert reasoned_choice(system="Be brief.").stages[0].messages(SAMPLE, {})[0] == Message("system", ("Be brief.",))
    with pytest.raises(UsageError, match=r"has the unknown placeholder \{reasoning\}"):
        reasoned_choice(template="{question} {reasoning}")


def request(protocol, stage, taken, dataset="animals"):
    handle = ModelHandle(
        "m",
        SimpleNamespace(
            fingerprint=lambda: {"m": "1"}, spec="m", limits=Limits(), listens=True, batching="opaque", device="cpu"
        ),
    )
    (own,) = (one for one in protocol.stages if one.name == stage)
    return Requester(handle, own, dataset, 0).request(taken, {})


def test_the_clean_clip_is_asked_about_by_the_very_request_of_the_clean_item() -> None:
    compared = reasoned_choice(style="af3", against_clean=True)
    assert [(stage.name, stage.unchanged) for stage in compared.stages] == [("clean", True), ("answer", False)]
    assert compared.answering.name == "answer"
    clean = SelectedSample(SAMPLE, 0, ("key",), (1.0,), None)
    alone = request(reasoned_choice(style="af3"), "answer", clean)
    assert request(compared, "clean", clean).key == alone.key
    assert request(compared, "answer", clean._replace(clip_keys=("masked",))).key != alone.key


def test_plain_without_reasoning_asks_what_multiple_choice_asks() -> None:
    taken = SelectedSample(SAMPLE, 0, ("key",), (1.0,), None)
    one, other = (request(own, "answer", taken) for own in (reasoned_choice(reasoning=False), multiple_choice()))
    assert one.key == other.key


def test_what_an_item_measures_goes_by_what_it_asks() -> None:
    def metrics(scorer="letters", **options):
        return reasoned_choice(**options).available[scorer].metrics

    compared = ("consistency", "flip_rate", "newly_unanswered", "accuracy_drop")
    assert metrics(reasoning=False) == ("accuracy",)
    assert metrics() == ("accuracy", "missed_reasoning")
    assert metrics(reasoning=False, against_clean=True) == ("accuracy", *compared)
    assert metrics(against_clean=True, control=True)[4:6] == ("accuracy_drop", "audio_reliance")
    assert metrics(injected=True, reasoning=False) == ("accuracy", "follow_rate")
    assert metrics(injected=True, reasoning=False, against_clean=True)[-2:] == ("follow_rate", "swayed")
    assert "prediction_changed" in metrics("faithfulness-recovered", against_clean=True)
    for options in ({}, {"against_clean": True, "injected": True}, {"against_clean": True, "control": True}):
        for scorer in reasoned_choice(**options).available.values():
            sample = Sample("s", (), "?", SAMPLE.choices, "cat", {"injected": "A"})
            scores = scorer.score(sample, scorer.parse(sample, {"answer": Response.of("B"), "clean": Response.of("A")}))
            for metric in scorer.metrics:
                metric_kind(metric).estimate([scores], None)


def test_the_signature_says_how_it_was_asked_and_not_what_it_is_held_against() -> None:
    def signature(**options):
        return reasoned_choice(**options).scorers[0].signature

    assert signature() == "mcq:letters|v:1|unanswered:wrong|style:plain|reasoning:yes"
    assert signature() == signature(against_clean=True) == signature(against_clean=True, injected=True)
    assert len({signature(), signature(reasoning=False), signature(style="af3"), signature(style="qwen")}) == 4


@pytest.mark.parametrize(
    ("before", "after", "same", "flipped", "lost", "changed"),
    [
        ("right", "right", 1, 0, 0, 0),
        ("wrong", "wrong", 1, 0, 0, 0),
        ("right", "wrong", 0, 1, 0, 1),
        ("right", "refused", 0, 0, 1, 1),
        ("right", "beyond", 0, 0, 1, 1),
        ("refused", "right", 0, 0, 0, 1),
        ("refused", "refused", 0, 0, 0, 0),
        ("beyond", "beyond", 0, 0, 0, 0),
        ("beyond", "refused", 0, 0, 0, 1),
    ],
)
def test_what_became_of_an_answer(before, after, same, flipped, lost, changed) -> None:
    found = scored(reasoned_choice(against_clean=True), clean=before, answer=after)
    assert [found[name] for name in ("same", "flipped", "lost", "changed")] == [same, flipped, lost, changed]
    assert found["both"] == same + flipped
    assert (found["correct_before"], found["correct"]) == (before == "right", after == "right")


def test_options_of_equal_texts_are_one_option_for_ours_and_two_for_the_study() -> None:
    sample = Sample("twice", (), "?", ("cat", "dog", "Cat"), "cat")
    for scorer, same in (("letters", 1.0), ("faithfulness-recovered", 0.0)):
        found = scored(reasoned_choice(against_clean=True), scorer, sample, clean="(A)", answer="(C)")
        assert found["same"] == same
        assert found["flipped"] == 1.0 - same


@pytest.mark.parametrize(
    ("before", "after", "followed", "elsewhere", "swayed"),
    [
        ("right", "wrong", 1, 1, 1),
        ("right", "other", 0, 1, 0),
        ("right", "refused", 0, 1, 0),
        ("wrong", "wrong", 1, 0, 0),
        ("refused", "wrong", 1, 0, 0),
    ],
)
def test_who_follows_an_injected_option(before, after, followed, elsewhere, swayed) -> None:
    sample = Sample("s", (), "?", SAMPLE.choices, "cat", {"injected": "A"})
    found = scored(reasoned_choice(against_clean=True, injected=True), "letters", sample, clean=before, answer=after)
    assert [found[name] for name in ("followed", "elsewhere", "swayed")] == [followed, elsewhere, swayed]


@pytest.mark.parametrize("injected", [None, "", "D", "AB", "a", 1])
def test_an_injected_option_that_no_metadata_names_is_refused_before_the_model_is_asked(injected) -> None:
    sample = Sample("s7", (), "?", SAMPLE.choices, "cat", {} if injected is None else {"injected": injected})
    with pytest.raises(UsageError, match="'s7' does not say which option was injected: its metadata 'injected' must"):
        reasoned_choice(injected=True).fitting([sample])
    assert reasoned_choice().fitting([sample]).fits_any_sample


@pytest.mark.parametrize(
    ("said", "missed"), [("It meows.\nAnswer: B", 0), ("B", 1), ("", 1), ("\n \n", 1), ("Answer: B", 1)]
)
def test_missing_reasoning_is_counted_and_scored_all_the_same(said, missed) -> None:
    found = scored(reasoned_choice(), answer=said)
    assert (found["missed"], found["correct"]) == (missed, "B" in said)


def test_an_answer_that_somebody_else_made_is_scored_without_comparison() -> None:
    scorer = reasoned_choice(against_clean=True).scorers[0]
    assert scorer.score(SAMPLE, Answer("parsed", "B")) == {"correct": 1.0}
