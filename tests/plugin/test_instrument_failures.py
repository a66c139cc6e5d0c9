"""Exit code 6: a server that is away or breaks every request says nothing of the model, and a retry asks the rest."""

import json
import socket
from collections import Counter

import pytest

from pytest_audiobench.report.verdict import INSTRUMENT_FAILED
from tests.models import stranger
from tests.models.openai import peer as wire

from .conftest import BOTH_WAYS, IN_THE_LONG_RUN

pytest.importorskip("httpx", reason="needs httpx (pip install 'pytest-audiobench[openai]')")

TWO = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("way", ["plain", "other"])
def test_tones(evaluate, way):
    prompt = {"plain": "{question}\\n{options}", "other": "Listen. {question}\\n{options}"}[way]
    evaluate(manifest("data/tones.jsonl"), multiple_choice(prompt=prompt))
"""
THRESHOLD = '[[threshold]]\neval = "tones*"\nrequire = ["accuracy >= 0.9"]\n'
FAILED = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def peer(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = wire.Peer(lambda call: wire.Reply(wire.completion("A", prompt=10 + sum(call.heard) // 640)))
    yield server
    server.stop()


@pytest.fixture
def port():
    """One that refuses who connects, and that nobody else is given; a server of the test may listen there."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def two(suite):
    suite.tones()
    suite.write(test_tones=TWO)
    return suite


def ask(suite, peer, *args, **options):
    model = "".join(f",{key}={value}" for key, value in {"probe": "no", "patience_s": "0.3", **options}.items())
    return suite.run(*args, model=f"one=openai:tiny,base_url={peer.url}{model}")


def asked_once(peer, count):
    times = Counter(json.dumps(call.body, sort_keys=True) for call in peer.asked)
    return len(times) == count and set(times.values()) == {1}


def broken(call):
    return wire.Reply({"error": {"message": "out of order"}}, 500)


@BOTH_WAYS
def test_an_api_that_is_away_ends_in_6_with_its_place_and_a_retry_asks_what_is_missing(two, peer, workers):
    peer.stop()
    result = ask(two, peer, workers)
    assert result.ret == INSTRUMENT_FAILED
    result.stdout.fnmatch_lines([f"*{peer.url} cannot be reached*patience_s=0.3*", "incomplete *No verdict*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert {item["outcome"] for item in two.last()[0]["items"]} == {"failed"}
    peer.start()
    assert ask(two, peer, workers).ret == 0
    assert asked_once(peer, 80)


@IN_THE_LONG_RUN
def test_a_predictions_server_that_is_away_ends_in_6_with_its_place(two, port, workers):
    url = f"http://127.0.0.1:{port}"
    result = two.run(workers, model=f"one=http:{url},retry_s=0.3")
    assert result.ret == INSTRUMENT_FAILED
    result.stdout.fnmatch_lines([f"*{url} cannot be asked: /health could not be reached*fix the server or the URL*"])
    server = stranger.Stranger(port).start()
    try:
        assert two.run(workers, model=f"one=http:{url},retry_s=0.3").ret == 0
    finally:
        server.shutdown()
        server.server_close()


@IN_THE_LONG_RUN
@pytest.mark.parametrize("gate", ["a baseline", "a threshold"])
def test_an_api_that_is_away_is_no_regression_and_no_failed_threshold(two, peer, gate, workers):
    if gate == "a threshold":
        (two.path / "audiobench.toml").write_text(THRESHOLD.replace("0.9", "0.0"))
    args = ["--ab-baseline=main"] if gate == "a baseline" else []
    ask(two, peer, "--ab-run=main")
    peer.stop()
    result = ask(two, peer, workers, *args, "--ab-store=other.sqlite")
    assert result.ret == INSTRUMENT_FAILED
    peer.start()
    assert ask(two, peer, workers, *args, "--ab-store=other.sqlite").ret == 0


@BOTH_WAYS
def test_a_server_that_breaks_in_mid_run_loses_nothing_and_is_asked_nothing_twice(two, peer, workers):
    usual = peer.behave
    peer.behave = lambda call: usual(call) if call.number < 24 else broken(call)
    result = ask(two, peer, workers, concurrency="4")
    assert result.ret == INSTRUMENT_FAILED
    result.stdout.fnmatch_lines([f"*{peer.url} says 500: out of order*"])
    assert {item["outcome"] for item in two.last()[0]["items"]} == {"failed"}
    first, peer.calls, peer.behave = peer.asked[:24], [], usual
    assert ask(two, peer, workers).ret == 0
    assert len(peer.asked) == 56
    peer.calls += first
    assert asked_once(peer, 80)


@BOTH_WAYS
@pytest.mark.parametrize("stop", [[], ["-x"], pytest.param(["--maxfail=2"], marks=pytest.mark.slow)])
@pytest.mark.parametrize(("deaf", "status"), [(True, FAILED), (False, INSTRUMENT_FAILED)])
def test_the_exit_code_tells_the_model_from_the_instrument_also_where_the_run_stops_early(
    two, peer, stop, deaf, status, workers
):
    (two.path / "audiobench.toml").write_text(THRESHOLD)
    peer.behave = (lambda call: wire.Reply(wire.completion("Z"))) if deaf else broken
    result = ask(two, peer, workers, *stop)
    assert result.ret == status
    assert two.last()[0]["exit_status"] == status


@IN_THE_LONG_RUN
def test_a_run_in_which_one_eval_failed_for_the_model_and_another_for_the_instrument_ends_in_1(two, peer, workers):
    (two.path / "audiobench.toml").write_text(THRESHOLD)

    def behave(call):
        listens = "Listen." in json.dumps(call.body)
        return broken(call) if listens else wire.Reply(wire.completion("Z"))

    peer.behave = behave
    result = ask(two, peer, workers)
    result.assert_outcomes(failed=2)
    assert result.ret == FAILED


@IN_THE_LONG_RUN
def test_a_model_all_of_whose_answers_are_empty_or_refused_failed_by_itself(two, peer, workers):
    (two.path / "audiobench.toml").write_text(THRESHOLD)

    def behave(call):
        refused = "Listen." in json.dumps(call.body)
        return wire.Reply(wire.completion(None, refusal="No.") if refused else wire.completion(""))

    peer.behave = behave
    assert ask(two, peer, workers).ret == FAILED


def test_only_what_failed_is_run_again_by_lf_and_keeps_its_exit_code(two, peer):
    peer.behave = lambda call: broken(call) if "Listen." in json.dumps(call.body) else None
    model = f"--ab-model=one=openai:tiny,base_url={peer.url},probe=no"
    assert two.pytest(model).ret == INSTRUMENT_FAILED
    result = two.pytest(model, "--lf")
    result.assert_outcomes(failed=1)
    assert result.ret == INSTRUMENT_FAILED
    peer.behave = lambda call: None
    assert two.pytest(model, "--lf").ret == 0


RERUNS = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        for report in reports:
            report.outcome = "rerun" if report.failed else report.outcome
            item.ihook.pytest_runtest_logreport(report=report)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""


@BOTH_WAYS
def test_a_try_that_failed_for_the_instrument_excuses_no_later_try_that_failed_for_the_model(two, peer, workers):
    conftest = two.path / "conftest.py"
    conftest.write_text(conftest.read_text() + RERUNS)
    (two.path / "audiobench.toml").write_text(THRESHOLD)
    tries = Counter()

    def behave(call):
        # The first try ends when eight requests have failed three times each.
        if list(tries.values()).count(3) >= 8:
            return wire.Reply(wire.completion("Z"))
        tries[json.dumps(call.body, sort_keys=True)] += 1
        return broken(call)

    peer.behave = behave
    result = ask(two, peer, workers, "-k", "plain", concurrency="1")
    assert result.ret == FAILED
    result.stdout.fnmatch_lines(["*was run again after 1 failed try: *8 requests in a row failed*"])


@IN_THE_LONG_RUN
def test_a_failing_teardown_is_not_excused_by_the_instrument(two, peer, workers):
    conftest = two.path / "conftest.py"
    conftest.write_text(
        conftest.read_text()
        + "\nimport pytest\n\n@pytest.fixture(autouse=True)\ndef _tidy():\n    yield\n    raise OSError('untidy')\n"
    )
    peer.behave = broken
    assert ask(two, peer, workers).ret == FAILED


@IN_THE_LONG_RUN
@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ("evaluate, subtests", "with subtests.test():\n        {call}"),
        ("evaluate", "try:\n        {call}\n    except BaseException:\n        pass"),
        ("evaluate, model", "model.ask('data/tone0.wav', 'What is heard?')"),
        ("model", "model.ask('data/tone0.wav', 'What is heard?')"),
    ],
)
def test_whatever_the_test_does_about_it_the_instruments_failure_stays_one(two, peer, arguments, body, workers):
    call = 'evaluate(manifest("data/tones.jsonl"), multiple_choice())'
    two.write(
        test_more="from pytest_audiobench import manifest, multiple_choice\n\n"
        f"def test_more({arguments}):\n    {body.format(call=call)}\n"
    )
    peer.stop()
    result = ask(two, peer, workers, "-k", "more or plain")
    assert result.ret == INSTRUMENT_FAILED


@IN_THE_LONG_RUN
@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "says 401*asked with no key: is it the right one*"),
        (404, "says 404*is 'tiny' a model there*"),
        (307, "says 307*it redirects elsewhere; give the final address as base_url*"),
        (402, "says 402*the account must be paid first*"),
    ],
)
def test_a_refusal_of_all_that_is_asked_ends_in_6_and_says_who_must_act(two, peer, status, sentence, workers):
    peer.behave = lambda call: wire.Reply({}, status)
    result = ask(two, peer, workers)
    assert result.ret == INSTRUMENT_FAILED
    result.stdout.fnmatch_lines([f"*{peer.url} {sentence}"])


@IN_THE_LONG_RUN
def test_audio_that_cannot_be_read_is_for_the_user_to_mend(two, peer, workers):
    for clip in sorted((two.path / "data").glob("*.wav"))[:3]:
        clip.write_bytes(clip.read_bytes()[:60])
    result = ask(two, peer, workers)
    assert result.ret == FAILED
    result.stdout.fnmatch_lines(["*3 of 40 samples could not be asked*"])
    # What is allowed for excuses nothing else, and is no reason not to try again.
    peer.stop()
    assert ask(two, peer, workers, "--ab-max-errors=3", "--ab-store=other.sqlite").ret == INSTRUMENT_FAILED


def test_a_budget_that_is_spent_is_not_tried_again(two, peer):
    result = ask(two, peer, "-k", "plain", "--ab-max-requests=20")
    assert result.ret == FAILED
    assert len(peer.calls) == 20


INTERNAL = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if "{test}" in item.name and call.when == "call":
        raise RuntimeError("a plugin broke")
"""


@BOTH_WAYS
@pytest.mark.parametrize("test", ["plain", "other"])
def test_an_internal_error_is_3(two, test, workers):
    conftest = two.path / "conftest.py"
    conftest.write_text(conftest.read_text() + INTERNAL.format(test=test))
    assert two.run(workers).ret == pytest.ExitCode.INTERNAL_ERROR
    assert two.last()[0]["exit_status"] == pytest.ExitCode.INTERNAL_ERROR


@IN_THE_LONG_RUN
def test_a_server_that_comes_back_within_the_patience_costs_no_answer_and_no_second_asking(two, peer, workers):
    def behave(call):
        # Away three times, for five requests each.
        return wire.Reply({}, 503) if call.number in {*range(10, 15), *range(40, 45), *range(70, 75)} else None

    peer.behave = behave
    assert ask(two, peer, workers, patience_s="60").ret == 0
    refused = [call for call in peer.calls if behave(call)]
    assert len(refused) == 15
    peer.calls = [call for call in peer.calls if not behave(call)]
    assert asked_once(peer, 80)
    assert sum(item["scorers"][0]["coverage"]["errors"] for item in two.last()[0]["items"]) == 0
