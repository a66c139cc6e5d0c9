"""The regression lines of a run's record, checked before anything counts on them: anyone may have edited the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args

from pytest_audiobench.evaluation.record import RegressionRecord, RegressionStatus
from pytest_audiobench.gate.strict_json import FieldError, Fields, count, items, short_repr, text
from pytest_audiobench.stats.multiple_testing import holm

_NAMES = tuple(one.name for one in fields(RegressionRecord))
_NUMBERS = ("baseline", "value", "drop", "lower", "upper", "bound", "margin", "p", "detectable", "p_holm")
_LONGEST = 100_000
"""Characters of a sentence, which may name samples."""


def check_regressions(record: Any) -> None:
    """Raises :class:`FieldError`, with the place, where a line of a run's ``record`` has not a RegressionRecord's fields."""
    found = record.get("items")
    for number, item in enumerate(found if isinstance(found, list) else ()):
        if isinstance(item, dict):
            place = f"items[{number}].regressions"
            for at, line in enumerate(items(item.get("regressions", []), place)):
                _check(Fields(line, f"{place}[{at}]", _NAMES))


def _check(line: Fields) -> None:
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
    for counted in line["left_out"].values():
        count(counted, line.at("left_out"))
    for ids in line["examples"].values():
        for one in items(ids, line.at("examples")):
            text(one, line.at("examples"), _LONGEST)


def adjust_p_values(regressions: Sequence[dict[str, Any]], lines: int) -> None:
    """Fill in ``p_holm`` of the run's regressions, as they are in its record; ``lines`` is the run's m.

    A test has the share of alpha that its verdict was held to (its own ``lines``), and lines that no test was made for
    keep theirs. So the smallest adjusted value is at most alpha exactly where a line regressed.
    """
    tested = [one for one in regressions if one["p"] is not None]
    weights = [lines / one["lines"] for one in tested]
    rest = lines - sum(weights)
    untested = [rest] if rest > 1e-9 else []
    found = holm([*(one["p"] for one in tested), *[1.0] * len(untested)], [*weights, *untested])
    for one, p_value in zip(tested, found, strict=False):
        one["p_holm"] = float(p_value)
