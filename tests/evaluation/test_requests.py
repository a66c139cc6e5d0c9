"""What the key of a request covers: two requests share an answer only where a model is asked the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_audiobench.audio.edits import gain
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.evaluation.requests import Requester
from pytest_audiobench.evaluation.selection import select
from pytest_audiobench.models.messages import AudioSlot, Message, Request, Settings
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.protocol import Stage

from .tiny import HERE, Speaker, clip, dataset, handle, sample


def user(*parts: str | AudioSlot) -> tuple[Message, ...]:
    return (Message("user", parts),)


ASKING = Stage("answer", lambda sample, earlier: user(AudioSlot(0), sample.question), task="choice")
SAMPLE = sample("s", metadata={"hop": "single"})


def request(
    stage: Stage = ASKING,
    model: Speaker | None = None,
    name: str = "animals",
    epoch: int = 0,
    alias: str = "model",
    **changes: Any,
) -> Request:
    holder = handle(model or Speaker(), alias)
    with AudioIndex(None) as index:
        (taken,) = select(dataset([replace(SAMPLE, **changes)], name), HERE, index, holder).samples
    return Requester(holder, stage, name, epoch).request(taken, {})


@pytest.mark.parametrize(
    "change",
    [
        {"question": "What is it?"},
        {"choices": ("dog", "cat")},
        {"choices": ("cat", "dog", "hen")},
        {"clips": (clip("other"),)},
        {"clips": (clip("s").edited(gain(-6.0)),)},
        {"clips": (clip("s"), clip("other"))},
        {"stage": replace(ASKING, render=lambda sample, earlier: user(sample.question, AudioSlot(0)))},
        {"stage": replace(ASKING, render=lambda sample, earlier: user(AudioSlot(1), sample.question))},
        {
            "stage": replace(
                ASKING, render=lambda sample, earlier: (Message("system", (AudioSlot(0), sample.question)),)
            )
        },
        {"stage": replace(ASKING, task="open")},
        {"stage": replace(ASKING, settings=Settings(max_new_tokens=255))},
        {"stage": replace(ASKING, settings=Settings(temperature="0.1"))},
        {"stage": replace(ASKING, settings=Settings(top_p="0.9"))},
        {"model": Speaker(name="other")},
        {"model": Speaker(limits=Limits(rate_hz=8_000, max_clips=2))},
        {"epoch": 1},
    ],
)
def test_what_a_model_could_answer_differently_to_is_in_the_key(change: dict[str, Any]) -> None:
    # A model of two clips at once, so that one more is a request too.
    both = Speaker(limits=Limits(max_clips=2))
    assert request(**{"model": both, **change}).key != request(model=both).key


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"name": "birds"},
        {"reference": "cat"},
        {"references": ("dog", "hound")},
        {"metadata": {"hop": "multi"}},
        {"doubt": "its label is disputed"},
        {"alias": "another"},
        {"stage": replace(ASKING, name="again")},
        {"model": Speaker(limits=Limits(max_batch=1))},
    ],
)
def test_what_no_model_is_told_is_not_in_the_key(change: dict[str, Any]) -> None:
    assert request(**change).key == request().key


@pytest.mark.parametrize("listens", [True, False])
def test_options_that_only_a_listener_is_shown_are_in_the_key(listens: bool) -> None:
    speaker = Speaker(listens=listens)
    offering = replace(ASKING, offers=lambda sample: (sample.question, "something else"))
    assert request(offering, speaker, choices=()).choices == ("Which animal is it?", "something else")
    assert request(offering, speaker, choices=()).key != request(ASKING, speaker, choices=()).key
    assert request(ASKING, speaker, choices=("a", "b")).key != request(ASKING, speaker, choices=("a,b",)).key


def test_a_model_that_is_played_nothing_is_asked_by_the_samples_name_in_place_of_its_clips() -> None:
    replay = Speaker(listens=False)
    own = request(model=replay)
    assert request(model=replay, clips=(clip("other"),)).key == own.key
    for change in ({"name": "birds"}, {"id": "other"}, {"stage": replace(ASKING, name="again")}):
        assert request(model=replay, **change).key != own.key


def test_a_clip_that_is_not_here_leaves_the_samples_name_in_its_place_also_for_a_judge_that_listens() -> None:
    with AudioIndex(None) as index:
        (taken,) = select(dataset([SAMPLE]), HERE, index, handle(Speaker(listens=False))).samples
    gone = taken._replace(clip_keys=None)
    named = request(replace(ASKING, role="judge"), Speaker(listens=False)).key
    for listens in (True, False):
        requester = Requester(handle(Speaker(listens=listens)), replace(ASKING, role="judge"), "animals", 0)
        assert requester.request(gone, {}).key == named


def test_a_judge_is_played_a_clip_only_where_its_prompt_has_a_place_for_one() -> None:
    scorer = replace(ASKING, role="judge", render=lambda sample, earlier: user(sample.question))
    assert request(scorer).clips == ()
    assert request(scorer).key == request(scorer, clips=(clip("other"),)).key
    listening = replace(ASKING, role="judge")
    assert request(listening).clips == SAMPLE.clips
    assert request(listening).key != request(listening, clips=(clip("other"),)).key
    # The subject is played every clip, wherever its prompt speaks of it.
    asked = replace(ASKING, render=lambda sample, earlier: user(sample.question))
    assert request(asked).clips == SAMPLE.clips
    assert request(asked).key != request(asked, clips=(clip("other"),)).key


def test_a_key_can_be_computed_from_its_description() -> None:
    """As docs/architecture.md describes it, by other code."""

    def hashed(payload: object) -> bytes:
        return hashlib.sha256(json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()).digest()

    model = hashed({"fingerprint": {"name": "speaker"}, "heard": "16000 Hz, None s", "batches": ""}).hex()
    settings = {"max_new_tokens": 256, "temperature": "0", "top_p": "1"}
    context = hashed({"keys": "1", "model": model, "task": "choice", "settings": settings, "epoch": 3})
    (own,) = SAMPLE.clips
    played = own.source.digest  # type: ignore[union-attr]
    payload = [[["user", [0, "Ist es ein Kätzchen?"]]], [played], ["dog", "cat", "hen"]]
    written = json.dumps(payload, separators=(",", ":")).encode()
    assert request(epoch=3, question="Ist es ein Kätzchen?").key == hashlib.sha256(context + written).hexdigest()


def test_a_request_says_what_its_stage_asks_for_and_how() -> None:
    stage = replace(ASKING, task="choice", settings=Settings(max_new_tokens=7, temperature="0.5"))
    asked = request(stage=stage)
    assert (asked.task, asked.settings) == (stage.task, stage.settings)
