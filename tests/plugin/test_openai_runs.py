"""Whole runs against a server: shared by workers, bounded by a budget, and what a user reads when it fails."""

import json
from collections import Counter

import pytest

from tests.models.openai import peer as wire

pytest.importorskip("httpx", reason="needs httpx (pip install 'pytest-audiobench[openai]')")

SECRET = "sk-very-secret-0123456789abcdef"

TWO_EVALS = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("again", ["one", "two", "three", "four"])
def test_tones(evaluate, again):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.fixture
def peer(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = wire.Peer(lambda call: wire.Reply(wire.completion("A", prompt=10 + sum(call.heard) // 640)))
    yield server
    server.stop()


def run(suite, peer, *args, **options):
    return suite.run(*args, model=f"openai:tiny,base_url={peer.url}", **options)


def test_workers_share_the_answers_so_that_each_is_asked_once(suite, peer):
    suite.tones(40)
    suite.write(test_tones=TWO_EVALS)
    ran = run(suite, peer, "-n2")
    ran.assert_outcomes(passed=4)
    asked = Counter(json.dumps(call.body, sort_keys=True) for call in peer.asked)
    assert len(asked) == 40
    assert set(asked.values()) == {1}
    record, folder = suite.last()
    # Each worker that asked has proven the hearing for itself.
    assert record["notes"] == [f"{len(peer.calls)} requests were sent to servers"]
    assert len(peer.calls) in (42, 44)
    assert not (folder / "budget.json").exists()


def test_a_cap_on_requests_holds_across_workers_and_a_further_run_goes_on(suite, peer):
    suite.tones(40)
    suite.write(test_tones=TWO_EVALS)
    ran = run(suite, peer, "-n2", "--ab-max-requests=20", probe="no", concurrency="2")
    assert ran.ret == 1
    assert len(peer.calls) == 20
    assert "--ab-max-requests=20 is reached: 20 requests were sent to servers" in " ".join(ran.stdout.str().split())
    assert suite.last()[0]["notes"] == ["20 requests were sent to servers"]
    run(suite, peer, "-n2", "--ab-max-requests=20", probe="no", concurrency="2").assert_outcomes(passed=4)
    assert len(peer.calls) == 40


def test_a_cap_on_costs_needs_prices_before_anything_is_asked(tones, peer):
    ran = run(tones, peer, "--ab-max-cost=0.5")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*--ab-max-cost needs the prices of openai:tiny: add ,price_in=*"])
    assert not peer.calls


def test_what_a_run_cost_stands_in_its_record(tones, peer):
    prices = {"price_in": "1", "price_audio": "10", "price_out": "100"}
    run(tones, peer, "--ab-max-cost=5", probe="no", **prices).assert_outcomes(passed=1)
    record, _ = tones.last()
    assert record["notes"][0].startswith("40 requests were sent to servers for 0.0")


def test_a_key_that_a_server_repeats_is_in_no_file_of_the_run(tones, peer, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)

    def behave(call):
        said = call.headers["authorization"]
        if call.number % 2:
            return wire.Reply({"error": {"message": said}}, 400)
        return wire.Reply(wire.completion(said))

    peer.behave = behave
    ran = run(tones, peer, "--log-level=DEBUG", "-rA", "--showlocals", key_env="MY_KEY", probe="no")
    assert ran.ret == 6
    assert SECRET not in ran.stdout.str() + ran.stderr.str()
    for file in tones.path.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def test_a_server_that_is_down_fails_the_eval_with_one_sentence(tones, peer):
    peer.stop()
    ran = run(tones, peer, patience_s="0.2")
    ran.assert_outcomes(failed=1)
    shown = " ".join(ran.stdout.str().split())
    assert f"{peer.url} cannot be reached" in shown
    assert "Traceback" not in shown
    assert "During handling" not in shown


def test_credentials_in_a_url_are_a_usage_error_that_does_not_repeat_them(tones, peer):
    ran = tones.run(model=f"openai:tiny,base_url=http://me:{SECRET}@127.0.0.1:9/v1")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert SECRET not in ran.stdout.str() + ran.stderr.str()
    ran.stderr.fnmatch_lines(["*base_url holds credentials for 127.0.0.1*key_env=NAME*"])


def test_two_servers_on_this_machine_are_two_models_and_both_are_asked(tones, peer):
    other = wire.Peer(lambda call: wire.Reply(wire.completion("B", prompt=10 + sum(call.heard) // 640)))
    try:
        ran = tones.run(
            f"--ab-model=a=openai:tiny,base_url={peer.url}",
            f"--ab-model=b=openai:tiny,base_url={other.url}",
            model=None,
        )
    finally:
        other.stop()
    ran.assert_outcomes(passed=2)
    assert len(peer.asked) == len(other.asked) == 40
    record, _ = tones.last()
    assert len({model["fingerprint"]["endpoint"] for model in record["models"]}) == 2


def test_two_addresses_that_cannot_be_told_apart_are_a_usage_error(tones, peer):
    named = peer.url.replace("127.0.0.1", "localhost")
    ran = tones.run(
        f"--ab-model=a=openai:tiny,base_url={peer.url}", f"--ab-model=b=openai:tiny,base_url={named}", model=None
    )
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([f"*a and b are one model*asked at {peer.url} and {named}; write one address for both*"])
    assert not peer.calls


def test_a_determinism_eval_asks_a_server_again_and_one_request_at_a_time(suite, peer):
    suite.tones(12)
    suite.write(
        test_again="from pytest_audiobench import determinism, manifest, multiple_choice\n\n"
        "def test_again(evaluate):\n"
        "    determinism(evaluate, manifest('data/tones.jsonl'), multiple_choice(), at_once=[1])\n"
    )
    assert run(suite, peer, probe="no").ret == 0
    metrics = suite.last()[0]["items"][0]["metrics"]
    same = {one["group"].get("condition"): one["value"] for one in metrics if one["name"] == "same_outcomes"}
    assert same == {None: 1.0, "again": 1.0, "concurrency-1": 1.0}
    assert Counter(Counter(json.dumps(call.body, sort_keys=True) for call in peer.asked).values()) == {3: 12}
