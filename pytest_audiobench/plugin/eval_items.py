"""Which collected items are evals, and what each is called: names of our own, not node ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from pytest_audiobench.plugin.stash import ITEM

_OURS = "_audiobench_evaluator"
_MODEL = "_audiobench_model"


class EvalItem(NamedTuple):
    """A collected eval: its place in the collection, its name without the model, and the model's alias."""

    number: int
    nodeid: str
    eval: str
    suite: str
    alias: str | None


def is_eval(item: pytest.Item) -> bool:
    """Whether the item uses this plugin's ``evaluate`` (a stranger's fixture of that name does not count)."""
    return _OURS in getattr(item, "fixturenames", ())


def name_evals(items: Sequence[pytest.Item]) -> list[EvalItem]:
    """Name every eval among ``items`` and stash the name on it.

    Raises pytest.UsageError when two evals would share a name and a model.
    """
    named: dict[tuple[str, str | None], EvalItem] = {}
    for number, item in enumerate(item for item in items if is_eval(item)):
        found = _named(number, item)
        twin = named.setdefault((found.eval, found.alias), found)
        if twin is not found:
            raise pytest.UsageError(
                f"two evals are named {found.eval!r}: {twin.nodeid} and {found.nodeid}; rename one test or its file"
            )
        item.stash[ITEM] = found
    return list(named.values())


def _named(number: int, item: pytest.Item) -> EvalItem:
    callspec = getattr(item, "callspec", None)
    alias = callspec.params.get(_MODEL) if callspec else None
    parameters = callspec.id if callspec else ""
    if alias is not None:
        parameters = parameters.removesuffix(str(alias)).removesuffix("-")
    suite = _suite(item)
    test = getattr(item, "originalname", None) or item.name
    path = [part for part in (getattr(item.getparent(pytest.Class), "name", None), test) if part]
    name = "/".join(_short(part) for part in path)
    full = suite if name == suite else f"{suite}/{name}"
    return EvalItem(number, item.nodeid, f"{full}[{parameters}]" if parameters else full, suite, alias)


def _suite(item: pytest.Item) -> str:
    marker = item.get_closest_marker("audiobench")
    declared = marker.kwargs.get("suite") if marker else None
    return str(declared) if declared else _short(item.path.name.split(".")[0])


def _short(name: str) -> str:
    return name.removeprefix("test_").removeprefix("Test") or name
