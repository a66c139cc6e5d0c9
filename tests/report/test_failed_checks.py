"""What a run did not meet beside its regression lines, and that no verdict on a line hides it."""

from typing import Any

import pytest

from pytest_audiobench.records.run import VerdictRecord
from pytest_audiobench.report import view_model
from pytest_audiobench.report.github_annotations import commands
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.pull_request_comment import comment
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.report.verdict import failed_checks, run_verdict

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
ASSERTION = "the hop is too low"


def asserted(runs: Any, status: str) -> Any:
    """A test that failed by an assertion of its own, with a line of ``status``, which did not fail it."""
    return runs.item(
        0, "digits", [RIGHT, WRONG], regressions=[runs.dropped(status)], outcome="failed", message=ASSERTION
    )


@pytest.mark.parametrize("status", ["pass", "inconclusive"])
def test_an_assertion_that_failed_is_not_hidden_by_a_line_in_doubt(runs: Any, status: str) -> None:
    folder, record = runs.gated(asserted(runs, status), exit_status=1)
    assert run_verdict(record).word == "failed"
    assert run_verdict(record).counts.endswith("1 eval failed")
    assert view_model.evals(record)[0].verdict == "FAIL"
    for text in (comment(load_run(folder)), summary(record), commands(record, {})[0]):
        assert ASSERTION in text


def test_an_assertion_is_told_beside_a_regression(runs: Any) -> None:
    folder, record = runs.gated(asserted(runs, "regressed"), exit_status=1)
    assert run_verdict(record).word == "regressed"
    assert ASSERTION in comment(load_run(folder))


def test_an_inconclusive_line_that_was_to_fail_is_the_reason(runs: Any) -> None:
    line = runs.dropped("inconclusive")
    item = runs.item(
        0, "a", [RIGHT], regressions=[line], outcome="failed", message=f"accuracy.drop <= 1pp: {line.detail}"
    )
    _, record = runs.gated(item, exit_status=1)
    assert (run_verdict(record).word, run_verdict(record).tone) == ("inconclusive", "bad")
    assert [(one.mark, one.verdict, one.tone) for one in view_model.evals(record)] == [("?", "inconclusive", "bad")]
    assert failed_checks(record) == []


def test_of_a_test_with_several_evals_the_one_that_failed_it_is_named(runs: Any) -> None:
    fail = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "0.5 is not >= 0.9")
    told = {"outcome": "failed", "message": f"{fail.threshold}: {fail.detail}"}
    items = [
        runs.item(0, "a:heard", [WRONG], verdicts=[fail], **told),
        runs.item(1, "a:text", [WRONG], control=True, **told),
    ]
    _, record = runs.collected(*items, exit_status=1)
    record = runs.with_items(record, nodeid="evals/test_a.py::test_a")
    assert [one.eval for one in failed_checks(record)] == ["a:heard"]
    assert run_verdict(record).counts == "1 threshold failed"


def test_a_test_of_several_evals_that_failed_by_an_assertion_is_told_once(runs: Any) -> None:
    items = [runs.item(number, f"a:{number}", [RIGHT], outcome="failed", message=ASSERTION) for number in range(3)]
    _, record = runs.collected(*items, exit_status=1)
    record = runs.with_items(record, nodeid="evals/test_a.py::test_a")
    assert [(one.eval, one.text) for one in failed_checks(record)] == [("a:0", ASSERTION)]


def test_lines_that_were_not_checked_are_counted_and_a_pass_warns_of_them(runs: Any) -> None:
    held = runs.item(0, "digits", [RIGHT], regressions=[runs.dropped("pass", lines=3)])
    skipped = [runs.item(number, f"away-{number}", [], outcome="skipped") for number in (1, 2)]
    folder, record = runs.gated(held, *skipped)
    verdict = run_verdict(record)
    assert (verdict.mark, verdict.word, verdict.tone) == ("!", "passed", "warn")
    assert verdict.counts == "1 of 3 comparisons pass, 2 not checked"
    for text in (comment(load_run(folder)), summary(record)):
        assert "1 of 3 comparisons pass, 2 not checked" in text
