"""``baseline:listener``, ``baseline:majority`` and ``baseline:chance`` by name."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.baseline.chance import Chance
from pytest_audiobench.models.baseline.majority import Majority
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.spec import check_options


def baseline(target: str, options: Mapping[str, str]) -> Model:
    """The baseline called ``target``. Raises UsageError for another name and for any option."""
    check_options("baseline", options, ())
    if target == "chance":
        return Chance()
    if target == "majority":
        return Majority()
    if target == "listener":
        from pytest_audiobench.models.baseline.listener import Listener

        return Listener()
    raise UsageError(f"there is no baseline {target!r}; there are chance, listener, majority")
