"""Judges behind judge_scores_v1 servers: the contract, and everything that may break it."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.judge_scores import model as judge_model
from pytest_audiobench.models.judge_scores import wire
from pytest_audiobench.models.judge_scores.model import JudgeScores
from pytest_audiobench.models.judge_scores.parts import RubricParts, parts_of
from pytest_audiobench.models.messages import Ask, Message, Request
from pytest_audiobench.models.predictions_v1.reply import Breach, Garbled
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec

from .judge import JudgeServer


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(judge_model, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(judge_model, "_LONGEST_PAUSE_S", 0.02)


@pytest.fixture
def server():
    server = JudgeServer().start()
    yield server
    server.stop()


@pytest.fixture
def judge(server):
    made = []

    def judge(**options):
        made.append(JudgeScores(server.url, {"batch": "4", **options}))
        return made[-1]

    yield judge
    for one in made:
        one.close()


def asks(*candidates, reference="dog"):
    return [
        Ask(
            Request(
                key=f"{number:032x}" + "0" * 32,
                dataset="d",
                sample_id=f"{reference}-{number}",
                stage="rubric@j",
                task="open",
                messages=(
                    RubricParts("Weigh this.\n", reference, "\nThe answer:\n", text, "\nReply with JSON.").message(),
                ),
                clips=(),
            ),
            (),
        )
        for number, text in enumerate(candidates)
    ]


def scores(responses):
    return [json.loads(one.text)["score"] if one.error is None else "error" for one in responses]


def test_a_batch_is_scored_by_id_in_calls_of_the_size_that_was_asked_for(judge, server):
    found = judge().ask(asks(*(["a dog barks", "a cat"] * 5)))
    assert scores(found) == [1.0, 0.0] * 5
    assert sorted(len(call["items"]) for call in server.calls) == [2, 4, 4]
    assert all(call["schema_version"] == "judge_scores_v1" for call in server.calls)
    item = min((item for call in server.calls for item in call["items"]), key=lambda item: item["sample_id"])
    assert item == {
        "sample_id": "0" * 32,
        "rubric": "Weigh this.\ndog\nThe answer:\na dog barks",
        "reference_text": "dog",
        "candidate_text": "a dog barks",
    }


def test_an_items_own_error_is_that_items_alone(judge, server):
    def spoil(told):
        told["items"][0] = {**told["items"][0], "score": None, "error": "over capacity"}
        return told

    server.change = spoil
    found = judge().ask(asks("a dog", "a dog", "a dog"))
    assert scores(found) == [1.0, 1.0, "error"]
    assert found[2].error == "the judge could not score this answer: over capacity"


def without_one(told):
    return {**told, "items": told["items"][1:]}


def with_another(told):
    return {**told, "items": [*told["items"], {"sample_id": "wrong", "score": 1.0}]}


def twice(told):
    return {**told, "items": [*told["items"], told["items"][0]]}


def scored(value):
    return lambda told: {**told, "items": [{**one, "score": value} for one in told["items"]]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_one, "1 of 2 answers have no score"),
        (with_another, "'wrong', which was not asked about"),
        (twice, "which was scored before"),
        (scored(1.5), "is 1.5, outside 0 to 1"),
        (scored(-0.1), "is -0.1, outside 0 to 1"),
        (scored(None), "is None, not a number"),
        (scored("0.5"), "is '0.5', not a number"),
        (scored(True), "is True, not a number"),
        (lambda told: {**told, "schema_version": "judge_scores_v2"}, "'judge_scores_v2', not 'judge_scores_v1'"),
        (lambda told: {"schema_version": "judge_scores_v1"}, "no list `items`"),
        (lambda told: [told], "no list `items`"),
        (lambda told: {**told, "items": ["YES", *told["items"]]}, "items[0] is a text, not an object"),
        (lambda told: b'{"schema_version": "judge_scores_v1", "items": [NaN]}', "NaN, which is not a JSON number"),
    ],
)
def test_a_reply_that_breaks_the_contract_ends_the_eval_with_the_field(judge, server, change, words):
    server.change = change
    with pytest.raises(FatalError, match="breaks the judge_scores_v1 contract") as caught:
        judge().ask(asks("a dog", "a cat"))
    assert words in str(caught.value)


def test_what_fails_in_passing_is_tried_three_times_in_all(judge, server):
    server.faults = [
        lambda one: one.say(503, {"detail": "not yet"}),
        lambda one: one.say(429, {}, {"Retry-After": "0"}),
    ]
    assert scores(judge().ask(asks("a dog"))) == [1.0]
    server.faults = [lambda one: one.say(500, {"detail": "out of memory"})] * 3
    with pytest.raises(FatalError, match=r"out of memory \(tried 3 times\); what it had scored is kept"):
        judge().ask(asks("a dog"))
    server.faults = [lambda one: one.say(200, b"<html>")] * 3
    with pytest.raises(FatalError, match=r"no JSON .*tried 3 times"):
        judge().ask(asks("a dog"))


def test_a_refusal_is_not_repeated(judge, server):
    server.faults = [lambda one: one.say(400, {"detail": "rubric too long"})]
    with pytest.raises(FatalError, match="HTTP 400: rubric too long"):
        judge().ask(asks("a dog"))
    assert len(server.headers) == 1


def test_what_was_scored_before_a_call_failed_is_kept(judge, server):
    found = judge(concurrency="1")
    server.faults = []
    refuse = server.verdict

    def verdict(item):
        if int(item["sample_id"], 16) >= 4:
            server.faults[:] = [lambda one: one.say(400, {"detail": "enough"})] * 9
        return refuse(item)

    server.verdict = verdict
    told = found.ask(asks(*["a dog"] * 12))
    assert scores(told) == [1.0] * 8 + ["error"] * 4
    assert "enough" in told[8].error


def test_a_server_that_is_not_there(server):
    server.stop()
    judge = JudgeScores(server.url, {})
    with pytest.raises(FatalError, match="could not be reached"):
        judge.ask(asks("a dog"))
    judge.close()


def test_it_is_asked_at_the_very_url_with_its_token(judge, server, monkeypatch):
    monkeypatch.setenv("JUDGE_TOKEN", "s3cret-token")
    judge(token_env="JUDGE_TOKEN").ask(asks("a dog"))
    assert server.headers[0]["authorization"] == "Bearer s3cret-token"
    server.change = lambda told: {**told, "schema_version": "s3cret-token"}
    with pytest.raises(FatalError) as caught:
        judge(token_env="JUDGE_TOKEN").ask(asks("a dog"))
    assert "s3cret" not in str(caught.value)


def test_a_prompt_that_is_no_rubric_is_refused_in_a_sentence(judge):
    (ask,) = asks("a dog")
    other = Request(
        **{name: getattr(ask.request, name) for name in ("key", "dataset", "sample_id", "stage", "task", "clips")},
        messages=(Message("user", ("YES or NO?",)),),
    )
    with pytest.raises(FatalError, match='judged by "rubric"'):
        judge().ask([Ask(other, ())])


def test_its_identity_is_its_place_and_the_name_that_it_is_given(server):
    one = make(parse_spec(f"j=judge-scores:{server.url},name=gemma"))
    assert one.fingerprint() == {
        "adapter": "judge-scores/1",
        "endpoint": f"loopback:{server.server_port}/judge",
        "name": "gemma",
    }
    assert JudgeScores(server.url).fingerprint() != one.fingerprint()


@pytest.mark.parametrize("target", ["127.0.0.1:8000", "http://a:b@host/judge", "http://host/judge?key=1", "ftp://host"])
def test_anything_but_a_plain_url_is_a_usage_error(target):
    with pytest.raises(UsageError):
        JudgeScores(target)
    with pytest.raises(UsageError, match="no option 'modle'"):
        JudgeScores("http://host/judge", {"modle": "x"})


PARTS = st.builds(RubricParts, *[st.text(st.characters(exclude_categories=[]))] * 5)


@given(PARTS)
def test_parts_are_told_by_their_place_whatever_they_say(parts):
    assert parts_of((parts.message(),)) == parts
    (item,) = json.loads(wire.body([wire.Item("1", parts)]))["items"]
    assert (item["reference_text"], item["candidate_text"]) == (parts.reference, parts.candidate)
    assert parts.reply not in item["rubric"] or parts.reply in "".join(parts[:-1])


@given(
    st.one_of(
        st.binary(),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["items", "schema_version", "sample_id", "score", "error"]), inner, max_size=4
                )
            ),
        ).map(lambda told: json.dumps(told).encode()),
    )
)
def test_any_reply_is_a_breach_or_garbled_or_scores(reply):
    try:
        found = wire.responses(reply, ["1"])
    except (Breach, Garbled):
        return
    for one in found:
        assert one.error or (0 <= json.loads(one.text)["score"] <= 1 and math.isfinite(json.loads(one.text)["score"]))


def test_the_examples_server_is_one_that_can_be_asked(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "servers" / "judge_server.py"
    with subprocess.Popen([sys.executable, example, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().split()[-1]
            judge = JudgeScores(url)
            found = judge.ask(asks("a dog barks", "nothing", reference="a dog"))
            assert [json.loads(one.text) for one in found] == [
                {"score": 1.0, "rationale": "2 of 2 words of the reference"},
                {"score": 0.0, "rationale": "0 of 2 words of the reference"},
            ]
            judge.close()
            with pytest.raises(FatalError, match="HTTP 404"):
                JudgeScores(url.replace("/judge", "/other")).ask(asks("a dog"))
        finally:
            process.kill()
