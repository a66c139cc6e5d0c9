"""Perturbations at a glance: a row for each perturbation, a column for each data set, a sheet for each metric.

Suites that share perturbations (the tracks of a benchmark, each a suite of its own) are columns of one grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.evaluation.curve_records import CLEAN
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.metrics.metric import SHARE
from pytest_audiobench.report.formatting import unit_text
from pytest_audiobench.report.perturbations import Row, Rows

Json: TypeAlias = Mapping[str, Any]


class Heading(NamedTuple):
    """A row: a perturbation, the family that it stands with, and its label there: its dose in ``unit``, else its name."""

    perturbation: str
    family: str
    unit: str
    label: str


@dataclass(frozen=True)
class EvalScores:
    """One metric of one model by one scorer; ``cells`` are by row and column, None where nothing was measured.

    ``low`` and ``high`` are the ends of the scale that colours are chosen by, alike for all models; None without one.
    """

    model: str
    metric: str
    scorer: str
    unit: str
    low: float | None
    high: float | None
    cells: tuple[tuple[Row | None, ...], ...]


@dataclass(frozen=True)
class Grid:
    """``columns`` name data sets, or series of evals where a data set has several; the leading sheet comes first."""

    suites: tuple[str, ...]
    rows: tuple[Heading, ...]
    columns: tuple[str, ...]
    sheets: tuple[EvalScores, ...]


def grids(record: Json) -> list[Grid]:
    """A grid for the suites that share a leading metric and perturbations, in the run's order."""
    return [_grid(record, names) for names in _together(record)]


def _together(record: Json) -> list[list[str]]:
    """The names of suites, those together that share a perturbation beside the clean one."""
    found: list[tuple[str, set[str], list[str]]] = []
    for suite in record["suites"]:
        if not suite.get("perturbations"):
            continue
        metric, names = suite["perturbations"][0]["metric"], _measured(suite) - {CLEAN}
        alike = [one for one in found if one[0] == metric and (one[1] & names or suite["name"] in one[2])]
        for one in alike:
            found.remove(one)
        joint = [name for one in alike for name in one[2]]
        found.append((metric, names.union(*(one[1] for one in alike)), [*dict.fromkeys([*joint, suite["name"]])]))
    return [names for _, _, names in found]


def _measured(suite: Json) -> set[str]:
    return {point["perturbation"] for one in suite["perturbations"] for point in one["points"]}


def _grid(record: Json, names: Sequence[str]) -> Grid:
    suites = [suite for suite in record["suites"] if suite["name"] in names and suite.get("perturbations")]
    measured = set().union(*map(_measured, suites))
    told = [item["perturbation"] for item in record["items"] if item["suite"] in names and item.get("perturbation")]
    rows = _headings([one for one in told if one["name"] in measured])
    columns = list(dict.fromkeys(_column(one) for suite in suites for one in suite["perturbations"]))
    items = {(item["eval"], item["model"]): item for item in record["items"]}
    by_model: dict[str, list[Json]] = {}
    for suite in suites:
        by_model.setdefault(suite["model"], []).append(suite)
    # Of every model the first sheet, then of every model the next: a page may hold no more than the first of them.
    turns = zip_longest(*(_sheets(own, rows, columns, items) for own in by_model.values()))
    sheets = [sheet for turn in turns for sheet in turn if sheet is not None]
    return Grid(
        suites=tuple(names),
        rows=tuple(rows),
        columns=tuple(series or dataset for dataset, series in columns),
        sheets=tuple(_scaled(sheets)),
    )


def _headings(told: Sequence[Json]) -> list[Heading]:
    """Perturbations by family in the order of the run, those without a dose first, then doses from easy to hard."""
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
    suites: Sequence[Json],
    rows: Sequence[Heading],
    columns: Sequence[tuple[str, str]],
    items: Mapping[tuple[str, str], Json],
) -> Iterator[EvalScores]:
    """Of each scorer the leading metric, coverage, the other metrics, and how those who gave no answer failed."""
    all_ = [_Of(suite, one) for suite in suites for one in suite["perturbations"]]
    for scorer in dict.fromkeys(of.summary["scorer"] for of in all_):
        named: dict[str, list[_Of]] = {}
        for of in all_:
            if of.summary["scorer"] == scorer:
                named.setdefault(of.summary["metric"], []).append(of)
        leading, *others = named
        coverage, *failures = _shares(named[leading], items)
        for found in (named[leading], coverage, *(named[other] for other in others), *failures):
            if found:
                yield _sheet(found, rows, columns)


class _Of(NamedTuple):
    """A metric over the perturbations of a data set, and its suite."""

    suite: Json
    summary: Json


def _shares(leading: Sequence[_Of], items: Mapping[tuple[str, str], Json]) -> Iterator[list[_Of]]:
    """What items say of answers given and not given, as summaries in place of ``leading``; empty where it never was."""
    for share in SHARES:
        found: list[_Of] = []
        for suite, one in leading:
            points = [
                _share_of(point, share, one, items.get((point["eval"], suite["model"]))) for point in one["points"]
            ]
            known = [point for point in points if point is not None]
            found.append(_Of(suite, {**one, "metric": share, "unit": SHARE, "differences": [], "points": known}))
        ever = share == SHARES[0] or any(point["value"] for of in found for point in of.summary["points"])
        yield found if ever else []


def _share_of(point: Json, share: str, one: Json, item: Json | None) -> Json | None:
    found = next(
        (
            metric
            for metric in (item["metrics"] if item else ())
            if (metric["name"], metric["scorer"], metric["signature"]) == (share, one["scorer"], one["signature"])
            and not metric["group"]
        ),
        None,
    )
    if found is None:
        return None
    return {**point, **{name: found[name] for name in ("value", "lower", "upper", "n", "method")}}


def _sheet(own: Sequence[_Of], rows: Sequence[Heading], columns: Sequence[tuple[str, str]]) -> EvalScores:
    cells: dict[tuple[str, tuple[str, str]], Row] = {}
    for suite, one in own:
        make = Rows(suite, one)
        cells |= {
            (point["perturbation"], _column(one)): make.of(point["perturbation"], point) for point in one["points"]
        }
    first = own[0].summary
    return EvalScores(
        model=own[0].suite["model"],
        metric=first["metric"],
        scorer=first["scorer"],
        unit=unit_text(first["unit"]),
        low=None,
        high=None,
        cells=tuple(tuple(cells.get((row.perturbation, column)) for column in columns) for row in rows),
    )


def _scaled(sheets: Sequence[EvalScores]) -> Iterator[EvalScores]:
    """With the ends of their scales: 0 to 100 for percentages, else the least and the greatest that any model has."""
    known: dict[tuple[str, str], list[float]] = {}
    for sheet in sheets:
        own = known.setdefault((sheet.metric, sheet.scorer), [0.0, 100.0] if sheet.unit == "%" else [])
        own += [cell.at for row in sheet.cells for cell in row if cell is not None and cell.at is not None]
    for sheet in sheets:
        own = known[sheet.metric, sheet.scorer]
        yield replace(sheet, low=min(own), high=max(own)) if own else sheet
