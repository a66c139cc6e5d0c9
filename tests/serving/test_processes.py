"""A server as a process: whom it answers, how much it takes, how it starts and ends."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLOW = Path(__file__).with_name("slow_server.py")


def _serve(*arguments, env=None):
    return subprocess.run(
        [sys.executable, "-m", "pytest_audiobench.cli", "serve", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_other_machines_need_a_token():
    done = _serve("baseline:chance", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "AUDIOBENCH_SERVE_TOKEN" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["baseline:parrot"], "there is no baseline 'parrot'"),
        (["parrot"], "names no model"),
        (["hf:/nowhere/at/all"], "/nowhere/at/all does not exist"),
        (["baseline:chance", "--token", ""], "the token is empty"),
        (["baseline:chance", "--port", "70000"], "is not a port"),
        (["baseline:chance", "--allow-files", "/nowhere"], "/nowhere is not a folder"),
        (["baseline:chance", "--max-queue", "-1"], "--max-queue at 0"),
    ],
)
def test_a_users_mistake_is_one_sentence(arguments, why):
    done = _serve(*arguments)
    assert done.returncode == 4
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = _serve("baseline:chance", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 4
    assert "Address already in use" in done.stderr


def test_the_token_opens_and_never_shows(start):
    secret = "open-sesame-123"
    server = start("serve", "baseline:chance", "--host", "0.0.0.0", env={"AUDIOBENCH_SERVE_TOKEN": secret})
    server.url = server.url.replace("0.0.0.0", "127.0.0.1")
    assert server.ask("/health").status == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": secret}, {"Authorization": "Bearer \xe9"}):
        for path in ("/info", "/v1/models"):
            assert server.ask(path, headers=headers).status == 401
        assert server.predict(headers=headers).status == 401
    assert server.ask("/info", headers={"Authorization": f"Bearer {secret}"}).status == 200
    code, said = server.stop()
    assert code == 0
    assert secret not in said


def test_a_web_page_cannot_reach_a_loopback_server_by_a_name_of_its_own(start):
    server = start("serve", "baseline:chance")
    assert server.ask("/info", headers={"Host": "evil.example.org:8000"}).status == 421
    assert server.ask("/info", headers={"Host": "localhost:8000"}).status == 200


@pytest.mark.parametrize("target", ["/info", "/v1/models", "/health%3F", "/health%23", "/health/"])
@pytest.mark.parametrize("host", ["localhost", "x/health?", "x/health#", "x/health%3F"])
def test_no_host_and_no_spelling_of_a_path_stands_in_for_the_token(guarded, target, host):
    assert guarded.ask(target, headers={"Host": host}).status == 401
    posted = guarded.ask("/v1/chat/completions", {"model": "chance", "messages": []}, headers={"Host": host})
    assert posted.status == 401


@pytest.fixture(scope="module")
def guarded(start):
    """A server that takes a token."""
    return start("serve", "baseline:chance", env={"AUDIOBENCH_SERVE_TOKEN": "open-sesame-123"})


@pytest.mark.parametrize("host", [b"x/health?", b"x/health#", b"[", b"\xff"])
def test_the_guard_goes_by_the_path_that_is_routed(host):
    from pytest_audiobench.serving.app import Guard
    from pytest_audiobench.serving.options import ServeOptions

    async def routed(scope, receive, send):
        answers.append(200)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            answers.append(message["status"])

    answers = []
    guard = Guard(routed, ServeOptions(token="open-sesame-123"))
    scope = {"type": "http", "method": "GET", "query_string": b"", "scheme": "http", "headers": [(b"host", host)]}
    for path in ("/info", "/health?", "/health#", "/health"):
        asyncio.run(guard({**scope, "path": path, "raw_path": path.encode(), "root_path": ""}, receive, send))
    assert answers == [401, 401, 401, 200]


BROWSERS = {
    "an old one": {"Origin": "http://evil.example.org"},
    "a page in a frame or a file": {"Origin": "null"},
    "another port of this machine": {"Origin": "http://127.0.0.1:1"},
    "a new one": {"Origin": "http://evil.example.org", "Sec-Fetch-Site": "cross-site"},
    "a form that says no origin": {"Sec-Fetch-Site": "cross-site"},
    "a sister of this host": {"Origin": "http://a.localhost", "Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("page", BROWSERS)
def test_a_web_page_of_another_origin_is_not_answered(guarded, loopback, item, page, kind):
    why = "this call comes from a web page of another origin, which this server does not answer"
    headers = {**BROWSERS[page], "Content-Type": kind}
    reply = loopback.predict(item("a"), headers=headers)
    assert (reply.status, reply.json) == (403, {"detail": why})
    for path in ("/v1/chat/completions", "/v1/audio/transcriptions"):
        reply = loopback.ask(path, {"model": "chance"}, headers=headers)
        assert (reply.status, reply.json["error"]["message"]) == (403, why)
    assert guarded.predict(item("a"), headers=headers).status == 401
    headers["Authorization"] = "Bearer open-sesame-123"
    assert guarded.predict(item("a"), headers=headers).status == 403


@pytest.fixture(scope="module")
def loopback(start):
    """A server without a token."""
    return start("serve", "baseline:chance")


def test_clients_and_pages_of_the_servers_own_origin_are_answered(guarded, loopback, item):
    for server, token in ((loopback, {}), (guarded, {"Authorization": "Bearer open-sesame-123"})):
        for page in (
            {},
            {"Origin": server.url},
            {"Origin": server.url, "Sec-Fetch-Site": "same-origin"},
            {"Sec-Fetch-Site": "none"},
        ):
            assert server.predict(item("a"), headers={**token, **page}).status == 200
        assert server.ask("/info", headers={**token, "Origin": "http://evil.example.org"}).status == 200


def test_a_long_body_is_413(start, item):
    server = start(SLOW, "--body-mb", "1")
    for size in (1 << 20, 2 << 20):
        assert server.ask("/predict", b" " * size + b" ").status == 413
    assert server.ask("/predict", b" " * (1 << 20)).status == 422


def test_a_body_without_a_length_is_bounded_too(start):
    server = start(SLOW, "--body-mb", "1")
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    connection.request("POST", "/predict", (b" " * 65_536 for _ in range(20)), encode_chunked=True)
    assert connection.getresponse().status == 413


def test_a_full_queue_is_429(start, item, wav, tmp_path):
    server = start(SLOW, "--queue", "1")
    asked = f"until {tmp_path / 'refused'}"
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(server.predict, item(str(i), wav(), text=asked)) for i in range(6)]
        replies = _in_turn(calls, 3, tmp_path / "refused")
    assert [reply.status for reply in replies] == [429, 429, 429, 200, 200, 200]
    assert all(reply.headers["retry-after"] == "1" for reply in replies[:3])


def _in_turn(calls, refused, file):
    """The replies as they come; ``file`` is made once so many calls were refused."""
    replies = []
    for call in as_completed(calls):
        replies.append(call.result())
        if len(replies) == refused:
            file.touch()
    return replies


def test_who_is_turned_away_in_mid_body_reads_why(start, item, wav, tmp_path):
    server = start(SLOW, "--queue", "0")
    long = f"until {tmp_path / 'refused'} " + "x" * (10 << 20)
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(server.predict, item(str(i), wav(), text=long)) for i in range(3)]
        replies = _in_turn(calls, 1, tmp_path / "refused")
    assert [reply.status for reply in replies] == [429, 200, 200]
    assert replies[0].json["detail"] == "2 calls are waiting already; come back later"


def test_calls_are_asked_one_after_another_and_never_merged(start, item, wav):
    server = start(SLOW)
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(server.answer, *(item(f"{call}-{i}", wav(), text="sleep 0.1") for i in range(call + 1)))
            for call in range(4)
        ]
        for size, call in enumerate(calls, 1):
            assert all(row["predictions"][0].startswith(f"{size}|") for row in call.result())


def test_the_deadline_is_504(start, item, wav):
    server = start(SLOW, "--deadline", "0.5")
    assert server.predict(item("a", wav(), text="sleep 1.5")).status == 504
    assert server.ask("/health").status == 200


def test_health_answers_while_the_model_loads_and_calls_wait_for_it(start, item, wav, tmp_path):
    server = start(SLOW, "--load-until", tmp_path / "loaded")
    assert server.ask("/health").status == 200
    info = server.ask("/info").json
    assert info["load_status"] == "loading"
    assert info["loading_stage"] == "weights"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(server.answer, item("a", wav()))
        assert not wait([call], timeout=0.5).done
        (tmp_path / "loaded").touch()
        assert call.result()[0]["error"] is None
    info = server.ask("/info").json
    assert info["load_status"] == "ready"
    assert info["loading_elapsed_sec"] >= 0.5


def test_a_model_that_cannot_be_loaded_ends_the_server_with_its_sentence(start):
    server = start(SLOW, "--load-fails")
    server.process.wait(300)
    _, said = server.stop()
    assert server.process.returncode != 0
    assert "the weights are torn; fetch them again" in said


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_in_hand_finish_and_refuses_new_ones(start, item, wav, wait_for, tmp_path, sig):
    server = start(SLOW)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(server.predict, item("a", wav(), text=f"until {tmp_path / 'refused'}"))
        seen = threading.Event()
        threading.Thread(target=lambda: (server.process.stderr.readline(), seen.set())).start()
        assert seen.wait(300)
        server.process.send_signal(sig)
        wait_for(lambda: server.ask("/health").status == 503)
        refused = server.predict(item("b", wav()))
        assert (refused.status, refused.json["detail"]) == (503, "the server is stopping")
        (tmp_path / "refused").touch()
        assert call.result().json["responses"][0]["error"] is None
    code, said = server.stop()
    assert code == 0
    assert said == "closed\n"


def test_an_impatient_second_signal_ends_at_once(start, item, wav, wait_for):
    server = start(SLOW)
    thread = threading.Thread(target=lambda: _ignoring(server.predict, item("a", wav(), text="sleep 600")), daemon=True)
    thread.start()
    assert "asked" in server.process.stderr.readline()
    server.process.send_signal(signal.SIGINT)
    wait_for(lambda: server.ask("/health").status == 503)
    server.process.send_signal(signal.SIGINT)
    server.process.wait(300)


def test_a_client_that_leaves_in_mid_body_harms_nobody(start, item, wav):
    server = start(SLOW)
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
    assert server.answer(item("a", wav()))[0]["error"] is None
    assert "Traceback" not in server.stop()[1]


def test_what_travels_is_json_without_surprises(start, item, wav):
    server = start("serve", "baseline:chance")
    rows = server.answer(item("é", wav(), choices=["rain", "wind"]))
    assert rows[0]["sample_id"] == "é"
    assert rows[0]["predictions"][0] in "AB"
    json.dumps(rows, allow_nan=False)


def _ignoring(work, *given):
    try:
        work(*given)
    except Exception:
        return
