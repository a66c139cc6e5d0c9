"""Where this package's errors become pytest's: a usage error, a skip, a failure without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_audiobench.errors import (
    AudiobenchError,
    DataNotFound,
    InfrastructureError,
    UnsuitableData,
    UnsuitableModel,
    UsageError,
)


def harmless(text: str) -> str:
    """``text`` for pytest to print: what comes from data moves no cursor, and gives a CI's runner no command."""
    # Late, for workers of suites without evals import this module too.
    from pytest_audiobench.report.formatting import no_command, printable

    return "\n".join(no_command(printable(line)) for line in text.split("\n"))


@contextmanager
def user_errors() -> Iterator[None]:
    """Before the run: a user's mistake ends it with exit code 4."""
    try:
        yield
    except UsageError as error:
        raise pytest.UsageError(harmless(str(error))) from error


@contextmanager
def test_errors() -> Iterator[None]:
    """Within a test: what is not on this machine, or cannot be asked of this model, skips it; all else fails it."""
    skipped, failed, of_instrument = "", "", False
    try:
        yield
    except (DataNotFound, UnsuitableData, UnsuitableModel) as error:
        skipped = harmless(str(error))
    except AudiobenchError as error:
        failed = harmless(str(error))
        of_instrument = isinstance(error, InfrastructureError)
    # Raised out here and from nothing, so that pytest does not print our own error as the cause of its own.
    if skipped:
        raise pytest.skip.Exception(skipped, _use_item_location=True) from None
    if failed:
        failure = pytest.fail.Exception(failed, pytrace=False)
        # No class of its own, whose name pytest would print before the sentence.
        failure.of_instrument = of_instrument  # type: ignore[attr-defined]
        raise failure from None
