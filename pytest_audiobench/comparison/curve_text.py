"""Differences of figures over perturbations as a table of 80 columns, as Markdown and as plain rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.comparison.curves import CurveLine
from pytest_audiobench.comparison.table_cells import amount, between, layout, named, wrapped
from pytest_audiobench.evaluation.scoring import finite
from pytest_audiobench.report.perturbations import subject_name
from pytest_audiobench.report.safe_text import escaped, table_row

_HEAD = ("over perturbations", "value", "more than {}", "interval", "pairs")
_ABOUT = "over perturbations: how much more than {} on pairs, of shares in points; no verdict rests on these"


def curve_rows(contenders: Sequence[Contender], lines: Sequence[CurveLine]) -> list[dict[str, Any]]:
    """One flat mapping for each figure and contender; raw numbers in the metric's unit."""
    return [
        {
            "suite": line.suite,
            "dataset": line.dataset,
            "series": line.series,
            "figure": line.figure,
            "metric": line.kind.name,
            "scorer": line.scorer,
            "unit": line.kind.unit,
            "contender": contender.letter,
            "value": value,
            **{
                name: None if held is None else finite(getattr(held, own))
                for name, own in (("difference", "value"), ("difference_lower", "lower"), ("difference_upper", "upper"))
            },
            "pairs": pairs,
            "method": "" if held is None else held.method,
        }
        for line in lines
        for contender, value, held, pairs in zip(contenders, line.values, line.differences, line.pairs, strict=True)
    ]


def curve_table(contenders: Sequence[Contender], lines: Sequence[CurveLine]) -> Iterator[str]:
    """Nothing where there is no figure over perturbations."""
    if not lines:
        return
    yield from wrapped(_ABOUT.format(contenders[0].letter))
    head = tuple(cell.format(contenders[0].letter) for cell in _HEAD)
    lay = layout(head, (3,), [cells for line in lines for cells in _cells(contenders, line)])
    yield from lay(head)
    for line in lines:
        yield from wrapped(_name(line))
        for cells in _cells(contenders, line):
            yield from lay(cells)
    yield ""


def curve_markdown(contenders: Sequence[Contender], lines: Sequence[CurveLine]) -> Iterator[str]:
    if not lines:
        return
    yield f"- {escaped(_ABOUT.format(contenders[0].letter))}"
    yield ""
    yield table_row(("figure", *(escaped(cell.format(contenders[0].letter)) for cell in ("", *_HEAD[1:]))))
    yield table_row((":--", ":--", *("--:",) * (len(_HEAD) - 1)))
    for line in lines:
        name = _name(line)
        for cells in _cells(contenders, line):
            yield table_row((escaped(name), *(escaped(cell.strip()) for cell in cells)))
            name = ""
    yield ""


def _name(line: CurveLine) -> str:
    owner = subject_name(line.suite, line.dataset, line.series)
    return f"{owner} {line.figure} of {named(line.kind.name, line.kind.unit)} by {line.scorer}"


def _cells(contenders: Sequence[Contender], line: CurveLine) -> Iterator[tuple[str, ...]]:
    unit = line.kind.unit
    for contender, value, held, pairs in zip(contenders, line.values, line.differences, line.pairs, strict=True):
        if held is None:
            yield f"  {contender.letter}", amount(value, unit), "", "", ""
        else:
            difference = amount(finite(held.value), unit)
            interval = between(finite(held.lower), finite(held.upper), unit)
            yield f"  {contender.letter}", amount(value, unit), difference, interval, str(pairs)
