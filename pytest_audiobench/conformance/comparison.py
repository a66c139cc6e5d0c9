"""Reference cases compared with what is ours: each agrees, is ours by a rule, differs, or could not be compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.conformance.cases import Json, ReferenceCase, UnreadableCase, read_cases
from pytest_audiobench.conformance.declarations import Declaration, Undeclared, declaration_for, filled
from pytest_audiobench.conformance.functions import FUNCTIONS
from pytest_audiobench.conformance.rules import REFUSED, RULES
from pytest_audiobench.conformance.scores import ScoredCase, score_case
from pytest_audiobench.errors import AudiobenchError

Verdict: TypeAlias = Literal["agrees", "rule", "outside", "differs", "none", "error"]
"""``rule`` for a deliberate difference, ``outside`` for what is declared to have no scorer; ``none`` has one neither
way, and ``error`` is a case that could not be read or scored."""
FAILING: tuple[Verdict, ...] = ("differs", "none", "error")


class Compared(NamedTuple):
    """A case's verdict; ``detail`` is the rule, or the reason."""

    id: str
    verdict: Verdict
    detail: str = ""
    answers: int = 0
    case: ReferenceCase | None = None
    ours: Json = None
    expected: Json = None
    by: str = ""
    """The scorer or the function that answered."""


class Refusal(NamedTuple):
    """That ours gives no value, in a sentence."""

    why: str


def compared_cases(path: Path) -> Iterator[Compared]:
    """Every case of a file. Raises UsageError for a file that holds none."""
    for case in read_cases(path):
        yield Compared(case.id, "error", case.why) if isinstance(case, UnreadableCase) else compared(case)


def compared(case: ReferenceCase) -> Compared:
    """The case compared with what is ours. Whatever happens, it ends as a verdict."""
    try:
        declaration, names = declaration_for(case)
        if declaration.outside:
            return Compared(case.id, "outside", declaration.outside)
        scored: ScoredCase | Refusal = _ours(case, declaration, names)
        expected = _expected(case, declaration)
        return verdict(case, declaration, scored, expected)._replace(by=_by(case, declaration, names))
    except Undeclared as error:
        return Compared(case.id, "none", str(error), case=case)
    except Exception as error:
        return Compared(case.id, "error", f"{type(error).__name__}: {error}", case=case)


def _by(case: ReferenceCase, declaration: Declaration, names: Mapping[str, str]) -> str:
    return declaration.function or (filled(declaration.scorer, names) if case.metric else str(case.params["scorer"]))


def _ours(case: ReferenceCase, declaration: Declaration, names: Mapping[str, str]) -> ScoredCase | Refusal:
    try:
        if declaration.function:
            return _by_function(declaration.function, case)
        return score_case(case, declaration, names)
    except AudiobenchError as error:
        return Refusal(str(error))


def _by_function(name: str, case: ReferenceCase) -> ScoredCase | Refusal:
    try:
        return ScoredCase(FUNCTIONS[name](case), 0)
    except ValueError as error:
        # By which functions refuse numbers that they cannot take.
        return Refusal(str(error))


def verdict(case: ReferenceCase, declaration: Declaration, scored: ScoredCase | Refusal, expected: Json) -> Compared:
    """What is ours and what a rule says, or else what is expected."""
    answers = 0 if isinstance(scored, Refusal) else scored.answers
    ours = scored if isinstance(scored, Refusal) else scored.value
    for name in declaration.rules:
        if _applies(name, case):
            required = RULES[name].value(case)
            agrees = _agrees(required, ours, case.tolerance)
            if agrees and not case.raises and _agrees(expected, ours, case.tolerance):
                return Compared(case.id, "agrees", "", answers, case, ours, expected)
            return Compared(case.id, "rule" if agrees else "differs", name, answers, case, ours, required)
    if case.raises:
        # Where the library fails, a scorer refuses or has no value: a number would have no meaning.
        agrees = isinstance(ours, Refusal) or _is_none(ours)
        return Compared(case.id, "agrees" if agrees else "differs", "", answers, case, ours, f"raises {case.raises}")
    agrees = _agrees(expected, ours, case.tolerance)
    return Compared(case.id, "agrees" if agrees else "differs", "", answers, case, ours, expected)


def _applies(rule: str, case: ReferenceCase) -> bool:
    """Whether the rule's condition holds; of inputs that are of no such shape it does not, and they are refused."""
    try:
        return RULES[rule].applies(case)
    except (AttributeError, LookupError, TypeError, ValueError):
        return False


def _agrees(required: Json, ours: Json, tolerance: float) -> bool:
    if isinstance(ours, Refusal) or (isinstance(required, str) and required == REFUSED):
        return isinstance(ours, Refusal) and isinstance(required, str) and required == REFUSED
    return same(required, ours, tolerance)


def _is_none(value: Json) -> bool:
    """Whether there is no number in ``value``."""
    if isinstance(value, Mapping):
        return all(map(_is_none, value.values()))
    return value is None or (isinstance(value, float) and math.isnan(value))


_PLACE = re.compile(r"inputs\.(\w+)\[\*\]\.(\w+)(?: / \w+)?")


def _expected(case: ReferenceCase, declaration: Declaration) -> Json:
    """What is expected, without the parts that no scorer has; a place within the inputs is what stands there."""
    if declaration.value == "words" and isinstance(case.expected, str):
        return " ".join(case.expected.split())
    if not isinstance(case.expected, Mapping) or isinstance(declaration.value, str):
        return case.expected
    return {
        name: value
        for name, part in case.expected.items()
        if name not in declaration.aside and (value := _part(name, part, case, declaration)) != {}
    }


def _part(name: str, part: Json, case: ReferenceCase, declaration: Declaration) -> Json:
    if isinstance(part, Mapping):
        return {key: value for key, value in part.items() if f"{name}.{key}" not in declaration.aside}
    match = _PLACE.fullmatch(part) if isinstance(part, str) else None
    return part if match is None else [each[match[2]] for each in case.inputs[match[1]]]


_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_ROUNDING = 1e-12


def same(expected: Json, ours: Json, tolerance: float) -> bool:
    """Whether both have one shape, and numbers within the absolute ``tolerance``; null is not a number, as NaN is."""
    if isinstance(expected, str) and expected in _NUMBERS and not isinstance(ours, str):
        expected = _NUMBERS[expected]
    if isinstance(expected, Mapping):
        return (
            isinstance(ours, Mapping)
            and expected.keys() == ours.keys()
            and all(same(value, ours[name], tolerance) for name, value in expected.items())
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(ours, list | tuple)
            and len(expected) == len(ours)
            and all(same(value, other, tolerance) for value, other in zip(expected, ours, strict=True))
        )
    if isinstance(expected, bool | str) or isinstance(ours, bool | str):
        return type(expected) is type(ours) and bool(expected == ours)
    first, second = (math.nan if value is None else float(value) for value in (expected, ours))
    if math.isfinite(first) and math.isfinite(second):
        return abs(first - second) <= tolerance + _ROUNDING
    return repr(first) == repr(second)
