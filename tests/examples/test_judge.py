"""The judge before a real chat server on the loopback, asked in all three ways by our clients of either contract."""

import json
import sys
from pathlib import Path
from urllib.error import HTTPError

import pytest

from pytest_audiobench.cli import main as audiobench

ROOT = Path(__file__).parents[2]
SERVE = ROOT / "examples" / "servers" / "judge" / "serve.py"


@pytest.fixture
def thinker(talk):
    """A chat server that judges: YES, a label, or points in JSON."""

    def behave(call):
        text = call.body["messages"][-1]["content"]
        reply = "YES" if "YES" in text else '```json\n{"score": 0.25, "rationale": "nearly"}\n```'
        return talk.Reply(talk.completion("short" if "NO-LABEL" in text else reply))

    server = talk.Peer(behave)
    yield server
    server.stop()


@pytest.fixture
def judge(served, thinker, monkeypatch):
    """Starts the judge before the chat server; its URL."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", thinker.url)
    monkeypatch.setenv("OPENAI_MODEL", "gemma")
    return served(f"{sys.executable} {SERVE} --port {{port}}")


@pytest.fixture
def score(post):
    """The verdicts on candidates, with a judge's whole reply behind each."""

    def scored(url, *candidates, **changes):
        items = [
            {"sample_id": str(i), "rubric": f"Rate: {text}", "reference_text": "a wren", "candidate_text": text}
            for i, text in enumerate(candidates)
        ]
        return post(f"{url}/judge", {"schema_version": "judge_scores_v1", "items": items, **changes})["items"]

    return scored


def test_the_judge_keeps_the_contract_before_a_server_and_as_a_stub(judge, served):
    assert audiobench(["check-server", judge]) == 0
    assert audiobench(["check-server", served(f"{sys.executable} {SERVE} --port {{port}} --stub")]) == 0


@pytest.mark.parametrize(
    ("reply", "score_of_it"),
    [
        ('{"score": 1, "rationale": "same"}', 1),
        ('<think>{"score": 0}?</think> {"score": 0.5, "rationale": null}', 0.5),
        ('Here it is:\n```json\n{"score": 0.75, "rationale": "close"}\n```', 0.75),
    ],
)
def test_points_are_read_of_the_judges_json(judge, score, thinker, talk, reply, score_of_it):
    thinker.behave = lambda call: talk.Reply(talk.completion(reply))
    (verdict,) = score(judge, "a small wren")
    assert (verdict["score"], verdict["error"]) == (score_of_it, None)
    (call,) = thinker.calls
    assert call.body["messages"][0]["content"].startswith("Rate: a small wren\n\nReply with one JSON object")
    assert (call.body["temperature"], call.body["max_tokens"]) == (0.0, 512)


@pytest.mark.parametrize("reply", ["I like it.", '{"score": 7}', '{"score": "1"}', '{"score": true}', '{"score": NaN}'])
def test_what_holds_no_points_is_that_answers_error_and_never_zero(judge, score, thinker, talk, reply):
    good = talk.completion('{"score": 1, "rationale": "same"}')
    thinker.behave = lambda call: talk.Reply(
        good if "right" in call.body["messages"][0]["content"] else talk.completion(reply)
    )
    wrong, right = score(judge, "wrong", "right")
    assert wrong["score"] is None
    assert wrong["error"]
    assert (right["score"], right["error"]) == (1, None)


@pytest.mark.parametrize("changes", [{"schema_version": "2"}, {"items": "none"}, {"items": [{"sample_id": "1"}]}])
def test_a_call_that_is_no_batch_of_items_is_refused(judge, score, changes):
    with pytest.raises(HTTPError, match="400"):
        score(judge, "a wren", **changes)


def test_the_judge_is_played_nothing(judge, ask, clip, thinker):
    ask(judge, "<Audio><AudioHere></Audio> Is it right? YES or NO", clip(1000))
    assert thinker.calls[0].body["messages"] == [{"role": "user", "content": " Is it right? YES or NO"}]


def test_the_stub_counts_words_and_never_says_yes(served, score, ask):
    url = served(f"{sys.executable} {SERVE} --port {{port}} --stub")
    assert [verdict["score"] for verdict in score(url, "a wren", "an owl")] == [1.0, 0.0]
    assert ask(url, "Reply YES or NO only.")[0]["predictions"] == ["NO"]
    assert ask(url, "Which label?")[0]["predictions"] == ["NO-LABEL"]


@pytest.mark.parametrize(
    ("judging", "spec", "line"),
    [
        ("yes-no", "http:{url}", "*accuracy [[]yes-no[]]*100.0 %*"),
        ("extract", "http:{url}", "*accuracy [[]extract[]]*"),
        ("rubric", "judge-scores:{url}/judge", "*judge_score [[]rubric[]]*25.0 %*"),
    ],
)
def test_a_run_is_judged_in_all_three_ways(judge, run_evals, judging, spec, line):
    result = run_evals(
        "--ab-model=baseline:chance",
        f"--ab-judge=judge={spec.format(url=judge)}",
        protocol=f'judged(multiple_choice(), "{judging}")',
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([line])


def test_a_run_starts_the_judge_itself(thinker, run_evals, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", thinker.url)
    monkeypatch.setenv("OPENAI_MODEL", "gemma")
    serve = f"http:words,serve={sys.executable} {SERVE} --port {{port}}"
    result = run_evals(
        "--ab-model=baseline:chance", f"--ab-judge=judge={serve}", protocol='judged(multiple_choice(), "yes-no")'
    )
    result.assert_outcomes(passed=1)
    assert json.dumps(thinker.calls[0].body["messages"]).count("answer-")
