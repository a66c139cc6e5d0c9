"""A suite's conditions at a glance: a row for each condition, a column for each data set, a sheet for each metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.metrics.units import SHARE
from pytest_audiobench.report.conditions import Row, Rows
from pytest_audiobench.report.figures import unit_text
from pytest_audiobench.runs.scoring import SHARES

Json: TypeAlias = Mapping[str, Any]


class Heading(NamedTuple):
    """A row: a condition, the family that it stands with, and its label there: its dose in ``unit``, else its name."""

    condition: str
    family: str
    unit: str
    label: str


@dataclass(frozen=True)
class Sheet:
    """One metric of one model by one reading; ``cells`` are by row and column, None where nothing was measured.

    ``low`` and ``high`` are the ends of the scale that colours are chosen by, alike for all models; None without one.
    """

    model: str
    metric: str
    reading: str
    unit: str
    low: float | None
    high: float | None
    cells: tuple[tuple[Row | None, ...], ...]


@dataclass(frozen=True)
class Grid:
    """``columns`` name data sets, or series of evals where a data set has several; the leading sheet comes first."""

    suite: str
    rows: tuple[Heading, ...]
    columns: tuple[str, ...]
    sheets: tuple[Sheet, ...]


def grids(record: Json) -> list[Grid]:
    """A grid for each suite whose data sets were asked under several conditions, in the run's order."""
    names = dict.fromkeys(suite["name"] for suite in record["suites"] if suite.get("conditions"))
    return [_grid(record, name) for name in names]


def _grid(record: Json, name: str) -> Grid:
    suites = [suite for suite in record["suites"] if suite["name"] == name]
    measured = {point["condition"] for suite in suites for one in suite["conditions"] for point in one["points"]}
    told = [item["condition"] for item in record["items"] if item["suite"] == name and item.get("condition")]
    rows = _headings([one for one in told if one["name"] in measured])
    columns = list(dict.fromkeys(_column(one) for suite in suites for one in suite["conditions"]))
    items = {(item["eval"], item["model"]): item for item in record["items"]}
    # Of every model the first sheet, then of every model the next: a page may hold no more than the first of them.
    turns = zip_longest(*(_sheets(suite, rows, columns, items) for suite in suites))
    sheets = [sheet for turn in turns for sheet in turn if sheet is not None]
    return Grid(name, tuple(rows), tuple(series or dataset for dataset, series in columns), tuple(_scaled(sheets)))


def _headings(told: Sequence[Json]) -> list[Heading]:
    """Conditions by family in the order of the run, those without a dose first, then doses from easy to hard."""
    families: dict[tuple[str, str], dict[str, Json]] = {}
    for one in told:
        families.setdefault((one["family"], one["unit"]), {}).setdefault(one["name"], one)
    return [
        Heading(one["name"], family, unit, one["name"] if one["dose"] is None else f"{one['dose']:g}")
        for (family, unit), own in families.items()
        for one in sorted(own.values(), key=_hardness)
    ]


def _hardness(one: Json) -> tuple[bool, float]:
    dose = one["dose"] or 0.0
    return one["dose"] is not None, -dose if one["harder"] == "lower" else dose


def _column(one: Json) -> tuple[str, str]:
    return one["dataset"], one["series"]


def _sheets(
    suite: Json, rows: Sequence[Heading], columns: Sequence[tuple[str, str]], items: Mapping[tuple[str, str], Json]
) -> Iterator[Sheet]:
    """Of each reading the leading metric, coverage, the other metrics, and how those who gave no answer failed."""
    for reading in dict.fromkeys(one["reading"] for one in suite["conditions"]):
        own = [one for one in suite["conditions"] if one["reading"] == reading]
        named: dict[str, list[Json]] = {}
        for one in own:
            named.setdefault(one["metric"], []).append(one)
        leading, *others = named
        coverage, *failures = _shares(suite, named[leading], items)
        for found in (named[leading], coverage, *(named[other] for other in others), *failures):
            if found:
                yield _sheet(suite, found, rows, columns)


def _shares(suite: Json, leading: Sequence[Json], items: Mapping[tuple[str, str], Json]) -> Iterator[list[Json]]:
    """What items say of answers given and not given, as summaries in place of ``leading``; empty where it never was."""
    for share in SHARES:
        found: list[Json] = []
        for one in leading:
            points = [
                _share_of(point, share, one, items.get((point["eval"], suite["model"]))) for point in one["points"]
            ]
            known = [point for point in points if point is not None]
            found.append({**one, "metric": share, "unit": SHARE, "differences": [], "points": known})
        ever = share == SHARES[0] or any(point["value"] for one in found for point in one["points"])
        yield found if ever else []


def _share_of(point: Json, share: str, one: Json, item: Json | None) -> Json | None:
    found = next(
        (
            metric
            for metric in (item["metrics"] if item else ())
            if (metric["name"], metric["reading"], metric["signature"]) == (share, one["reading"], one["signature"])
            and not metric["group"]
        ),
        None,
    )
    if found is None:
        return None
    return {**point, **{name: found[name] for name in ("value", "lower", "upper", "n", "method")}}


def _sheet(suite: Json, own: Sequence[Json], rows: Sequence[Heading], columns: Sequence[tuple[str, str]]) -> Sheet:
    cells: dict[tuple[str, tuple[str, str]], Row] = {}
    for one in own:
        make = Rows(suite, one)
        cells |= {(point["condition"], _column(one)): make.of(point["condition"], point) for point in one["points"]}
    return Sheet(
        model=suite["model"],
        metric=own[0]["metric"],
        reading=own[0]["reading"],
        unit=unit_text(own[0]["unit"]),
        low=None,
        high=None,
        cells=tuple(tuple(cells.get((row.condition, column)) for column in columns) for row in rows),
    )


def _scaled(sheets: Sequence[Sheet]) -> Iterator[Sheet]:
    """With the ends of their scales: 0 to 100 for percentages, else the least and the greatest that any model has."""
    known: dict[tuple[str, str], list[float]] = {}
    for sheet in sheets:
        own = known.setdefault((sheet.metric, sheet.reading), [0.0, 100.0] if sheet.unit == "%" else [])
        own += [cell.at for row in sheet.cells for cell in row if cell is not None and cell.at is not None]
    for sheet in sheets:
        own = known[sheet.metric, sheet.reading]
        yield replace(sheet, low=min(own), high=max(own)) if own else sheet
