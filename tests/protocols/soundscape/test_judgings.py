"""How a judge's ratings of a described scene are read: nine numbers from 0 to 5, or none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import AudioSlot, Response
from pytest_audiobench.protocols.soundscape.judgings import RATINGS, by_ear_prompt, scene_judgings, with_key_prompt

SCORERS = [scorer for judging in scene_judgings() for scorer in judging.scorers]
SAMPLE = Sample("s", (Clip(ArraySource.of([0.1] * 160, 16_000)),), "", (), '[{"type": "music"}]', {"duration": 1.0})
FULL = dict.fromkeys(RATINGS, 3)


def read(text, scorer=SCORERS[0], finish="stop"):
    answer = scorer.parse(SAMPLE, {scorer.judge: Response.of(text, finish)})
    return answer.status, scorer.score(SAMPLE, answer)


def test_the_mean_of_nine_is_a_share_of_five_beside_each_rating():
    status, scores = read(json.dumps({**FULL, "overall_quality": 5, "emotion_accuracy": 0.5}))
    assert status == "parsed"
    assert scores["points"] == pytest.approx((7 * 3 + 5 + 0.5) / 9 / 5)
    assert scores["overall_quality"] == 5.0
    assert scores["emotion_accuracy"] == 0.5
    assert scores.keys() == {"points", *RATINGS}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (json.dumps(FULL), "parsed"),
        (f"Here it is:\n```json\n{json.dumps(FULL)}\n```", "parsed"),
        (f"<think>{{}}</think>{json.dumps({**FULL, 'comments': 'a {brace}'})}", "parsed"),
        (json.dumps({**FULL, "overall_quality": 5.5}), "out_of_range"),
        (json.dumps({**FULL, "overall_quality": -1}), "out_of_range"),
        (json.dumps({**FULL, "overall_quality": True}), "unparsed"),
        (json.dumps({**FULL, "overall_quality": "4"}), "unparsed"),
        (json.dumps({name: 3 for name in RATINGS if name != "overall_quality"}), "unparsed"),
        (json.dumps(FULL).replace("3", "NaN", 1), "out_of_range"),
        ("[4, 4, 4]", "unparsed"),
        ("", "empty"),
    ],
)
def test_a_verdict_has_all_nine_or_is_none(text, status):
    assert read(text)[0] == status


def test_a_cut_verdict_is_truncated():
    assert read(json.dumps(FULL)[:40], finish="length")[0] == "truncated"


def test_what_cannot_be_read_is_left_out_by_one_scorer_and_nothing_by_its_twin():
    assert [read("well …", scorer)[1] for scorer in SCORERS] == [
        None,
        {"points": 0.0} | dict.fromkeys(RATINGS, 0.0),
    ] * 2


@given(st.text(st.characters(exclude_categories=[])))
def test_no_text_breaks_the_reading(text):
    assert read(text)[0] in ("unparsed", "empty", "out_of_range", "parsed")
    assert read(f"{{{text}}}")[0] in ("unparsed", "out_of_range", "parsed")


def test_both_prompts_play_the_clip_and_one_shows_the_key():
    key, ear = (prompt(SAMPLE, "[]")[0].parts for prompt in (with_key_prompt, by_ear_prompt))
    assert key[0] == ear[0] == AudioSlot(0)
    assert SAMPLE.reference in key[1]
    assert SAMPLE.reference not in ear[1]
