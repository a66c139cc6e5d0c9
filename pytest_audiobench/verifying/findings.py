"""Findings drawn again from a run's lines: the split, the tests, the intervals, and what was made up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.report.samples import Joined, joined
from pytest_audiobench.runs.found import STATISTIC, Seen, found_of
from pytest_audiobench.verifying.checks import Check, fails, ok, unknown
from pytest_audiobench.verifying.scores import Key, Numbers

Json: TypeAlias = Mapping[str, Any]

PART = "findings"


def check_findings(folder: Path, items: Mapping[Key, Json], numbers: Numbers) -> Iterator[tuple[Key, Check]]:
    """Whether the findings of each of ``items`` that has some are those that its lines give; the lines must hold."""
    wanted = {key: item for key, item in items.items() if (item.get("findings") or {}).get("findings")}
    if not wanted:
        return
    try:
        seen: dict[Key, list[Seen]] = {key: [] for key in wanted}
        named = {key: _reading(item) for key, item in wanted.items()}
        for one in joined(folder):
            key = one.predictions[0]["eval"], one.predictions[0]["model"]
            if key in seen:
                seen[key] += _seen(one, wanted[key]["findings"]["findings_methods"], named[key])
        for key, item in wanted.items():
            yield key, _held(item["findings"], seen[key], numbers)
    except (AudiobenchError, KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        told = f"they cannot be drawn again ({type(error).__name__}: {error})"
        yield from ((key, unknown(PART, told)) for key in wanted)


def _reading(item: Json) -> str:
    signature = item["findings"]["findings_methods"]["protocol"]
    return str(next(one["name"] for one in item["readings"] if one["signature"] == signature))


def _seen(one: Joined, methods: Json, reading: str) -> Iterator[Seen]:
    first = one.predictions[0]
    scored = next(row for row in one.scored if row["reading"] == reading)
    if scored["scores"] is None:
        return
    value = next(row for row in one.processed if row["reading"] == reading)["value"]
    cluster = first["sample_id"] if methods["clusters_are"] == "sample_id" else scored["cluster"]
    domain = str(first["metadata"][methods["by"]])
    yield Seen(first["sample_id"], cluster, domain, bool(scored["scores"][STATISTIC]), value or "")


def _held(recorded: Json, seen: list[Seen], numbers: Numbers) -> Check:
    methods = recorded["findings_methods"]
    again = json.loads(json.dumps(asdict(found_of(seen, methods["by"], methods["split"]["seed"], methods["protocol"]))))
    odd = next((name for name in again if numbers.differ(recorded.get(name), again[name])), None)
    return ok(PART) if odd is None else fails(PART, f"their {odd} are others drawn again than in run.json{numbers.but}")
