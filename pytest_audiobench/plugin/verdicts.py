"""Verdicts are final in the test's call phase: everything declared is checked when the body returns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.gate.table import failure_table
from pytest_audiobench.plugin.evaluator import Evaluator
from pytest_audiobench.runs.record import Outcome


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
        if not evaluator.results:
            raise
        _conclude(evaluator, "skipped", str(skip))
        raise
    except (Exception, pytest.fail.Exception) as error:
        evaluator.settle()
        evaluator.close("failed", str(error))
        raise
    if mistake:
        evaluator.settle()
        evaluator.close("failed", mistake)
        pytest.fail(mistake, pytrace=False)
    _conclude(evaluator, "passed", "")


def _conclude(evaluator: Evaluator, outcome: Outcome, message: str) -> None:
    wrong = evaluator.settle()
    evaluator.close("failed" if wrong else outcome, "; ".join(wrong) or message)
    if wrong:
        pytest.fail("\n".join([*tables(evaluator), *evaluator.beyond_tables] or wrong), pytrace=False)


def tables(evaluator: Evaluator) -> list[str]:
    """The evals' tables, as they are printed when one fails."""
    records = [result.record for result in evaluator.results]
    return [f"{one.eval} ({one.model})\n\n{failure_table(one.metrics, one.verdicts, one.readings)}" for one in records]


def describe(report: pytest.TestReport, evaluator: Evaluator) -> None:
    """Give the report of a test that failed by an assertion of its own the evals' tables."""
    shown = tables(evaluator)
    if shown and shown[0] not in str(report.longrepr):
        report.sections.append(("audiobench", "\n".join(shown)))
