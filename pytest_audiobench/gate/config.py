"""The file that declares thresholds: ``audiobench.toml``, or ``[tool.audiobench]`` in ``pyproject.toml``.

[[threshold]]
eval = "sakura*"          # a pattern over eval ids; * and ? are special, brackets are not
model = "*"               # a pattern over model aliases; optional
require = ["accuracy >= 0.55", "accuracy[hop=multi] >= 0.3", "wer.drop <= 0.5pp"]
max_drop = "2pp"          # the margin of the headline's metric against a baseline, "none" for no such line; optional

A [calibration] is what ``audiobench calibrate`` knows of the thresholds that it wrote, and no rule.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, near, nearest
from pytest_audiobench.io.user_documents import toml_tables

if TYPE_CHECKING:
    from pytest_audiobench.gate.thresholds import Line, Threshold

_FORM = (
    'with eval = "PATTERN", model = "PATTERN" (optional) and require = ["accuracy >= 0.55", …] or max_drop = "2pp" '
    "or both"
)
_RULES_FILE = "audiobench.toml"
_PYPROJECT = "pyproject.toml"
_KEYS = ("eval", "model", "require", "max_drop")


@dataclass(frozen=True)
class Rule:
    """One ``[[threshold]]``: what the evals and models that match must reach, and by how much they may drop.

    ``drops`` are declared regression lines, ``max_drop`` the margin of the headline's metric, None where the rule says
    nothing of it. ``index`` counts from 1 in ``file``.
    """

    eval: str
    model: str
    require: tuple[Threshold, ...]
    file: str
    index: int
    drops: tuple[Line, ...] = ()
    max_drop: str | None = None

    @property
    def place(self) -> str:
        """Where the rule stands, for messages."""
        return f"{self.file}, [[threshold]] number {self.index}"

    @property
    def about_drops(self) -> tuple[str, ...]:
        """The regression lines that the rule declares, as it writes them."""
        from pytest_audiobench.gate.thresholds import NO_MARGIN

        headline = () if self.max_drop in (None, NO_MARGIN) else (f"max_drop = {self.max_drop}",)
        return (*(line.text for line in self.drops), *headline)

    @property
    def test(self) -> str:
        """The pattern for the test alone: an evaluation that a test names itself is called ``test:name``."""
        return self.eval.partition(":")[0]

    def covers(self, eval_id: str, model_alias: str) -> bool:
        """Whether the rule holds for an evaluation: by its full id, or by its test's, which means all of the test's."""
        is_eval = matches(self.eval, eval_id) or matches(self.eval, eval_id.partition(":")[0])
        return is_eval and matches(self.model, model_alias)

    def may_cover(self, test_id: str, model_alias: str) -> bool:
        """Whether the rule holds for some evaluation of a test; which ones it names is known when it has run."""
        return matches(self.test, test_id) and matches(self.model, model_alias)


@dataclass(frozen=True)
class Rules:
    """All rules of a file, in order; none is a file without thresholds."""

    rules: tuple[Rule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rules)

    def for_eval(self, eval_id: str, model_alias: str) -> list[Rule]:
        """The rules that an eval's result must meet; all of them, not the first."""
        return [rule for rule in self.rules if rule.covers(eval_id, model_alias)]

    def for_test(self, test_id: str, model_alias: str) -> list[Rule]:
        """The rules that may hold for a test's evaluations."""
        return [rule for rule in self.rules if rule.may_cover(test_id, model_alias)]

    def unmatched(self, all_eval_ids: Iterable[str]) -> list[str]:
        """One line for each rule whose pattern matches no eval of the whole benchmark: it would never check anything.
        Rules for models that this run does not ask are legitimate; :meth:`left_out` lists them.
        """
        known = sorted(set(all_eval_ids))
        return [
            f"{rule.place}: no eval matches {rule.eval!r}{_nearest_text(rule.eval, known)}"
            for rule in self.rules
            if not any(matches(rule.test, eval_id) for eval_id in known) and not _is_beside(rule.test, known)
        ]

    def about_drops(self) -> list[str]:
        """One line for each rule that only a baseline can check, with what it declares."""
        return [f"{rule.place}: {', '.join(rule.about_drops)}" for rule in self.rules if rule.about_drops]

    def cautions(self) -> list[str]:
        """One line for each requirement that is legitimate but unusual, such as one in the lenient direction."""
        return [
            f"{rule.place}: {threshold.caution}"
            for rule in self.rules
            for threshold in rule.require
            if threshold.caution
        ]

    def left_out(self, selected: Iterable[tuple[str, str]]) -> list[str]:
        """One line for each rule that covers none of the selected (eval id, model alias) pairs."""
        pairs = list(selected)
        return [
            f"{rule.place}: nothing selected matches eval = {rule.eval!r}, model = {rule.model!r}"
            for rule in self.rules
            if not any(rule.may_cover(*pair) for pair in pairs)
        ]


def _is_beside(pattern: str, known: Sequence[str]) -> bool:
    """Whether ``pattern`` is of an eval under a perturbation, which is there only where that is asked."""
    from pytest_audiobench.datasets.perturbations.catalogue import PERTURBATION_CATALOGUE

    plain, _, name = pattern.removesuffix("]").rpartition("[")
    return name in PERTURBATION_CATALOGUE and any(matches(plain, eval_id) for eval_id in known)


def find_rules(folder: Path, given: Path | None = None) -> Rules:
    """The rules of ``given``, else of ``audiobench.toml`` or ``pyproject.toml`` in ``folder``, else none.

    Raises UsageError, with the file and what is allowed, for a given file that is not there, for bad TOML, for all
    unknown keys, wrong types and bad thresholds at once, and when both files of a folder declare thresholds.
    """
    if given is not None:
        if not given.is_file():
            raise UsageError(
                f"there is no threshold file {given}; --ab-config names a TOML file with {_form(given.name)}"
            )
        return read_rules(given)
    # A link to nothing is no file, and yet somebody's thresholds.
    files = [file for name in (_RULES_FILE, _PYPROJECT) if os.path.lexists(file := folder / name)]
    declared = [rules for file in files if (rules := read_rules(file))]
    if len(declared) > 1:
        raise UsageError(
            f"thresholds are declared twice, in audiobench.toml and in pyproject.toml of {folder}: keep one place"
        )
    return declared[0] if declared else Rules()


def rules_file(folder: Path) -> Path | None:
    """The file of ``folder`` that declares thresholds, or seems to."""
    if os.path.lexists(file := folder / _RULES_FILE):
        return file
    file = folder / _PYPROJECT
    is_ours = file.is_file() and b"tool.audiobench" in file.read_bytes()
    return file if is_ours and read_rules(file) else None


def read_rules(file: Path) -> Rules:
    """The rules of one TOML file; a file called ``pyproject.toml`` holds them under ``[tool.audiobench]``."""
    try:
        table: Any = toml_tables(file.read_bytes())
    except ValueError as error:
        raise UsageError(f"{file.name} is not TOML in UTF-8: {error}") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    where = file.name
    if file.name == _PYPROJECT:
        tool = table.get("tool", {})
        if isinstance(tool, dict) and "audiobench" not in tool and (likely := near("audiobench", [*tool])):
            raise UsageError(f"{file.name} has [tool.{likely[0]}]; did you mean [tool.audiobench]?")
        table, where = (tool.get("audiobench", {}) if isinstance(tool, dict) else {}), f"{file.name}, [tool.audiobench]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table, not {_value_text(table)}: it holds {_form(where)}")
    mistakes = Mistakes()
    mistakes.check_keys(where, table, ("threshold", "calibration"))
    entries = table.get("threshold", [])
    if not isinstance(entries, list):
        mistakes.add(f"{where}: threshold must be an array of tables, not {_value_text(entries)}: write {_form(where)}")
        entries = []
    rules = [_rule(entry, where, index, mistakes) for index, entry in enumerate(entries, 1)]
    mistakes.check()
    return Rules(tuple(rule for rule in rules if rule is not None))


def _rule(entry: object, file: str, index: int, mistakes: Mistakes) -> Rule | None:
    # All metrics are bundled: a project without thresholds that only collects need not wait for them.
    from pytest_audiobench.gate.thresholds import Line, Threshold, parse_threshold

    place = f"{file}, [[threshold]] number {index}"
    if not isinstance(entry, dict):
        mistakes.add(f"{place} must be a table, not {_value_text(entry)}: write {_form(file)}")
        return None
    likely_keys = mistakes.check_keys(place, entry, _KEYS)
    for key, others in (("eval", ()), ("require", ("max_drop",))):
        if not {key, *others} & (entry.keys() | likely_keys):
            mistakes.add(f"{place} has no {key}: write {_form(file)}")
    require = entry.get("require", [])
    if (
        not isinstance(require, list)
        or ("require" in entry and not require)
        or not all(isinstance(item, str) for item in require)
    ):
        mistakes.add(
            f'{place}: require must be a list of texts such as ["accuracy >= 0.55"], not {_value_text(require)}'
        )
        require = []
    declared: list[Threshold | Line] = []
    for item in require:
        with mistakes.catching(f"{place}: "):
            declared.append(parse_threshold(item))
    return Rule(
        eval=_pattern(entry, "eval", place, mistakes),
        model=_pattern(entry, "model", place, mistakes),
        require=tuple(item for item in declared if isinstance(item, Threshold)),
        file=file,
        index=index,
        drops=tuple(item for item in declared if isinstance(item, Line)),
        max_drop=_max_drop(entry, place, mistakes),
    )


def _max_drop(entry: Mapping[str, object], place: str, mistakes: Mistakes) -> str | None:
    if "max_drop" not in entry:
        return None
    from pytest_audiobench.gate.threshold_syntax import MARGIN_FORM, read_margin
    from pytest_audiobench.gate.thresholds import NO_MARGIN

    text = entry["max_drop"]
    if text != NO_MARGIN:
        with mistakes.catching(f"{place}: max_drop: "):
            read_margin(text if isinstance(text, str) else repr(text))
            if not isinstance(text, str):
                raise UsageError(f"{_value_text(text)} is not text: {MARGIN_FORM}")
    return str(text)


def _pattern(entry: Mapping[str, object], key: str, place: str, mistakes: Mistakes) -> str:
    pattern = entry.get(key, "*")
    if not isinstance(pattern, str) or not pattern.strip():
        mistakes.add(f'{place}: {key} must be a pattern such as "sakura*", not {_value_text(pattern)}')
    return str(pattern)


def _form(file: str) -> str:
    """What a rule looks like in ``file``, with the header that it has there."""
    return f"[[{'tool.audiobench.' if file.startswith(_PYPROJECT) else ''}threshold]] {_FORM}"


def _value_text(value: object) -> str:
    if isinstance(value, (str, list, dict)) and not value:
        return f"an empty {'text' if isinstance(value, str) else type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _nearest_text(pattern: str, known: list[str]) -> str:
    evals = f"the evals are {', '.join(known[:5])}{', …' if len(known) > 5 else ''}" if known else "there are no evals"
    return f"; {nearest(pattern, known, evals)}"


@lru_cache(maxsize=1024)
def _glob_pattern(pattern: str) -> re.Pattern[str]:
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(c) or re.escape(c) for c in pattern), re.DOTALL)


Patterns: TypeAlias = str | Sequence[str]
"""A pattern, or several of which one is enough."""


def matches(pattern: Patterns, text: str) -> bool:
    """Whether ``pattern``, or one of several, covers the whole of ``text``: only ``*`` (any characters) and ``?`` (one)
    are special.
    """
    patterns = [pattern] if isinstance(pattern, str) else pattern
    return any(_glob_pattern(each).fullmatch(text) is not None for each in patterns)


def chosen(patterns: Patterns, names: Iterable[str], what: str) -> set[str]:
    """Those of ``names`` that a command line chooses: by a part of the name, or by a pattern with ``*`` or ``?`` of the
    whole; case is ignored, and no pattern chooses all. A whole name chooses itself alone, though others hold it.

    Raises UsageError for a pattern that chooses none; ``what`` says of what, and of where: "eval of reports/main".
    """
    known, found = dict.fromkeys(names), set[str]()
    for pattern in [patterns] if isinstance(patterns, str) else patterns or ["*"]:
        spread = (pattern if set(pattern) & set("*?") else f"*{pattern}*").lower()
        fitting = {pattern} & known.keys() or {name for name in known if matches(spread, name.lower())}
        if not fitting:
            # A part is enough, so it is parts that are compared, and named.
            parts = dict.fromkeys(name if "/" in pattern else name.rpartition("/")[2] for name in known)
            raise UsageError(f"no {what} matches {pattern!r}; {nearest(pattern, parts)}")
        found |= fitting
    return found
