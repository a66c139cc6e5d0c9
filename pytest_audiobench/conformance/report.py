"""What reference cases came to, as lines for a terminal of 80 columns."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_audiobench.conformance.cases import Json
from pytest_audiobench.conformance.comparison import FAILING, Compared, Refusal, Verdict, compared_cases
from pytest_audiobench.conformance.functions import FUNCTIONS
from pytest_audiobench.conformance.rules import RULES
from pytest_audiobench.errors import UsageError
from pytest_audiobench.report.formatting import counted, printable

WIDTH, MOST_SHOWN = 80, 10
_LEFT = 25
_VERDICTS: tuple[Verdict, ...] = ("agrees", "rule", "outside", "differs", "none", "error")
_HEAD = ("cases", "answers", "agree", "rule", "outside", "differ", "none", "error")
_WIDTHS = (6, 8, 7, 6, 8, 7, 6, 6)


@dataclass
class Tally:
    """The cases of files counted by verdict, with the first that fail."""

    counts: Counter[Verdict] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    failing: list[tuple[str, Compared]] = field(default_factory=list)
    answers: int = 0
    by_function: int = 0

    @property
    def failures(self) -> int:
        return sum(self.counts[verdict] for verdict in FAILING)

    @property
    def compared(self) -> int:
        return self.counts.total() - self.counts["outside"]


def file_line(path: Path, folder: Path, tally: Tally) -> str:
    """A row of the table; what came of the file's cases goes into ``tally``."""
    whole = printable(str(path.relative_to(folder)) if path != folder else path.name)
    # Of a long name the end tells more.
    name = whole if len(whole) <= _LEFT else f"…{whole[1 - _LEFT :]}"
    try:
        results = list(compared_cases(path))
    except UsageError as error:
        tally.unreadable.append(whole)
        return _shortened(f"{name:<{_LEFT}} {printable(str(error))}", WIDTH)
    counts: Counter[Verdict] = Counter(result.verdict for result in results)
    answers = sum(result.answers for result in results)
    tally.counts.update(counts)
    tally.answers += answers
    tally.by_function += sum(result.by in FUNCTIONS for result in results)
    for result in results:
        if result.verdict == "rule":
            tally.rules[result.detail] += 1
        elif result.verdict == "outside":
            tally.outside[result.detail] += 1
        elif result.verdict in FAILING and len(tally.failing) < MOST_SHOWN:
            tally.failing.append((whole, result))
    return _row(name, (len(results), answers, *(counts[verdict] for verdict in _VERDICTS)))


def head_line() -> str:
    return _row("file", _HEAD)


def closing_lines(tally: Tally) -> Iterator[str]:
    """The whole table's sums, the rules that were met, why cases are outside, the first that fail, and a sentence."""
    counts = tally.counts
    yield _row("all", (counts.total(), tally.answers, *(counts[verdict] for verdict in _VERDICTS)))
    if tally.rules:
        yield from ("", "Ours by a rule (docs/conformance.md):")
        for name, count in sorted(tally.rules.items()):
            yield from _indented(f"{count:>4} {name}: {RULES[name].condition}", 5)
    if tally.outside:
        yield from ("", "Outside, since no scorer answers such a question:")
        for reason, count in tally.outside.items():
            yield from _indented(f"{count:>4} {reason}", 5)
    if tally.failing:
        shown = f"the first {len(tally.failing)} of {tally.failures}" if tally.failures > MOST_SHOWN else tally.failures
        yield from ("", f"Failing ({shown}):")
        for file, result in tally.failing:
            yield from _failing_lines(file, result)
    yield ""
    yield from _indented(_sentence(tally), 0)


def _sentence(tally: Tally) -> str:
    outside = tally.counts["outside"]
    said = [
        f"{tally.counts['agrees']} agree",
        f"{tally.counts['rule']} are ours by a rule",
        f"{outside} are outside{' and were not compared' if outside else ''}",
        f"{tally.failures} fail",
    ]
    files = f"; {counted(len(tally.unreadable), 'file')} without cases" if tally.unreadable else ""
    functions = f" {tally.by_function} went through statistics and parts of scorers." if tally.by_function else ""
    return f"Of {tally.counts.total()} cases {', '.join(said)}{files}.{functions}"


def _failing_lines(file: str, result: Compared) -> Iterator[str]:
    by = f" by {printable(result.by)}" if result.by else ""
    words = {"none": "has no scorer here", "error": "cannot be compared"}.get(result.verdict, "differs")
    yield _shortened(f"  {printable(result.id)} in {file} {words}{by}", WIDTH)
    if result.case is not None:
        yield _field("inputs", _json({**result.case.params, **result.case.inputs}))
    if result.verdict != "differs":
        yield from _indented(f"    {printable(result.detail)[:400]}", 4)
        return
    yield _field("rule" if result.detail else "expected", f"{result.detail} {_json(result.expected)}".strip())
    yield _field("ours", f"refused: {result.ours.why}" if isinstance(result.ours, Refusal) else _json(result.ours))
    if difference := largest_difference(result.expected, result.ours):
        tolerance = result.case.tolerance if result.case else 0.0
        yield _field("by", f"{difference[0]:.6g}{difference[1]}, where {tolerance:.6g} is tolerated")


def largest_difference(expected: Json, ours: Json, place: str = "") -> tuple[float, str] | None:
    """The largest difference of two numbers at one place, and where; None where no two are compared."""
    if isinstance(expected, Mapping) and isinstance(ours, Mapping):
        pairs = [(expected[name], ours[name], f"{place}.{name}") for name in expected if name in ours]
    elif isinstance(expected, list | tuple) and isinstance(ours, list | tuple):
        pairs = [(a, b, f"{place}[{at}]") for at, (a, b) in enumerate(zip(expected, ours, strict=False))]
    elif _is_number(expected) and _is_number(ours):
        return abs(expected - ours), f" at {place.removeprefix('.')}" if place else ""
    else:
        return None
    found = [difference for pair in pairs if (difference := largest_difference(*pair)) is not None]
    return max(found, default=None)


def _is_number(value: Json) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and math.isfinite(value)
    )


def _json(value: Json) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "what cannot be shown"


def _field(name: str, text: str) -> str:
    return _shortened(f"    {name:<9} {printable(text[:1_000])}", WIDTH)


def _row(name: str, cells: Sequence[object]) -> str:
    return f"{name:<{_LEFT}}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))


def _indented(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True) or [""]


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
