"""The runs of one model in their order: found in folders, read one at a time, named where they cannot be ordered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_audiobench.comparison.baseline_sources import STOPPED, contents_of, missing_parts
from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.config import chosen
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.records.lines import LINE_FILES
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.report.run_writer import RECORD

Order = Literal["step", "time"]
_NAMED = 5
_LONGEST = 24


@dataclass(frozen=True)
class Point:
    """One model of one finished run. ``step`` is None where the runs are ordered by time; ``finished`` is ISO 8601."""

    folder: Path
    names: Names
    finished: str
    limited: bool
    step: float | None = None
    evals: tuple[str, ...] = ()
    """Those that it measured."""
    missing: str = ""
    """What keeps it from being whole, if anything does."""

    @property
    def place(self) -> str:
        """Where it stands: ``2250``, or ``2026-11-21 19:06``."""
        return self.finished[:16].replace("T", " ") if self.step is None else f"{self.step:.15g}"

    @property
    def label(self) -> str:
        """What it is called: its step, else its run's name."""
        name = printable(self.names.run)
        return self.place if self.step is not None else name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def ordered_points(
    places: Sequence[Path], model: str, find: Find, order: Order, named: bool = True
) -> tuple[list[Point], str, list[str]]:
    """The runs under ``places`` (folders of runs, or runs) in order, what the model is called, and what was left out.

    ``model`` chooses among aliases and specs, empty for any; what it chooses is one model because a user says so.
    A run among ``places`` that cannot be followed is left out unless it was ``named`` itself.
    Raises UsageError for runs of several models, for those that have no step, and for fewer than two.
    """
    notes: list[str] = []
    there = {folder: _run_points(folder, places if named else (), notes) for folder in _folders(places, notes)}
    names = [name for found in there.values() for point in found for name in (point.names.alias, point.names.spec)]
    # Where there is none, what was left out is said below.
    wanted = chosen(model, names, f"model of {', '.join(map(str, places))}") if names else set()
    points = []
    for folder, found in there.items():
        matching = [point for point in found if {point.names.alias, point.names.spec} & wanted]
        if model and len(matching) > 1:
            several = ", ".join(point.names.alias for point in matching)
            raise UsageError(f"{folder} has several models that match {model!r}, {several}: choose one with --model")
        notes += [f"{folder} is not whole: {point.missing}" for point in matching if point.missing]
        points += matching
    if (whole := [point for point in points if not point.limited]) and len(whole) < len(points):
        notes.append(f"left out, since they were limited: {_names_text([point for point in points if point.limited])}")
        points = whole
    model_name = _one_model(points, model, find)
    if order == "step":
        points = _at_steps(points, find, notes)
    points = sorted(points, key=lambda point: (point.step or 0.0, point.finished, point.names.run))
    if len(points) < 2:
        where = ", ".join(map(str, places))
        raise UsageError(
            f"a track needs two finished runs, and {where} has {_names_text(points) or 'none'}"
            + "".join(f"; {note}" for note in notes[:_NAMED])
        )
    return points, model_name, notes


def reader(evals: Collection[str]) -> Callable[[Point], Contender]:
    """Reads runs with all samples of ``evals``; keeps three, so that a long track needs no more memory than a short
    one.
    """

    @lru_cache(maxsize=3)
    def contender(point: Point) -> Contender:
        contents = contents_of(load_run(point.folder), str(point.folder), texts=False)[point.names.alias]
        sides = {name: side for name, side in contents.sides.items() if name in evals}
        return Contender(point.label, str(point.folder), point.names.alias, point.names.spec, sides, point.folder)

    return contender


def named_places(named: Sequence[Path], reports: Path) -> list[Path]:
    """The folders that are named: as they are, or of runs by their names under ``reports``.

    A checkpoint may lie here under the name of its run.
    """
    return [run if _is_run(run := reports / name) and not _runs_in(name) else name for name in named]


def _runs_in(place: Path) -> list[Path]:
    if place.name == RECORD:
        place = place.parent
    if not place.is_dir():
        return []
    return [place] if _is_run(place) else sorted(folder for folder in place.iterdir() if _is_run(folder))


def _folders(places: Sequence[Path], notes: list[str]) -> Iterator[Path]:
    seen: set[Path] = set()
    for place in places:
        if not (inside := _runs_in(place)):
            if not place.exists():
                raise UsageError(f"there is no run and no folder {place}: audiobench list runs shows the runs")
            raise UsageError(f"{place} holds no run: name a folder of runs, such as reports, or runs")
        for folder in inside:
            if folder.resolve() in seen:
                continue
            seen.add(folder.resolve())
            if (folder / RECORD).is_file():
                yield folder
            else:
                notes.append(f"{folder} is unfinished and was left out")


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (RECORD, run_writer.PARTS, *LINE_FILES.values()))


def _run_points(folder: Path, named: Sequence[Path], notes: list[str]) -> list[Point]:
    """The run's models, by its record alone: samples are read when they are compared."""
    try:
        record = load_run(folder).record
        if stop := next((f"{item.eval} {item.stop_text}" for item in record.items if item.stopped), ""):
            raise UsageError(f"{folder} {STOPPED}: {stop}")
        return list(_models(folder, record))
    except UsageError as error:
        if folder in named:
            raise
        notes.append(f"left out: {error}")
        return []


def _models(folder: Path, record: RunRecord) -> Iterator[Point]:
    specs = {model.alias: model.spec for model in record.models}
    measured = [item for item in record.items if item.scorers and not item.control]
    for alias in dict.fromkeys(item.model for item in measured):
        names = Names(alias, specs.get(alias, ""), folder.name)
        limited = any(item.limited for item in measured if item.model == alias)
        evals = tuple(item.eval for item in measured if item.model == alias)
        missing = "".join(missing_parts(record, alias)[:1])
        yield Point(folder, names, record.finished, limited, evals=evals, missing=missing)


def _one_model(points: Sequence[Point], model: str, find: Find) -> str:
    if not points:
        return model
    families = Counter(family(point.names, find) for point in points)
    aliases = {point.names.alias for point in points}
    if len(families) == 1:
        return next(iter(families))
    if model or (len(aliases) == 1 and find(points[0].names.alias) is None):
        return model or points[0].names.alias
    listed = ", ".join(f"{name} ({count} run{'s' * (count > 1)})" for name, count in families.most_common(_NAMED))
    raise UsageError(
        f"these runs are of {len(families)} models: {listed}{', …' if len(families) > _NAMED else ''}; choose the runs "
        "of one with --model PATTERN, or name its runs"
    )


def _at_steps(points: Sequence[Point], find: Find, notes: list[str]) -> list[Point]:
    steps_of_points = steps([point.names for point in points], find) if points else []
    if without := [point for point, step in zip(points, steps_of_points, strict=True) if step is None]:
        raise UsageError(
            f"no step is in the names of {_names_text(without)}: write a pattern as --step 'step-(\\d+)', or order "
            "them by --order time"
        )
    by_step: dict[float, Point] = {}
    for point, step in sorted(zip(points, steps_of_points, strict=True), key=lambda pair: pair[0].finished):
        if step is not None:
            if step in by_step:
                notes.append(
                    f"{by_step[step].folder} is of step {step:.15g} as the later {point.folder}, and was left out"
                )
            by_step[step] = replace(point, step=step)
    return list(by_step.values())


def _names_text(points: Sequence[Point]) -> str:
    names = [f"{point.names.run} ({point.names.alias})" for point in points]
    return listed(names, _NAMED)


_WORD = r"(?:global[-_]?)?steps?|checkpoint|ckpt|iter(?:ation)?s?|epochs?"
_NUMBER = r"(\d{1,15}(?:\.\d{1,6})?[kKmM]?)(?![A-Za-z0-9])"
_STEP_IN_NAME = re.compile(rf"(?<![A-Za-z])(?:{_WORD})[-_=. ]?{_NUMBER}", re.IGNORECASE)
_STEP_ALONE = re.compile(rf"(?:^|[/\\:]){_NUMBER}[/\\]?$")
_SCALE = {"k": 1e3, "m": 1e6}


class Names(NamedTuple):
    """What a model of a run is called."""

    alias: str
    spec: str
    run: str


Find = Callable[[str], "re.Match[str] | None"]


def by_words(text: str) -> re.Match[str] | None:
    """Where the step is in a name; its first group is the number."""
    return max(_STEP_IN_NAME.finditer(text), key=re.Match.start, default=None) or _STEP_ALONE.search(text)


def by_pattern(text: str) -> Find:
    """A regular expression of a user's, whose first group is the number. Raises UsageError for one that is none."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"--step {text!r} is not a regular expression ({error})") from None
    if not pattern.groups:
        raise UsageError(f"--step {text!r} has no group that would be the number: write it as 'step-(\\d+)'")
    return pattern.search


def steps(named: Sequence[Names], find: Find) -> list[float | None]:
    """The step of each, from the first kind of name in which all have one; else from each one's own first, or None."""
    by_kind = [[_step(find(name)) for name in kind] for kind in zip(*named, strict=True)]
    for steps_of_kind in by_kind:
        if None not in steps_of_kind:
            return steps_of_kind
    of_models = zip(*by_kind, strict=True)
    return [next((step for step in steps_of_model if step is not None), None) for steps_of_model in of_models]


def family(names: Names, find: Find) -> str:
    """What a model is called whatever its step: its spec with the step cut out, ``hf:checkpoints/step-*``."""
    match = find(names.spec)
    if _step(match) is None or match is None:
        return names.spec
    return f"{names.spec[: match.start(1)]}*{names.spec[match.end(1) :]}"


def _step(match: re.Match[str] | None) -> float | None:
    text = match[1] if match is not None else None
    if not text:
        return None
    scale = _SCALE.get(text[-1].lower(), 1.0)
    try:
        # Multiplied as a text is: 2.3k is 2300, and no float close to it.
        return round(float(text[:-1] if scale > 1.0 else text) * scale, 6)
    except ValueError:
        return None
