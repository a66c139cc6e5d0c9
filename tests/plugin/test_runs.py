"""One command, many ways to run it: the same hashes, the same lines, every answer asked for once."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import zip_longest

import pytest

from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.run import AskingRecord


def hashes(run):
    return run["hashes"], [item["hashes"] for item in run["items"]]


def asked(suite):
    return Counter(line for line in (suite.path / "log").read_text().split() if line != "load")


TWO_EVALS = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("who", ["one", "two", "three"])
def test_tones(evaluate, who):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_unlike(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice(prompt="Listen. {question}\\n{options}"))
"""


@pytest.fixture
def evals(suite):
    suite.tones()
    suite.write(test_tones=TWO_EVALS)
    return suite


def fresh(suite, *args, **options):
    """One run with its own store."""
    number = len(suite.runs())
    (suite.path / "log").unlink(missing_ok=True)
    result = suite.run(f"--ab-store=store{number}.sqlite", *args, log="log", **options)
    return result, suite.last()


@pytest.mark.parametrize(
    ("batching", "seeds"),
    # A run under a hash seed needs interpreters of its own; with either batching it hashes the same names.
    [("planned", "01"), ("opaque", ""), pytest.param("opaque", "0123", marks=pytest.mark.slow)],
)
def test_serial_parallel_and_hash_seeds_agree(evals, batching, seeds, monkeypatch):
    seen = []
    for args, seed in zip_longest(((), ("-n2",), ("-n4",), ("-n2", "--dist=worksteal")), seeds):
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
        if seed:
            monkeypatch.setenv("PYTHONHASHSEED", seed)
        result, (run, folder) = fresh(evals, *args, batching=batching)
        assert result.ret == 0
        assert asked(evals) == {f"tone-{n}": 2 for n in range(40)}
        seen.append((hashes(run), (folder / "scored_predictions.jsonl").read_bytes()))
    assert all(one == seen[0] for one in seen)


def test_another_selection_first_changes_nothing_and_asks_nothing_twice(evals):
    _, (whole, folder) = fresh(evals)
    (evals.path / "log").unlink()
    for args in (("-k", "two"), ("-k", "unlike", "--ab-limit=3"), ()):
        assert evals.run("--ab-store=other.sqlite", *args, log="log").ret == 0
    run, other = evals.last()
    assert hashes(run) == hashes(whole)
    assert (other / "scored_predictions.jsonl").read_bytes() == (folder / "scored_predictions.jsonl").read_bytes()
    assert set(asked(evals).values()) == {2}


def test_a_fully_answered_run_loads_no_model(tones):
    assert tones.run(log="log").ret == 0
    before = (tones.path / "log").read_text()
    assert tones.run(log="log").ret == 0
    assert (tones.path / "log").read_text() == before
    assert tones.last()[0]["items"][0]["asking"]["known"] == 40


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_where_it_was(tones, how):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--ab-model=tone:one,log=log,die=tone-15,how=hang",
    ]
    # A shell's background jobs ignore SIGINT, and children inherit that; a user's terminal does not.
    process = subprocess.Popen(
        command,
        cwd=tones.path,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    log = tones.path / "log"
    while process.poll() is None and not (log.exists() and len(log.read_text().split()) > 13):
        time.sleep(0.05)
    process.send_signal(how)
    process.wait()
    assert process.returncode != 0
    first = asked(tones)
    assert 12 < sum(first.values()) < 40
    result = tones.run(log="log")
    assert result.ret == 0
    again = asked(tones)
    # Only the batch in flight, of four, may have been asked a second time.
    assert sum(again.values()) - 40 <= 4
    resumed, folder = tones.last()
    result, (whole, other) = fresh(tones)
    assert hashes(resumed) == hashes(whole)
    assert (folder / "scored_predictions.jsonl").read_bytes() == (other / "scored_predictions.jsonl").read_bytes()


def test_refresh_asks_everything_again_and_counts_no_noise(tones):
    tones.run(log="log")
    tones.run("--ab-refresh", log="log")
    assert set(asked(tones).values()) == {2}
    assert tones.last()[0]["items"][0]["asking"] == plain(AskingRecord(asked=40))


def test_epochs_ask_again_and_report_agreement(tones):
    assert tones.run("--ab-epochs=3", log="log").ret == 0
    run, _ = tones.last()
    assert set(asked(tones).values()) == {3}
    agreement = run["items"][0]["agreement"]
    assert agreement["agreement"] == 1.0
    assert agreement["spread"] == 0.0


def test_a_limited_run_says_so_and_has_another_hash(tones):
    tones.run()
    whole, _ = tones.last()
    result = tones.run("--ab-limit=5", "--ab-model=b=tone:one,batching=opaque", model=None)
    limited, _ = tones.last()
    assert limited["items"][0]["n"] == 5
    assert limited["items"][0]["limited"] is True
    assert limited["hashes"]["input_hash"] != whole["hashes"]["input_hash"]
    result.stdout.fnmatch_lines(["*Limited: only part of the samples was asked*"])


def test_several_models_are_told_apart_by_alias(tones):
    result = tones.run("--ab-model=good=tone:one", "--ab-model=deaf=tone:two,deaf=yes", "-v", model=None)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_tones[[]good[]] PASSED*", "*test_tones[[]deaf[]] PASSED*"])
    run, _ = tones.last()
    assert {item["model"]: item["eval"] for item in run["items"]} == {"good": "tones", "deaf": "tones"}
    assert [model["alias"] for model in run["models"]] == ["deaf", "good"]


def test_with_one_model_its_name_is_hidden_from_test_ids(tones):
    result = tones.run("--collect-only", "-q", "--ab-model=emotion=tone:one", model=None)
    result.stdout.fnmatch_lines(["test_tones.py::test_tones"])
    assert tones.run("-k", "emotion").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_an_earlier_run_can_be_scored_again_without_its_model(tones):
    tones.run("--ab-run=first")
    first, _ = tones.last()
    result = tones.run("--ab-model=replay:reports/first", "--ab-scorer=letters", "--ab-scorer=mmau-string", model=None)
    assert result.ret == 0
    again, _ = tones.last()
    scores = [m for m in again["items"][0]["metrics"] if m["name"] == "accuracy" and not m["group"]]
    assert [(m["scorer"], m["value"]) for m in scores] == [("letters", 1.0), ("mmau-string", 0.0)]
    assert again["items"][0]["hashes"]["audio"] == first["items"][0]["hashes"]["audio"]
    assert again["items"][0]["hashes"]["prompts"] == first["items"][0]["hashes"]["prompts"]
    assert again["items"][0]["hashes"]["model"] != first["items"][0]["hashes"]["model"]


TWO_STAGES = """
from pytest_audiobench import manifest, multiple_choice
from pytest_audiobench.models.messages import AudioSlot, Message
from pytest_audiobench.protocols.protocol import Protocol, Stage

def first(sample, earlier):
    return (Message("user", (AudioSlot(0), "Think about it.")),)

def then(sample, earlier):
    thought = earlier["think"].text
    return (Message("user", (AudioSlot(0), f"You thought {thought}. {sample.question}")),)

def test_tones(evaluate):
    scorers = multiple_choice().scorers
    stages = (Stage("think", first, "choice"), Stage("answer", then, "choice"))
    result = evaluate(manifest("data/tones.jsonl"), Protocol("thinking", stages, scorers, {}))
    assert result["accuracy"] == 1.0
"""


def test_a_later_stage_is_asked_with_the_earlier_answer(suite):
    suite.tones(8)
    suite.write(test_tones=TWO_STAGES)
    suite.run("-n0", log="log").assert_outcomes(passed=1)
    assert set(asked(suite).values()) == {2}
    rows = [json.loads(line) for line in (suite.last()[1] / "predictions.jsonl").read_text().splitlines()]
    assert [row["stage"] for row in rows] == ["think", "answer"] * 8
    suite.run("-n0", log="log").assert_outcomes(passed=1)
    assert set(asked(suite).values()) == {2}
