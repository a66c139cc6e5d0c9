"""The contents of baselines that a finished run gives, one for each model; and what keeps it from being whole."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import convert

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.records.baseline import BaselineFigure
from pytest_audiobench.records.run import ItemRecord, RunRecord
from pytest_audiobench.report.joined_samples import read_comparable_evals
from pytest_audiobench.report.run_reader import Run

_ENDED = (0, 1, 6)
"""Exit codes of a run that came to its end: passed, failed, failed for its instruments only."""

_LONGEST = 200
"""Characters of a fingerprint's value: digests and versions are shorter."""


def contents_of(run: Run, source: str, texts: bool) -> dict[str, Contents]:
    """What each model of ``run`` did, by its alias; ``source`` names the run for people, ``texts`` keeps the answers.

    Raises UsageError for a run in which nothing was measured, or whose files were edited or cut.
    """
    try:
        sides = read_comparable_evals(run.folder, run.record, source, texts)
        by_alias: dict[str, dict[str, ComparableEval]] = {}
        for (name, alias), side in sides.items():
            by_alias.setdefault(alias, {})[name] = side
        contents = {alias: _contents(run.record, alias, evals) for alias, evals in by_alias.items()}
    except FatalError as error:
        raise UsageError(f"the run {run.folder} cannot be read: {error}") from error
    except (LookupError, OSError) as error:
        raise UsageError(
            f"the run {run.folder} cannot be read ({type(error).__name__}: {error}): its files were edited or cut; run "
            "again, which asks no model"
        ) from error
    if not contents:
        raise UsageError(f"the run {run.folder} measured nothing, so nothing can be compared with it: name another")
    for (name, alias), side in sides.items():
        if len({row.identity for row in side.rows}) < len(side.rows):
            raise UsageError(
                f"the run {run.folder} has samples of {name} by {alias} twice: two evals of one name; rename one"
            )
    return contents


def missing_parts(record: RunRecord, alias: str) -> tuple[str, ...]:
    """What the run is short of for this model, a sentence each: it ended early, or evals of it are no measurement.

    Skipped evals are none of it: that their data are not here was no accident of the run.
    """
    missing = [] if record.exit_status in _ENDED else [f"the run was interrupted (exit code {record.exit_status})"]
    missing += [note for note in record.notes if note.startswith("stopped early:")]
    for item in record.items:
        if item.model != alias or item.control or item.outcome == "skipped":
            continue
        if item.outcome == "lost":
            missing.append(f"{item.eval} was lost with its worker")
        elif not item.scorers:
            missing.append(f"{item.eval} failed before it measured anything")
        else:
            failed = [verdict.detail for verdict in item.verdicts if verdict.status == "not_comparable"]
            missing += [f"{item.eval} is not comparable: {detail}" for detail in failed[:1]]
    return tuple(missing)


def _contents(record: RunRecord, alias: str, sides: Mapping[str, ComparableEval]) -> Contents:
    items = {item.eval: item for item in record.items if item.model == alias and item.eval in sides}
    model = next((model for model in record.models if model.alias == alias), None)
    fingerprint = {} if model is None else model.fingerprint
    return Contents(
        version=library_version("pytest-audiobench"),
        run=record.run,
        finished=record.finished,
        hashes=record.hashes,
        alias=alias,
        spec="" if model is None else model.spec,
        digest=next(iter(sides.values())).hashes.get("model", ""),
        fingerprint={name: value[:_LONGEST] for name, value in fingerprint.items()},
        noise=None if model is None else model.noise,
        limit=record.limit,
        epochs=record.epochs,
        sides=sides,
        figures={name: _figures(items[name]) for name in sides},
        missing=missing_parts(record, alias),
    )


def _figures(item: ItemRecord) -> dict[str, list[BaselineFigure]]:
    figures: dict[str, list[BaselineFigure]] = {}
    for metric in item.metrics:
        if metric.scorer is not None and not metric.group:
            figures.setdefault(metric.scorer, []).append(convert(metric, BaselineFigure, from_attributes=True))
    return figures
