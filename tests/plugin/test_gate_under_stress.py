"""A gate is right, or says that it is not whole, however a run is chosen, stopped, broken or taken up again."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

EVALS = """
import os, signal, time
import pytest
import numpy as np
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("n", range(4))
def test_tones(evaluate, n):
    {before}
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    {after}
"""
DEAF = {"deaf": "yes"}


def evals(before="pass", after="pass"):
    return EVALS.format(before=before, after=after)


@pytest.fixture
def four(suite):
    """Four evals over twelve tones, with a run of them called ``main``."""
    suite.tones(12)
    suite.write(test_tones=evals())
    assert suite.run("--ab-run=main").ret == 0
    return suite


def statuses(suite):
    return {item["eval"]: [one["status"] for one in item["regressions"]] for item in suite.last()[0]["items"]}


@pytest.mark.parametrize("stop", ["-x", "--maxfail=2"])
def test_a_run_that_stops_at_failures_says_what_was_not_held_against_the_baseline(four, stop):
    result = four.run("--ab-baseline=main", stop, **DEAF)
    assert result.ret == 1
    done = 1 if stop == "-x" else 2
    result.assert_outcomes(failed=done)
    result.stdout.fnmatch_lines([f"*stopped early: {4 - done} eval* not run, nor compared with the baseline*"])
    found = four.last()[0]
    assert statuses(four) == {f"tones[{n}]": ["regressed"] for n in range(done)}
    # The lines are those of the whole selection, and not of what was reached.
    assert {one["lines"] for item in found["items"] for one in item["regressions"]} == {4}


def test_what_failed_is_run_again_by_lf_with_its_own_lines(four):
    (four.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "tones[0]"\nmax_drop = "none"\n[[threshold]]\neval = "tones[3]"\nmax_drop = "none"\n'
    )
    again = ("--ab-model=tone:one,deaf=yes", "--ab-baseline=main")
    four.pytest(*again).assert_outcomes(failed=2, passed=2)
    result = four.pytest(*again, "--lf")
    result.assert_outcomes(failed=2)
    assert statuses(four) == {"tones[1]": ["regressed"], "tones[2]": ["regressed"]}
    assert four.last()[0]["baseline"]["lines"] == 2
    result.stdout.fnmatch_lines(["note: 2 evals of the run main were not selected: *"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_collecting_alone_holds_nothing_and_writes_nothing(four, workers):
    result = four.run("--ab-baseline=main", "--collect-only", workers)
    assert result.ret == 0
    assert len(four.runs()) == 1
    assert four.run("--ab-baseline=nothing", "--collect-only").ret == pytest.ExitCode.USAGE_ERROR


REPORTED = """

def pytest_runtest_logreport(report):
    if report.when == "call" and "PYTEST_XDIST_WORKER" not in os.environ:
        with open("reported", "a") as file:
            file.write(f"{report.nodeid}\\n")
"""


@pytest.mark.parametrize("workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)])
def test_an_interrupt_is_no_verdict_on_what_was_not_run(four, workers):
    four.write(test_tones=evals(before='if n == 3: open("waiting", "w").close(); time.sleep(600)'))
    conftest = four.path / "conftest.py"
    conftest.write_text(conftest.read_text() + REPORTED)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--ab-model=tone:one,deaf=yes", "--ab-baseline=main", *workers],
        cwd=four.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # These tests may themselves run in a worker, whose name only the run's own workers should have.
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")},
        # A shell's background job ignores interrupts, and what it starts inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    reported = four.path / "reported"
    while process.poll() is None and not (
        (four.path / "waiting").exists() and reported.exists() and len(reported.read_text().split()) == 3
    ):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=300)[0]
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    run, _ = four.last()
    assert run["exit_status"] == 2
    assert {one["status"] for item in run["items"] for one in item["regressions"]} == {"regressed"}
    assert "tones[3]" not in {item["eval"] for item in run["items"]}
    assert any(note.startswith("stopped early: ") and "nor compared with" in note for note in run["notes"])


@pytest.mark.parametrize("dist", ["load", "worksteal"])
def test_a_lost_worker_is_an_instrument_failure_and_the_others_verdicts_stand(four, dist):
    four.write(test_tones=evals(after="if n == 1: os._exit(3)"))
    result = four.run("--ab-baseline=main", "-n2", f"--dist={dist}")
    assert result.ret == 6
    found = statuses(four)
    assert found.pop("tones[1]") == []
    assert found == {f"tones[{n}]": ["pass"] for n in (0, 2, 3)}
    lost = next(item for item in four.last()[0]["items"] if item["eval"] == "tones[1]")
    assert lost["outcome"] in ("lost", "failed")
    result = four.run("--ab-baseline=main", "-n2", f"--dist={dist}", **DEAF)
    assert result.ret == 1


def test_a_run_taken_up_again_gives_the_verdicts_of_one_that_was_not_broken(four):
    four.run("--ab-baseline=main", "--ab-run=whole", **DEAF)
    four.write(test_tones=evals(after="if n == 2: os.kill(os.getpid(), signal.SIGKILL)"))
    store = four.path / ".audiobench" / "store.sqlite"
    for one in store.parent.glob("store.sqlite*"):
        one.unlink()
    assert four.run("--ab-baseline=main", "--ab-run=again", **DEAF).ret == -signal.SIGKILL
    assert not (four.path / "reports" / "again" / "run.json").exists()
    four.write(test_tones=evals())
    assert four.run("--ab-baseline=main", "--ab-run=again", **DEAF).ret == 1
    runs = [json.loads((four.path / "reports" / name / "run.json").read_text()) for name in ("whole", "again")]
    regressions = [[item["regressions"] for item in run["items"]] for run in runs]
    assert regressions[0] == regressions[1]


def test_last_is_never_a_run_that_crashed(four):
    four.write(test_tones=evals(after="if n == 2: os.kill(os.getpid(), signal.SIGKILL)"))
    assert four.run("--ab-run=broken", **DEAF).ret == -signal.SIGKILL
    four.write(test_tones=evals())
    assert four.run("--ab-baseline=last").ret == 0
    assert four.last()[0]["baseline"]["source"] == "the run main"
    (four.path / "reports" / "main" / "run.json").unlink()
    for path in four.runs():
        path.unlink()
    result = four.run("--ab-baseline=last", log="log")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *last finds no whole run*"])
    assert not (four.path / "log").exists()


def test_all_workers_hold_their_evals_against_the_same_last_run(four):
    """Another run that finishes while the workers start is not the last one for some of them."""
    (four.path / "conftest.py").write_text(
        (four.path / "conftest.py").read_text()
        + """

import shutil

def pytest_collection_finish(session):
    if getattr(session.config, "workerinput", {}).get("workerid") == "gw0":
        shutil.copytree("reports/main", "reports/newer")
        text = open("reports/newer/run.json").read()
        open("reports/newer/run.json", "w").write(text.replace('"finished": "20', '"finished": "21'))
    elif hasattr(session.config, "workerinput"):
        newer = Path("reports/newer/run.json")
        while not (newer.exists() and '"finished": "21' in newer.read_text()):
            time.sleep(0.05)
"""
    )
    assert four.run("--ab-baseline=last", "-n2").ret == 0
    run = json.loads(max(four.runs(), key=lambda path: path.stat().st_mtime_ns).read_text())
    assert run["baseline"]["source"] == "the run main"


def test_a_baseline_that_changes_between_the_workers_ends_the_run(four, monkeypatch):
    # Where these tests run under xdist, the controller of the run within would take itself for the worker.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (four.path / "conftest.py").write_text(
        (four.path / "conftest.py").read_text()
        + """

if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
    started = time.monotonic()
    while not list(Path("reports").glob("*/collected/gw0.json")) and time.monotonic() < started + 300:
        time.sleep(0.05)
    with open("reports/main/run.json", "a") as file:
        file.write(" ")
"""
    )
    result = four.run("--ab-baseline=main", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: the run main changed while the run continued*"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_properties_of_any_number_of_tests_reach_junit_once_each(four, workers):
    four.write(test_tones=evals(after='evaluate.record("speed", np.float64(2.0))'))
    result = four.run("--ab-baseline=main", workers, "--junitxml=junit.xml", **DEAF)
    assert result.ret == 1
    result.assert_outcomes(failed=4)
    text = (four.path / "junit.xml").read_text()
    assert text.count('"eval.name"') == 4
    assert text.count('failures="4"') == 1
    assert text.count('name="eval.accuracy.verdict" value="regressed"') == 4


def test_a_worker_that_cannot_say_what_it_ran_is_no_green_and_no_regression(four):
    four.write(
        test_tones=evals(after='record_property("mine", np.float64(0.5))').replace(
            "evaluate, n)", "evaluate, record_property, n)"
        )
    )
    result = four.run("--ab-baseline=main", "-n2")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert len(four.last()[0]["items"]) == 4


def test_an_eval_of_the_baseline_that_was_skipped_fails_the_run(four):
    four.write(test_tones=evals(before='if n == 1: pytest.skip("not today")'))
    result = four.run("--ab-baseline=main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*tones[[]1[]] (one), which the baseline holds, was not measured: not today*"])
    four.write(test_tones=evals(before='pytest.skip("not today")'))
    result = four.run("--ab-baseline=main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*so this run fails*"])


def test_an_assertion_of_the_tests_own_is_no_instrument_failure(four):
    four.write(test_tones=evals(after="assert n != 2"))
    result = four.run("--ab-baseline=main")
    assert result.ret == 1
    assert statuses(four) == {f"tones[{n}]": ["pass"] for n in range(4)}


def test_warnings_as_errors_make_the_inconclusive_fail(four):
    result = four.run("--ab-baseline=main", "-W", "error", model="tone:other")
    result.assert_outcomes(failed=4)
    assert result.ret == 1


def test_a_plain_suite_pays_nothing_for_a_baseline_in_its_ini_file(suite):
    (suite.path / "pytest.ini").write_text("[pytest]\nab_baseline = last\n")
    suite.write(test_plain="def test_plain():\n    pass\n")
    for workers in ("-n0", "-n2"):
        result = suite.run(workers, model=None)
        assert result.ret == 0
    assert not (suite.path / "reports").exists()
    assert os.listdir(suite.path).count(".audiobench") == 0
