"""check-server: good servers pass, and each broken one fails for its own reason, whatever it does."""

import contextlib
import http.client
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.serving.conformance import RULES, Checker
from pytest_audiobench.serving.probe import Probe

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples" / "servers" / "template_server.py"
LAST = "still-answers"


def _template():
    spec = importlib.util.spec_from_file_location("template_server", TEMPLATE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


template = _template()


def _check(url, *arguments, env=None):
    return subprocess.run(
        [sys.executable, "-m", "pytest_audiobench.cli", "check-server", url, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_our_server_and_the_template_keep_every_rule(start):
    for server in (start("serve", "baseline:listener"), start(TEMPLATE, "--dummy")):
        done = _check(server.url)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert [line.split()[:2] for line in lines[:-1]] == [["pass", rule] for rule in RULES]
        assert lines[-1] == "the server keeps the contract"


def test_a_checkpoint_behind_our_server_keeps_every_rule(start):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    server = start("serve", f"hf:{ROOT / 'fixtures' / 'checkpoints' / 'good'},device=cpu")
    done = _check(server.url)
    assert done.returncode == 0, done.stdout


def test_a_server_with_a_token_is_checked_with_it(start):
    server = start("serve", "baseline:chance", env={"AUDIOBENCH_SERVE_TOKEN": "sesame"})
    assert _check(server.url, env={"AUDIOBENCH_SERVE_TOKEN": "sesame"}).returncode == 0
    done = _check(server.url, "--token", "not-this-one")
    assert done.returncode == 1
    assert "expected 200, got 401" in done.stdout
    assert "not-this-one" not in done.stdout


class Broken(template.Handler):
    """The template's server with one thing wrong."""

    fault = ""

    def _send(self, status, payload):
        status, payload = FAULTS[self.fault][0](self, status, payload)
        if not isinstance(payload, bytes):
            super()._send(status, payload)
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def _on(path, change):
    return lambda handler, status, payload: change(status, payload) if handler.path == path else (status, payload)


def _rows(change):
    """Changes every row of an accepted call's answer."""

    def changed(status, payload):
        if status == 200:
            payload = {**payload, "responses": [change(dict(row)) for row in payload["responses"]]}
        return status, payload

    return _on("/predict", changed)


def _info(**changes):
    return _on("/info", lambda status, payload: (status, {**payload, **changes}))


def _goes_while_it_loads(handler, status, payload):
    """Tells twice that it loads, and then nothing that a client could use."""
    if handler.path != "/info":
        return status, payload
    handler.server.told = getattr(handler.server, "told", 0) + 1
    return (status, {**payload, "load_status": "loading"}) if handler.server.told < 3 else (500, payload)


def _status(wrong, instead):
    return _on("/predict", lambda status, payload: (instead, payload) if status == wrong else (status, payload))


def _drip(handler, status, payload):
    handler.send_response(200)
    handler.end_headers()
    with_patience = time.monotonic() + 20
    while time.monotonic() < with_patience:
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)
    return status, payload


def _hang(handler, status, payload):
    time.sleep(5)
    return status, payload


def _predict_only(change):
    return lambda handler, s, p: change(handler, s, p) if handler.path == "/predict" else (s, p)


def _half(handler, status, payload):
    if status != 200:
        return status, payload
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b"{")
    handler.close_connection = True
    handler.wfile = open(os.devnull, "wb")  # noqa: SIM115
    return status, payload


ANSWERED = {"two-ok", "ids-echoed", "types", "keys", "partial-batch", "other-sample-rate", LAST}
HUNG = {"two-ok", "ids-echoed", "types"}

FAULTS = {
    "not healthy": (_on("/health", lambda s, p: (500, p)), {"health"}, "got 500"),
    "no model": (_info(model=" "), {"info"}, "model is ' '"),
    "batch as text": (_info(max_batch_size="8"), {"info"}, "max_batch_size is '8'"),
    "batch is true": (_info(max_batch_size=True), {"info"}, "max_batch_size is True"),
    "batching as text": (_info(supports_batching="yes"), {"info"}, "supports_batching is 'yes'"),
    "no payload types": (_info(audio_payload_types=[]), {"info"}, "audio_payload_types is []"),
    "another schema": (_info(schema_versions=["predictions_v9"]), {"info"}, "predictions_v1 is not among"),
    "info no object": (_on("/info", lambda s, p: (s, [p])), {"info"}, "not an object"),
    "failed to load": (_info(load_status="failed", last_error="torn"), {"loaded"}, "torn"),
    "loads for ever": (_info(load_status="loading"), {"loaded"}, "load_status is 'loading'"),
    "downloads for ever": (_info(load_status="Downloading"), {"loaded"}, "load_status is 'Downloading'"),
    "failed in capitals": (_info(load_status="FAILED", last_error="torn"), {"loaded"}, "torn"),
    "goes while it loads": (_goes_while_it_loads, {"loaded"}, "expected 200, got 500"),
    "elapsed as text": (_info(loading_elapsed_sec="1 s"), {"loaded"}, "not a number"),
    "no 413": (_status(413, 200), {"oversized-413", "413-before-duplicates"}, "expected 413, got 200"),
    "duplicates before 413": (None, {"413-before-duplicates"}, "expected 413, got 400"),
    "400 as 200": (
        _status(400, 200),
        {
            "wrong-schema-400",
            "requests-no-list-400",
            "sample-id-missing-400",
            "sample-id-empty-400",
            "sample-id-twice-400",
        },
        "expected 400, got 200",
    ),
    "400 for no json": (_status(422, 400), {"no-json-422"}, "expected 422, got 400"),
    "ids lost": (_rows(lambda row: row.pop("sample_id") and row), ANSWERED, "sample_ids"),
    "ids as lists": (_rows(lambda row: {**row, "sample_id": [row["sample_id"]]}), ANSWERED, "sample_ids"),
    "ids in ASCII": (
        _rows(lambda row: {**row, "sample_id": row["sample_id"].encode("ascii", "ignore").decode()}),
        {"ids-echoed"},
        "sample_ids",
    ),
    "a text for predictions": (
        _rows(lambda row: {**row, "predictions": "a text"}),
        {"two-ok", "partial-batch", "other-sample-rate", LAST},
        "predictions is 'a text'",
    ),
    "no predictions": (
        _rows(lambda row: {**row, "predictions": []}),
        {"two-ok", "partial-batch", "other-sample-rate", LAST},
        "predictions is []",
    ),
    "errors everywhere": (
        _rows(lambda row: {**row, "error": "no"}),
        {"two-ok", "partial-batch", "other-sample-rate", LAST},
        "came back with the error 'no'",
    ),
    "no errors anywhere": (_rows(lambda row: {**row, "error": None}), {"partial-batch"}, "without an error"),
    "NaN": (_rows(lambda row: {**row, "latency_sec": float("nan")}), ANSWERED, "NaN is not a JSON number"),
    "latency as text": (_rows(lambda row: {**row, "latency_sec": "1"}), {"types"}, "latency_sec is '1'"),
    "negative latency": (_rows(lambda row: {**row, "latency_sec": -1}), {"types"}, "latency_sec is -1"),
    "usage as list": (_rows(lambda row: {**row, "usage": []}), {"types"}, "usage is []"),
    "tokens as text": (_rows(lambda row: {**row, "usage": {"prompt_tokens": "7"}}), {"types"}, "prompt_tokens"),
    "finish as number": (_rows(lambda row: {**row, "finish_reason": 1}), {"types"}, "finish_reason is 1"),
    "a key too many": (_rows(lambda row: {**row, "extra": 1}), {"keys"}, "'extra'"),
    "wrong envelope": (
        _on("/predict", lambda s, p: (s, {**p, "schema_version": "v2"} if s == 200 else p)),
        ANSWERED,
        "schema_version is 'v2'",
    ),
    "html": (_on("/predict", lambda s, p: (s, b"<html>\x1b[31m" if s == 200 else p)), ANSWERED, "not JSON"),
    "deep": (_on("/predict", lambda s, p: (s, b"[" * 100_000 if s == 200 else p)), ANSWERED, "nested too deeply"),
    "huge": (_on("/predict", lambda s, p: (s, bytes(9 << 20) if s == 200 else p)), ANSWERED, "more than 8 MiB"),
    "half": (_predict_only(_half), ANSWERED, "ends before its Content-Length"),
    "hangs": (_predict_only(_hang), HUNG, "no whole answer within 2 s"),
    "drips": (_predict_only(_drip), HUNG, "no whole answer within 2 s"),
}
NEVER_DONE = ("loads for ever", "downloads for ever", "hangs", "drips")


@pytest.fixture
def broken(request, monkeypatch):
    fault = request.param
    if FAULTS[fault][0] is None:
        monkeypatch.setitem(FAULTS, fault, (lambda handler, s, p: (s, p), *FAULTS[fault][1:]))
        monkeypatch.setattr(template, "questions_of", _duplicates_first(template.questions_of))
    server = template.Server(("127.0.0.1", 0), template.Dummy(), None, 64 << 20)
    server.RequestHandlerClass = type("Faulty", (Broken,), {"fault": fault})
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield fault, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _duplicates_first(questions_of):
    def checked(body, max_batch):
        if body.count(b"check-same") > 1:
            raise template.Refused(400, "a sample_id stands twice in one call")
        return questions_of(body, max_batch)

    return checked


@pytest.mark.parametrize("broken", FAULTS, indirect=True)
def test_a_broken_server_fails_for_its_own_reason(broken):
    fault, url = broken
    _, rules, why = FAULTS[fault]
    probe = Probe(url, None, timeout_s=2 if fault in NEVER_DONE else 60)
    verdicts = {verdict.rule: verdict for verdict in Checker(probe).verdicts()}
    assert list(verdicts) == list(RULES)
    assert {rule for rule, verdict in verdicts.items() if verdict.is_kept is False} == rules
    assert any(why in verdicts[rule].why for rule in rules), verdicts
    assert all(verdict.why.isprintable() for verdict in verdicts.values())


def test_a_server_that_takes_one_at_a_time_is_not_asked_two():
    class One(template.Dummy):
        max_batch = 1

    server = template.Server(("127.0.0.1", 0), One(), None, 64 << 20)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    checked = list(Checker(Probe(f"127.0.0.1:{server.server_port}", None, 60)).verdicts())
    server.shutdown()
    server.server_close()
    assert [verdict.rule for verdict in checked if verdict.is_kept is not True] == ["sample-id-twice-400"]


def test_a_server_that_takes_files_only_is_not_sent_base64(monkeypatch):
    monkeypatch.setitem(FAULTS, "files only", (_info(audio_payload_types=["file_path"]),))
    server = template.Server(("127.0.0.1", 0), template.Dummy(), None, 64 << 20)
    server.RequestHandlerClass = type("FilesOnly", (Broken,), {"fault": "files only"})
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    checked = {v.rule: v for v in Checker(Probe(f"127.0.0.1:{server.server_port}", None, 60)).verdicts()}
    done = _check(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()
    assert done.returncode == 0
    assert done.stdout.endswith("the server keeps the contract, as far as it was tried (15 skipped)\n")
    assert {rule for rule, verdict in checked.items() if verdict.is_kept} == {"health", "info", "loaded", "no-json-422"}
    assert not any(verdict.is_kept is False for verdict in checked.values())
    assert "the server takes ['file_path']" in checked["two-ok"].why


def _post(url, body, **headers):
    """The status and the JSON of an answer to a body that is not sent whole."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    with contextlib.closing(connection):
        connection.request("POST", "/predict", body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_a_template_that_answers_with_plain_texts_is_told_so(item):
    class Plain(template.Dummy):
        def answer(self, questions):
            return ["yes", ("yes", "stop", None), ValueError("not this one"), ("yes", 1, None)]

    server = template.Server(("127.0.0.1", 0), Plain(), None, 64 << 20)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    requests = [item(sample_id) for sample_id in ("plain", "good", "failed", "odd")]
    body = json.dumps({"schema_version": "predictions_v1", "requests": requests})
    status, told = _post(f"127.0.0.1:{server.server_port}", body)
    server.shutdown()
    server.server_close()
    assert status == 200
    plain, good, failed, odd = told["responses"]
    assert (plain["predictions"], good["predictions"]) == ([], ["yes"])
    assert plain["error"] == "Model.answer gave 'yes' instead of (text, finish_reason, usage)"
    assert (good["error"], failed["error"]) == (None, "not this one")
    assert "gave ('yes', 1, None) instead of" in odd["error"]


def test_a_template_asks_for_the_token_before_it_takes_the_body(start):
    server = start(TEMPLATE, "--dummy", env={"SERVER_TOKEN": "sesame"})
    promised = {"Content-Length": str(40 << 20)}
    assert _post(server.url, None, Authorization="Bearer wrong", **promised)[0] == 401
    long = b" " * (20 << 20)
    assert _post(server.url, long, Authorization="Bearer wrong")[0] == 401
    assert _post(server.url, long, Authorization="Bearer sesame")[0] == 422


def test_a_template_does_not_wait_for_ever_for_calls_in_hand(start):
    server = start(TEMPLATE, "--dummy", "--stop-s", "0.2")
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # it is in hand now
        code, _ = server.stop()
    assert code == 1


def test_a_batch_too_large_to_try_is_not_tried():
    class Vast(template.Dummy):
        max_batch = 10**9

    server = template.Server(("127.0.0.1", 0), Vast(), None, 64 << 20)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    checked = {v.rule: v for v in Checker(Probe(f"127.0.0.1:{server.server_port}", None, 60)).verdicts()}
    server.shutdown()
    server.server_close()
    assert checked["oversized-413"].is_kept is None
    assert "max_batch_size is 1000000000" in checked["oversized-413"].why


def test_nobody_at_home_fails_at_once():
    done = _check("http://127.0.0.1:9")
    assert done.returncode == 1
    assert "Connection refused" in done.stdout
    assert "not tried: the server did not answer 3 times" in done.stdout


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://x:port", "http://[::1", "http://x/a b"])
def test_a_url_that_is_none_is_a_users_mistake(url):
    with pytest.raises(UsageError, match="is not a URL of a server"):
        Probe(url, None, 1)


@pytest.mark.parametrize(
    "url", ["ftp://me:sesame@x", "http://me:sesame@x:port", "http://me:sesame@x", "http://x/?key=sesame", "sesame@x"]
)
def test_a_url_that_may_hold_a_secret_is_refused_and_not_shown(url):
    with pytest.raises(UsageError) as told:
        Probe(url, None, 1)
    assert "sesame" not in str(told.value)


def test_a_token_that_no_header_can_hold_is_not_shown():
    with pytest.raises(UsageError, match="the token holds") as told:
        Probe("http://x", "sesame\n", 1)
    assert "sesame" not in str(told.value)
