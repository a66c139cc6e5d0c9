"""Annotations of a GitHub Actions run: a line on the runner's output for each eval that failed or is in doubt.

The commands and their escapes are those of GitHub's runner (docs.github.com, "Workflow commands for GitHub Actions";
actions/toolkit, ``packages/core/src/command.ts``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.report.failed_checks import failed_otherwise, fails_by_numbers
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.verdict import PASS, regression_lines, run_verdict

Json = Mapping[str, Any]
Level: TypeAlias = Literal["error", "warning"]

_MOST = 10
"""GitHub shows ten errors and ten warnings of a step, and drops the others without a word."""
_LONGEST, _LONGEST_TITLE = 2000, 200

_COMMAND = re.compile(r"^\s*::|##\[")


class Place(NamedTuple):
    """Where a test stands: its file, relative to the checkout, and the line, from 1; None where it is not known."""

    file: str
    line: int | None


def places(located: Mapping[str, tuple[str, int | None]], root: Path, checkout: Path) -> dict[str, Place]:
    """Tests' places by node id. ``located`` holds pytest's locations: a file relative to ``root``, a line from 0.

    A file beyond the checkout keeps the path that pytest gave it.
    """
    found = {}
    for nodeid, (file, line) in located.items():
        path = root / file
        shown = path.relative_to(checkout) if path.is_relative_to(checkout) else Path(file)
        found[nodeid] = Place(shown.as_posix(), None if line is None else line + 1)
    return found


def commands(record: Json, tests: Mapping[str, Place]) -> list[str]:
    """Workflow commands: an error for each eval that failed, a warning for each that passed in doubt.

    At most ten of each, the last of which counts what is left. A run that failed with no eval to blame has one error.
    """
    told: dict[Level, list[str]] = {"error": [], "warning": []}
    otherwise = failed_otherwise(record)
    for item in record["items"]:
        level = _level(item, item in otherwise)
        if level is not None:
            # A test that never reported is known by its node id alone.
            place = tests.get(item["nodeid"]) or Place(item["nodeid"].partition("::")[0], None)
            told[level].append(_command(level, place, _title(item), _message(item)))
    if record["exit_status"] and not told["error"]:
        verdict = run_verdict(record)
        text = " ".join(filter(None, (verdict.counts, verdict.advice, *record["notes"][:3])))
        told["error"].append(_command("error", None, f"audiobench: {verdict.word}", text))
    return [line for level, lines in told.items() for line in _bounded(level, lines)]


def no_command(text: str) -> str:
    """A line of ours for a runner's log, in which a name or an identifier from outside cannot be taken for a command.

    A runner obeys ``::`` at a line's start, white space aside, and ``##[`` anywhere (actions/runner, ActionCommand.cs).
    """
    return _COMMAND.sub(lambda found: f"{found[0][:-1]} {found[0][-1]}", text)


def trouble(text: str) -> list[str]:
    """The command for a run whose report could not be written."""
    return [_command("error", None, "audiobench", text)] if text else []


def _level(item: Json, fails_otherwise: bool) -> Level | None:
    if item["outcome"] in ("failed", "lost"):
        # An eval that met all that it was held to is not to blame for the others of its test.
        return "error" if fails_otherwise or _reasons(item) else None
    doubtful = any(one["status"] != PASS for one in item.get("regressions", ()))
    return "warning" if doubtful and item["outcome"] == "passed" else None


def _title(item: Json) -> str:
    return f"{item['eval']} ({item['model']})"[:_LONGEST_TITLE]


def _message(item: Json) -> str:
    # What a test itself says of its failing goes before numbers that did not fail it.
    failed = item["outcome"] in ("failed", "lost") and not fails_by_numbers(item)
    own = [item["message"] or item["outcome"]] if failed else []
    return "\n".join([*own, *_reasons(item)])


def _reasons(item: Json) -> list[str]:
    return list(_shortcomings(item))


def _shortcomings(item: Json) -> Iterator[str]:
    for one in regression_lines({"items": [item]}):
        if one.status != PASS:
            change = "" if one.at is None else f" ({one.before} → {one.now})"
            yield f"{one.mark} {one.status}: {one.line}{change}: {one.detail}"
    for verdict in item["verdicts"]:
        if verdict["status"] != "pass":
            yield f"{verdict['threshold']}: {verdict['detail']}"


def _bounded(level: Level, lines: list[str]) -> list[str]:
    if len(lines) <= _MOST:
        return lines
    more = len(lines) - _MOST + 1
    text = f"{more} more evals are listed in the job's summary and in the report"
    return [*lines[: _MOST - 1], _command(level, None, f"audiobench: {more} more", text)]


def _command(level: Level, place: Place | None, title: str, message: str) -> str:
    given = {"file": place.file if place else None, "line": place.line if place else None, "title": title}
    properties = ",".join(
        f"{name}={_property(printable(str(value)))}" for name, value in given.items() if value is not None
    )
    text = "\n".join(map(printable, message[:_LONGEST].split("\n")))
    return f"::{level} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
