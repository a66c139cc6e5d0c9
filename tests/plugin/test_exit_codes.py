"""Exit code 0 means that all that was required and asked for by name has a result, and that nothing failed."""

import pytest

TWO = """
import pytest
from pytest_audiobench import dataset, manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_{second}(evaluate):
    {body}
"""
MEASURED = 'evaluate(manifest("data/tones.jsonl"), multiple_choice())'
ABSENT = 'evaluate(dataset("mmar"), multiple_choice(){name})'
THRESHOLD = '[[threshold]]\neval = "tones*"\nrequire = ["accuracy >= 0.9"]\n'
BOTH_WAYS = pytest.mark.parametrize("workers", ["-n0", "-n2"])


@pytest.fixture
def two(suite):
    """Writes a suite of two evals; the second has a name and a body."""
    suite.tones()

    def write(second="two", body=MEASURED):
        suite.write(test_tones=TWO.format(second=second, body=body))
        return suite

    return write


@BOTH_WAYS
@pytest.mark.parametrize(
    ("second", "body", "args"),
    [
        ("renamed", MEASURED, []),
        ("two", "pytest.skip('not today')", []),
        ("two", ABSENT.format(name=""), []),
        ("two", MEASURED, ["test_tones.py::test_tones"]),
    ],
)
def test_an_eval_of_the_baseline_that_is_not_measured_fails_the_run_and_stands_in_its_headline(
    two, second, body, args, workers
):
    two().run("--ab-run=main")
    suite = two(second, body)
    result = suite.run(workers, *args, "--ab-baseline=main")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["not measured (*1 required and not measured). Tones/two*, which * holds, was not *"])
    assert [text for text in suite.last()[0]["unmeasured"] if text.startswith("tones/two")]


@BOTH_WAYS
@pytest.mark.parametrize("args", [["-k", "test_tones and not two"], ["--deselect=test_tones.py::test_two"]], ids=str)
def test_an_eval_of_the_baseline_that_the_user_left_out_by_name_is_a_note(two, args, workers):
    suite = two()
    suite.run("--ab-run=main")
    result = suite.run(workers, *args, "--ab-baseline=main")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 eval of the run main was not selected: tones/two*"])
    renamed = two("renamed").run(workers, "-k", "two or test_tones", "--ab-baseline=main")
    assert renamed.ret == pytest.ExitCode.TESTS_FAILED


def test_an_evaluation_of_the_baseline_that_its_test_no_longer_makes_fails_the_run(two):
    call = 'evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="%s")'
    two(body=f"{call % 'a'}; {call % 'b'}").run("--ab-run=main")
    result = two(body=call % "a").run("--ab-baseline=main")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*Tones/two:b (one), which the baseline holds, was not measured: its test did not *"])


@pytest.mark.parametrize(
    ("swallow", "message"),
    [
        ("try:\n        {call}\n    except BaseException: pass", "there is no manifest"),
        ("with pytest.raises(BaseException):\n        {call}", "there is no manifest"),
        ("with subtests.test():\n        {call}", "there is no manifest"),
    ],
)
def test_a_call_of_evaluate_that_failed_fails_its_test_whatever_swallowed_it(suite, swallow, message):
    suite.tones()
    call = 'evaluate(manifest("data/none.jsonl"), multiple_choice(), name="b")'
    fixture = ", subtests" if "subtests" in swallow else ""
    suite.write(
        test_tones="import pytest\nfrom pytest_audiobench import manifest, multiple_choice\n\n"
        f"def test_tones(evaluate{fixture}):\n"
        '    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="a")\n'
        f"    {swallow.format(call=call)}\n"
    )
    result = suite.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*none.jsonl*"])
    assert suite.last()[0]["items"][0]["outcome"] == "failed"


def test_a_call_of_evaluate_that_was_skipped_leaves_its_record_whatever_swallowed_it(two):
    call = ABSENT.format(name=', name="b"')
    body = f"{MEASURED[:-1]}, name='a')\n    try:\n        {call}\n    except pytest.skip.Exception:\n        pass"
    suite = two(body=body)
    assert suite.run().ret == 0
    skipped = [item for item in suite.last()[0]["items"] if item["eval"] == "tones/two:b"]
    assert [(item["outcome"], "mmar is not on this machine" in item["message"]) for item in skipped] == [
        ("skipped", True)
    ]
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    assert suite.run().ret == pytest.ExitCode.TESTS_FAILED


HOOKS = {
    "a conftest's report": """
import pytest
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.outcome, report.longrepr = "passed", None
    return report
""",
    "a conftest's wrapper": """
import pytest
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except BaseException:
        return None
""",
}


@BOTH_WAYS
@pytest.mark.parametrize("hook", HOOKS)
def test_a_failure_that_a_hook_hides_fails_the_run(tones, hook, workers):
    conftest = tones.path / "conftest.py"
    conftest.write_text(conftest.read_text() + HOOKS[hook])
    (tones.path / "audiobench.toml").write_text(THRESHOLD)
    result = tones.run(workers, deaf="yes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert tones.last()[0]["unmeasured"] == ["tones failed, and something else in the run reported it as passed"]


@pytest.mark.parametrize("hook", HOOKS)
def test_an_eval_that_measured_nothing_and_is_reported_as_passed_fails_the_run(two, hook):
    suite = two(body=MEASURED.replace("tones.jsonl", "none.jsonl"))
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + HOOKS[hook])
    result = suite.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert suite.last()[0]["unmeasured"] == [
        "tones/two left no record, and something else in the run reported it as passed"
    ]


def test_a_run_whose_tests_skip_themselves_after_they_measured_does_not_say_that_nothing_was_measured(suite):
    suite.tones()
    suite.write(
        test_tones=TWO.format(second="two", body="pass").partition("def test_two")[0] + "    pytest.skip('late')\n"
    )
    result = suite.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["measured. Nothing was required: *"])
    result.stdout.no_fnmatch_line("*othing was measured*")


def test_a_unittest_case_that_skips_itself_after_it_failed_fails_the_run(suite):
    suite.tones()
    suite.write(
        test_tones="""
import unittest
import pytest
from pytest_audiobench import manifest, multiple_choice

class TestTones(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _evaluate(self, evaluate):
        self.evaluate = evaluate

    def test_all(self):
        self.evaluate(manifest("data/tones.jsonl"), multiple_choice())
        self.skipTest("never mind")
"""
    )
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    assert suite.run(deaf="yes").ret == pytest.ExitCode.TESTS_FAILED
    assert suite.run().ret == 0


@BOTH_WAYS
def test_what_a_path_asked_for_and_nothing_of_it_was_measured_is_not_green(two, workers):
    suite = two(body=ABSENT.format(name=""))
    suite.write(
        test_absent=TWO.format(second="two", body="pass").partition("def test_tones")[0]
        + "def test_mmar(evaluate):\n    "
        + ABSENT.format(name="")
        + "\n"
    )
    assert suite.run(workers).ret == 0
    result = suite.run(workers, "test_tones.py", "test_absent.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*Nothing of test_absent.py was measured: mmar is not on this machine*"])
    result = suite.run(workers, "-k", "two or mmar")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*nothing measured*"])


def test_a_failure_that_is_expected_is_green_and_counted(tones):
    tones.write(
        test_tones="""
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.xfail
def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
    )
    (tones.path / "audiobench.toml").write_text(THRESHOLD)
    result = tones.run(deaf="yes")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*failed as expected (xfail), which the exit code does not show: tones*"])


def test_an_expected_failure_before_the_first_answer_is_green_beside_what_was_measured(suite):
    suite.tones()
    expected = TWO.format(second="two", body=MEASURED.replace("tones.jsonl", "none.jsonl"))
    suite.write(test_tones=expected.replace("def test_two", "@pytest.mark.xfail\ndef test_two"))
    assert suite.run().ret == 0


def test_a_run_that_required_nothing_says_that_it_measured(tones):
    tones.run().stdout.fnmatch_lines(["measured. Nothing was required: *"])


def test_a_test_that_is_interrupted_ends_the_run_in_2_without_a_traceback_of_the_package(two):
    result = two(body="raise KeyboardInterrupt").run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "run_end.py" not in result.stdout.str() + result.stderr.str()


def test_a_run_in_which_a_hook_reports_all_as_passed_that_measured_nothing_is_not_green(suite):
    body = f"try:\n        {ABSENT.format(name='')}\n    except BaseException:\n        pass"
    suite.write(test_tones=TWO.format(second="two", body=body).replace(MEASURED, "test_two(evaluate)"))
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + HOOKS["a conftest's wrapper"])
    assert suite.run().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert suite.run("test_tones.py::test_two").ret == pytest.ExitCode.TESTS_FAILED


def test_a_model_of_the_baseline_that_is_not_run_fails_the_run(tones):
    tones.run("--ab-run=main", "--ab-model=two=tone:two")
    result = tones.run("--ab-baseline=main")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*The model two, which the run main holds, is not run: *by *main#ALIAS*"])
    assert tones.run("--ab-baseline=main#one").ret == 0


def test_a_test_that_swallows_the_skip_of_its_only_evaluation_says_that_it_evaluated_nothing(two):
    call = ABSENT.format(name="")
    body = f"try:\n        {call}\n    except pytest.skip.Exception:\n        pass"
    two(body=body).run().stdout.fnmatch_lines(["*tones/two asked for `evaluate` and evaluated nothing*"])


def test_a_failure_in_no_valid_text_loses_no_measurement(tones):
    tones.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    raise AssertionError("half \\ud800 a pair")
"""
    )
    assert tones.run().ret == 1
    (item,) = tones.last()[0]["items"]
    assert "half \ufffd a pair" in item["message"]
    assert item["metrics"][0]["value"] == 1.0
