"""What terminal and summary say beneath their tables: protocols far apart, failures, signatures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_audiobench.report.side_by_side import sides
from pytest_audiobench.report.sweep import is_many
from pytest_audiobench.report.view import aliases, kept_readings
from pytest_audiobench.report.went_wrong import failure_classes, sentence

Json = Mapping[str, Any]


def side_lines(record: Json) -> list[str]:
    """For what many protocols read: how far they lie apart, in a line for each metric."""
    owners = [(_called(record, item["eval"], item), item) for item in record["items"] if not item["control"]]
    owners += [
        (_called(record, f"{suite['name']} (pooled)", suite), suite) for suite in record["suites"] if suite["evals"] > 1
    ]
    return [f"{name}: {one.sentence}" for name, owner in owners if is_many(owner) for one in sides(owner)]


def failure_lines(record: Json) -> list[str]:
    """A line for each eval whose answers went wrong in some way: the class that moves its score most."""
    found = [
        (_called(record, item["eval"], item), sentence(failure_classes(item)))
        for item in record["items"]
        if not item["control"]
    ]
    return [f"went wrong in {name}: {text}" for name, text in found if text]


def signatures(record: Json) -> dict[str, list[str]]:
    """The signatures of the readings whose numbers stand outside the tables of protocols side by side, by name."""
    found: dict[str, list[str]] = {}
    for owner in (*record["items"], *record["suites"]):
        named = {name for one in sides(owner) for name in one.named} if is_many(owner) else set()
        kept = kept_readings(owner)
        for number, reading in enumerate(owner["readings"]):
            if number in kept or reading["name"] in named:
                own = found.setdefault(reading["name"], [])
                if reading["signature"] not in own:
                    own.append(reading["signature"])
    return found


def _called(record: Json, name: str, owner: Json) -> str:
    return f"{name} · {owner['model']}" if len(aliases(record)) > 1 else name
