"""The check of an eval's findings, drawn again from its answers: the split, the tests and the phrases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.evaluation.scoring import ScoredSample, scored_rows
from pytest_audiobench.evaluation.stage_execution import SampleAnswers
from pytest_audiobench.rescoring import own_run
from pytest_audiobench.rescoring.recorded_rows import sample_answers
from pytest_audiobench.rescoring.rescore import protocol_of
from pytest_audiobench.studies.findings import METRIC, found_of
from pytest_audiobench.verifier.checks import Check, fails, not_recomputed, ok
from pytest_audiobench.verifier.differences import first_difference, json_excerpt
from pytest_audiobench.verifier.score_checks import Key, Numbers

PART = "findings"

_TELL = ("findings", "findings_methods")


def check_findings(file: Path, key: Key, item: Mapping[str, Any], numbers: Numbers) -> Check | None:
    """Whether the findings of an item are those of its answers in ``file``; None for an item that has none."""
    recorded = item.get("findings")
    if not isinstance(recorded, Mapping) or not any(recorded.get(name) for name in _TELL):
        return None
    try:
        methods = recorded["findings_methods"]
        by, seed = methods["by"], methods["split"]["seed"]
        recomputed = json.loads(json.dumps(asdict(found_of(_rows(file, key, item), by, int(seed)))))
    except (AudiobenchError, KeyError, TypeError, ValueError, StopIteration) as error:
        return not_recomputed(PART, f"they cannot be drawn again here ({type(error).__name__}: {error})")
    if not numbers.differ(dict(recorded), recomputed):
        return ok(PART)
    difference = first_difference(dict(recorded), recomputed, PART)
    if difference is None:
        return ok(PART)
    excerpts = json_excerpt(difference.before, difference.after), json_excerpt(difference.after, difference.before)
    return fails(PART, f"{difference.path} is {excerpts[0]} in run.json and {excerpts[1]} recomputed{numbers.but}")


def _rows(file: Path, key: Key, item: Mapping[str, Any]) -> list[ScoredSample]:
    answered = [sample_answers(row) for row in own_run.read(file, {key})]
    protocol = protocol_of(item["protocol"], item.get("options", {}))
    names = [scorer["name"] for scorer in item["scorers"] if scorer["name"] in protocol.available]
    scorer = next(name for name in names if METRIC in protocol.available[name].metrics)
    rows = scored_rows(protocol.with_scorers(scorer), answered, _clusters(answered, item["cluster"]))
    return list(rows[scorer])


def _clusters(answered: Sequence[SampleAnswers], field: str | None) -> list[str]:
    """Each row's cluster as the eval had it: where none holds two samples, the samples themselves."""
    clusters = [_cluster(answers, field) for answers in answered]
    first = [cluster for cluster, answers in zip(clusters, answered, strict=True) if answers.epoch == 0]
    return clusters if len(set(first)) < len(first) else [answers.sample_id for answers in answered]


def _cluster(answers: SampleAnswers, field: str | None) -> str:
    if field is not None:
        return str(answers.selected.sample.metadata.get(field, answers.sample_id))
    return answers.selected.recording or answers.sample_id
