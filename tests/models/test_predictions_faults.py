"""Every error of the predictions_v1 contract, injected: no answer lost, none twice, none invented, in bounded time."""

import json
import os
import socket
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.predictions_v1 import client as predictions_client
from pytest_audiobench.models.predictions_v1 import reply as predictions_reply


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(predictions_client, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(predictions_client, "_LONGEST_PAUSE_S", 0.02)


def texts(responses):
    return [response.text if response.error is None else f"error: {response.error}" for response in responses]


def tones(count):
    return [f"{300 + 100 * number} Hz" for number in range(count)]


def said(status, value=None, **headers):
    """A fault: answer with that status."""
    shown = {name.replace("_", "-"): text for name, text in headers.items()}
    return lambda handler, asked: handler.say(status, {"detail": "not now"} if value is None else value, shown)


def reply_with(change):
    """A fault: a right reply, changed."""

    def fault(handler, asked):
        items = [handler.server.answer(item) for item in asked["requests"]]
        told = {"schema_version": "predictions_v1", "responses": items}
        handler.say(200, change(told) or told)

    return fault


def cut(handler, asked):
    """A body that ends before its stated length."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"schema_version": "predictions_v1", "resp')
    handler.close_connection = True


def slam(handler, asked):
    """The connection closed without a word."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def asked_once(server, asks):
    """Every question was answered once, and once only."""
    keys = sorted(item["sample_id"].partition(".")[0] for item in server.asked)
    return keys == sorted(ask.request.key[:32] for ask in asks)


PASSING = {
    "cut in mid-body": cut,
    "closed without a word": slam,
    "429": said(429, Retry_After="0"),
    "429 with a date": said(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "408": said(408),
    "500": said(500),
    "502": said(502, b"<html>Bad Gateway</html>"),
    "503": said(503, Retry_After="soon"),
    "no JSON": said(200, b"<html>hello</html>"),
    "an empty body": said(200, b""),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again_and_nothing_is_asked_twice(stranger, http_model, tone_asks, fault):
    server, asks = stranger(), tone_asks(10)
    model = http_model(server)
    server.faults += [fault, fault]
    assert texts(model.ask(asks)) == tones(10)
    assert asked_once(server, asks)


def test_a_storm_of_429_is_sat_out(stranger, http_model, tone_asks):
    server, asks = stranger(), tone_asks(10)
    server.faults += [said(429, Retry_After="0")] * 40
    assert texts(http_model(server, concurrency="3", retry_s="60").ask(asks)) == tones(10)
    assert asked_once(server, asks)


@pytest.mark.parametrize("after", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_of_no_time_is_no_leave_to_hammer(stranger, http_model, tone_asks, monkeypatch, after):
    monkeypatch.setattr(predictions_client, "_FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(predictions_client, "_LONGEST_PAUSE_S", 0.05)
    server = stranger()
    model = http_model(server, retry_s="0.2")
    server.faults += [said(429, Retry_After=after)] * 1000
    with pytest.raises(FatalError, match="HTTP 429"):
        model.ask(tone_asks(1))
    assert len(server.faults) >= 990


def test_a_storm_that_does_not_end_is_given_up_in_the_servers_words(stranger, http_model, tone_asks):
    server = stranger()
    server.faults += [said(429, {"error": {"message": "quota\nused up"}}, Retry_After="30")] * 9
    with pytest.raises(FatalError, match=r"HTTP 429: quota used up \(to be asked again in 30 s\) \(tried once\)"):
        http_model(server).ask(tone_asks(2))


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_a_refusal_ends_the_eval_in_the_servers_words(stranger, http_model, tone_asks, status):
    server = stranger()
    server.faults += [said(status, {"detail": [{"msg": "bad \x1b[2J" + "x" * 5000}]})]
    with pytest.raises(FatalError, match=f"/predict gave HTTP {status}: .*bad") as caught:
        http_model(server).ask(tone_asks(1))
    assert len(str(caught.value)) < 700
    assert "\x1b" not in str(caught.value)


def test_a_redirection_is_not_followed(stranger, http_model, tone_asks):
    server = stranger()
    server.faults += [said(307, Location="http://127.0.0.1:9/elsewhere")]
    with pytest.raises(FatalError, match="HTTP 307"):
        http_model(server).ask(tone_asks(1))


def test_413_halves_the_batch_and_is_remembered(stranger, http_model, tone_asks):
    server, asks = stranger(), tone_asks(10)
    model = http_model(server)
    assert model.fingerprint()
    # It said four before it was restarted with less.
    server.info["max_batch_size"] = 3
    assert texts(model.ask(asks)) == tones(10)
    assert asked_once(server, asks)
    assert max(map(len, server.batches)) == 2
    server.batches.clear()
    model.ask(asks)
    assert sorted(map(len, server.batches)) == [2] * 5


def test_a_request_too_large_alone_fails_alone(stranger, http_model, tone_asks):
    server = stranger(max_batch_size=1)
    model = http_model(server)
    server.faults += [said(413)]
    answers = texts(model.ask(tone_asks(3)))
    assert sum("too large (HTTP 413)" in answer for answer in answers) == 1
    assert sum(answer in tones(3) for answer in answers) == 2


def test_a_clip_too_large_to_send_fails_alone_before_it_is_encoded(stranger, http_model, tone_asks):
    first, second, third = tone_asks(3)
    hours = replace(second.audio[0], samples=np.broadcast_to(np.float32(0), (2 * 3600 * 16_000,)))  # takes no memory
    responses = http_model(stranger().url).ask([first, second._replace(audio=(hours,)), third])
    assert responses[1].error.startswith("a clip of 7200 s at 16000 Hz is 230 MB as a WAV file, and 67 MB are the most")
    assert [texts(responses)[0], texts(responses)[2]] == ["300 Hz", "500 Hz"]


def test_a_server_that_hangs_up_on_a_long_body_gets_shorter_ones(stranger, http_model, tone_asks):
    def hang_up(handler, asked):
        if len(asked["requests"]) < 3:
            handler.reply(asked)
        else:
            slam(handler, asked)

    server, asks = stranger(), tone_asks(10)
    server.faults += [hang_up] * 20
    assert texts(http_model(server).ask(asks)) == tones(10)
    assert asked_once(server, asks)


def test_a_server_that_hangs_on_a_long_body_gets_shorter_ones(stranger, http_model, tone_asks):
    def hang(handler, asked):
        if len(asked["requests"]) < 3:
            handler.reply(asked)
        else:
            time.sleep(4)
            handler.close_connection = True

    server, asks = stranger(), tone_asks(10)
    server.faults += [hang] * 20
    # As by default, one exchange may take as long as all further tries together.
    assert texts(http_model(server, timeout_s="3", retry_s="3").ask(asks)) == tones(10)
    assert asked_once(server, asks)


def test_an_error_of_one_item_is_that_samples_alone(stranger, http_model, tone_asks):
    def spoil(told):
        told["responses"][1] = {
            "sample_id": told["responses"][1]["sample_id"],
            "predictions": [],
            "error": "no\nmemory",
        }

    server = stranger()
    server.faults += [reply_with(spoil)]
    assert texts(http_model(server).ask(tone_asks(3))) == ["300 Hz", "error: no memory", "500 Hz"]


def first(**fields):
    """A change of the first response's fields."""
    return reply_with(lambda told: told["responses"][0].update(fields))


BREACHES = {
    "a wrong id": (first(sample_id="other"), "sample_id of responses[0] is 'other', which was not asked about"),
    "no id": (first(sample_id=None), "sample_id of responses[0] is None"),
    "an id twice": (
        reply_with(lambda told: told["responses"].append(told["responses"][0])),
        "which was answered before",
    ),
    "a missing id": (reply_with(lambda told: told["responses"].pop() and None), "1 of 3 requests have no answer"),
    "no predictions": (first(predictions=None), "predictions of responses[0] is None, not a list of texts"),
    "a number": (first(predictions=[1]), "predictions of responses[0] is [1], not a list of texts"),
    "a text": (first(predictions="A"), "predictions of responses[0] is 'A', not a list of texts"),
    "an error of no text": (first(error={"code": 1}), "error of responses[0] is {'code': 1}, of the wrong type"),
    "usage of no object": (first(usage=[1]), "usage of responses[0] is [1]"),
    "a negative count": (first(usage={"prompt_tokens": -1}), "prompt_tokens in the usage of responses[0] is -1"),
    "a latency of text": (first(latency_sec="fast"), "latency_sec of responses[0] is 'fast'"),
    "NaN": (first(latency_sec=float("nan")), "holds NaN, which is not a JSON number"),
    "infinity": (first(latency_sec=1e999), "holds Infinity, which is not a JSON number"),
    "another schema": (
        reply_with(lambda told: told.update(schema_version="v2")),
        "schema_version of the reply is 'v2'",
    ),
    "a list": (said(200, [1]), "no list `responses`"),
    "no object": (reply_with(lambda told: {**told, "responses": ["A"]}), "responses[0] is a text, not an object"),
    "depth": (said(200, b"[" * 200_000), "no JSON"),
    "a number without end": (said(200, b"1" * 100_000), "no JSON"),
}


@pytest.mark.parametrize(("fault", "told"), BREACHES.values(), ids=BREACHES)
def test_a_breach_of_the_contract_ends_the_eval_by_the_field(stranger, http_model, tone_asks, fault, told):
    server = stranger()
    server.faults += [fault] * 3
    with pytest.raises(FatalError) as caught:
        http_model(server).ask(tone_asks(3))
    assert "breaks the predictions_v1 contract" in str(caught.value)
    assert told in str(caught.value)


def test_an_answer_of_nothing_is_an_error_of_its_sample(stranger, http_model, tone_asks):
    server = stranger()
    server.faults += [first(predictions=[])]
    assert texts(http_model(server).ask(tone_asks(1))) == ["error: the server gave neither a prediction nor an error"]


def test_a_reply_without_bound_is_not_read_to_its_end(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setattr(predictions_client, "MOST_BODY_BYTES", 2**20)
    server = stranger()
    server.faults += [first(predictions=["x" * 2**21])]
    with pytest.raises(FatalError, match="the reply to /predict is larger than 1 MiB"):
        http_model(server).ask(tone_asks(1))


def test_a_reply_that_drips_has_one_deadline(stranger, http_model, tone_asks):
    def drip(handler, asked):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        for _ in range(6000):
            handler.wfile.write(b" ")
            time.sleep(0.02)

    server, asks = stranger(), tone_asks(3)
    model = http_model(server, timeout_s="1")
    server.faults += [drip]
    assert texts(model.ask(asks)) == tones(3)


def test_headers_that_drip_have_it_too(stranger, http_model, tone_asks):
    def drip(handler, asked):
        for number in range(6000):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n" if not number else b"x: y\r\n")
            time.sleep(0.02)

    server = stranger()
    model = http_model(server, timeout_s="1")
    server.faults += [drip]
    assert texts(model.ask(tone_asks(3))) == tones(3)


def test_a_server_that_hangs_is_given_up_in_bounded_time(stranger, http_model, tone_asks):
    def hang(handler, asked):
        time.sleep(2)
        handler.close_connection = True

    server = stranger()
    model = http_model(server, timeout_s="0.1", retry_s="0.2")
    server.faults += [hang] * 50
    with pytest.raises(FatalError, match=r"gave no whole answer within 0\.1 s"):
        model.ask(tone_asks(20))


def test_what_was_answered_is_kept_when_the_rest_breaks(stranger, http_model, tone_asks):
    server, asks = stranger(), tone_asks(12)
    model = http_model(server)
    seen = []

    def once_then_refuse(handler, asked):
        seen.append(asked)
        handler.reply(asked) if len(seen) == 1 else handler.say(400, {"detail": "enough"})

    server.faults += [once_then_refuse] * 3
    answers = texts(model.ask(asks))
    assert sum("enough" in answer for answer in answers) == 8
    assert {(answer, tone) for answer, tone in zip(answers, tones(12), strict=True) if "enough" not in answer} == {
        (tone, tone) for tone in tones(12) if tone in answers
    }
    # A question that is not answered at all says what is wrong.
    with pytest.raises(FatalError, match="enough"):
        model.ask(asks)
    assert len(seen) == 3


def test_an_eval_is_not_failed_by_the_last_error_of_the_one_before(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server)
    server.faults += [lambda handler, asked: handler.reply(asked), said(400)]
    assert sum("HTTP 400" in answer for answer in texts(model.ask(tone_asks(8)))) == 4
    assert texts(model.ask(tone_asks(2))) == tones(2)


def test_a_server_that_dies_and_comes_back_is_asked_on(stranger, stranger_module, http_model, tone_asks):
    server, asks = stranger(), tone_asks(10)
    port = server.server_port
    model = http_model(server)
    reborn = []

    def die(handler, asked):
        slam(handler, asked)
        server.server_close()
        server.shutdown()
        reborn.append(stranger_module.Stranger(port).start())

    server.faults += [die]
    answers = model.ask(asks)
    assert texts(answers) == tones(10)
    both = server.asked + reborn[0].asked
    assert sorted(item["sample_id"].partition(".")[0] for item in both) == sorted(a.request.key[:32] for a in asks)
    reborn[0].shutdown()
    reborn[0].server_close()


def test_a_server_that_comes_back_as_another_model_is_not_asked(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server)
    assert model.fingerprint()
    server.info = {**server.info, "model_revision": "2"}
    server.faults += [slam]
    with pytest.raises(FatalError, match=r"came back as another model \(stranger tones 2, before stranger tones 1\)"):
        model.ask(tone_asks(2))
    assert server.asked == []
    # Its answers would go by the first one's name, so the rest of the run does not ask it either.
    with pytest.raises(FatalError, match="came back as another model"):
        model.ask(tone_asks(1))


def test_a_server_that_was_replaced_unnoticed_is_not_asked(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server)
    assert texts(model.ask(tone_asks(1))) == tones(1)
    server.info = {**server.info, "model_revision": "2"}
    server.batches.clear()
    with pytest.raises(FatalError, match="came back as another model"):
        model.ask(tone_asks(2))
    assert server.asked == []


def test_answers_during_which_the_server_was_replaced_are_nobodys(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server)
    assert model.fingerprint()

    def replaced(handler, asked):
        server.info = {**server.info, "model_revision": "2"}
        handler.reply(asked)

    server.faults += [lambda handler, asked: handler.reply(asked), replaced]
    with pytest.raises(FatalError, match="came back as another model"):
        model.ask(tone_asks(10))


def test_that_the_server_was_replaced_is_told_before_all_that_breaks_after(stranger, http_model, tone_asks):
    server, asks = stranger(), tone_asks(8)
    model = http_model(server, concurrency="2")
    assert model.fingerprint()

    def either(handler, asked):
        if asked["requests"][0]["sample_id"] == asks[0].request.key[:32]:
            server.info = {**server.info, "model_revision": "2"}
            slam(handler, asked)
        else:
            handler.say(500, {})

    server.faults += [either] * 100
    with pytest.raises(FatalError, match="came back as another model"):
        model.ask(asks)


def test_a_server_that_loads_its_model_again_is_waited_for(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setattr(predictions_client, "_LOOK_S", 0.02)
    server = stranger()
    model = http_model(server)
    assert model.fingerprint()
    ready = server.info
    loading = {**ready, "model_revision": "unknown", "load_status": "loading"}
    server.info = loading
    threading.Timer(0.1, setattr, [server, "info", ready]).start()
    assert texts(model.ask(tone_asks(1))) == tones(1)


def test_nobody_there_is_said_soon(http_model):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(FatalError, match=r"/health could not be reached .*fix the server or the URL"):
        http_model(url, retry_s="0.1").fingerprint()


def test_a_model_that_gave_up_does_not_try_once_more_for_every_eval(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server, retry_s="0.05")
    assert model.fingerprint()
    server.faults += [said(500)] * 50
    for _ in range(2):
        with pytest.raises(FatalError, match="HTTP 500"):
            model.ask(tone_asks(1))
    left = len(server.faults)
    with pytest.raises(FatalError, match="HTTP 500"):
        model.ask(tone_asks(1))
    assert len(server.faults) == left


def test_random_bytes_are_refused_as_no_json_or_no_contract():
    for _ in range(200):
        body = os.urandom(40)
        with pytest.raises((predictions_reply.Garbled, predictions_reply.Breach)):
            predictions_reply.responses(body, ["a"])


def test_any_value_in_any_place_is_an_answer_or_a_breach():
    """Every field of a right reply, replaced by every kind of JSON value."""
    right = {
        "sample_id": "a",
        "predictions": ["A"],
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 1},
        "latency_sec": 0.5,
        "error": None,
    }
    for field in right:
        for value in (None, True, 0, -1, 1.5, 10**400, "", "a", "\ud800", [], [1], ["A"], {}, {"prompt_tokens": "1"}):
            told = {"schema_version": "predictions_v1", "responses": [{**right, field: value}]}
            try:
                (response,) = predictions_reply.responses(json.dumps(told).encode(), ["a"])
            except predictions_reply.Breach:
                continue
            assert response.outputs or response.error


def test_an_unreadable_url_file_is_named(http_model, tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        http_model("later", url_file=str(tmp_path)).fingerprint()
