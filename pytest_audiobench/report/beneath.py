"""What terminal and summary say beneath their tables: protocols far apart, failures, signatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.report import view
from pytest_audiobench.report.went_wrong import sentence

Json = Mapping[str, Any]


def side_lines(record: Json) -> list[str]:
    """For what many protocols read: how far they lie apart, in a line for each leading metric."""
    return [
        f"{name}: {one.sentence}" for name, owner in _owners(record) for one in owner.sides if one.folds and one.leading
    ]


def failure_lines(record: Json) -> list[str]:
    """A line for each eval whose answers went wrong in some way: the class that moves its score most."""
    return [
        f"went wrong in {name}: {sentence(owner.failures)}"
        for name, owner in _owners(record)
        if isinstance(owner, view.Eval) and owner.failures
    ]


def signatures(record: Json) -> dict[str, list[str]]:
    """The signatures of the protocols whose numbers stand in the table or in a line beneath it, by name."""
    found: dict[str, dict[str, None]] = {}
    owners: list[view.Eval | view.Suite] = [*view.evals(record), *view.suites(record)]
    for owner in owners:
        named = {name for one in owner.sides if one.leading for name in one.named}
        for block in owner.blocks:
            if block.reading and (not block.folded or block.reading in named):
                found.setdefault(block.reading, {})[block.signature] = None
    return {name: list(own) for name, own in found.items()}


def _owners(record: Json) -> Iterator[tuple[str, view.Eval | view.Suite]]:
    """Evals that are no controls, and suites, by the names that they are called."""
    several = len(view.aliases(record)) > 1
    for one in view.evals(record):
        if not one.control:
            yield f"{one.name} · {one.model}" if several else one.name, one
    for suite in view.suites(record):
        yield f"{suite.name} (pooled){f' · {suite.model}' if several else ''}", suite
