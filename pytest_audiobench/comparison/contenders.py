"""Who is compared: each model of each run or baseline, with a letter to call it by."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_audiobench.comparison.baseline_sources import LAST, Baseline, baseline_from
from pytest_audiobench.compat.audiobench.artifact import Artifact, artifact_at
from pytest_audiobench.compat.audiobench.comparison import beside_ours, sides_of_artifact
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable import ComparableEval
from pytest_audiobench.gate.config import matches
from pytest_audiobench.report.run_files import RECORD


@dataclass(frozen=True)
class Contender:
    """One model as one run or baseline has it.

    ``letter`` stands for it in tables, ``source`` is what the user named, with the run or commit that it stood for;
    ``sides`` are by eval. ``folder`` is that of a run, where the texts that were asked can be read; None for a
    baseline. ``missing`` says what it lacks. ``artifact`` is a run file of the audiobench tool.
    """

    letter: str
    source: str
    model: str
    spec: str
    sides: Mapping[str, ComparableEval]
    folder: Path | None
    missing: Sequence[str] = ()
    artifact: Artifact | None = None


def contenders(
    named: Sequence[str], reports: Path = Path("reports"), model: str = "*", evals: str = "*"
) -> list[Contender]:
    """All models that match ``model`` of all that is ``named``, in order, with their evals that match ``evals``.

    What can be named is what ``comparison/baseline_sources.py`` finds, among others runs by their name under ``reports``.
    Raises UsageError where fewer than two are left or no eval is, and where something named cannot be read.
    """
    found: list[Contender] = []
    for name in named:
        if (artifact := artifact_at(Path(name))) is not None:
            found += _of_artifact(artifact, name, _letter(len(found)), model, evals)
            continue
        source = baseline_from(name, reports, Path(), texts=False)
        for alias, contents in source.models.items():
            if matches(model, alias):
                own = {eval_: side for eval_, side in contents.sides.items() if matches(evals, eval_)}
                letter = _letter(len(found))
                called = _called(name, source)
                found.append(Contender(letter, called, alias, contents.spec, own, _folder(source), contents.missing))
    if len(found) < 2:
        have = f"only {found[0].source} has a model" if found else "nothing named has a model"
        raise UsageError(f"two are needed for a comparison, and {have} that matches {model!r}: name another run")
    if not any(one.sides for one in found):
        raise UsageError(f"no eval of {', '.join(dict.fromkeys(named))} matches {evals!r}")
    return _beside_ours(found)


def _of_artifact(run: Artifact, name: str, letter: str, model: str, evals: str) -> list[Contender]:
    if not matches(model, run.model):
        return []
    sides = {eval_: side for eval_, side in sides_of_artifact(run).items() if matches(evals, eval_)}
    return [Contender(letter, name, run.model, f"{run.suite} {run.content['revision']}", sides, None, artifact=run)]


def _beside_ours(found: Sequence[Contender]) -> list[Contender]:
    """The contenders with artifacts' sides made fit for those of ours, wherever an eval has both."""
    ours: dict[str, ComparableEval] = {}
    for one in found:
        if one.artifact is None:
            ours = {**one.sides, **ours}
    return [
        one
        if one.artifact is None
        else replace(
            one,
            sides={name: beside_ours(side, ours[name]) if name in ours else side for name, side in one.sides.items()},
        )
        for one in found
    ]


def _called(name: str, found: Baseline) -> str:
    if name.partition("#")[0] == LAST:
        return f"{name} ({Path(found.place.rpartition('#')[0] or found.place).name})"
    return found.source if found.source.startswith(name) else name


def _folder(found: Baseline) -> Path | None:
    """The run's folder; None for a baseline's file."""
    places = (Path(found.place), Path(found.place.rpartition("#")[0]))
    return next((place for place in places if (place / RECORD).is_file()), None)


def _letter(number: int) -> str:
    """A to Z, then A1, B1, …"""
    turn, place = divmod(number, len(string.ascii_uppercase))
    return string.ascii_uppercase[place] + (str(turn) if turn else "")
