"""No way of breaking down is green."""

import pytest

from pytest_audiobench.metrics.value import number
from pytest_audiobench.report.verdict import INSTRUMENT_FAILED

THRESHOLD = """
[[threshold]]
eval = "tones*"
require = ["accuracy >= 0.9"]
"""

RECORDS = """
import decimal, enum, pathlib
import numpy as np
from pytest_audiobench import manifest, multiple_choice

class Level(enum.Enum):
    HIGH = "high"

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    evaluate.record("speed", {value}, unit="x")
"""

CRASHING = """
import os, signal
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("n", range(8))
def test_tones(evaluate, n):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    if n == 5:
        {death}
"""


def either_way(*rows):
    """Each row in one process and the first on workers too; the others on workers in the long run."""
    return [
        *((*row, "-n0") for row in rows),
        (*rows[0], "-n2"),
        *(pytest.param(*row, "-n2", marks=pytest.mark.slow) for row in rows[1:]),
    ]


@pytest.mark.parametrize(
    ("value", "workers"),
    either_way(("np.float64(0.5)",), ("np.float32(0.5)",), ("decimal.Decimal('0.5')",), ("True",), ("np.int64(3)",)),
)
def test_a_recorded_number_of_any_kind_crosses_to_the_controller(suite, value, workers):
    suite.tones()
    suite.write(test_tones=RECORDS.format(value=value))
    result = suite.run(workers, "--junitxml=junit.xml")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    metrics = {metric["name"]: metric["value"] for metric in suite.last()[0]["items"][0]["metrics"]}
    assert metrics["speed"] in (0.5, 1.0, 3.0)
    assert "eval.speed.score" in (suite.path / "junit.xml").read_text()


@pytest.mark.parametrize(
    ("value", "workers"),
    either_way(("pathlib.Path('x')",), ("Level.HIGH",), ("None",), ("'0.5'",), ("[1.0]",), ("1j",)),
)
def test_a_recorded_thing_that_is_no_number_fails_the_test(suite, value, workers):
    suite.tones()
    suite.write(test_tones=RECORDS.format(value=value))
    result = suite.run(workers)
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*speed*"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_recorded_nan_is_kept_as_no_number_and_fails_every_threshold_on_it(suite, workers):
    suite.tones()
    suite.write(
        test_tones=RECORDS.format(value="float('nan')"),
        test_gated=RECORDS.format(value="float('nan')") + "    evaluate.require('accuracy >= 0.1')\n",
    )
    result = suite.run(workers)
    result.assert_outcomes(passed=2)
    speeds = [m["value"] for item in suite.last()[0]["items"] for m in item["metrics"] if m["name"] == "speed"]
    assert speeds == [None, None]


def test_numbers_are_numbers():
    assert number(3, "n") == 3.0


@pytest.mark.parametrize("death", ["os._exit(0)", "os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
@pytest.mark.parametrize("dist", ["load", "worksteal"])
def test_a_worker_that_dies_within_an_eval_fails_it(suite, death, dist):
    suite.tones()
    suite.write(test_tones=CRASHING.format(death=death))
    result = suite.run("-n2", f"--dist={dist}")
    assert result.ret == INSTRUMENT_FAILED
    result.stdout.fnmatch_lines(["*FAILED*test_tones*5*"])
    run, _ = suite.last()
    assert run["exit_status"] == INSTRUMENT_FAILED
    reported = {item["eval"] for item in run["items"]}
    assert {f"tones[{n}]" for n in range(8) if n != 5} <= reported


def test_a_worker_that_cannot_say_what_it_ran_is_no_green(suite):
    """A property that execnet cannot carry kills the worker's channel; the rest of its evals are never reported."""
    suite.tones()
    suite.write(
        test_tones="""
import numpy as np, pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("n", range(6))
def test_tones(evaluate, record_property, n):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    record_property("mine", np.float64(0.5))
"""
    )
    result = suite.run("-n2")
    assert result.ret != 0
    run, _ = suite.last()
    assert run["exit_status"] != 0
    assert len(run["items"]) == 6
    result.stdout.fnmatch_lines(["*6 failed*"])


def test_two_evals_with_one_name_are_a_usage_error(suite):
    suite.tones()
    eval_ = suite.path / "b" / "test_tones.py"
    eval_.parent.mkdir()
    from_one = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
    eval_.write_text(from_one)
    suite.write(test_tones=from_one)
    for workers in ("-n0", "-n2"):
        result = suite.run(workers, "--import-mode=importlib")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "two evals are named 'tones'" in result.stdout.str() + result.stderr.str()
    assert not suite.runs()


def test_evaluating_twice_without_names_fails(suite):
    suite.tones()
    suite.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="a")
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="b")
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="b")
"""
    )
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*give each evaluation a name=*"])


def test_an_eval_that_evaluates_nothing_fails(suite):
    suite.write(test_nothing="def test_nothing(evaluate):\n    pass\n")
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*evaluated nothing*"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_an_eval_whose_author_forgot_to_check_is_held_to_its_thresholds(tones, workers):
    (tones.path / "audiobench.toml").write_text(THRESHOLD)
    assert tones.run(workers).ret == 0
    result = tones.run(workers, deaf="yes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*accuracy >= 0.9*", "*accuracy*25.0*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert tones.last()[0]["items"][0]["verdicts"][0]["status"] == "fail"


def test_an_empty_selection_of_samples_fails(suite):
    (suite.path / "data").mkdir()
    (suite.path / "data" / "tones.jsonl").write_text("\n")
    suite.write(
        test_tones="""
from pytest_audiobench import Dataset, multiple_choice

def test_tones(evaluate):
    evaluate(Dataset("nothing", lambda places: []), multiple_choice())
"""
    )
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*nothing holds no sample*"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_run_in_which_everything_was_skipped_says_so_and_fails_when_gated(suite, workers):
    suite.write(
        test_tones="""
from pytest_audiobench import multiple_choice
from pytest_audiobench import dataset

def test_tones(evaluate):
    evaluate(dataset("sakura", "animal", "single"), multiple_choice())
"""
    )
    result = suite.run(workers, "-rs")
    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*sakura is not on this machine*--ab-data=sakura=FOLDER*"])
    result.stdout.fnmatch_lines(["*the only eval was skipped: nothing was measured*"])
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    assert suite.run(workers).ret == pytest.ExitCode.TESTS_FAILED


def test_a_sample_that_could_not_be_asked_makes_the_eval_incomplete(tones):
    (tones.path / "data" / "tone7.wav").write_bytes(b"")
    result = tones.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*incomplete: 1 of 40 samples could not be asked*tone-7*--ab-max-errors=1*"])
    allowed = tones.run("--ab-max-errors=1")
    allowed.assert_outcomes(passed=1)
    item = tones.last()[0]["items"][0]
    assert item["scorers"][0]["coverage"]["errors"] == 1
    assert next(m for m in item["metrics"] if m["name"] == "accuracy" and not m["group"])["n"] == 39


def test_an_assertion_on_a_metric_explains_itself(suite):
    suite.tones()
    suite.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    result = evaluate(manifest("data/tones.jsonl"), multiple_choice())
    assert result["accuracy[parity=even]"] > 0.99
"""
    )
    result = suite.run(deaf="yes")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*E*accuracy*> 0.99*", "*n=20*"])


@pytest.mark.parametrize(
    ("toml", "said", "workers"),
    either_way(
        ('[[threshold]]\neval = "tones"\nrequire = ["acuracy >= 0.5"]', "*acuracy*accuracy*"),
        ('[[threshold]]\neval = "tones"\nrequire = ["accuracy is good"]', "*accuracy is good*"),
        ('[[threshold]]\neval = "tonnes*"\nrequire = ["accuracy >= 0.5"]', "*no eval matches*tonnes*"),
        ('[[threshold]]\nevil = "tones"\nrequire = []', "*evil*"),
        ("[[threshold", "*audiobench.toml*"),
    ),
)
def test_mistakes_in_thresholds_are_usage_errors_before_the_first_request(tones, toml, said, workers):
    (tones.path / "audiobench.toml").write_text(toml)
    result = tones.run(workers, log="log")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR:*{said}"])
    assert not (tones.path / "log").exists()
    assert not tones.runs()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_all_mistakes_in_thresholds_are_shown_and_all_patterns_that_match_nothing(tones, workers):
    rule = '[[threshold]]\neval = "{}"\nrequire = ["{} >= 0.5"]\n'
    (tones.path / "audiobench.toml").write_text(rule.format("tones", "acuracy") + rule.format("tones", "wr"))
    result = tones.run(workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR:*number 1: *'acuracy'*", "audiobench.toml*number 2: *'wr'*"])
    (tones.path / "audiobench.toml").write_text(rule.format("tonnes", "accuracy") + rule.format("zoo", "accuracy"))
    result = tones.run(workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR:*no eval matches 'tonnes'*did you mean 'tones'[?]", "*no eval matches 'zoo'*"])


def test_a_threshold_that_k_leaves_out_is_listed(tones):
    tones.write(test_other="def test_other():\n    pass\n" + (tones.path / "test_tones.py").read_text())
    (tones.path / "audiobench.toml").write_text('[[threshold]]\neval = "other/*"\nrequire = ["accuracy >= 0.5"]\n')
    result = tones.run("test_tones.py", "test_other.py", "-k", "test_tones.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*not checked*other/[*]*"])


def test_a_threshold_for_an_eval_in_another_file_is_no_mistake(tones):
    evals = tones.path / "evals"
    evals.mkdir()
    (evals / "test_elsewhere.py").write_text((tones.path / "test_tones.py").read_text())
    (tones.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "elsewhere/tones"\nrequire = ["accuracy >= 0.5"]\n'
    )
    assert tones.run("test_tones.py").ret == 0


def test_x_and_lf_work_on_verdicts(suite):
    suite.tones()
    suite.write(
        test_tones="""
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("n", range(4))
def test_tones(evaluate, n):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
    )
    (suite.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "tones[1]"\nrequire = ["accuracy.lower >= 0.99"]\n'
    )
    stopped = suite.run("-x")
    stopped.assert_outcomes(passed=1, failed=1)
    result = suite.pytest("--ab-model=tone:one")
    result.assert_outcomes(passed=3, failed=1)
    result = suite.pytest("--ab-model=tone:one", "--lf")
    result.assert_outcomes(failed=1)


def test_a_rule_holds_for_every_evaluation_that_a_test_names(suite):
    suite.tones()
    suite.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="noisy")
"""
    )
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    suite.run(deaf="yes").assert_outcomes(failed=1)
    for pattern, outcome in (("tones:noisy", {"failed": 1}), ("tones:clean", {"failed": 1})):
        (suite.path / "audiobench.toml").write_text(THRESHOLD.replace("tones*", pattern))
        suite.run(deaf="yes").assert_outcomes(**outcome)
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*made no evaluation that matches 'tones:clean'; it made tones:noisy*"])


def test_a_skip_does_not_excuse_what_was_measured_before_it(suite):
    suite.tones()
    suite.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice
from pytest_audiobench import dataset

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="a")
    evaluate(dataset("sakura", "animal", "single"), multiple_choice(), name="b")
"""
    )
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    suite.run(deaf="yes").assert_outcomes(failed=1)
    # The threshold is for both evaluations.
    suite.run().assert_outcomes(failed=1)
    (suite.path / "audiobench.toml").write_text(THRESHOLD.replace("tones*", "tones:a"))
    suite.run(deaf="yes").assert_outcomes(failed=1)
    suite.run().assert_outcomes(skipped=1)


def test_a_number_of_the_tests_own_cannot_pass_for_a_measured_one(suite):
    suite.tones()
    suite.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    evaluate.record("accuracy", 1.0)
"""
    )
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    result = suite.run(deaf="yes")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*accuracy is measured by the eval*"])


def test_a_declarative_file_without_its_data_fails_when_it_declares_thresholds(suite):
    (suite.path / "conftest.py").write_text(
        (suite.path / "conftest.py").read_text()
        + """

from pytest_audiobench import dataset

_before = pytest_audiobench_register

def pytest_audiobench_register(registration):
    _before(registration)
    registration.dataset("animals", dataset("sakura", "animal", "single"))
"""
    )
    (suite.path / "animals.audiobench.toml").write_text('dataset = "animals"\nrequire = ["accuracy >= 0.5"]\n')
    result = suite.run("animals.audiobench.toml")
    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_folder_that_is_no_run_is_never_removed(tones):
    precious = tones.path / "reports" / "precious"
    precious.mkdir(parents=True)
    (precious / "thesis.txt").write_text("years of work")
    for workers in ("-n0", "-n2"):
        assert tones.run("--ab-run=precious", workers).ret == pytest.ExitCode.USAGE_ERROR
    assert (precious / "thesis.txt").read_text() == "years of work"


def test_an_eval_that_breaks_before_it_measures_is_in_the_report(suite):
    suite.tones()
    suite.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_missing(evaluate):
    evaluate(manifest("data/nothing.jsonl"), multiple_choice())

def test_prompt(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice(prompt="{quest}"))
"""
    )
    result = suite.run()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.no_fnmatch_line("*Traceback*")
    outcomes = {item["eval"]: item["outcome"] for item in suite.last()[0]["items"]}
    assert outcomes == {"tones": "passed", "tones/missing": "failed", "tones/prompt": "failed"}


def test_a_mistyped_protocol_is_told(tones):
    result = tones.run("--ab-scorer=letterz")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no scorer is called 'letterz'; did you mean 'letters'*"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_evals_that_x_left_out_are_counted_and_not_lost(suite, workers):
    suite.tones()
    suite.write(
        test_tones="""
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("n", range(12))
def test_tones(evaluate, n):
    evaluate.require("accuracy >= 0.9")
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
    )
    result = suite.run(workers, "-x", deaf="yes")
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    result.stdout.fnmatch_lines(["*stopped early: * evals were not run*"])
    assert {item["outcome"] for item in suite.last()[0]["items"]} == {"failed"}


def test_thresholds_hold_nothing_where_a_test_makes_controls_only(suite):
    suite.tones()
    suite.write(
        test_c="""
from pytest_audiobench import manifest, multiple_choice

def test_c(evaluate):
    evaluate.require("accuracy >= 0.99")
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), control=True)
"""
    )
    (suite.path / "audiobench.toml").write_text('[[threshold]]\neval = "c"\nrequire = ["accuracy >= 0.98"]\n')
    result = suite.run(deaf="yes")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*accuracy >= 0.98 has no effect: c made controls only*", "*accuracy >= 0.99 has*"])


@pytest.mark.parametrize("samples", [0, -35])
def test_an_eval_that_wants_no_sample_is_a_mistake(suite, samples):
    suite.tones()
    call = f'evaluate(manifest("data/tones.jsonl"), multiple_choice(), samples={samples})'
    suite.write(test_c=f"from pytest_audiobench import manifest, multiple_choice\ndef test_c(evaluate):\n    {call}\n")
    result = suite.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*wants samples={samples}: ask for one or more*"])


@pytest.mark.parametrize("limit", ["score_shift <= 1", "adds_over_silence.lower > -5"])
def test_a_limit_in_points_that_nothing_could_miss_is_a_usage_error(tones, limit):
    (tones.path / "audiobench.toml").write_text(f'[[threshold]]\neval = "tones"\nrequire = ["{limit}"]\n')
    result = tones.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*points are fractions of one*"])


def test_one_worker_is_enough_for_the_controller_to_know_the_evals(tones):
    """The worker announces its evals before xdist tells the controller that it has collected."""
    tones.write(test_tones="import pytest\ndef test_tones(evaluate):\n    pytest.skip('not today')\n")
    (tones.path / "audiobench.toml").write_text('[[threshold]]\neval = "tones"\nrequire = ["accuracy >= 0.9"]\n')
    assert [tones.run("-n1").ret for _ in range(5)] == [1] * 5


def test_a_metric_that_only_the_workers_know_does_not_cost_the_report(suite):
    suite.tones()
    (suite.path / "evals").mkdir()
    (suite.path / "evals" / "conftest.py").write_text(
        """
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.estimates import not_of_samples

def pytest_audiobench_register(registration):
    registration.metric(MetricKind("mine", "higher", "", not_of_samples))
"""
    )
    (suite.path / "evals" / "test_m.py").write_text(
        """
from pytest_audiobench import manifest, multiple_choice

def test_m(evaluate):
    evaluate(manifest("../data/tones.jsonl"), multiple_choice())
    evaluate.record("mine", 3)
"""
    )
    (suite.path / "audiobench.toml").write_text('[[threshold]]\neval = "m"\nrequire = ["mine >= 2"]\n')
    assert suite.run("-n2").ret == 0
    assert suite.last()[0]["items"][0]["verdicts"][0]["status"] == "pass"
