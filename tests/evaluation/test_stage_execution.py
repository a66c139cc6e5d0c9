"""In which order an eval asks, whom, and what becomes of a sample that fails on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import SampleError
from pytest_audiobench.evaluation.answer_collection import collect_answers, collect_rerun_answers
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.selection import select
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.protocol import Protocol, Stage

from .meter import Meter, in_order, tone

FIRST, SECOND = in_order("a", "b")


def sample(sample_id, *clips, question="How long?"):
    return Sample(sample_id, clips or (tone(0.1),), f"{question} {sample_id}", reference="secret")


@pytest.fixture
def slice_of(tmp_path):
    """Makes a slice of samples, as an eval takes it for a model."""

    def make(*samples, model=None, perturbation=None):
        name = "test" if perturbation is None else f"test+{perturbation}"
        under = (
            None
            if perturbation is None
            else Perturbation(perturbation, "noise", lambda places: lambda samples: samples)
        )
        dataset = Dataset(name, lambda places: samples or (sample("a"), sample("b")), perturbation=under)
        with AudioIndex(None) as index:
            return select(dataset, Places(tmp_path), index, ModelHandle("m", model or Meter()))

    return make


def with_clip(sample, earlier):
    """The clip, the question, and all that was said before."""
    said = [f"{name}: {response.text}" for name, response in earlier.items()]
    return (Message("user", (AudioSlot(0), sample.question, *said)),)


def without_clip(sample, earlier):
    """All that was said before, without the clip."""
    return (Message("user", tuple(f"{name}: {response.text}" for name, response in earlier.items())),)


def protocol(*stages):
    return Protocol("test", stages, (), {})


def pick(sample, earlier):
    """Another question than :func:`without_clip`'s, so that it has another answer."""
    return (Message("user", ("Which letter?", *without_clip(sample, earlier)[0].parts)),)


ANSWER, AGAIN = Stage("answer", with_clip), Stage("again", with_clip)
CHANGED = Stage("changed", without_clip, role="rewriter", judge="w")
JUDGED, EXTRACTED = (
    Stage("judged", without_clip, role="judge", judge="j"),
    Stage("letter", pick, role="extractor", judge="j"),
)


def order(model):
    """What was asked, in order: epoch, stage and sample."""
    return [(request.epoch, request.stage, request.sample_id) for request in model.requests]


def texts_sent(model, stage):
    """What a model was sent of texts in a stage, by sample."""
    return {
        request.sample_id: [part for part in request.messages[0].parts if isinstance(part, str)]
        for request in model.requests
        if request.stage == stage
    }


def only(fault, *sample_ids, stage=None):
    """A model's answers, with an error for some of its samples."""

    def says(ask):
        of = ask.request
        wrong = of.sample_id in sample_ids and stage in (None, of.stage)
        return Response(error=fault) if wrong else Response.of(f"{of.stage} of {of.sample_id}")

    return says


def test_stages_are_asked_in_turn_and_epochs_one_after_the_other(executor_of, slice_of):
    model = Meter()
    answered = collect_answers(slice_of(), protocol(ANSWER, AGAIN), executor_of(model), 2)
    assert order(model) == [
        (epoch, stage, name) for epoch in (0, 1) for stage in ("answer", "again") for name in (FIRST, SECOND)
    ]
    assert [(item.epoch, item.sample_id) for item in answered] == [
        (0, FIRST),
        (0, SECOND),
        (1, FIRST),
        (1, SECOND),
    ]
    assert all(
        list(item.responses) == list(item.keys) == list(item.messages) == ["answer", "again"] for item in answered
    )
    assert answered[0].keys["answer"] == model.requests[0].key
    assert answered[0].messages["answer"] == model.requests[0].messages


def test_more_epochs_ask_only_what_is_new(executor_of, slice_of):
    collect_answers(slice_of(), protocol(ANSWER), executor_of(Meter()), 1)
    model = Meter()
    collect_answers(slice_of(), protocol(ANSWER), executor_of(model), 3)
    assert [epoch for epoch, _, _ in order(model)] == [1, 1, 2, 2]


def test_a_later_stage_is_shown_what_was_said_before(executor_of, slice_of):
    model = Meter(says=only(""))
    collect_answers(slice_of(), protocol(ANSWER, AGAIN), executor_of(model), 1)
    assert texts_sent(model, "answer") == {name: [f"How long? {name}"] for name in "ab"}
    assert texts_sent(model, "again") == {name: [f"How long? {name}", f"answer: answer of {name}"] for name in "ab"}


def test_a_sample_that_failed_is_not_asked_in_the_next_stage(executor_of, slice_of):
    model = Meter(says=only("too long", "a", stage="answer"))
    answered = {
        item.sample_id: item for item in collect_answers(slice_of(), protocol(ANSWER, AGAIN), executor_of(model), 1)
    }
    assert list(texts_sent(model, "again")) == ["b"]
    assert (answered["a"].error, answered["a"].responses) == ("too long", {})
    assert (answered["b"].error, answered["b"].all_responses["again"].text) == (None, "again of b")


def test_what_was_said_before_a_failure_is_kept(executor_of, slice_of):
    model = Meter(says=only("too long", "a", stage="again"))
    (item,) = [
        item
        for item in collect_answers(slice_of(), protocol(ANSWER, AGAIN), executor_of(model), 1)
        if item.sample_id == "a"
    ]
    assert item.error == "too long"
    assert item.responses["answer"].text == "answer of a"


def test_a_failure_in_one_epoch_is_none_in_another(executor_of, slice_of):
    def says(ask):
        return Response(error="unwell") if ask.request.epoch == 0 else Response.of("well")

    answered = collect_answers(slice_of(), protocol(ANSWER, AGAIN), executor_of(Meter(says=says)), 2)
    assert [item.error for item in answered] == ["unwell", "unwell", None, None]
    assert [list(item.responses) for item in answered] == [[], [], ["answer", "again"], ["answer", "again"]]


def test_a_sample_without_its_audio_is_asked_of_none_that_listens(executor_of, slice_of, tmp_path):
    gone = sample("gone", Clip(FileSource(DataRoot("disk", tmp_path), "gone.wav")))
    model = Meter()
    answered = collect_answers(slice_of(sample("a"), gone), protocol(ANSWER), executor_of(model), 1)
    assert [name for _, _, name in order(model)] == ["a"]
    assert {item.sample_id: "no such file" in (item.error or "") for item in answered} == {"a": False, "gone": True}
    replay = Meter(listens=False)
    answered = collect_answers(slice_of(sample("a"), gone, model=replay), protocol(ANSWER), executor_of(replay), 1)
    assert [item.error for item in answered] == [None, None]


def test_one_question_about_one_clip_is_asked_once(executor_of, slice_of):
    model = Meter(says=lambda ask: Response.of("both"))
    twins = [Sample(name, (tone(0.1),), "How long?") for name in "ab"]
    answered = collect_answers(slice_of(*twins), protocol(ANSWER), executor_of(model), 1)
    assert [name for _, _, name in order(model)] == [FIRST]
    assert [item.responses["answer"].text for item in answered] == ["both", "both"]


def test_a_model_that_does_not_listen_is_asked_about_every_sample_by_itself(executor_of, slice_of):
    model = Meter(listens=False)
    twins = [Sample(name, (tone(0.1),), "How long?") for name in "ab"]
    answered = collect_answers(slice_of(*twins, model=model), protocol(ANSWER), executor_of(model), 1)
    assert [item.responses["answer"].text for item in answered] == [FIRST, SECOND]


def test_a_judge_that_is_played_nothing_is_asked_once_about_one_text(executor_of, slice_of):
    judge = Meter(name="judge", says=lambda ask: Response.of("fine"))
    subject = Meter(says=lambda ask: Response.of("the same"))
    taken = slice_of(sample("a", tone(0.1)), sample("b", tone(0.2)))
    answered = collect_answers(taken, protocol(ANSWER, JUDGED), executor_of(subject), 1, {"j": executor_of(judge)})
    assert len(judge.requests) == 1
    assert [item.verdicts["judged"].text for item in answered] == ["fine", "fine"]


def test_a_judge_whose_prompt_has_a_place_for_the_clip_is_played_it(executor_of, slice_of):
    judge = Meter(name="judge")
    stages = protocol(ANSWER, replace(JUDGED, render=with_clip))
    answered = collect_answers(slice_of(), stages, executor_of(Meter()), 1, {"j": executor_of(judge)})
    assert [item.verdicts["judged"].text for item in answered] == [f"{FIRST} 100", f"{SECOND} 100"]


def test_a_rewriter_is_asked_in_its_turn_for_all_epochs_at_once(executor_of, slice_of):
    calls = []

    def logged(ask):
        calls.append((ask.request.stage, ask.request.epoch))
        return Response.of(f"{ask.request.stage} of {ask.request.sample_id} in {ask.request.epoch}")

    subject, writer = Meter(says=logged), Meter(says=logged, name="writer")
    answered = collect_answers(
        slice_of(), protocol(ANSWER, CHANGED, AGAIN), executor_of(subject), 2, {"w": executor_of(writer)}
    )
    assert list(dict.fromkeys(calls)) == [
        ("answer", 0),
        ("answer", 1),
        ("changed", 0),
        ("changed", 1),
        ("again", 0),
        ("again", 1),
    ]
    assert texts_sent(writer, "changed")["a"] == ["answer: answer of a in 1"]
    assert texts_sent(subject, "again")["a"] == [
        "How long? a",
        "answer: answer of a in 1",
        "changed: changed of a in 1",
    ]
    first = answered[0]
    assert list(first.responses) == ["answer", "again"]
    assert first.rewritten["changed"].text == f"changed of {FIRST} in 0"
    assert list(first.all_responses) == ["answer", "again", "changed"]


def test_what_a_rewriter_is_asked_is_played_to_nobody(executor_of, slice_of):
    writer = Meter(name="writer")
    collect_answers(slice_of(), protocol(ANSWER, CHANGED), executor_of(Meter()), 1, {"w": executor_of(writer)})
    assert {request.clips for request in writer.requests} == {()}


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (Response(error="busy"), "changed by w: busy"),
        (Response.of("  "), "changed by w: it gave no text"),
        (Response.of("half a sent", "length"), "changed by w: cut off at 2048 tokens"),
    ],
)
def test_a_sample_whose_reasoning_could_not_be_rewritten_fails_and_says_by_whom(executor_of, slice_of, response, why):
    subject = Meter()
    writer = Meter(says=lambda ask: response if ask.request.sample_id == "a" else Response.of("fine"))
    answered = collect_answers(
        slice_of(), protocol(ANSWER, CHANGED, AGAIN), executor_of(subject), 1, {"w": executor_of(writer)}
    )
    assert {item.sample_id: item.error for item in answered} == {"a": why, "b": None}
    assert list(texts_sent(subject, "again")) == ["b"]


def test_where_there_is_nothing_to_rewrite_nobody_is_asked_and_the_text_is_empty(executor_of, slice_of):
    def render(sample, earlier):
        return () if sample.id == "a" else without_clip(sample, earlier)

    writer, subject = Meter(name="writer"), Meter()
    stages = protocol(ANSWER, replace(CHANGED, render=render), AGAIN)
    answered = collect_answers(slice_of(), stages, executor_of(subject), 1, {"w": executor_of(writer)})
    assert [name for _, _, name in order(writer)] == ["b"]
    (item,) = [item for item in answered if item.sample_id == "a"]
    assert (item.error, item.rewritten["changed"].text) == (None, "")
    assert texts_sent(subject, "again")["a"][-1] == "changed: "


def test_what_cannot_be_put_to_a_rewriter_fails_its_sample_alone(executor_of, slice_of):
    def render(sample, earlier):
        if sample.id == "a":
            raise SampleError("the reasoning is too long")
        return without_clip(sample, earlier)

    stages = protocol(ANSWER, replace(CHANGED, render=render), AGAIN)
    answered = collect_answers(slice_of(), stages, executor_of(Meter()), 1, {"w": executor_of(Meter(name="writer"))})
    assert {item.sample_id: item.error for item in answered} == {
        "a": "changed by w: the reasoning is too long",
        "b": None,
    }


def test_judges_are_asked_last_and_what_they_say_is_shown_to_nobody(executor_of, slice_of):
    calls = []

    def logged(ask):
        calls.append((ask.request.stage, ask.request.epoch))
        return Response.of(f"said in {ask.request.stage}")

    subject, judge = Meter(says=logged), Meter(says=logged, name="judge")
    stages = protocol(JUDGED, ANSWER, EXTRACTED, AGAIN)
    answered = collect_answers(slice_of(), stages, executor_of(subject), 2, {"j": executor_of(judge)})
    assert list(dict.fromkeys(calls)) == [
        ("answer", 0),
        ("again", 0),
        ("answer", 1),
        ("again", 1),
        ("judged", 0),
        ("judged", 1),
        ("letter", 0),
        ("letter", 1),
    ]
    for said in (*texts_sent(judge, "letter").values(), *texts_sent(subject, "again").values()):
        assert not any("said in judged" in text for text in said)
    assert list(answered[0].verdicts) == ["judged", "letter"]
    assert list(answered[0].all_responses) == ["answer", "again", "judged", "letter"]
    assert list(answered[0].responses) == ["answer", "again"]


def test_a_judge_sees_what_is_true_and_an_extractor_does_not(executor_of, slice_of):
    def quoting(sample, earlier):
        return (Message("user", (f"true: {sample.reference}", *without_clip(sample, earlier)[0].parts)),)

    judge = Meter(name="judge")
    stages = protocol(ANSWER, replace(JUDGED, render=quoting), replace(EXTRACTED, render=quoting))
    collect_answers(slice_of(), stages, executor_of(Meter()), 1, {"j": executor_of(judge)})
    assert {said[0] for said in texts_sent(judge, "judged").values()} == {"true: secret"}
    assert {said[0] for said in texts_sent(judge, "letter").values()} == {"true: "}


def test_a_verdict_that_could_not_be_had_is_no_failure_of_the_sample(executor_of, slice_of):
    judge = Meter(says=only("busy", "a"), name="judge")
    answered = collect_answers(slice_of(), protocol(ANSWER, JUDGED), executor_of(Meter()), 1, {"j": executor_of(judge)})
    item = {item.sample_id: item for item in answered}["a"]
    assert item.error is None
    assert (item.failure(""), item.failure("judged")) == (None, "busy")


def test_an_answer_that_failed_is_put_to_no_judge(executor_of, slice_of):
    judge = Meter(name="judge")
    subject = Meter(says=only("too long", "a"))
    answered = collect_answers(slice_of(), protocol(ANSWER, JUDGED), executor_of(subject), 1, {"j": executor_of(judge)})
    assert list(texts_sent(judge, "judged")) == ["b"]
    item = {item.sample_id: item for item in answered}["a"]
    assert item.failure("judged") == item.failure("") == "too long"


def test_the_length_of_clips_does_not_cut_the_batches_of_who_is_played_none(executor_of, slice_of):
    samples = [sample("a", tone(3.0)), sample("b", tone(0.5)), sample("c", tone(1.5))]
    judge = Meter("planned", max_batch=8, max_batch_s=1.0, name="judge")
    subject = Meter("planned", max_batch=8, max_batch_s=4.0)
    collect_answers(
        slice_of(*samples, model=subject), protocol(ANSWER, JUDGED), executor_of(subject), 1, {"j": executor_of(judge)}
    )
    assert [len(call) for call in subject.calls] == [1, 2]
    assert [len(call) for call in judge.calls] == [3]


def test_epochs_of_one_ask_set_are_asked_together_and_come_back_apart(executor_of, slice_of):
    model = Meter(max_batch=8, says=lambda ask: Response.of(str(ask.request.epoch)))
    answered = collect_rerun_answers(slice_of(), protocol(ANSWER, AGAIN), executor_of(model), [7, 9])
    assert model.calls == [[FIRST, SECOND, FIRST, SECOND]] * 2
    assert [(item.epoch, item.sample_id, item.responses["again"].text) for item in answered] == [
        (7, FIRST, "7"),
        (7, SECOND, "7"),
        (9, FIRST, "9"),
        (9, SECOND, "9"),
    ]


def test_an_ask_set_may_be_arranged_in_batches_of_its_own(executor_of, slice_of):
    subject, writer = Meter("planned"), Meter("planned", name="writer")
    collect_rerun_answers(
        slice_of(model=subject),
        protocol(ANSWER, CHANGED),
        executor_of(subject),
        [5],
        lambda planned: [[i] for i in reversed(range(len(planned)))],
        {"w": executor_of(writer)},
    )
    assert subject.calls == [[SECOND], [FIRST]]
    assert writer.calls == [[FIRST, SECOND]]


def test_of_an_answer_that_is_given_again_judges_and_rewriters_say_what_they_said(executor_of, slice_of):
    def steady(ask):
        return Response.of("the same")

    writer, judge = Meter(says=steady, name="writer"), Meter(says=steady, name="judge")
    others = {"w": executor_of(writer), "j": executor_of(judge)}
    stages = protocol(ANSWER, CHANGED, AGAIN, JUDGED)
    collect_answers(slice_of(), stages, executor_of(Meter(says=steady)), 1, others)
    asked = (len(writer.requests), len(judge.requests))
    answered = collect_rerun_answers(
        slice_of(), stages, executor_of(Meter(says=steady)), [1_000_100, 1_000_101], judges=others
    )
    assert (len(writer.requests), len(judge.requests)) == asked
    assert all(item.rewritten["changed"].text == item.verdicts["judged"].text == "the same" for item in answered)


UNCHANGED = Stage("before", with_clip, unchanged=True)


def noisy(sample_id, clip=None):
    """A sample under a perturbation: another clip is played, and which it was is still known."""
    return replace(sample(sample_id, clip or tone(0.1, pitch=300)), before=(tone(0.2),))


def test_a_stage_that_is_unchanged_is_played_the_clip_as_it_was(executor_of, slice_of):
    model = Meter()
    collect_answers(slice_of(noisy("a"), perturbation="noise"), protocol(UNCHANGED, AGAIN), executor_of(model), 1)
    assert [request.clips for request in model.requests] == [(tone(0.2),), (tone(0.1, pitch=300),)]


@pytest.mark.parametrize("listens", [True, False])
def test_what_an_unchanged_stage_asks_is_known_from_the_data_without_the_perturbation(executor_of, slice_of, listens):
    model = Meter(listens=listens)
    plain = slice_of(sample("a", tone(0.2)), model=model)
    collect_answers(plain, protocol(UNCHANGED), executor_of(model), 1)
    collect_answers(
        slice_of(noisy("a"), model=model, perturbation="noise"), protocol(UNCHANGED, AGAIN), executor_of(model), 1
    )
    assert [request.stage for request in model.requests] == ["before", "again"]
    assert [request.dataset for request in model.requests] == ["test", "test+noise"]


def test_a_changed_clip_that_cannot_be_played_fails_its_sample_after_its_unchanged_stages(
    executor_of, slice_of, tmp_path
):
    gone = Clip(FileSource(DataRoot("disk", tmp_path), "gone.wav"))
    model = Meter()
    taken = slice_of(noisy("a", gone), noisy("b"), perturbation="noise")
    answered = collect_answers(taken, protocol(UNCHANGED, AGAIN), executor_of(model), 1)
    assert set(texts_sent(model, "before")) == {"a", "b"}
    assert list(texts_sent(model, "again")) == ["b"]
    item = {item.sample_id: item for item in answered}["a"]
    assert "no such file" in item.error
    assert item.responses["before"].text == "a 200"


def test_a_sample_that_failed_in_an_unchanged_stage_is_not_asked_in_the_next_one_either(
    executor_of, slice_of, tmp_path
):
    def quoting(sample, earlier):
        return (Message("user", (AudioSlot(0), earlier["before"].text)),)

    gone = Clip(FileSource(DataRoot("disk", tmp_path), "gone.wav"))
    model = Meter(says=only("unwell", "a"))
    taken = slice_of(noisy("a", gone), noisy("b"), perturbation="noise")
    stages = protocol(UNCHANGED, replace(UNCHANGED, name="after", render=quoting))
    answered = collect_answers(taken, stages, executor_of(model), 1)
    assert list(texts_sent(model, "after")) == ["b"]
    assert {item.sample_id: item.error for item in answered} == {"a": "unwell", "b": None}


def test_an_unchanged_clip_that_cannot_be_played_fails_its_sample_too(executor_of, slice_of, tmp_path):
    gone = Clip(FileSource(DataRoot("disk", tmp_path), "gone.wav"))
    model = Meter()
    taken = slice_of(replace(noisy("a"), before=(gone,)), noisy("b"), perturbation="noise")
    answered = collect_answers(taken, protocol(UNCHANGED, AGAIN), executor_of(model), 1)
    assert set(texts_sent(model, "before")) == set(texts_sent(model, "again")) == {"b"}
    item = {item.sample_id: item for item in answered}["a"]
    assert "no such file" in item.error
    assert not item.keys
