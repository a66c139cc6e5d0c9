"""A server's every misbehaviour: no answer is lost, doubled or invented, and the asking ends in bounded time."""

import asyncio
import gc
import json
import threading
import time
from collections import Counter

import pytest

from pytest_audiobench.errors import FatalError


def right(count):
    return [str(1000 + number) for number in range(count)]


def texts(responses):
    return [response.text for response in responses]


def errors(responses):
    return [response.error for response in responses if response.error is not None]


def times_asked(peer):
    return Counter(call.heard[0] for call in peer.asked)


def test_answers_come_in_the_order_of_the_questions_whoever_is_quickest(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.told(call)._replace(wait_s=0.1 if call.heard[0] % 5 == 0 else 0.0)
    assert texts(model_at(peer).ask(asks(40))) == right(40)
    assert set(times_asked(peer).values()) == {1}


def test_no_more_requests_are_on_their_way_than_allowed(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.told(call)._replace(wait_s=0.03)
    model = model_at(peer, concurrency="3")
    assert texts(model.ask(asks(12))) == right(12)
    assert peer.most_at_once == 3
    begun = [model.begin(asks(12)[start : start + 3]) for start in (0, 3, 6, 9)]
    assert [text for reply in begun for text in texts(reply.result())] == right(12)
    assert peer.most_at_once == 3


def test_the_requests_of_the_next_batches_follow_those_of_one_that_takes_long(peer, model_at, asks, talk):
    """The first is answered when all others have come: whoever waits for its batch first never sends them."""
    others = threading.Semaphore(0)

    def behave(call):
        if call.heard[0] != 1000:
            others.release()
        elif not all(others.acquire(timeout=60) for _ in range(15)):
            return talk.Reply({}, 400)
        return talk.told(call)

    model = model_at(peer, concurrency="2")
    model.load()
    peer.behave = behave
    begun = [model.begin(asks(16)[start : start + 2]) for start in range(0, 16, 2)]
    assert len(begun) == model.in_flight
    assert [text for reply in begun for text in texts(reply.result())] == right(16)


def test_what_stops_one_batch_stops_all_that_were_begun_and_is_said_once_to_each(peer, model_at, asks, talk):
    model = model_at(peer, concurrency="2")
    model.load()
    all_begun = threading.Event()

    def behave(call):
        assert all_begun.wait(60)
        return talk.Reply({"error": {"message": "no"}}, 401)

    peer.behave = behave
    begun = [model.begin(asks(4)) for _ in range(3)]
    all_begun.set()
    for reply in begun:
        with pytest.raises(FatalError, match="says 401"):
            reply.result()
    assert len(peer.asked) <= 2
    # Whoever asks again after that is given another chance.
    peer.behave = lambda call: None
    assert texts(model.ask(asks(2))) == right(2)


def test_what_is_called_off_is_not_sent(peer, model_at, asks, talk):
    model = model_at(peer, concurrency="1")
    model.load()
    came, go_on = threading.Event(), threading.Event()

    def behave(call):
        came.set()
        assert go_on.wait(60)

    peer.behave = behave
    first, second = model.begin(asks(1)), model.begin(asks(5))
    assert came.wait(60)
    assert second.cancel()
    go_on.set()
    assert texts(first.result()) == right(1)
    assert texts(model.ask(asks(2))) == right(2)
    assert len(peer.asked) == 3


def test_a_storm_of_429_slows_the_asking_down_and_loses_nothing(peer, model_at, asks, talk):
    busy = talk.Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.05"})
    peer.behave = lambda call: busy if call.number < 20 or call.number % 3 == 0 else None
    responses = model_at(peer, patience_s="20").ask(asks(40))
    assert texts(responses) == right(40)
    assert not errors(responses)


def test_429_without_end_ends_the_asking_with_one_sentence(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({"error": {"message": "slow down"}}, 429)
    end = r"127\.0\.0\.1:\d+/v1 says 429: slow down.*patience_s=0\.5.*run again to continue"
    with pytest.raises(FatalError, match=end):
        model_at(peer, patience_s="0.5").ask(asks(6))


@pytest.mark.parametrize("probe", ["yes", "no"])
def test_a_server_that_was_waited_for_in_vain_is_not_waited_for_again_until_it_answers(
    peer, model_at, asks, talk, probe
):
    peer.behave = lambda call: talk.Reply({}, 503)
    model = model_at(peer, patience_s="0.5", probe=probe, concurrency="1")
    with pytest.raises(FatalError, match="says 503"):
        model.ask(asks(1))
    asked = len(peer.calls)
    assert asked > 1
    with pytest.raises(FatalError, match="says 503"):
        model.ask(asks(1))
    assert len(peer.calls) == asked + 1
    peer.behave = lambda call: talk.Reply({}, 503) if call.number == asked + 5 else None
    assert texts(model.ask(asks(8))) == right(8)


def test_a_server_that_asks_for_more_patience_than_there_is_is_not_waited_for(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({}, 429, {"Retry-After": "3600"})
    with pytest.raises(FatalError, match="asks to wait 3600 s"):
        model_at(peer, concurrency="2").ask(asks(6))
    assert len(peer.calls) <= 2


@pytest.mark.parametrize("after", ["soon", "nan", "-5", "", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_wait_that_makes_no_sense_is_no_wait(peer, model_at, asks, talk, after):
    peer.behave = lambda call: talk.Reply({}, 503, {"Retry-After": after}) if call.number == 0 else None
    assert texts(model_at(peer).ask(asks(1))) == right(1)


def test_a_request_that_is_refused_while_others_are_answered_is_an_error_of_its_sample(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({}, 502) if call.heard[0] == 1001 else talk.told(call)._replace(wait_s=0.05)
    responses = model_at(peer, patience_s="0.3", concurrency="2").ask(asks(8))
    assert texts(responses) == ["1000", "", *right(8)[2:]]
    assert "says 502: no answer within patience_s=0.3" in errors(responses)[0]


def test_an_account_without_quota_ends_the_run_at_once(peer, model_at, asks, talk):
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    peer.behave = lambda call: talk.Reply(body, 429)
    with pytest.raises(FatalError, match="no quota left"):
        model_at(peer, concurrency="1").ask(asks(3))
    assert len(peer.calls) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 408])
def test_what_passes_is_asked_again(peer, model_at, asks, talk, status):
    seen = Counter()

    def behave(call):
        seen[call.heard[0]] += 1
        return talk.Reply(b"<html>out of order</html>", status) if seen[call.heard[0]] == 1 else None

    peer.behave = behave
    assert texts(model_at(peer).ask(asks(6))) == right(6)
    assert set(times_asked(peer).values()) == {2}


def test_a_slow_answer_is_an_error_of_its_sample_alone(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.told(call)._replace(wait_s=7) if call.heard[0] == 1003 else None
    responses = model_at(peer, timeout_s="3").ask(asks(8))
    assert texts(responses) == [*right(8)[:3], "", *right(8)[4:]]
    assert errors(responses) == [f"{peer.url} gave no whole answer in 3 s (asked 2 times)"]


def test_a_client_that_cannot_be_closed_in_time_is_left_and_nothing_is_printed(peer, model_at, monkeypatch, capsys):
    model = model_at(peer, timeout_s="0.3")
    model.load()

    async def never():
        await asyncio.sleep(600)

    monkeypatch.setattr(model._client, "close", never)
    model.close()
    gc.collect()
    assert capsys.readouterr().err == ""


def test_a_reply_cut_in_its_middle_is_asked_again(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.told(call)._replace(cut=20) if call.number in (1, 2) else None
    assert texts(model_at(peer).ask(asks(6))) == right(6)
    assert len(peer.calls) == 8


def test_a_reply_that_is_always_cut_is_an_error_of_its_sample_alone(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.told(call)._replace(cut=20) if call.heard[0] == 1002 else None
    responses = model_at(peer).ask(asks(5))
    assert texts(responses) == [*right(5)[:2], "", *right(5)[3:]]
    assert "was cut off" in errors(responses)[0]
    assert times_asked(peer)[1002] == 3


def test_a_server_that_breaks_everything_ends_the_asking(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({"detail": "CUDA error"}, 500)
    end = r"8 requests in a row failed: http://127\.0\.0\.1:\d+/v1 says 500: CUDA error"
    with pytest.raises(FatalError, match=end):
        model_at(peer).ask(asks(40))
    assert len(peer.calls) < 3 * 40


UNREADABLE = {
    "no JSON": b"<html>",
    "half of it": b'{"choices": [',
    "NaN": b'{"choices": [], "usage": {"prompt_tokens": NaN}}',
    "a list": [],
    "a text": "hello",
    "null": None,
    "nothing": b"",
    "no choices": {"choices": []},
    "choices of a wrong type": {"choices": {"0": 1}},
    "a choice that is none": {"choices": [7]},
    "no message": {"choices": [{"finish_reason": "stop"}]},
    "a number for an answer": {"choices": [{"message": {"content": 12}}]},
    "a part of a strange type": {"choices": [{"message": {"content": [{"type": "image", "image": "…"}]}}]},
    "a part that is none": {"choices": [{"message": {"content": ["A"]}}]},
    "deep nesting": b"[" * 100_000,
    "an endless number": b'{"choices": ' + b"9" * 5000 + b"}",
    "an error with status 200": {"error": {"message": "provider down"}},
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_an_answer_that_cannot_be_read_is_an_error_of_its_sample_alone(peer, model_at, asks, talk, body):
    peer.behave = lambda call: talk.Reply(body) if call.heard[0] == 1001 else None
    responses = model_at(peer).ask(asks(3))
    assert texts(responses) == ["1000", "", "1002"]
    assert "server" in errors(responses)[0]
    # Asking again costs money and would most likely say the same.
    assert times_asked(peer)[1001] == 1


def test_what_a_server_says_of_its_error_is_told(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({"error": {"message": "provider down"}})
    assert "provider down" in model_at(peer).ask(asks(1))[0].error


def test_a_huge_answer_is_not_read_to_its_end(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply(talk.completion("x" * 20_000_000)) if call.heard[0] == 1001 else None
    responses = model_at(peer).ask(asks(3))
    assert texts(responses) == ["1000", "", "1002"]
    assert "over the 16000000 bytes" in errors(responses)[0]


def test_a_long_text_within_a_reply_is_refused_too(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply(talk.completion("x" * 2_000_000))
    assert "2000000 characters" in model_at(peer).ask(asks(1))[0].error


def test_a_compressed_reply_is_refused(peer, model_at, asks, talk):
    import gzip

    body = gzip.compress(json.dumps(talk.completion("x" * 1_000)).encode())
    peer.behave = lambda call: talk.Reply(body, headers={"Content-Encoding": "gzip"})
    assert "compressed" in model_at(peer).ask(asks(1))[0].error


def test_a_huge_error_is_cut_short(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({"error": {"message": "no " * 3_000_000}}, 400)
    assert len(model_at(peer).ask(asks(1))[0].error) < 400


def test_a_request_that_is_rejected_is_an_error_of_its_sample_alone(peer, model_at, asks, talk):
    rejected = talk.Reply({"error": {"message": "audio too short\n\x1b[31m"}}, 400)
    peer.behave = lambda call: rejected if call.heard[0] == 1000 else None
    responses = model_at(peer).ask(asks(3))
    assert responses[0].error == f"{peer.url} says 400: audio too short [31m"
    assert texts(responses)[1:] == ["1001", "1002"]
    assert times_asked(peer)[1000] == 1


@pytest.mark.parametrize("status", [401, 402, 403, 404, 307])
def test_what_no_second_try_mends_ends_the_run_at_once(peer, model_at, asks, talk, status):
    peer.behave = lambda call: talk.Reply({"error": {"message": "no"}}, status, {"Location": "http://127.0.0.1:1/v1"})
    with pytest.raises(FatalError, match=f"says {status}: no"):
        model_at(peer, concurrency="1").ask(asks(5))
    assert len(peer.calls) == 1


def test_what_was_answered_before_the_end_is_handed_over(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({"error": {"message": "expired"}}, 401) if call.number >= 4 else None
    model = model_at(peer, concurrency="1")
    responses = model.ask(asks(10))
    assert texts(responses)[:4] == right(4)
    assert "says 401: expired" in responses[4].error
    assert all(f"not asked: {peer.url} says 401" in error for error in errors(responses)[1:])
    assert len(peer.calls) == 5
    with pytest.raises(FatalError, match="says 401"):
        model.ask(asks(1))


@pytest.mark.parametrize(("status", "concurrency"), [(500, "12"), (503, "1")])
def test_a_server_that_has_recovered_by_the_next_batch_is_asked_it(peer, model_at, asks, talk, status, concurrency):
    peer.behave = lambda call: talk.Reply({}, status) if call.number >= 2 else None
    model = model_at(peer, concurrency=concurrency, patience_s="0.3")
    assert len(errors(model.ask(asks(12)))) == 10
    peer.behave = lambda call: None
    assert texts(model.ask(asks(12))) == right(12)


def test_a_server_that_is_not_there_ends_the_asking_in_bounded_time(peer, model_at, asks):
    model = model_at(peer, patience_s="0.5")
    peer.stop()
    with pytest.raises(FatalError, match=r"127\.0\.0\.1:\d+/v1 cannot be reached .*patience_s=0\.5"):
        model.ask(asks(20))


def test_a_server_that_dies_and_comes_back_loses_no_answer(peer, model_at, asks, talk):
    died = threading.Event()

    def die():
        peer.stop()
        time.sleep(0.5)
        peer.behave = lambda call: None
        peer.start()

    def behave(call):
        if call.number >= 5 and not died.is_set():
            died.set()
            threading.Thread(target=die).start()
        return talk.told(call)._replace(cut=5) if died.is_set() else None

    peer.behave = behave
    responses = model_at(peer, patience_s="20", concurrency="4").ask(asks(30))
    assert texts(responses) == right(30)
    assert died.is_set()


def test_a_stream_tells_when_its_first_text_came(peer, model_at, asks, talk):
    response = model_at(peer, stream="yes").ask(asks(1))[0]
    assert (response.text, response.finish) == ("1000", "stop")
    assert 0 < response.first_token_s <= response.latency_s
    assert response.usage == {"prompt_tokens": 11, "completion_tokens": 1}
    assert peer.calls[0].body["stream_options"] == {"include_usage": True}


def test_without_a_stream_no_first_token_is_told(peer, model_at, asks):
    response = model_at(peer).ask(asks(1))[0]
    assert response.first_token_s is None
    assert response.latency_s > 0
    assert "stream" not in peer.calls[0].body


STREAMS = {
    "no JSON": (b"data: {\n\n", "not JSON"),
    "an error": (b'data: {"error": {"message": "out of memory"}}\n\n', "out of memory"),
    "a number for text": (b'data: {"choices": [{"delta": {"content": 5}}]}\n\n', "not text"),
    "a number for a chunk": (b"data: 5\n\n", "other than objects"),
    "no chunk": (b"data: [DONE]\n\n", "no choices"),
}


@pytest.mark.parametrize(("body", "why"), STREAMS.values(), ids=STREAMS)
def test_a_stream_that_cannot_be_read_is_an_error_of_its_sample(peer, model_at, asks, talk, body, why):
    peer.behave = lambda call: talk.Reply(body) if call.heard[0] == 1001 else None
    responses = model_at(peer, stream="yes").ask(asks(3))
    assert texts(responses) == ["1000", "", "1002"]
    assert why in errors(responses)[0]


def test_a_stream_that_ends_too_early_is_asked_again(peer, model_at, asks, talk):
    half = talk.events({"choices": [{"delta": {"content": "10"}}]}, done=False)
    peer.behave = lambda call: talk.Reply(half) if call.number == 0 else None
    assert texts(model_at(peer, stream="yes").ask(asks(2))) == right(2)
    assert len(peer.calls) == 3
