"""The answers of a run scored again, and what of its lines and numbers is another then."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.comparison.differences import Difference, first_difference, shown
from pytest_audiobench.errors import AudiobenchError, FatalError
from pytest_audiobench.report import run_files
from pytest_audiobench.report.formatting import group_text
from pytest_audiobench.report.json_lines import Row, read_lines
from pytest_audiobench.report.run_files import LINE_FILES, runtime
from pytest_audiobench.rescoring import own_run
from pytest_audiobench.rescoring.layouts import Source
from pytest_audiobench.rescoring.rescore import Wanted, rescore
from pytest_audiobench.verification.checks import Check, fails, ok, unknown

Json: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[str, str]
"""An item's eval and model."""

PARTS = ("processed", "scored", "scorers", "metrics")

_PACKAGES = ("pytest-audiobench", "numpy", "jiwer", "sacrebleu")
_CLOSE = 1e-9
"""Relative. Another release of a library may sum in another order, which is no finding."""


@dataclass(frozen=True)
class Numbers:
    """Holds recorded numbers against recomputed ones: exactly where the same versions made both."""

    changed: str

    @classmethod
    def of(cls, record: Json) -> Numbers:
        """For a run whose run.json is ``record``."""
        there = record.get("runtime", {})
        there = there if isinstance(there, dict) else {}
        before, now = there.get("packages"), runtime()
        before = before if isinstance(before, dict) else {}
        told = [
            f"{name} {before.get(name, 'unknown')} there, {now['packages'].get(name, 'none')} here"
            for name in _PACKAGES
            if before.get(name) != now["packages"].get(name)
        ]
        if there.get("python") != now["python"]:
            told.append(f"Python {there.get('python', 'unknown')} there, {now['python']} here")
        return cls(", ".join(map(str, told)))

    @property
    def but(self) -> str:
        """What a reader of a difference must know."""
        return f" (other versions: {self.changed})" if self.changed else ""

    def differ(self, recorded: object, found: object) -> bool:
        """Whether two values are not the same number, text or object."""
        if self.changed and type(recorded) in (int, float) and type(found) in (int, float):
            return not math.isclose(float(str(recorded)), float(str(found)), rel_tol=_CLOSE, abs_tol=_CLOSE)
        if isinstance(recorded, dict) and isinstance(found, dict):
            return recorded.keys() != found.keys() or any(self.differ(recorded[name], found[name]) for name in found)
        if isinstance(recorded, list) and isinstance(found, list):
            return len(recorded) != len(found) or any(map(self.differ, recorded, found))
        return type(recorded) is not type(found) or recorded != found

    def metrics(self, recorded: Sequence[Json], found: Sequence[Json]) -> str | None:
        """The first of recomputed metrics that is recorded otherwise, and how; None where all are alike."""
        before, after = ({_about(metric): metric for metric in own} for own in (recorded, found))
        for about, metric in after.items():
            if about not in before:
                return f"{_named(metric)} is not in run.json{self.but}"
            for name, value in metric.items():
                if self.differ(before[about].get(name), value):
                    is_value = "" if name == "value" else f": its {name}"
                    told = shown(before[about].get(name), value), shown(value, before[about].get(name))
                    return f"{_named(metric)}{is_value} is {told[0]} in run.json and {told[1]} recomputed{self.but}"
        extra = next((metric for about, metric in before.items() if about not in after), None)
        return None if extra is None else f"{_named(extra)} in run.json is none that the answers give{self.but}"


def check_scores(folder: Path, record: Json, wanted: Mapping[Key, Json]) -> dict[Key, list[Check]]:
    """For each of the ``wanted`` items of the run in ``folder``, whether scoring its answers again gives what the run
    holds. Raises FatalError where a line file cannot be read.
    """
    numbers = Numbers.of(record)
    with tempfile.TemporaryDirectory() as place:
        again, why = _scored_again(folder, record, list(wanted), Path(place))
        found: dict[Key, list[Check]] = {}
        alike: dict[Key, set[str]] = {}
        for key, item in wanted.items():
            if key not in again:
                status = fails if key in why and why[key].startswith(_BROKEN) else unknown
                found[key] = [status("metrics", why.get(key, "its answers could not be scored again"))]
                continue
            same, left = _scorers(item, again[key].item)
            alike[key] = same
            found[key] = [unknown("scorers", left)] if left else []
        lines = {
            kind: _compared(folder / LINE_FILES[kind], kind, {key: again[key] for key in alike}, alike, numbers)
            for kind in ("processed", "scored")
        }
        for key, same in alike.items():
            if same:
                for kind, told in lines.items():
                    found[key].append(fails(kind, told[key]) if key in told else ok(kind))
                found[key] += _numbers(wanted[key], again[key].item, same, numbers)
    return found


_BROKEN = "its lines cannot be scored: "


def _scored_again(
    folder: Path, record: Json, wanted: Sequence[Key], place: Path
) -> tuple[dict[Key, run_files.Part], dict[Key, str]]:
    """The items that could be scored again as parts under ``place``, and why the others could not be."""
    if not wanted:
        return {}, {}
    file = folder / LINE_FILES["predictions"]
    try:
        source = Source("run", (file,), partial(own_run.read, file, set(wanted)), record)
        own = place / str(len(list(place.iterdir())))
        own.mkdir()
        told = rescore(source, Wanted(), own)
    except AudiobenchError as error:
        if len(wanted) == 1:
            unreadable = " was not scored: " in str(error)
            return {}, {wanted[0]: str(error) if unreadable else f"{_BROKEN}{error}"}
        # One item's lines must not keep the others from being looked at.
        done: dict[Key, run_files.Part] = {}
        why: dict[Key, str] = {}
        for key in wanted:
            one, its = _scored_again(folder, record, [key], place)
            done.update(one)
            why.update(its)
        return done, why
    done = {(part.item["eval"], part.item["model"]): part for part in run_files.whole_parts(own)}
    notes = {key: note for key in wanted if key not in done for note in told.notes if note.startswith(f"{key[0]} was ")}
    return done, notes


def _scorers(item: Json, again: Json) -> tuple[set[str], str]:
    """The scorers that read alike here, and why the others cannot be held against anything."""
    here = {scorer["name"]: scorer["signature"] for scorer in again["scorers"]}
    there = {scorer["name"]: scorer["signature"] for scorer in item["scorers"]}
    missing = [name for name in there if name not in here]
    other = [name for name in there if name in here and here[name] != there[name]]
    told = [f"{', '.join(missing)}: read by a judge, or by a protocol of the test's own"] if missing else []
    told += [f"{name} is another rule here ({here[name]}) than in the run ({there[name]})" for name in other[:1]]
    return {name for name in there if here.get(name) == there[name]}, "; ".join(told)


def _numbers(item: Json, again: Json, same: Collection[str], numbers: Numbers) -> Iterator[Check]:
    again = json.loads(json.dumps(again))
    before, after = ({one["name"]: one for one in each["scorers"] if one["name"] in same} for each in (item, again))
    odd = next((name for name in after if numbers.differ(before[name].get("coverage"), after[name]["coverage"])), None)
    if odd is None and numbers.differ(item.get("agreement"), again["agreement"]) and item["scorers"][0]["name"] in same:
        odd = "the agreement of epochs"
    if odd is not None:
        yield fails("scorers", f"the counts of {odd} are others recomputed than in run.json{numbers.but}")
    elif len(same) == len(item["scorers"]):
        yield ok("scorers")
    recorded = [one for one in item["metrics"] if one["scorer"] in same]
    told = numbers.metrics(recorded, [one for one in again["metrics"] if one["scorer"] in same])
    yield fails("metrics", told) if told else ok("metrics")


def _compared(
    file: Path, kind: str, again: Mapping[Key, run_files.Part], alike: Mapping[Key, Collection[str]], numbers: Numbers
) -> dict[Key, str]:
    """The first line of each item that is another than scoring again gives."""
    found: dict[Key, str] = {}
    seen: set[Key] = set()
    for key, lines in groupby(enumerate(read_lines(file), 1), lambda one: _key(file, *one)):
        if key not in again or key in found:
            continue
        if key in seen:
            found[key] = f"{file.name}, line {next(lines)[0]}: the lines of one eval do not lie together"
            continue
        seen.add(key)
        expected = _wanted_rows(again[key].lines(kind), alike[key])
        for number, row in lines:
            if row.get("scorer") in alike[key]:
                told = _difference(number, row, next(expected, None), numbers)
                if told is not None:
                    found[key] = f"{file.name}, line {number}: {told}"
                    break
        else:
            if (missing := next(expected, None)) is not None:
                found[key] = f"{file.name} lacks {missing['sample_id']!r} (epoch {missing['epoch']})"
    unseen = [key for key in again if key not in seen and alike[key]]
    return found | dict.fromkeys(unseen, f"{file.name} holds no line of it")


def _wanted_rows(file: Path, scorers: Collection[str]) -> Iterator[Row]:
    return (row for row in read_lines(file) if row["scorer"] in scorers)


def _difference(number: int, row: Row, expected: Row | None, numbers: Numbers) -> str | None:
    sample = f"{row.get('sample_id')!r}"
    if expected is None:
        return f"{sample} is one line too many"
    names = ("sample_id", "epoch", "scorer")
    if any(row.get(name) != expected[name] for name in names):
        own = " ".join(str(row.get(name)) for name in names)
        other = " ".join(str(expected[name]) for name in names)
        return f"{own!r} stands where {other!r} is expected: a line was removed, doubled or moved"
    for name in {**expected, **row}:
        if numbers.differ(row.get(name), expected.get(name)):
            found = first_difference(row.get(name), expected.get(name), name) or Difference(name, None, None)
            told = shown(found.before, found.after), shown(found.after, found.before)
            return f"{found.path} of {sample} is {told[0]} in the file and {told[1]} recomputed{numbers.but}"
    return None


def _key(file: Path, number: int, row: Row) -> Key:
    try:
        return row["eval"], row["model"]
    except KeyError as error:
        raise FatalError(f"{file}: line {number} has no {error}: it was edited") from None


def _about(metric: Json) -> tuple[object, ...]:
    return metric["name"], metric["scorer"], metric["signature"], *sorted(metric["group"].items())


def _named(metric: Json) -> str:
    group = f" [{group_text(metric['group'])}]" if metric["group"] else ""
    return f"{metric['name']} by {metric['scorer']}{group}"
