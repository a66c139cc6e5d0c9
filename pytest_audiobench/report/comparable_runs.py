"""The evals of a run's line files, ready to be compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation.comparable_eval import (
    ComparableEval,
    audio_digest,
    comparable_eval,
    prompt_digest,
    truth_digest,
)
from pytest_audiobench.evaluation.comparable_samples import ComparableColumns, ComparableSample
from pytest_audiobench.records.lines import LINE_FILES
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.report.joined_samples import Joined, joined, played, subject_rows


def read_comparable_evals(
    folder: Path, record: RunRecord, source: str, texts: bool = True
) -> dict[tuple[str, str], ComparableEval]:
    """The evals of the finished run in ``folder``, whose run.json is ``record``, by (eval, model alias).

    Evals that measured nothing are left out, and controls, which serve another's comparison. ``texts`` keeps the
    answers. Raises FatalError where the line files are not those of a run.
    """
    items = {(item.eval, item.model): item for item in record.items if item.scorers and not item.control}
    rows = {key: ComparableColumns() for key in items}
    for sample in joined(folder):
        key = (sample.predictions[0].eval, sample.predictions[0].model)
        if key in rows and sample.scored:
            row = sample.scored[0]
            if missing := {scorer.name for scorer in items[key].scorers} - {row.scorer for row in sample.scored}:
                raise FatalError(
                    f"{folder / LINE_FILES['scored']} has no row of {row.sample_id!r} of {key[0]} (epoch {row.epoch}) "
                    f"by {min(missing)}: the file was cut or edited"
                )
            try:
                rows[key].add(_comparable_sample(sample, texts))
            except UnicodeEncodeError as error:
                raise FatalError(
                    f"{folder / LINE_FILES['predictions']}: {error.object[:60]!a} of {key[0]} has half of a surrogate "
                    "pair: the file was edited"
                ) from None
    models = {model.alias: model for model in record.models}
    evals = {}
    for key, item in items.items():
        model = models.get(item.model)
        side = comparable_eval(item, rows[key].rows(), source, "" if model is None else model.spec)
        noise = None if model is None else model.noise
        evals[key] = replace(side, noise=noise, perturbation=item.perturbation, stored=item.asking.known)
    return evals


def _comparable_sample(sample: Joined, texts: bool) -> ComparableSample:
    rows, first, last = subject_rows(sample)
    headline = sample.scored[0]
    return ComparableSample(
        sample_id=first.sample_id,
        epoch=first.epoch,
        audio=audio_digest([clip.key for clip in played(sample).audio]),
        prompt=prompt_digest({row.stage: row.prompt for row in rows}),
        cluster=headline.cluster,
        groups=headline.groups,
        statuses={row.scorer: row.status for row in sample.scored},
        scores={row.scorer: row.scores for row in sample.scored},
        failures=tuple(headline.failures),
        text=last.outputs[0].text if texts and last.outputs else None,
        truth=truth_digest(first.choices, first.reference, first.references),
    )
