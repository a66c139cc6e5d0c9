"""Numbers of comparisons as people read them in narrow columns: shares in points of a hundred, without their sign."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_audiobench.evaluation.record import RegressionRecord
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.report.formatting import PERCENT_UNITS, WIDTH

LONGEST = 2_000
"""Characters of a line of Markdown outside a table: what was not the same, which samples are unmatched."""

MARKS: Mapping[str, str] = {"pass": "✓", "regressed": "✗", "inconclusive": "?", "not_comparable": "≠"}


def value_cell(estimate: Estimate, unit: str) -> str:
    """``98.8 %``, or a plain number; a dash where there is none."""
    return amount(estimate.value, unit) + " %" * (unit in PERCENT_UNITS) if estimate.value == estimate.value else "–"


def interval_cell(estimate: Estimate, unit: str) -> str:
    """``93.3 to 99.8``; empty where none is known."""
    return between(estimate.lower, estimate.upper, unit)


def drop_cells(regression: RegressionRecord) -> tuple[str, str, str]:
    """The drop, its interval, and how many pairs became worse and better."""
    between_ = between(regression.lower, regression.upper, regression.unit)
    return amount(regression.drop, regression.unit), between_, f"{regression.worse} / {regression.better}"


def parse_rates_text(owner: str, shares: Mapping[str, float | None]) -> str:
    """``parse rate in bundled/digits A: 97.5 %, B: 38.8 %``, the shares by who answered; empty where all were parsed."""
    if all(share in (None, 1.0) for share in shares.values()):
        return ""
    rates = (f"{name}: {100.0 * share:.1f} %" for name, share in shares.items() if share is not None)
    return f"parse rate in {owner} {', '.join(rates)}"


def between(lower: float | None, upper: float | None, unit: str) -> str:
    return "" if lower is None or upper is None else f"{amount(lower, unit)} to {amount(upper, unit)}"


def amount(number: float | None, unit: str) -> str:
    if number is None:
        return "–"
    # Adding zero makes 0.0 of -0.0, which a small negative number rounds to.
    return f"{round(100.0 * number, 1) + 0.0:.1f}" if unit in PERCENT_UNITS else f"{number:.3g}"


def metric_label(metric: str, unit: str) -> str:
    """The metric, and its unit where the numbers do not say it themselves."""
    return metric if unit in PERCENT_UNITS or not unit else f"{metric} ({unit})"


def layout(
    head: Sequence[str], intervals: Sequence[int], body: Sequence[Sequence[str]]
) -> Callable[[Sequence[str]], list[str]]:
    """How a row under ``head`` is written: on one line, or where ``body`` is too wide for that with its ``intervals``
    (the places of columns that each stand behind a value) on a second one.
    """
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) <= WIDTH:
        return lambda cells: [_aligned(cells, widths)]
    stacked = [max(width, widths[at + 1] if at + 1 in intervals else 0) for at, width in enumerate(widths)]
    columns = [at for at in range(len(widths)) if at not in intervals]

    def lay(cells: Sequence[str]) -> list[str]:
        below = [cells[at + 1] if at + 1 in intervals else "" for at in columns]
        lines = ([cells[at] for at in columns], below)
        return [_aligned(line, [stacked[at] for at in columns]) for line in lines if any(line)]

    return lay


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first column to the left, the others to the right."""
    return "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip()
