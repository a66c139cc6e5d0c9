"""A protocol's judgings put to the judges of a run: who is asked what, under which names, and who cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from pytest_audiobench.errors import FatalError, UnsuitableModel, UsageError
from pytest_audiobench.evaluation.judging import check_judge, with_judges
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Message, Response, Settings
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Judging, Protocol, Stage

from .tiny import Speaker, evaluated, handle, samples

JUDGED = judged(multiple_choice())


class Rubrics(Speaker):
    """A judge that knows one judging's prompt and no other."""

    judgings = ("rubric",)


def judges(*aliases: str, **others: Speaker) -> dict[str, ModelHandle]:
    models = {**{alias: Speaker("Yes", name=alias) for alias in aliases}, **others}
    return {alias: handle(model, alias) for alias, model in models.items()}


def names(protocol: Protocol) -> list[str]:
    return [scorer.name for scorer in protocol.scorers]


def weighing(protocol: Protocol) -> list[str]:
    return [stage.name for stage in protocol.stages if stage.role in ("judge", "extractor")]


def test_a_protocol_that_no_judge_is_needed_for_stays_as_it_is_whoever_there_is() -> None:
    plain = multiple_choice()
    assert with_judges(plain, judges("a")) == (plain, ())
    unread = JUDGED.with_scorers("letters")
    assert with_judges(unread, judges("a")) == (unread, ())


def test_the_scorers_of_one_judge_keep_their_names_and_those_of_several_bear_its_alias() -> None:
    one = with_judges(JUDGED, judges("a"))
    assert names(one.protocol) == ["letters", "yes-no", "yes-no-kept", "yes-no-vs-letters"]
    assert weighing(one.protocol) == ["yes-no@a"]
    two = with_judges(JUDGED, judges("a", "b")).protocol
    assert names(two) == [
        *("letters", "yes-no@a", "yes-no@b", "yes-no-kept@a", "yes-no-kept@b"),
        *("yes-no@a-vs-letters", "yes-no@b-vs-letters", "yes-no@a-vs-yes-no@b"),
    ]
    assert weighing(two) == ["yes-no@a", "yes-no@b"]
    assert {scorer.name: scorer.companions for scorer in two.scorers}["yes-no@b"] == ("yes-no-kept@b",)


def test_all_that_one_judge_is_asked_is_asked_in_a_row() -> None:
    both = with_judges(judged(multiple_choice(), "yes-no", "rubric"), judges("a", "b")).protocol
    assert weighing(both) == ["yes-no@a", "rubric@a", "yes-no@b", "rubric@b"]
    # Judges agree on one judging's question, not on two questions.
    assert [name for name in names(both) if "-vs-" in name and "letters" not in name] == [
        "yes-no@a-vs-yes-no@b",
        "rubric@a-vs-rubric@b",
    ]


@pytest.mark.parametrize(("role", "shown"), [("judge", "the true one: A"), ("extractor", ": A")])
def test_a_judge_sees_what_is_true_and_an_extractor_does_not(role: Literal["judge", "extractor"], shown: str) -> None:
    scorer = replace(multiple_choice().scorers[0], name="own", judge="mine")
    mine = Judging(
        "mine",
        lambda sample, text: (Message("user", (f"{sample.reference}: {text}",)),),
        (scorer,),
        Settings(),
        role,
    )
    put = with_judges(judged(multiple_choice(), own=(mine,)), judges("a")).protocol
    (own,) = samples(1, reference="the true one")
    assert put.stages[-1].messages(own, {"answer": Response.of("A")}) == (Message("user", (shown,)),)


def test_a_judges_signature_says_who_it_is_and_not_what_it_is_called() -> None:
    def signature(alias: str, name: str) -> str:
        put = with_judges(JUDGED, {alias: handle(Speaker(name=name), alias)}).protocol
        return next(scorer.signature for scorer in put.scorers if scorer.name == "yes-no")

    assert signature("a", "one") == signature("b", "one") != signature("a", "other")
    assert signature("a", "one").endswith(f"|judge:{handle(Speaker(name='one')).digest[:12]}")


def test_without_a_judge_the_scorers_by_rule_are_left_and_a_warning_says_so() -> None:
    left, warnings = with_judges(JUDGED, {})
    assert names(left) == ["letters"]
    assert weighing(left) == []
    assert warnings == ("no judge is named with --ab-judge: yes-no, yes-no-kept left out",)
    with pytest.raises(UnsuitableModel, match="yes-no, yes-no-kept need a judge: name one with --ab-judge"):
        with_judges(judged(), {})


def test_without_a_judge_no_rule_stands_in_for_a_judges_headline() -> None:
    headline = JUDGED.with_scorers("yes-no", "letters")
    with pytest.raises(
        UnsuitableModel, match=r"yes-no, yes-no-kept need a judge: .*; --ab-scorer=letters measures what needs none"
    ):
        with_judges(headline, {})
    assert with_judges(headline.with_scorers("letters"), {}).warnings == ()


def test_a_judge_that_cannot_be_asked_something_is_not_asked_it_and_a_warning_says_so() -> None:
    own = judged(multiple_choice(), "yes-no", "rubric")
    put, warnings = with_judges(own, judges("a", scores=Rubrics()))
    assert weighing(put) == ["yes-no@a", "rubric@a", "rubric@scores"]
    assert warnings == ("the judge scores cannot be asked yes-no, and was not",)
    with pytest.raises(
        UnsuitableModel, match=r"yes-no can be put to none of this run's judges \(scores\): name another"
    ):
        with_judges(own, judges(scores=Rubrics()))


def test_a_judges_stage_written_by_hand_is_refused() -> None:
    by_hand = Stage("mine", lambda sample, earlier: (), role="judge", judge="a")
    plain = multiple_choice()
    with pytest.raises(UsageError, match="has the stage 'mine' of a judge: write it as a Judging"):
        with_judges(replace(plain, stages=(*plain.stages, by_hand)), judges("a"))


def test_each_judge_is_asked_about_the_answer_and_read_by_its_own_verdicts(tmp_path: Path) -> None:
    kind, harsh = Speaker("Yes", name="kind", listens=False), Speaker("No", name="harsh", listens=False)
    done = evaluated(tmp_path, samples(3), JUDGED, Speaker("B"), judges={"a": kind, "b": harsh})
    assert [float(done.result[f"accuracy[scorer=yes-no@{alias}]"]) for alias in "ab"] == [1.0, 0.0]
    assert float(done.result["judge_agreement[scorer=yes-no@a-vs-letters]"]) == 0.0
    assert float(done.result["judge_agreement[scorer=yes-no@b-vs-letters]"]) == 1.0
    assert float(done.result["judge_agreement[scorer=yes-no@a-vs-yes-no@b]"]) == 0.0
    assert len(kind.requests) == len(harsh.requests) == 3
    shown = str(kind.requests[0].messages)
    assert "Which animal is it?" in shown
    assert "dog" in shown


class Absent(Speaker):
    """A model that this machine lacks the parts for."""

    @property
    def limits(self) -> Limits:
        raise FatalError("the weights are not here")

    @limits.setter
    def limits(self, limits: Limits) -> None:
        """Its own are never asked for."""


def test_a_judge_must_answer_questions_in_words_alone() -> None:
    check_judge(handle(Speaker()))
    for limits in (Limits(tasks=("choice", "transcription")), Limits(min_clips=1)):
        with pytest.raises(UsageError, match=r"tiny:speaker \(--ab-judge=j\) cannot be a judge"):
            check_judge(handle(Speaker(limits=limits), "j"))
    with pytest.raises(UsageError, match="--ab-judge=j: the weights are not here; a model of text alone can judge"):
        check_judge(handle(Absent(), "j"))
