"""Models that come with the package: a trained listener, and two that hear nothing."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.spec import check_options


def baseline(target: str, options: Mapping[str, str]) -> Model:
    """The baseline named ``target``. Raises UsageError for another name and for any option."""
    check_options("baseline", options, ())
    if target == "listener":
        from pytest_audiobench.models.baseline.listener import Listener

        return Listener()
    if target in ("chance", "majority"):
        from pytest_audiobench.models.baseline.blind import Chance, Majority

        return Chance() if target == "chance" else Majority()
    raise UsageError(f"there is no baseline {target!r}; there are chance, listener, majority")
