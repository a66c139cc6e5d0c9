"""A calibration in a file of thresholds, between two marks: all else of the file is its owner's."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.calibration import CalibratedLine, Terms
from pytest_audiobench.io.user_documents import toml_tables
from pytest_audiobench.report.atomic_files import write_text

BEGIN = "# calibrated: what is between these marks is written by audiobench calibrate"
END = "# calibrated: end"
_FIELDS = ("eval", "metric", "unit", "n", "runs", "mean", "sd", "degrees", "require", "sees", "note")


@dataclass(frozen=True)
class Calibration:
    """The lines that some runs gave, on a day."""

    day: date
    model: str
    runs: Sequence[str]
    terms: Terms
    lines: Sequence[CalibratedLine]

    @property
    def by_line(self) -> Mapping[tuple[str, str], CalibratedLine]:
        """By eval and metric."""
        return {(line.eval, line.metric): line for line in self.lines}


def text_of(calibration: Calibration) -> str:
    """The part of a TOML file, marks included: a ``[[threshold]]`` for each line, and what it was made of."""
    head = {
        "day": calibration.day.isoformat(),
        "model": calibration.model,
        "runs": list(calibration.runs),
        "false_alarms": calibration.terms.false_alarms,
        "power": calibration.terms.power,
        "margins": calibration.terms.margins,
    }
    parts = [BEGIN, "[calibration]", *_pairs(head)]
    for line in calibration.lines:
        facts = {name: value for name, value in asdict(line).items() if not _is_nothing(value)}
        parts += ["", "[[calibration.line]]", *_pairs(facts)]
    for line in calibration.lines:
        if line.require:
            parts += ["", "[[threshold]]", *_pairs({"eval": line.eval, "require": [line.require]})]
    return "\n".join([*parts, END]) + "\n"


def write(file: Path, calibration: Calibration) -> None:
    """Put it into ``file``, in place of an earlier one. Raises UsageError where the marks are not a pair."""
    content = file.read_text(encoding="utf-8") if file.exists() else ""
    before, after = _around(content, file)
    gap = "\n" if before and not before.endswith("\n\n") else ""
    write_text(file, f"{before}{gap}{text_of(calibration)}{after}")


def _around(content: str, file: Path) -> tuple[str, str]:
    if BEGIN not in content:
        return content, ""
    before, _, rest = content.partition(BEGIN)
    _, end, after = rest.partition(f"{END}\n")
    if not end or BEGIN in after:
        raise UsageError(f"{file} has the mark {BEGIN[:13]!r} without its end {END!r}: fix it, or name another file")
    return before, after


def read(file: Path) -> Calibration | None:
    """The earlier calibration of ``file``; None where it has none. Raises UsageError for one that was edited."""
    if not file.exists():
        return None
    try:
        table: Any = toml_tables(file.read_bytes()).get("calibration")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as TOML: {error}") from None
    if table is None:
        return None
    try:
        lines = [
            CalibratedLine(**{"sd": math.nan, "mean": math.nan, "sees": None, "require": "", **line})
            for line in table["line"]
        ]
        terms = Terms(float(table["false_alarms"]), float(table["power"]), bool(table["margins"]))
        return Calibration(date.fromisoformat(str(table["day"])), str(table["model"]), table["runs"], terms, lines)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{file}: its [calibration] was edited or cut ({type(error).__name__}: {error}): bring it back, or delete "
            "what is between the marks and calibrate again"
        ) from None


def _pairs(values: Mapping[str, object]) -> list[str]:
    # A basic string of TOML is one of JSON, but for the character DEL.
    return [f"{name} = {json.dumps(value)}".replace("\x7f", "\\u007f") for name, value in values.items()]


def _is_nothing(value: object) -> bool:
    return value in (None, "") or (isinstance(value, float) and math.isnan(value))
