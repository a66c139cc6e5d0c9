"""Where this package's errors become pytest's: a usage error, a skip, a failure without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_audiobench.errors import AudiobenchError, DataNotFound, InfrastructureError, UnsuitableModel, UsageError


class InstrumentFailure(pytest.fail.Exception):  # type: ignore[name-defined]
    """The failure of a test whose server, process or disk failed: it says nothing of what was to be measured."""

    of_instrument = True


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
    skipped = failed = ""
    kind = pytest.fail.Exception
    try:
        yield
    except (DataNotFound, UnsuitableModel) as error:
        skipped = harmless(str(error))
    except AudiobenchError as error:
        failed = harmless(str(error))
        kind = InstrumentFailure if isinstance(error, InfrastructureError) else kind
    # Raised out here and from nothing, so that pytest does not print our own error as the cause of its own.
    if skipped:
        raise pytest.skip.Exception(skipped, _use_item_location=True) from None
    if failed:
        raise kind(failed, pytrace=False) from None
