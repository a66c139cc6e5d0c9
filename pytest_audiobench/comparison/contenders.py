"""Who is compared: each model of each run or baseline, with a letter to call it by."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_audiobench.comparison.baseline_sources import LAST, Baseline, baseline_from, baseline_of_answers
from pytest_audiobench.comparison.recorded_sides import in_place_of
from pytest_audiobench.compat.answer_files import NO_TERMS, ReadingTerms
from pytest_audiobench.compat.thenirock_audiobench.artifact import Artifact, artifact_at
from pytest_audiobench.compat.thenirock_audiobench.comparison import comparable_evals, comparable_with_runs
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.gate.config import Patterns, chosen
from pytest_audiobench.report.run_reader import Run, load_run
from pytest_audiobench.report.run_writer import RECORD
from pytest_audiobench.rescoring.layouts import holds_answers, source_of


@dataclass(frozen=True)
class Contender:
    """One model as one run or baseline has it."""

    letter: str
    source: str
    """What the user named, with the run or commit that it stood for."""
    model: str
    spec: str
    sides: Mapping[str, ComparableEval]
    """By eval."""
    folder: Path | None
    """A run's, where the texts that were asked can be read; None for a baseline."""
    missing: Sequence[str] = ()
    passed_over: Sequence[str] = ()
    """Files of answers that could not be read."""
    notes: Sequence[str] = ()
    artifact: Artifact | None = None
    """The run file of THENIROCK's audiobench tool that it comes from."""

    @property
    def name(self) -> str:
        """``A (reports/main)``."""
        return f"{self.letter} ({self.source})"


def labels(contenders: Sequence[Contender]) -> list[str]:
    """What each is called, no two alike: its model's alias, and what else that takes."""
    aliases = [each.model for each in contenders]
    named = [each.model if aliases.count(each.model) == 1 else f"{each.model} ({each.source})" for each in contenders]
    return [
        name if named.count(name) == 1 else f"{each.letter}: {name}"
        for name, each in zip(named, contenders, strict=True)
    ]


def contenders(
    named: Sequence[str],
    reports: Path = Path("reports"),
    model: Patterns = "*",
    evals: Patterns = "*",
    terms: ReadingTerms = NO_TERMS,
    least: int = 2,
) -> list[Contender]:
    """All models that ``model`` chooses of all that is ``named``, in order, with their evals that ``evals`` chooses.

    What can be named is what ``comparison/baseline_sources.py`` reads, also a run by its name under ``reports``; by
    ``terms`` the answers that other tools recorded. Compared with a run these are read as the run's own answers were.
    Raises UsageError where fewer than ``least`` are left or no eval is, and where something named cannot be read.
    """
    there: list[Contender] = []
    answers = {name: Path(name) for name in named if _holds_answers(Path(name))}
    first_run = _first_run([name for name in named if name not in answers], reports) if answers else None
    if first_run is None and answers:
        terms = _with_one_eval(list(answers.values()), terms)
    for name in named:
        if (artifact := artifact_at(Path(name))) is not None:
            names = ("", name, artifact.model, f"{artifact.suite} {artifact.content['revision']}")
            there.append(Contender(*names, comparable_evals(artifact), None, artifact=artifact))
            continue
        if name in answers and first_run is not None:
            source = baseline_of_answers(in_place_of(first_run, source_of(answers[name], terms=terms)), name)
        else:
            source = baseline_from(name, reports, Path(), texts=False, terms=terms)
        for alias, contents in source.models.items():
            names = ("", _display_name(name, source), alias, contents.head.model.spec)
            places = (Path(source.place), Path(source.place.rpartition("#")[0]))
            folder = next((place for place in places if (place / RECORD).is_file()), None)
            about = (contents.head.missing, source.passed_over, source.notes)
            there.append(Contender(*names, contents.sides, folder, *about))
    models = _chosen_of(there, model, evals, ", ".join(dict.fromkeys(named)))
    if len(models) < least:
        only = f"{models[0].model} of {models[0].source}"
        raise UsageError(f"two models are needed for a comparison, and there is only {only}: name another run")
    return _comparable_contenders(models)


def _chosen_of(there: Sequence[Contender], model: Patterns, evals: Patterns, where: str) -> list[Contender]:
    """Those that ``model`` chooses, in order, with their letters and the evals that ``evals`` chooses."""
    aliases = chosen(model, (each.model for each in there), f"model of {where}")
    models = [each for each in there if each.model in aliases]
    wanted = chosen(evals, (name for each in models for name in each.sides), f"eval of {where}")
    return [
        replace(each, letter=_letter(number), sides={name: each.sides[name] for name in each.sides if name in wanted})
        for number, each in enumerate(models)
    ]


def _holds_answers(place: Path) -> bool:
    return place.exists() and artifact_at(place) is None and holds_answers(place)


def _first_run(named: Sequence[str], reports: Path) -> Run | None:
    """The first of what is named that is a run, whose samples and answers are kept."""
    for name in named:
        with suppress(UsageError):
            return load_run(name.partition("#")[0], reports)
    return None


def _with_one_eval(places: Sequence[Path], terms: ReadingTerms) -> ReadingTerms:
    """The terms, by which files of one eval each are of the same eval, whatever they are called."""
    if terms.eval or len(places) < 2:
        return terms
    evals = [list(dict.fromkeys(row.eval for row in source_of(place, terms=terms).rows())) for place in places]
    if any(len(names) != 1 for names in evals):
        return terms
    return replace(terms, eval=evals[0][0])


def _comparable_contenders(contenders: Sequence[Contender]) -> list[Contender]:
    """The contenders with artifacts' sides made fit for those of ours, wherever an eval has both."""
    ours: dict[str, ComparableEval] = {}
    for contender in contenders:
        if contender.artifact is None:
            ours = {**contender.sides, **ours}
    fitted = []
    for contender in contenders:
        sides = {
            name: comparable_with_runs(side, ours[name]) if contender.artifact and name in ours else side
            for name, side in contender.sides.items()
        }
        fitted.append(replace(contender, sides=sides))
    return fitted


def _display_name(name: str, baseline: Baseline) -> str:
    if name.partition("#")[0] == LAST:
        return f"{name} ({Path(baseline.place.rpartition('#')[0] or baseline.place).name})"
    return baseline.source if baseline.source.startswith(name) else name


def _letter(number: int) -> str:
    turn, place = divmod(number, len(string.ascii_uppercase))
    return string.ascii_uppercase[place] + (str(turn) if turn else "")
