"""The findings of an eval drawn again from its answers: the split, the tests and the phrases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_audiobench.comparison.differences import first_difference, shown
from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.evaluation.scoring import ScoredSample, scored_rows
from pytest_audiobench.evaluation.stage_execution import SampleAnswers
from pytest_audiobench.rescoring import own_run
from pytest_audiobench.rescoring.families import protocol_of
from pytest_audiobench.rescoring.recorded_rows import answered_of
from pytest_audiobench.studies.findings import METRIC, found_of
from pytest_audiobench.verification.checks import Check, fails, ok, unknown
from pytest_audiobench.verification.score_checks import Key, Numbers

PART = "findings"

_TELL = ("findings", "findings_methods")


def check_findings(file: Path, key: Key, item: Mapping[str, Any], numbers: Numbers) -> Check | None:
    """Whether the findings of an item are those of its answers in ``file``; None for an item that has none."""
    recorded = item.get("findings")
    if not isinstance(recorded, Mapping) or not any(recorded.get(one) for one in _TELL):
        return None
    try:
        methods = recorded["findings_methods"]
        by, seed = methods["by"], methods["split"]["seed"]
        again = json.loads(json.dumps(asdict(found_of(_rows(file, key, item), by, int(seed)))))
    except (AudiobenchError, KeyError, TypeError, ValueError, StopIteration) as error:
        return unknown(PART, f"they cannot be drawn again here ({type(error).__name__}: {error})")
    if not numbers.differ(dict(recorded), again):
        return ok(PART)
    found = first_difference(dict(recorded), again, PART)
    if found is None:
        return ok(PART)
    told = shown(found.before, found.after), shown(found.after, found.before)
    return fails(PART, f"{found.path} is {told[0]} in run.json and {told[1]} recomputed{numbers.but}")


def _rows(file: Path, key: Key, item: Mapping[str, Any]) -> list[ScoredSample]:
    answered = [answered_of(row) for row in own_run.read(file, {key})]
    protocol = protocol_of(item["protocol"], item.get("options", {}))
    names = [one["name"] for one in item["scorers"] if one["name"] in protocol.available]
    scorer = next(name for name in names if METRIC in protocol.available[name].metrics)
    rows = scored_rows(protocol.with_scorers(scorer), answered, _clusters(answered, item["cluster"]))
    return list(rows[scorer])


def _clusters(answered: Sequence[SampleAnswers], field: str | None) -> list[str]:
    """Each row's cluster as the eval had it: where none holds two samples, the samples themselves."""
    found = [_cluster(one, field) for one in answered]
    first = [cluster for cluster, one in zip(found, answered, strict=True) if one.epoch == 0]
    return found if len(set(first)) < len(first) else [one.sample_id for one in answered]


def _cluster(one: SampleAnswers, field: str | None) -> str:
    if field is not None:
        return str(one.selected.sample.metadata.get(field, one.sample_id))
    return one.selected.recording or one.sample_id
