"""Runs of one unchanged model, read for calibration: folders of ours, or a table of figures that another tool kept."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.comparison.baseline_sources import contents_of, missing_parts
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.gate.calibration import Figures, figures_of
from pytest_audiobench.gate.config import Patterns, chosen
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.report.run_reader import Run, load_run

_COLUMNS = ("eval", "metric", "run", "value", "n")


class RepeatedRuns(NamedTuple):
    """What several runs of one model measured."""

    model: str
    names: Sequence[str]
    figures: Sequence[Figures]
    notes: Sequence[str]


def repeated_runs(
    runs: Sequence[str], reports: Path, model: str, evals: Patterns, metrics: Sequence[str]
) -> RepeatedRuns:
    """The runs in these folders, or of these names under ``reports``.

    Raises UsageError for runs of several models or of changed weights, for one that is not whole or was limited, and
    for one that asked nothing and repeats another's answers: that is not a measurement of how much they differ.
    """
    loaded = [load_run(run, reports) for run in runs]
    if len({run.folder.resolve() for run in loaded}) < len(loaded):
        raise UsageError("a run is named twice, and a run is not a repetition of itself: name each once")
    aliases = [_alias(run, model) for run in loaded]
    sides = []
    digests: dict[str, str] = {}
    for run, alias in zip(loaded, aliases, strict=True):
        if missing := missing_parts(run.record, alias):
            raise UsageError(f"{run.folder} is not whole: {missing[0]}; run it again, which asks only what is missing")
        contents = contents_of(run, str(run.folder), texts=False)[alias]
        digests.setdefault(contents.head.model.digest, str(run.folder))
        sides.append(list(contents.sides.values()))
    if len(digests) > 1:
        raise UsageError(
            f"{' and '.join(digests.values())} are of different models (weights, settings or revision differ): "
            "calibrate from runs of one that is unchanged"
        )
    wanted = chosen(evals, (side.eval for of_run in sides for side in of_run), f"eval of {', '.join(runs)}")
    sides = [[side for side in of_run if side.eval in wanted] for of_run in sides]
    for at, run in enumerate(loaded):
        _check_asked(run, aliases[at], sides[at], [other for i, other in enumerate(sides) if i != at])
    names = [run.record.run for run in loaded]
    notes = [f"{name} is in some of the runs alone and has no line" for name in _unshared(sides)]
    return RepeatedRuns(aliases[0], names, figures_of(sides, metrics), notes)


def _alias(run: Run, model: str) -> str:
    aliases = sorted(chosen(model, (each.alias for each in run.record.models), f"model of {run.folder}"))
    if len(aliases) > 1:
        models = f"{len(aliases)} models that match {model or '*'!r}, {', '.join(aliases)}"
        raise UsageError(f"{run.folder} has {models}: choose one by --model PATTERN")
    return aliases[0]


def _check_asked(
    run: Run, alias: str, sides: Sequence[ComparableEval], others: Sequence[Sequence[ComparableEval]]
) -> None:
    names = {side.eval for side in sides}
    items = [item for item in run.record.items if item.model == alias and item.eval in names and not item.control]
    if limited := next((item for item in items if item.limited), None):
        raise UsageError(f"{run.folder} is limited ({limited.eval}), and a line is for all samples: run it whole")
    by_eval = {side.eval: side for side in sides}
    for item in items:
        if item.asking.asked or not item.asking.known:
            continue
        scores = _scores(by_eval[item.eval])
        for other in (side for run_sides in others for side in run_sides if side.eval == item.eval):
            if _scores(other) == scores:
                raise UsageError(
                    f"{run.folder} asked nothing in {item.eval} and repeats the answers of {other.source}: a run shows "
                    "how much answers differ only if they were asked again. Give each run its own store "
                    "(--ab-store=FILE), or let audiobench calibrate --ask do it"
                )


def _scores(side: ComparableEval) -> dict[tuple[str, int], object]:
    return {row.identity: row.scores.get(side.headline) for row in side.rows}


def _unshared(sides: Sequence[Sequence[ComparableEval]]) -> list[str]:
    evals = [{side.eval for side in run} for run in sides]
    return sorted({name for names in evals for name in names if not all(name in each for each in evals)})


def figures_in_table(file: Path, evals: Patterns) -> RepeatedRuns:
    """A CSV file with the columns eval, metric, run, value and n (samples), a row for each run of each metric.

    Values are in the metric's own unit, or a percentage with its sign: ``70.65%``. Raises UsageError, with file and
    line, for what cannot be read, and for a run without a value.
    """
    found: dict[tuple[str, str], dict[str, tuple[float, int]]] = defaultdict(dict)
    rows = list(_rows(file))
    wanted = chosen(evals, (row["eval"] for _, row in rows), f"eval of {file}")
    for line, row in rows:
        place = f"{file}, line {line}"
        if row["eval"] not in wanted:
            continue
        metric_kind(row["metric"])
        try:
            text = row["value"].strip()
            value, n = float(f"{text[:-1]}e-2" if text.endswith("%") else text), int(row["n"])
        except ValueError:
            raise UsageError(
                f"{place}: value {row['value']!r} and n {row['n']!r} should be numbers, such as 0.7065 or 70.65%"
            ) from None
        runs = found[row["eval"], row["metric"]]
        if row["run"] in runs:
            raise UsageError(f"{place}: the run {row['run']!r} has a value of {row['eval']} {row['metric']} already")
        if runs and n != next(iter(runs.values()))[1]:
            raise UsageError(f"{place}: n is {n} here and another in the line's other runs: they are of other samples")
        runs[row["run"]] = value, n
    names = list(dict.fromkeys(run for runs in found.values() for run in runs))
    figures = []
    for (eval_, metric), runs in found.items():
        if lacking := [name for name in names if name not in runs]:
            raise UsageError(f"{file}: {eval_} {metric} has no value of the run {lacking[0]}")
        figures.append(Figures(eval_, metric, runs[names[0]][1], [value for value, _ in runs.values()]))
    return RepeatedRuns("*", names, figures, ["of these runs only figures are known: their spread is all there is"])


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as content:
            reader = csv.DictReader(content)
            if lacking := [name for name in _COLUMNS if name not in (reader.fieldnames or ())]:
                raise UsageError(f"{file} lacks the column {lacking[0]}: it needs {', '.join(_COLUMNS)}")
            for row in reader:
                yield reader.line_num, {name: row[name] or "" for name in _COLUMNS}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read as CSV in UTF-8: {error}") from None
