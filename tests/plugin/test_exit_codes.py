"""Exit code 0 means that all that was required and asked for by name has a result, and that nothing failed."""

import pytest

from pytest_audiobench.report.verdict import INSTRUMENT_FAILED

from .conftest import BOTH_WAYS, IN_THE_LONG_RUN

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
SAKURA = 'def test_sakura(evaluate):\n    evaluate(dataset("sakura", "animal", hop="single"), multiple_choice())\n'
THRESHOLD = '[[threshold]]\neval = "tones*"\nrequire = ["accuracy >= 0.9"]\n'


@pytest.fixture
def two(suite):
    """Writes a suite of two evals; the second has a name and a body."""
    suite.tones()

    def write(second="two", body=MEASURED):
        suite.write(test_tones=TWO.format(second=second, body=body))
        return suite

    return write


@IN_THE_LONG_RUN
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


@IN_THE_LONG_RUN
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


@IN_THE_LONG_RUN
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
    result.stdout.fnmatch_lines(["measured. Not gated: *"])
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
    suite.write(test_absent=(suite.path / "test_absent.py").read_text() + SAKURA)
    result = suite.run(workers, "test_absent.py")
    result.stdout.fnmatch_lines(["2 data sets are not here*", "*and 1 more reason: pytest -rs*"])
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
    tones.run().stdout.fnmatch_lines(["measured. Not gated: *"])


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


@pytest.mark.parametrize("call", ["require('acuracy >= 0.9')", "require('accuracy => 0.9')", "record('mine', 'much')"])
def test_what_a_test_declares_in_vain_fails_it_whatever_swallowed_it(suite, call):
    suite.tones()
    swallowed = f"try:\n        evaluate.{call}\n    except BaseException:\n        pass\n    {MEASURED}"
    suite.write(test_tones=TWO.format(second="two", body=swallowed))
    assert suite.run().ret == pytest.ExitCode.TESTS_FAILED


@BOTH_WAYS
def test_a_threshold_in_the_code_of_an_eval_that_was_skipped_fails_the_run(two, workers):
    result = two(body=f"evaluate.require('accuracy >= 0.9')\n    {ABSENT.format(name='')}").run(workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*1 threshold of tones/two (one) not checked, since it was skipped: mmar is not on*"])


IN_A_FIXTURE = """
@pytest.fixture
def measured(evaluate):
    {body}

def test_two(measured):
    pass
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            f"evaluate.require('accuracy >= 0.9')\n    {MEASURED}\n    pytest.skip('later')",
            "*accuracy >= 0.9: 25.0 % is*",
        ),
        (
            "try:\n        evaluate(manifest('data/none.jsonl'), multiple_choice())\n"
            "    except BaseException:\n        pass\n    pytest.skip('later')",
            "*none.jsonl*",
        ),
        (
            "yield\n    try:\n        evaluate(manifest('data/none.jsonl'), multiple_choice(), name='late')\n"
            "    except BaseException:\n        pass",
            "*cannot evaluate once its test has returned*",
        ),
    ],
)
def test_what_a_fixture_evaluates_and_hides_fails_the_run(suite, body, said):
    suite.tones()
    one = TWO.format(second="two", body="pass").partition("def test_two")[0]
    suite.write(test_tones=one + IN_A_FIXTURE.format(body=body))
    result = suite.run(deaf="yes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([said])


def test_what_a_fixture_evaluated_of_a_test_that_then_skips_is_on_record(suite):
    suite.tones()
    body = IN_A_FIXTURE.format(body=f"{MEASURED}\n    pytest.skip('later')")
    suite.write(test_tones=TWO.partition("def test_tones")[0] + body)
    assert suite.run().ret == 0
    item = suite.last()[0]["items"][0]
    assert (item["outcome"], bool(item["scorers"])) == ("skipped", True)


def test_a_refused_way_to_evaluate_fails_the_test_that_swallows_the_refusal(suite):
    suite.tones()
    body = "try:\n        request.getfixturevalue('evaluate')\n    except BaseException:\n        pass"
    suite.write(test_tones=TWO.format(second="two", body=body).replace("test_two(evaluate)", "test_two(request)"))
    result = suite.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*ask for `evaluate` as an argument of the test, not by getfixturevalue*"])


EXITS = {
    "in a hook": "def pytest_runtest_logfinish():\n    pytest.exit('enough', returncode=0)\n",
    "in a fixture's teardown": """
@pytest.fixture(autouse=True)
def ends():
    yield
    pytest.exit('enough', returncode=0)
""",
    "by a count": """
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    session.testsfailed = session.exitstatus = 0
""",
}


@pytest.mark.parametrize("way", EXITS)
def test_a_run_that_code_ends_in_0_after_a_failure_is_not_green(tones, way):
    conftest = tones.path / "conftest.py"
    conftest.write_text(f"{conftest.read_text()}\nimport pytest\n\n{EXITS[way]}")
    (tones.path / "audiobench.toml").write_text(THRESHOLD)
    assert tones.run(deaf="yes").ret == pytest.ExitCode.TESTS_FAILED


def test_a_run_that_is_stopped_when_all_was_run_is_judged(two):
    suite = two(body=ABSENT.format(name=""))
    conftest = suite.path / "conftest.py"
    stop = "@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish(session):\n    session.shouldstop = 'enough'\n"
    conftest.write_text(f"{conftest.read_text()}\nimport pytest\n\n{stop}")
    assert suite.run("--ab-require=mmar").ret == pytest.ExitCode.TESTS_FAILED


REMOVES = """
import pytest
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    result = yield
    items[:] = [item for item in items if "two" not in item.name]
    return result
"""


@BOTH_WAYS
def test_an_eval_of_which_something_is_required_and_that_a_hook_removes_fails_the_run(two, workers):
    suite = two()
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + REMOVES)
    assert suite.run(workers).ret == 0
    assert suite.run(workers, "test_tones.py::test_tones", "test_tones.py::test_two").ret == 1
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    result = suite.run(workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*1 threshold of tones/two not checked: something removed it and did not deselect *"])


def test_an_eval_of_which_no_sample_was_asked_measured_nothing_however_many_may_fail(tones):
    conftest = tones.path / "conftest.py"
    broken = (
        "class ToneModel(ToneModel):\n    def ask(self, batch):\n        return [Response(error='no')] * len(batch)\n"
    )
    conftest.write_text(f"{conftest.read_text()}\n\n{broken}")
    result = tones.run("--ab-max-errors=1000")
    assert result.ret == 6
    result.stdout.fnmatch_lines(["*40 of 40 samples could not be asked (*: no); fix them"])
    result.stdout.no_fnmatch_line("*allow them*")


@pytest.mark.parametrize("args", [["-m", "not slow"], ["--ignore=docs"]], ids=str)
def test_an_eval_of_the_baseline_that_is_gone_is_not_excused_by_an_option_that_left_out_others(two, args):
    suite = two()
    suite.run("--ab-run=main")
    (suite.path / "docs").mkdir()
    (suite.path / "docs" / "test_pages.py").write_text("def test_pages():\n    pass\n")
    result = two("renamed").run(*args, "--ab-baseline=main")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*Tones/two, which the run main holds, was not collected*"])


def test_an_eval_of_the_baseline_in_a_file_that_ignore_names_is_a_note(two):
    suite = two()
    suite.write(test_more=f"{TWO.partition('def test_tones')[0]}def test_more(evaluate):\n    {MEASURED}\n")
    suite.run("--ab-run=main")
    assert suite.run("--ignore=test_more.py", "--ab-baseline=main").ret == 0


MODEL = """

class ToneModel(ToneModel):
    {body}
"""


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ("None", "gave NoneType: ask must return a list of Response"),
        ("(Response.of('A') for _ in batch)", "gave generator: ask must return a list of Response"),
        ("[None for _ in batch]", "gave NoneType: ask must return a list of Response"),
        ("['A' for _ in batch]", "gave str: ask must return a list of Response"),
        ("[Response(error='') for _ in batch]", "samples could not be asked (*: the model gave no reason)"),
    ],
)
def test_answers_of_a_wrong_kind_fail_the_eval_in_a_sentence(tones, answers, said):
    conftest = tones.path / "conftest.py"
    conftest.write_text(conftest.read_text() + MODEL.format(body=f"def ask(self, batch):\n        return {answers}"))
    result = tones.run()
    assert result.ret in (1, 6)
    result.stdout.fnmatch_lines([f"*{said}*"])
    result.stdout.no_fnmatch_line("*batch_executor.py*")


@pytest.mark.parametrize("end", ["SystemExit(0)", "ValueError('no')"])
def test_a_model_that_cannot_be_closed_changes_no_exit_code(tones, end):
    conftest = tones.path / "conftest.py"
    conftest.write_text(conftest.read_text() + MODEL.format(body=f"def close(self):\n        raise {end}"))
    result = tones.run()
    assert result.ret == 0
    result.stderr.fnmatch_lines(["the model one cannot be closed: *"])
    (tones.path / "audiobench.toml").write_text(THRESHOLD)
    assert tones.run(deaf="yes").ret == pytest.ExitCode.TESTS_FAILED


def test_an_expected_failure_that_measured_nothing_is_named_with_its_threshold_unchecked(two):
    suite = two(body="pytest.xfail('not yet')")
    (suite.path / "audiobench.toml").write_text(THRESHOLD.replace("tones*", "tones/two"))
    result = suite.run()
    result.stdout.fnmatch_lines(
        ["*failed as expected (xfail), which the exit code does not show: tones/two (measured *"]
    )


def test_a_run_whose_thresholds_are_of_another_model_does_not_say_that_nothing_was_required(tones):
    (tones.path / "audiobench.toml").write_text(THRESHOLD + 'model = "two"\n')
    result = tones.run(deaf="yes")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*not checked: audiobench.toml*", "measured. * What is required was not checked: *"])


def test_an_expression_that_pytest_cannot_read_is_a_mistake_also_beside_a_baseline(two):
    two().run("--ab-run=main")
    result = two("renamed").run("-k", "tones or", "--ab-baseline=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_test_that_skips_itself_as_unittest_does_keeps_what_it_measured(suite):
    suite.tones()
    body = f"{MEASURED}\n    import unittest\n    raise unittest.SkipTest('late')"
    suite.write(test_tones=TWO.format(second="two", body=body))
    assert suite.run().ret == 0


@pytest.mark.parametrize("option", ["--fixtures", "--fixtures-per-test"])
def test_showing_fixtures_is_no_run(tones, option):
    result = tones.run(option)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*never reported*")
    assert not tones.runs()


RAISES = """
from pytest_audiobench import errors

def ask(self, batch, answered=ToneModel.ask):
    self.batches = getattr(self, "batches", 0) + 1
    if self.batches in {batches}:
        raise {error}
    return answered(self, batch)

ToneModel.ask = ask
"""


def raising(suite, batches, error):
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + RAISES.format(batches=batches, error=error))
    return suite


@IN_THE_LONG_RUN
@pytest.mark.parametrize("batches", [[2], [2, 5], [2, 3, 4]], ids=["one", "two", "three in a row"])
def test_code_of_a_model_that_raises_is_for_its_author_to_mend_however_often_it_does(tones, batches, workers):
    suite = raising(tones, batches, "ZeroDivisionError('in the model')")
    result = suite.run(workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*ZeroDivisionError: in the model*"])
    assert {item["outcome"] for item in suite.last()[0]["items"]} == {"failed"}
    allowed = suite.run(workers, "--ab-max-errors=8", "--ab-store=other.sqlite")
    assert allowed.ret == (0 if len(batches) < 3 else pytest.ExitCode.TESTS_FAILED)


@IN_THE_LONG_RUN
@pytest.mark.parametrize("error", ["InfrastructureError('its disk is full')", "SampleError('no answer to this one')"])
def test_a_model_that_says_that_it_was_not_its_doing_ends_in_6(tones, error, workers):
    result = raising(tones, [2], f"errors.{error}").run(workers)
    assert result.ret == INSTRUMENT_FAILED
    result.stdout.fnmatch_lines([f"*{error.split(chr(39))[1]}*"])


def test_a_model_on_a_device_of_its_own_that_raises_is_for_its_author_to_mend(tones):
    suite = raising(tones, [2], "ZeroDivisionError('in the model')")
    result = suite.run("-n2", "--ab-devices=cpu", shared="yes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*ZeroDivisionError: in the model*"])


EXPECTED = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("number", range(2))
{mark}
def test_tones(evaluate, number):
    {body}
"""
CALL = 'evaluate(manifest("data/tones.jsonl"), multiple_choice())'
SWALLOWED = f"""try:
        {CALL}
    except BaseException:
        pytest.xfail("known")"""
XFAILS = [
    ("@pytest.mark.xfail", CALL),
    ("@pytest.mark.xfail(strict=True)", CALL),
    ("", SWALLOWED),
]


@IN_THE_LONG_RUN
@pytest.mark.parametrize(("mark", "body"), XFAILS, ids=["marked", "strict", "in the test"])
def test_an_instrument_that_fails_is_no_expected_failure(suite, mark, body, workers):
    suite.tones()
    suite.write(test_tones=EXPECTED.format(mark=mark, body=body))
    # Port 9 is that of nothing on this machine.
    result = suite.run(workers, model="one=http:http://127.0.0.1:9,retry_s=0.3")
    assert result.ret == INSTRUMENT_FAILED
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*http://127.0.0.1:9 cannot be asked*"])
    result.stdout.no_fnmatch_line("*failed as expected*")


@IN_THE_LONG_RUN
@pytest.mark.parametrize("mark", ["@pytest.mark.xfail", "@pytest.mark.xfail(strict=True)"])
def test_a_threshold_that_is_missed_stays_an_expected_failure(suite, mark, workers):
    suite.tones()
    suite.write(test_tones=EXPECTED.format(mark=mark, body=CALL))
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    result = suite.run(workers, deaf="yes")
    assert result.ret == 0
    result.assert_outcomes(xfailed=2)
    result.stdout.fnmatch_lines(["*failed as expected (xfail), which the exit code does not show: *"])


RAISING_HOOKS = {
    "pytest_collection_modifyitems": "items",
    "pytest_runtest_setup": "item",
    "pytest_runtest_teardown": "item",
    "pytest_runtest_logreport": "report",
    "pytest_sessionfinish": "session",
    "pytest_audiobench_result_ready": "item, result",
    "pytest_audiobench_update_run": "config, run",
    "pytest_terminal_summary": "terminalreporter",
}


@BOTH_WAYS
@pytest.mark.parametrize("hook", RAISING_HOOKS)
def test_a_run_in_which_a_hook_raises_is_not_green(tones, hook, workers):
    conftest = tones.path / "conftest.py"
    body = f"\ndef {hook}({RAISING_HOOKS[hook]}):\n    raise RuntimeError('a broken hook')\n"
    conftest.write_text(conftest.read_text() + body)
    result = tones.run(workers)
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERNAL_ERROR)
    assert "a broken hook" in result.stdout.str() + result.stderr.str()


HELD = """
import time

import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        time.sleep(2)

def pytest_collection_modifyitems():
    raise RuntimeError("a broken hook")
"""


def test_workers_that_break_while_they_collect_are_not_green_however_late_they_end(tones):
    # The controlling process has ended by then, and heard from both what they collected.
    conftest = tones.path / "conftest.py"
    conftest.write_text(conftest.read_text() + HELD)
    assert tones.run("-n2").ret == pytest.ExitCode.INTERNAL_ERROR


def test_a_subtest_that_skips_leaves_the_record_of_what_it_skipped(suite):
    suite.tones()
    call = ABSENT.format(name=', name="b"')
    suite.write(
        test_tones="import pytest\nfrom pytest_audiobench import dataset, manifest, multiple_choice\n\n"
        "def test_tones(evaluate, subtests):\n"
        '    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="a")\n'
        f"    with subtests.test():\n        {call}\n"
    )
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    result = suite.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    outcomes = {item["eval"]: item["outcome"] for item in suite.last()[0]["items"]}
    assert outcomes["tones:b"] == "skipped"


@BOTH_WAYS
@pytest.mark.parametrize(
    "ending", ["raise SystemExit(0)", "pytest.exit('enough', returncode=0)", "request.session.shouldstop = 'enough'"]
)
def test_a_test_that_ends_the_run_as_if_all_were_well_does_not_make_it_green(suite, ending, workers):
    suite.tones()
    body = f"def test_ends(request):\n    {ending}\n\ndef test_two"
    written = TWO.format(second="two", body=MEASURED).replace("def test_two", body)
    suite.write(test_tones=written)
    (suite.path / "audiobench.toml").write_text(THRESHOLD)
    assert suite.run(workers, "--dist=loadfile").ret != 0


def test_a_worker_that_dies_is_no_expected_failure_and_no_green_where_none_may_take_its_place(suite):
    suite.tones()
    suite.write(test_tones=EXPECTED.format(mark="@pytest.mark.xfail", body=CALL))
    result = suite.run("-n2", "--max-worker-restart=0", die="tone-17", how="kill")
    assert result.ret not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)


def test_a_module_that_cannot_be_imported_is_not_passed_over(tones):
    tones.write(test_broken="import nothing_of_this_name\n")
    assert tones.run().ret == pytest.ExitCode.INTERRUPTED
    assert tones.run("--continue-on-collection-errors").ret == pytest.ExitCode.TESTS_FAILED


def test_a_threshold_for_a_model_that_is_not_run_is_said_not_to_be_checked(tones):
    (tones.path / "audiobench.toml").write_text(THRESHOLD.replace("require", 'model = "other*"\nrequire'))
    result = tones.run()
    result.stdout.fnmatch_lines(["note: not checked: *matches eval = 'tones[*]', model = 'other[*]'*"])


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


def test_a_name_is_free_again_where_its_run_measured_nothing(two):
    named = ("-k", "two", "--ab-run=main")
    assert two(body="raise RuntimeError").run(*named).ret == 1
    other = two().path / "reports" / "main" / "mine.txt"
    other.write_text("not the run's")
    refused = two().run(*named)
    assert refused.ret == 4
    assert "already holds a finished run: leave --ab-run out, and" in refused.stderr.str()
    other.unlink()
    again = two().run(*named)
    assert again.ret == 0
    again.stdout.fnmatch_lines(["*main is replaced: nothing was measured in that run"])
    assert two().run(*named).ret == 4
