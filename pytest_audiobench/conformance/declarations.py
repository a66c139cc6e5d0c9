"""Which scorer of the registry answers for a reference case, and how: read of ``declarations.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from pytest_audiobench.conformance.cases import Json, ReferenceCase
from pytest_audiobench.io.strict_json import short_repr

ANY = "*"
"""In place of a parameter's values: whatever it says, which moves no number."""

Value: TypeAlias = str | Mapping[str, str]
"""What of the scores is the case's value, or each part of it by name (``span_f1.f1`` of an object in an object).

A metric by name is the estimate over the whole set, ``each METRIC`` the list of it for each sample alone, ``sum A + B``
a sum of the scorer's own statistics, ``ratio A + B / C`` of two such sums, ``read`` what was read of the answer,
``words`` the words that it is compared by. Before it may stand ``100 *`` or ``1 -``.
"""


@dataclass(frozen=True)
class Declaration:
    """How the cases of one metric are answered."""

    scorer: str = ""
    """``FAMILY/SCORER``; ``{name}`` in it is a parameter of the case."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """Of the family."""
    inputs: str = ""
    """The shape of the inputs (``samples.SHAPES``)."""
    value: Value = ""
    aside: tuple[str, ...] = ()
    """The parts of an expected object that no scorer of ours has."""
    function: str = ""
    """In place of a scorer, the statistic or part that answers, by name (``functions.FUNCTIONS``)."""
    outside: str = ""
    """In place of both, why there is none here."""
    params: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    """The values that each parameter of a case may have here."""
    rules: tuple[str, ...] = ()
    """The deliberate differences that there may be (``rules.RULES``)."""


class Undeclared(Exception):
    """That nothing answers for a case, in a sentence."""


def declaration_for(case: ReferenceCase) -> tuple[Declaration, Mapping[str, str]]:
    """What answers for the case, and the names that its templates are filled with. Raises Undeclared."""
    if not case.metric:
        return OF_SCORER, {}
    reasons = []
    for pattern, declarations in _declarations().items():
        if match := pattern.fullmatch(case.metric):
            for declaration in declarations:
                problem = _problem(declaration, case.params)
                if not problem:
                    named = {name: str(value) for name, value in case.params.items() if isinstance(value, str | int)}
                    return declaration, {**named, **match.groupdict()}
                reasons.append(problem)
    raise Undeclared(reasons[0] if reasons else f"no scorer answers for the metric {short_repr(case.metric)}")


OF_SCORER = Declaration(inputs="of a scorer")
"""A case that names its scorer and its metric itself."""


def filled(template: str, names: Mapping[str, str]) -> str:
    """``template`` with each ``{name}`` in small letters. Raises Undeclared for one that the case does not give."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in names:
            raise Undeclared(f"the case has no parameter {match[1]!r}")
        return names[match[1]].lower()

    return re.sub(r"\{(\w+)\}", value, template)


def _problem(declaration: Declaration, params: Mapping[str, Json]) -> str:
    for name, value in params.items():
        known = declaration.params.get(name)
        if known is None:
            return f"no scorer answers for the parameter {short_repr(name)}"
        if known != (ANY,) and not any(value == one and type(value) is type(one) for one in known):
            return f"no scorer answers for {short_repr(name)} = {short_repr(value)}"
    return ""


@cache
def _declarations() -> Mapping[re.Pattern[str], tuple[Declaration, ...]]:
    """By metric, of which ``{name}`` may be a part; where there are several, the first that knows the parameters."""
    text = (files(__package__) / "declarations.toml").read_text(encoding="utf-8")
    declared: dict[re.Pattern[str], tuple[Declaration, ...]] = {}
    for metric, tables in ((name, table) for names, table in tomllib.loads(text).items() for name in names.split(", ")):
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(metric))
        rows = tables if isinstance(tables, list) else [tables]
        declared[re.compile(pattern)] = tuple(map(_declaration, rows))
    # The longer name is the more particular one.
    return dict(sorted(declared.items(), key=lambda item: (item[0].groups, -len(item[0].pattern))))


def _declaration(table: Mapping[str, Json]) -> Declaration:
    known = {each.name for each in fields(Declaration)}
    if unknown := table.keys() - known:
        raise ValueError(f"a declaration has no {min(unknown)!r}")
    params = {
        name: (ANY,) if values == ANY else tuple(values) if isinstance(values, list) else (values,)
        for name, values in table.get("params", {}).items()
    }
    lists = {name: tuple(table[name]) for name in ("aside", "rules") if name in table}
    return Declaration(**{**table, **lists, "params": params})
