"""Numbers of comparisons as people read them in narrow columns: shares in points of a hundred, without their unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_audiobench.gate.regression_text import change_texts
from pytest_audiobench.metrics.metric import FRACTIONS, Estimate
from pytest_audiobench.metrics.value import PERCENT_UNITS, signed_text
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.report.formatting import WIDTH, unit_text, wrapped

LONGEST = 2_000
"""Characters of a line of Markdown outside a table: what was not the same, which samples are unmatched."""

MARKS: Mapping[str, str] = {"pass": "✓", "regressed": "✗", "inconclusive": "?", "not_comparable": "≠", "improved": "▲"}

FALL = "!"
"""Stands before a parse rate that fell."""

SAID = ("regressed", "not_comparable", "improved")
"""The verdicts that a comparison says in a sentence each."""


def value_cell(estimate: Estimate, unit: str) -> str:
    """``98.8 %``, or a plain number; a dash where there is none."""
    return amount(estimate.value, unit) + " %" * (unit in PERCENT_UNITS) if estimate.value == estimate.value else "–"


def interval_cell(estimate: Estimate, unit: str) -> str:
    """``93.3 to 99.8``; empty where none is known."""
    return between(estimate.lower, estimate.upper, unit)


def change_cells(regression: RegressionRecord) -> tuple[str, str, str]:
    """The change with its sign, its interval, and how many pairs became worse and better."""
    change, interval = change_texts(regression)
    return change.removesuffix(" pp"), interval, f"{regression.worse} / {regression.better}"


def parse_rates_text(owner: str, shares: Mapping[str, float | None], in_order: bool = False) -> str:
    """``! parse rate in bundled/digits fell by 58.7 pp: A: 97.5 %, B: 38.8 %``, by who answered; empty where all were
    parsed. Of several falls, from the first or ``in_order`` from the one before, the largest is told.
    """
    known = {name: share for name, share in shares.items() if share is not None}
    if all(share == 1.0 for share in known.values()):
        return ""
    rates = ", ".join(f"{name}: {100.0 * share:.1f} %" for name, share in known.items())
    names = list(known)
    before = names[:-1] if in_order else [next(iter(shares))] * (len(names) - 1)
    falls = {name: known[one] - known[name] for one, name in zip(before, names[1:], strict=True) if one in known}
    worst = max(falls, key=lambda name: falls[name], default="")
    if falls.get(worst, 0.0) <= 0.0:
        return f"parse rate in {owner} {rates}"
    fall = f"fell by {100.0 * falls[worst]:.1f} pp" + f" at {worst}" * (len(names) > 2)
    return f"{FALL} parse rate in {owner} {fall}: {rates}"


def falls_first(remarks: Iterable[str]) -> list[str]:
    """Falls of the parse rate before all else."""
    return sorted(remarks, key=lambda remark: not remark.startswith(FALL))


def between(lower: float | None, upper: float | None, unit: str) -> str:
    return "" if lower is None or upper is None else f"{amount(lower, unit)} to {amount(upper, unit)}"


def signed_cells(value: float | None, lower: float | None, upper: float | None, unit: str) -> tuple[str, str]:
    """A difference with its sign, and its interval."""
    interval = "" if lower is None or upper is None else f"{signed_text(lower, unit)} to {signed_text(upper, unit)}"
    return "–" if value is None else signed_text(value, unit), interval


def amount(number: float | None, unit: str) -> str:
    """``98.8`` for a share, else three digits."""
    if number is None:
        return "–"
    text = f"{round(100.0 * number, 1) + 0.0:.1f}" if unit in FRACTIONS else f"{number:.3g}"
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def metric_label(metric: str, unit: str) -> str:
    """The metric, and its unit where the numbers do not say it themselves."""
    return metric if unit in PERCENT_UNITS or not unit else f"{metric} ({unit_text(unit)})"


def table_lines(
    head: Sequence[str], intervals: Sequence[int], blocks: Sequence[tuple[str, Sequence[Sequence[str]]]]
) -> Iterator[str]:
    """``head``, then each block's title (where it has one) and rows.

    A row is one line, or two where all are too wide for that: its ``intervals`` (the places of columns that each stand
    behind a value) are then below.
    """
    body = [cells for _, rows in blocks for cells in rows]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    is_wide = sum(widths) + 2 * (len(widths) - 1) > WIDTH
    columns = [at for at in range(len(widths)) if not is_wide or at not in intervals]
    below = [at + 1 if is_wide and at + 1 in intervals else None for at in columns]
    widths = [max(widths[at], 0 if under is None else widths[under]) for at, under in zip(columns, below, strict=True)]
    for title, rows in (("", [head]), *blocks):
        yield from wrapped(title) if title else ()
        for cells in rows:
            for line in ([cells[at] for at in columns], ["" if under is None else cells[under] for under in below]):
                if any(line):
                    yield "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip()
