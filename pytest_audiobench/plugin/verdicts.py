"""Verdicts are final in the test's call phase: everything declared is checked when the body returns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.evaluation.record import Outcome
from pytest_audiobench.gate.failure_table import failure_table, regression_table
from pytest_audiobench.plugin.error_mapping import harmless
from pytest_audiobench.plugin.evaluator import Evaluator


@contextmanager
def settled(evaluator: Evaluator) -> Iterator[None]:
    """Check what is declared once the body has returned, and write the items' records either way.

    A failed check fails the test with its table and no traceback. An interrupted test leaves no record.
    """
    mistake = ""
    try:
        yield
    except AudiobenchError as error:
        mistake = str(error)
    except pytest.skip.Exception as skip:
        # What was measured before the skip is held to its thresholds all the same.
        if not evaluator.results and not evaluator.unmeasured:
            raise
        _conclude(evaluator, "skipped", str(skip))
        raise
    except (Exception, pytest.fail.Exception) as error:
        wrong = evaluator.settle()
        unmeasured = bool(evaluator.unmeasured) and str(error) == evaluator.unmeasured
        # An assertion on a number that cannot be compared says no more than the number does.
        unasked = isinstance(error, AssertionError) and evaluator.unasked
        evaluator.close("failed", str(error), (unmeasured or unasked) and all(one.instrument for one in wrong))
        raise
    if mistake:
        evaluator.settle()
        evaluator.close("failed", mistake)
        # From nothing, or pytest would print our own error as what its failure happened during.
        raise pytest.fail.Exception(harmless(mistake), pytrace=False) from None
    _conclude(evaluator, "passed", "")


def _conclude(evaluator: Evaluator, outcome: Outcome, message: str) -> None:
    wrong = evaluator.settle()
    texts = [one.text for one in wrong]
    instrument = bool(wrong) and all(one.instrument for one in wrong)
    evaluator.close("failed" if wrong else outcome, "; ".join(texts) or message, instrument)
    if wrong:
        pytest.fail(harmless("\n".join([*tables(evaluator), *evaluator.beyond_tables] or texts)), pytrace=False)


def tables(evaluator: Evaluator) -> list[str]:
    """The evals' tables, as they are printed when one fails; no line of them is a command to a CI's runner."""
    found = []
    for one in evaluator.records:
        parts = [failure_table(one.metrics, one.verdicts, one.scorers)] if one.scorers else []
        parts += [regression_table(one.regressions, one.scorers)] if one.regressions else []
        found.append(harmless("\n\n".join([f"{one.eval} ({one.model})", *parts])))
    return found


def describe(report: pytest.TestReport, evaluator: Evaluator) -> None:
    """Give the report of a test that failed by an assertion of its own the evals' tables."""
    # What was refused before it measured anything has nothing to add to its sentence.
    shown = tables(evaluator) if evaluator.results else []
    if shown and shown[0] not in str(report.longrepr):
        report.sections.append(("audiobench", "\n".join(shown)))
