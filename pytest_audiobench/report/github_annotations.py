"""Annotations of a GitHub Actions run: a line on the runner's output for each eval that failed or is in doubt.

The commands and their escapes are those of GitHub's runner (docs.github.com, "Workflow commands for GitHub Actions";
actions/toolkit, ``packages/core/src/command.ts``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.records.run import ItemRecord, RunRecord
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.verdict import PASS, failed_otherwise, fails_by_numbers, regression_lines, run_verdict

Level: TypeAlias = Literal["error", "warning"]

_MOST = 10
"""GitHub shows ten errors and ten warnings of a step, and drops the others without a word."""
_LONGEST, _LONGEST_TITLE = 2000, 200


class Place(NamedTuple):
    """Where a test stands: its file, relative to the checkout, and the line, from 1; None where it is not known."""

    file: str
    line: int | None


def places(located: Mapping[str, tuple[str, int | None]], root: Path, checkout: Path) -> dict[str, Place]:
    """Tests' places by node id. ``located`` holds pytest's locations: a file relative to ``root``, a line from 0.

    A file beyond the checkout keeps the path that pytest gave it.
    """
    by_nodeid = {}
    for nodeid, (file, line) in located.items():
        path = root / file
        relative = path.relative_to(checkout) if path.is_relative_to(checkout) else Path(file)
        by_nodeid[nodeid] = Place(relative.as_posix(), None if line is None else line + 1)
    return by_nodeid


def commands(record: RunRecord, tests: Mapping[str, Place]) -> list[str]:
    """Workflow commands: an error for each eval that failed, a warning for each that passed in doubt.

    At most ten of each, the last of which counts what is left. A run that failed with no eval to blame has one error.
    """
    by_level: dict[Level, list[str]] = {"error": [], "warning": []}
    otherwise = failed_otherwise(record)
    for item in record.items:
        level = _level(item, item in otherwise)
        if level is not None:
            # A test that never reported is known by its node id alone.
            place = tests.get(item.nodeid) or Place(item.nodeid.partition("::")[0], None)
            title = f"{item.eval} ({item.model})"[:_LONGEST_TITLE]
            # What a test itself says of its failing goes before numbers that did not fail it.
            failed = item.outcome in ("failed", "lost") and not fails_by_numbers(item)
            message = "\n".join([*([item.message or item.outcome] if failed else ()), *_reasons(item)])
            by_level[level].append(_command(level, place, title, message))
    if record.exit_status and not by_level["error"]:
        verdict = run_verdict(record)
        text = " ".join(filter(None, (verdict.counts, verdict.advice, *record.notes[:3])))
        by_level["error"].append(_command("error", None, f"audiobench: {verdict.word}", text))
    return [line for level, lines in by_level.items() for line in _bounded(level, lines)]


def trouble(text: str) -> list[str]:
    """The command for a run whose report could not be written."""
    return [_command("error", None, "audiobench", text)] if text else []


def _level(item: ItemRecord, fails_otherwise: bool) -> Level | None:
    if item.outcome in ("failed", "lost"):
        # An eval that met all its requirements is not to blame for the others of its test.
        return "error" if fails_otherwise or any(_reasons(item)) else None
    doubtful = any(line.status != PASS for line in item.regressions)
    return "warning" if doubtful and item.outcome == "passed" else None


def _reasons(item: ItemRecord) -> Iterator[str]:
    for line in regression_lines([item]):
        if line.status != PASS:
            values = "" if line.at is None else f" ({line.before} → {line.now})"
            yield f"{line.mark} {line.status}: {line.line}{values}: {line.detail}"
    for verdict in item.verdicts:
        if verdict.status != "pass":
            yield f"{verdict.threshold}: {verdict.detail}"


def _bounded(level: Level, lines: list[str]) -> list[str]:
    if len(lines) <= _MOST:
        return lines
    more = len(lines) - _MOST + 1
    text = f"{more} more evals are listed in the job's summary and in the report"
    return [*lines[: _MOST - 1], _command(level, None, f"audiobench: {more} more", text)]


def _command(level: Level, place: Place | None, title: str, message: str) -> str:
    fields = {"file": place.file if place else None, "line": place.line if place else None, "title": title}
    properties = ",".join(
        f"{name}={_data(printable(str(value))).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in fields.items()
        if value is not None
    )
    text = "\n".join(map(printable, message[:_LONGEST].split("\n")))
    return f"::{level} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
