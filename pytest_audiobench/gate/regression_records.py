"""The regression lines of a run's record, checked before anything counts on them: anyone may have edited the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args

from pytest_audiobench.evaluation.record import RegressionRecord, RegressionStatus
from pytest_audiobench.io.strict_json import FieldError, Fields, count, items, short_repr, text
from pytest_audiobench.stats.multiple_testing import holm

_NAMES = tuple(field.name for field in fields(RegressionRecord))
_NUMBERS = ("baseline", "value", "drop", "lower", "upper", "bound", "margin", "p", "detectable", "p_holm")
_LONGEST = 100_000
"""Characters of a sentence, which may name samples."""


def check_regressions(record: Any) -> None:
    """Raises :class:`FieldError`, with the place, for a line of a run's ``record`` that is no RegressionRecord."""
    entries = record.get("items")
    for number, item in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(item, dict):
            place = f"items[{number}].regressions"
            for index, line in enumerate(items(item.get("regressions", []), place)):
                _check_line(Fields(line, f"{place}[{index}]", _NAMES))


def _check_line(line: Fields) -> None:
    for name, allowed in (("status", get_args(RegressionStatus)), ("direction", ("higher", "lower"))):
        if line[name] not in allowed:
            raise FieldError(line.at(name), f"must be one of {', '.join(allowed)}, not {short_repr(line[name])}")
    for name in ("metric", "scorer", "unit"):
        line.text(name)
    for name in ("method", "detail"):
        text(line[name], line.at(name), _LONGEST)
    for name in _NUMBERS:
        line.number_or_null(name)
    if line.number_or_null("alpha") is None:
        raise FieldError(line.at("alpha"), "must be a number")
    line.count("lines", least=1)
    for name in ("pairs", "worse", "better", *(["clusters"] if line["clusters"] is not None else [])):
        line.count(name)
    for name in ("group", "left_out", "examples"):
        if not isinstance(line[name], dict):
            raise FieldError(line.at(name), f"must be an object, not {short_repr(line[name])}")
    for value in line["group"].values():
        text(value, line.at("group"), _LONGEST)
    for number in line["left_out"].values():
        count(number, line.at("left_out"))
    for ids in line["examples"].values():
        for sample_id in items(ids, line.at("examples")):
            text(sample_id, line.at("examples"), _LONGEST)


def adjust_p_values(regressions: Sequence[dict[str, Any]], lines: int) -> None:
    """Fill in ``p_holm`` of the run's regressions, as they are in its record; ``lines`` is the run's m.

    A test has the share of alpha that its verdict had (its own ``lines``), and lines that no test was made for
    keep theirs. So the smallest adjusted value is at most alpha exactly where a line regressed.
    """
    tested = [record for record in regressions if record["p"] is not None]
    weights = [lines / record["lines"] for record in tested]
    rest = lines - sum(weights)
    untested = [rest] if rest > 1e-9 else []
    adjusted = holm([*(record["p"] for record in tested), *[1.0] * len(untested)], [*weights, *untested])
    for record, p_value in zip(tested, adjusted, strict=False):
        record["p_holm"] = float(p_value)
