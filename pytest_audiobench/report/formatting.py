"""How numbers and texts are written, everywhere alike: the terminal, the page, the summary of a CI job."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec.structs import asdict

from pytest_audiobench.metrics.metric import FRACTIONS, POINTS
from pytest_audiobench.metrics.value import PERCENT_UNITS, RELATIVE, bounds_text, figure_text
from pytest_audiobench.records.run import CoverageRecord

Tone: TypeAlias = Literal["good", "bad", "warn", "plain"]


class Sign(NamedTuple):
    """How a verdict is shown: a mark that says without colour what ``tone`` says in colour, and its words."""

    mark: str
    tone: Tone
    words: str


VERDICTS: Mapping[str, Sign] = {
    "fail": Sign("✗", "bad", "fail"),
    "regressed": Sign("✗", "bad", "regressed"),
    "not_comparable": Sign("≠", "warn", "not comparable"),
    "incomplete": Sign("!", "warn", "incomplete"),
    "inconclusive": Sign("?", "warn", "inconclusive"),
    "pass": Sign("✓", "good", "pass"),
    "improved": Sign("▲", "good", "improved"),
}
"""Thresholds' and regression lines' verdicts, the worst first: not comparable fails, inconclusive warns."""

WIDTH = 80


def combined_verdict(counts: Mapping[str, int]) -> str | None:
    """The worst verdict of several, by their counts; improved where most improved, and the rest is undecided at worst:
    what a sample too few leaves open must not hide what is shown.
    """
    worst = next((verdict for verdict in VERDICTS if counts.get(verdict)), None)
    mostly = 2 * counts.get("improved", 0) > sum(counts.values())
    return "improved" if worst == "inconclusive" and mostly else worst


_STATUS_TEXTS = {"out_of_range": "out of range", "errors": "not asked"}
_COMMAND = re.compile(r"^\s*::|##\[")


class Interval(Protocol):
    """A figure of a record, as far as its interval goes."""

    @property
    def lower(self) -> float | None: ...
    @property
    def upper(self) -> float | None: ...


value_text = figure_text


def interval_text(figure: Interval, unit: str) -> str:
    """``83.1 to 90.9``, in the value's own ``unit``; empty where no interval is known."""
    return bounds_text(figure.lower, figure.upper, unit)


def axis_value(value: float | None, unit: str) -> float | None:
    """Where a value lies on an axis in the unit in which it is read, to six digits: 87.5 for a share of 0.875."""
    is_fraction = unit == RELATIVE or unit in FRACTIONS
    return None if value is None else float(f"{(100 * value if is_fraction else value):.6g}")


def unit_text(unit: str) -> str:
    """The unit of an axis: ``%`` for shares and error rates, ``pp`` for their differences."""
    return "%" if unit in PERCENT_UNITS else "pp" if unit == POINTS else unit


def counted(number: int, noun: str) -> str:
    """``1 eval``, ``2 evals``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time to wait, roughly: ``40 s``, ``14 min``, ``3.2 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def eval_name(name: str, model: str, several: bool) -> str:
    """An eval's name, with the model's where there are ``several``."""
    return f"{name} · {model}" if several else name


def group_text(group: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in group.items())


def parse_rate_text(coverage: CoverageRecord) -> str:
    """The share of answers (samples times epochs) that could be parsed, as a percentage."""
    return f"{100 * coverage.parsed / coverage.n:.1f} %" if coverage.n else "–"


def skipped_text(coverage: CoverageRecord) -> str:
    """``12 skipped``: how many answers the scorer left out of its score; empty where it took all."""
    return f"{coverage.skipped} skipped" if coverage.skipped else ""


def unparsed_text(coverage: CoverageRecord) -> str:
    """Why the others were not parsed: ``3 unparsed, 1 out of range``; empty when all were.

    How many the scorer left out is said apart, since these are also counted by why they were not parsed.
    """
    apart = ("n", "parsed", "skipped")
    reasons = ((name, count) for name, count in sorted(asdict(coverage).items()) if name not in apart and count)
    text = ", ".join(f"{count} {_STATUS_TEXTS.get(name, name)}" for name, count in reasons)
    skipped = f"{coverage.skipped} skipped by the scorer" if coverage.skipped else ""
    return "; ".join(filter(None, (text, skipped)))


def printable(text: str) -> str:
    """``text`` on one line, with nothing in it that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def cut_in_the_middle(text: str, width: int) -> str:
    """What differs between long names is at their ends, so the middle goes."""
    if len(text) <= width:
        return text
    left = (width - 1) // 2
    return f"{text[:left]}…{text[len(text) - (width - 1 - left) :]}"


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """A table's rows as lines, indented by two spaces; columns in ``left`` are aligned left, empty ones left out."""
    columns = []
    for number, column in enumerate(zip(*(map(printable, row) for row in rows), strict=True)):
        width = max(map(len, column))
        if width:
            columns.append([text.ljust(width) if number in left else text.rjust(width) for text in column])
    return ["  ".join(("", *row)).rstrip() for row in zip(*columns, strict=True)]


def no_command(text: str) -> str:
    """A line of ours for a runner's log, in which a name or an identifier from outside cannot be taken for a command.

    A runner obeys ``::`` at a line's start, white space aside, and ``##[`` anywhere (actions/runner, ActionCommand.cs).
    """
    return _COMMAND.sub(lambda match: f"{match[0][:-1]} {match[0][-1]}", text)


_LONGEST_WORD = 255
"""A longer one is not a name that a file could have."""


def wrapped(line: str, indent: str = "  ") -> list[str]:
    """``line`` in lines of :data:`WIDTH` characters, with nothing in it that a terminal would obey.

    A path or a signature stays whole: broken it could neither be copied nor searched for.
    """
    # A number stays with its sign: no line is broken at a space that does not break.
    text = printable(line).replace(" %", "\N{NO-BREAK SPACE}%")
    breaks = max(map(len, text.split()), default=0) > _LONGEST_WORD
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=breaks, break_on_hyphens=False)
    return [part.replace("\N{NO-BREAK SPACE}%", " %") for part in lines] or [""]
