"""The runs of one model in their order: found in folders, read one at a time, named where they cannot be ordered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pytest_audiobench.comparison.baseline_of_run import contents_of, lacks
from pytest_audiobench.comparison.checkpoint_order import Find, Names, family, steps
from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.name_patterns import matches
from pytest_audiobench.report import run_files
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.run_files import LINE_FILES, RECORD
from pytest_audiobench.report.run_reader import load_run

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

    @property
    def place(self) -> str:
        """Where it stands: ``2250``, or ``2026-11-21 19:06``."""
        return self.finished[:16].replace("T", " ") if self.step is None else f"{self.step:.15g}"

    @property
    def label(self) -> str:
        """What it is called: its step, else its run's name."""
        name = printable(self.names.run)
        return self.place if self.step is not None else name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def points(places: Sequence[Path], model: str, find: Find, order: Order) -> tuple[list[Point], str, list[str]]:
    """The runs under ``places`` (folders of runs, or runs) in order, what the model is called, and what was left out.

    ``model`` is a pattern over aliases and specs, empty for any; what it matches is one model because a user says so.
    Raises UsageError for runs of several models, for those that have no step, and for fewer than two.
    """
    notes: list[str] = []
    found = [point for folder in _folders(places, notes) for point in _of_run(folder, places, model, notes)]
    whole = [point for point in found if not point.limited]
    if whole and len(whole) < len(found):
        notes.append(f"left out, since they were limited: {_listed([point for point in found if point.limited])}")
        found = whole
    called = _one_model(found, model, find)
    if order == "step":
        found = _at_steps(found, find, notes)
    found = sorted(found, key=lambda point: (point.step or 0.0, point.finished, point.names.run))
    if len(found) < 2:
        where = ", ".join(map(str, places))
        raise UsageError(
            f"a track needs two finished runs, and {where} has {_listed(found) or 'none'}"
            + "".join(f"; {note}" for note in notes[:_NAMED])
        )
    return found, called, notes


def reader(evals: str = "*") -> Callable[[Point], Contender]:
    """Reads runs with all samples of the evals that match ``evals``; keeps three, so that a long track needs no more
    memory than a short one.
    """

    @lru_cache(maxsize=3)
    def contender(point: Point) -> Contender:
        contents = contents_of(load_run(point.folder), str(point.folder), texts=False)[point.names.alias]
        sides = {name: side for name, side in contents.sides.items() if matches(evals, name)}
        return Contender(point.label, str(point.folder), point.names.alias, point.names.spec, sides, point.folder)

    return contender


def _folders(places: Sequence[Path], notes: list[str]) -> Iterator[Path]:
    """The folders of finished runs, each once; notes say which are unfinished."""
    seen: set[Path] = set()
    for place in places:
        place = place.parent if place.name == RECORD else place
        if not place.is_dir():
            raise UsageError(f"there is no folder {place}: name a folder of runs, or runs")
        inside = [place] if _is_run(place) else sorted(one for one in place.iterdir() if one.is_dir() and _is_run(one))
        if not inside:
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
    return any((folder / name).exists() for name in (RECORD, run_files.PARTS, *LINE_FILES.values()))


def _of_run(folder: Path, named: Sequence[Path], model: str, notes: list[str]) -> list[Point]:
    """The run's models that are wanted, by its record alone: samples are read when they are compared."""
    try:
        found = _wanted(folder, model)
    except UsageError as error:
        if folder in named:
            raise
        notes.append(f"left out: {error}")
        return []
    if model and len(found) > 1:
        listed = ", ".join(point.names.alias for point, _ in found)
        raise UsageError(f"{folder} has several models that match {model!r}, {listed}: choose one with --model")
    notes += [f"{folder} is not whole: {missing[0]}" for _, missing in found if missing]
    return [point for point, _ in found]


def _wanted(folder: Path, model: str) -> list[tuple[Point, tuple[str, ...]]]:
    """The models that match ``model``, each with what the run lacks of it."""
    try:
        record = load_run(folder).record
        found = [point for point in _models(folder, record) if _is_wanted(point.names, model)]
        return [(point, lacks(record, point.names.alias)) for point in found]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise UsageError(
            f"{folder / RECORD} is not as this version writes runs ({type(error).__name__}: {error}): it was edited"
        ) from error


def _is_wanted(names: Names, model: str) -> bool:
    return not model or matches(model, names.alias) or matches(model, names.spec)


def _models(folder: Path, record: Mapping[str, Any]) -> Iterator[Point]:
    specs = {model["alias"]: str(model["spec"]) for model in record["models"]}
    measured = [item for item in record["items"] if item["scorers"] and not item["control"]]
    for alias in dict.fromkeys(str(item["model"]) for item in measured):
        limited = any(item["limited"] for item in measured if item["model"] == alias)
        yield Point(folder, Names(alias, specs.get(alias, ""), folder.name), str(record["finished"]), limited)


def _one_model(found: Sequence[Point], model: str, find: Find) -> str:
    """What the one model is called. Raises UsageError where there are several, or none."""
    if not found:
        return model
    families = Counter(family(point.names, find) for point in found)
    aliases = {point.names.alias for point in found}
    if len(families) == 1:
        return next(iter(families))
    if model or (len(aliases) == 1 and find(found[0].names.alias) is None):
        return model or found[0].names.alias
    listed = ", ".join(f"{name} ({count} run{'s' * (count > 1)})" for name, count in families.most_common(_NAMED))
    raise UsageError(
        f"these runs are of {len(families)} models: {listed}{', …' if len(families) > _NAMED else ''}; choose the runs "
        "of one with --model PATTERN, or name its runs"
    )


def _at_steps(found: Sequence[Point], find: Find, notes: list[str]) -> list[Point]:
    """The points with their steps; of two at one step the later. Raises UsageError for any that has none."""
    told = steps([point.names for point in found], find) if found else []
    without = [point for point, step in zip(found, told, strict=True) if step is None]
    if without:
        raise UsageError(
            f"no step is in the names of {_listed(without)}: write a pattern of it as --step 'step-(\\d+)', or order "
            "them by --order time"
        )
    kept: dict[float, Point] = {}
    for point, step in sorted(zip(found, told, strict=True), key=lambda pair: pair[0].finished):
        if step is not None:
            if step in kept:
                notes.append(
                    f"{kept[step].folder} is of step {step:.15g} as the later {point.folder}, and was left out"
                )
            kept[step] = replace(point, step=step)
    return list(kept.values())


def _listed(found: Sequence[Point]) -> str:
    names = [f"{point.names.run} ({point.names.alias})" for point in found]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
