"""A run's folder read as sides, one for each eval and model, that another run can be held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_audiobench.evaluation.comparable import (
    ComparableEval,
    ComparableSample,
    audio_digest,
    metrics_by_scorer,
    prompt_digest,
    truth_digest,
)
from pytest_audiobench.evaluation.record import PerturbationRecord
from pytest_audiobench.protocols.protocol import first_wording_stages
from pytest_audiobench.report.joined_samples import Joined, joined, played


def sides_of(
    folder: Path, record: Mapping[str, Any], source: str, texts: bool = True
) -> dict[tuple[str, str], ComparableEval]:
    """The sides of the finished run in ``folder``, whose run.json is ``record``, by (eval, model alias).

    Evals that metrics_by_scorer nothing are left out, and controls, which serve another's comparison. ``texts`` keeps the
    answers. Raises FatalError where the line files are not those of a run.
    """
    items = {(item["eval"], item["model"]): item for item in record["items"] if item["scorers"] and not item["control"]}
    rows: dict[tuple[str, str], list[ComparableSample]] = {key: [] for key in items}
    for one in joined(folder):
        key = (one.predictions[0]["eval"], one.predictions[0]["model"])
        if key in rows and one.scored:
            rows[key].append(_row(one, texts))
    models = {model["alias"]: model for model in record["models"]}
    return {key: _side(items[key], models.get(key[1], {}), own, source) for key, own in rows.items()}


def _side(
    item: Mapping[str, Any], model: Mapping[str, Any], rows: list[ComparableSample], source: str
) -> ComparableEval:
    perturbation = PerturbationRecord.read(item.get("perturbation"))
    return ComparableEval(
        source=source,
        eval=item["eval"],
        suite=item["suite"],
        model=item["model"],
        spec=model.get("spec", ""),
        dataset=item["dataset"],
        protocol=item["protocol"],
        epochs=item["epochs"],
        limited=item["limited"],
        cluster=item["cluster"],
        scorers={scorer["name"]: scorer["signature"] for scorer in item["scorers"]},
        metrics=metrics_by_scorer([(one["scorer"], one["name"]) for one in item["metrics"] if not one["group"]]),
        hashes=item["hashes"],
        rows=rows,
        noise=model.get("noise"),
        perturbation=None if perturbation is None else asdict(perturbation),
    )


def _row(one: Joined, texts: bool) -> ComparableSample:
    own = [row for row in one.predictions if "role" not in row]
    stages = {row["stage"]: row for row in own}
    first, last, headline = own[0], stages[first_wording_stages(stages)[-1]], one.scored[0]
    outputs = last["outputs"]
    return ComparableSample(
        sample_id=first["sample_id"],
        epoch=first["epoch"],
        audio=audio_digest([clip["key"] for clip in played(one)["audio"]]),
        prompt=prompt_digest({row["stage"]: row.get("prompt") for row in own}),
        cluster=headline["cluster"],
        groups=headline["groups"],
        statuses={row["scorer"]: row["status"] for row in one.scored},
        scores={row["scorer"]: row["scores"] for row in one.scored},
        failures=tuple(headline["failures"]),
        text=outputs[0]["text"] if texts and outputs else None,
        truth=truth_digest(first["choices"], first["reference"], first.get("references", ())),
    )
