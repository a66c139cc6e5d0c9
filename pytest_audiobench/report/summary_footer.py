"""What terminal and summary say beneath their tables: protocols side by side, failures, signatures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.report import view_model
from pytest_audiobench.report.failure_breakdown import sentence
from pytest_audiobench.report.formatting import called
from pytest_audiobench.report.scorer_comparison import Sides
from pytest_audiobench.report.scorer_sweep import Sweep

Json = Mapping[str, Any]


class SideTable(NamedTuple):
    """Whose numbers a table of protocols holds, and the protocol that is the headline."""

    name: str
    sweep: Sweep
    marks: Mapping[str, str]


def side_tables(record: Json) -> list[SideTable]:
    """The leading metrics by many protocols: of suites, and of evals that no suite pools."""
    suites = view_model.suites(record)
    pooled = {(suite.name, suite.model) for suite in suites}
    owners = [(_called(record, f"{suite.name} (pooled)", suite), suite.sides) for suite in suites]
    owners += [(_called(record, one.name, one), one.sides) for one in _evals(record) if _suite(one) not in pooled]
    return [
        SideTable(name, one.sweep, {row.protocol: "headline" for row in one.rows if row.headline})
        for name, sides in owners
        for one in _told(sides)
    ]


def side_lines(record: Json) -> list[str]:
    """How far many protocols lie apart in each eval that a suite pools."""
    pooled = {(suite.name, suite.model) for suite in view_model.suites(record)}
    return [
        f"{_called(record, one.name, one)}: {side.sentence}"
        for one in _evals(record)
        if _suite(one) in pooled
        for side in _told(one.sides)
    ]


def failure_lines(record: Json, left_out: Collection[tuple[str, str]] = ()) -> list[str]:
    """A line for each eval whose answers went wrong in some way: the class that moves its score most.

    ``left_out`` are evals and their models of which none is wanted.
    """
    return [
        f"went wrong in {_called(record, one.name, one)}: {sentence(one.failures)}"
        for one in _evals(record)
        if one.failures and (one.name, one.model) not in left_out
    ]


def interval_lines(record: Json) -> list[str]:
    """Why headlines' metrics have no interval where there are too few samples for one; the same reason once."""
    found: dict[str, dict[str, None]] = {}
    for item in record["items"]:
        headline = item["scorers"][0]["name"] if item["scorers"] and not item["control"] else None
        for one in item["metrics"]:
            reason = one["method"].removeprefix("no interval: ")
            # What never has an interval, such as a count, has no number that would be needed.
            if headline is not None and one["scorer"] == headline and not one["group"] and reason.endswith(" needed"):
                found.setdefault(f"no interval of {one['name']}: {reason}", {})[item["eval"]] = None
    return [
        f"{evals[0] if len(evals) == 1 else f'{len(evals)} evals'}: {reason}"
        for reason, evals in ((reason, list(own)) for reason, own in found.items())
    ]


def signatures(record: Json) -> dict[str, list[str]]:
    """The signatures of all scorers, by name."""
    found: dict[str, dict[str, None]] = {}
    for item in record["items"]:
        for scorer in item["scorers"]:
            found.setdefault(scorer["name"], {})[scorer["signature"]] = None
    return {name: list(own) for name, own in found.items()}


def _evals(record: Json) -> list[view_model.Eval]:
    return [one for one in view_model.evals(record) if not one.control]


def _told(sides: tuple[Sides, ...]) -> list[Sides]:
    return [one for one in sides if one.folds and one.leading]


def _suite(one: view_model.Eval) -> tuple[str, str]:
    return one.suite, one.model


def _called(record: Json, name: str, one: view_model.Eval | view_model.Suite) -> str:
    return called(name, one.model, len(view_model.aliases(record)) > 1)
