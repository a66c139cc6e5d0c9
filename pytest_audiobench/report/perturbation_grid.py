"""Perturbations by data set: a row for each perturbation, a column for each data set, a sheet for each metric.

Suites that share perturbations (the tracks of a benchmark, each its own suite) are columns of one grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from msgspec import structs

from pytest_audiobench.evaluation.perturbation_series import CLEAN
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.metrics.metric import SHARE
from pytest_audiobench.records import run as records
from pytest_audiobench.report.formatting import unit_text
from pytest_audiobench.report.perturbation_view import Row, Rows


class Heading(NamedTuple):
    """A row: a perturbation, its family, and its label among that: its dose in ``unit``, else its name."""

    perturbation: str
    family: str
    unit: str
    label: str


@dataclass(frozen=True)
class Sheet:
    """One metric of one model by one scorer."""

    model: str
    metric: str
    scorer: str
    unit: str
    low: float | None
    """The lower end of the scale that colours are chosen by, the same for all models; None without one."""
    high: float | None
    cells: tuple[tuple[Row | None, ...], ...]
    """By row and column; None where nothing was measured."""


@dataclass(frozen=True)
class Grid:
    """The perturbations of some suites, and their scores."""

    suites: tuple[str, ...]
    rows: tuple[Heading, ...]
    columns: tuple[str, ...]
    """Data sets, or series of evals where a data set has several."""
    sheets: tuple[Sheet, ...]


def grids(record: records.RunRecord) -> list[Grid]:
    """A grid for the suites that share a leading metric and perturbations, in the run's order."""
    return [_grid(record, names) for names in _together(record)]


def _together(record: records.RunRecord) -> list[list[str]]:
    """The names of suites, those together that share a perturbation other than the clean one."""
    groups: list[tuple[str, set[str], list[str]]] = []
    for suite in record.suites:
        if not suite.perturbations:
            continue
        metric, names = suite.perturbations[0].metric, _measured(suite) - {CLEAN}
        same = [group for group in groups if group[0] == metric and (group[1] & names or suite.name in group[2])]
        for group in same:
            groups.remove(group)
        joint = [name for group in same for name in group[2]]
        groups.append((metric, names.union(*(group[1] for group in same)), [*dict.fromkeys([*joint, suite.name])]))
    return [names for _, _, names in groups]


def _measured(suite: records.SuiteRecord) -> set[str]:
    return {point.perturbation for summary in suite.perturbations for point in summary.points}


def _grid(record: records.RunRecord, names: Sequence[str]) -> Grid:
    suites = [suite for suite in record.suites if suite.name in names and suite.perturbations]
    measured = set().union(*map(_measured, suites))
    perturbations = [
        item.perturbation for item in record.items if item.suite in names and item.perturbation is not None
    ]
    rows = _headings([perturbation for perturbation in perturbations if perturbation.name in measured])
    columns = list(dict.fromkeys(_column(summary) for suite in suites for summary in suite.perturbations))
    items = {(item.eval, item.model): item for item in record.items}
    by_model: dict[str, list[records.SuiteRecord]] = {}
    for suite in suites:
        by_model.setdefault(suite.model, []).append(suite)
    # Of every model the first sheet, then of every model the next: a page may hold no more than the first of them.
    turns = zip_longest(*(_sheets(members, rows, columns, items) for members in by_model.values()))
    sheets = [sheet for turn in turns for sheet in turn if sheet is not None]
    return Grid(
        suites=tuple(names),
        rows=tuple(rows),
        columns=tuple(series or dataset for dataset, series in columns),
        sheets=tuple(_scaled(sheets)),
    )


def _headings(perturbations: Sequence[records.PerturbationRecord]) -> list[Heading]:
    families: dict[tuple[str, str], dict[str, records.PerturbationRecord]] = {}
    for each in perturbations:
        families.setdefault((each.family, each.unit), {}).setdefault(each.name, each)
    return [
        Heading(each.name, family, unit, each.name if each.dose is None else f"{each.dose:g}")
        for (family, unit), by_name in families.items()
        for each in sorted(
            by_name.values(),
            key=lambda each: (each.dose is not None, (-1 if each.harder == "lower" else 1) * (each.dose or 0.0)),
        )
    ]


def _column(summary: records.PerturbationsRecord) -> tuple[str, str]:
    return summary.dataset, summary.series


def _sheets(
    suites: Sequence[records.SuiteRecord],
    rows: Sequence[Heading],
    columns: Sequence[tuple[str, str]],
    items: Mapping[tuple[str, str], records.ItemRecord],
) -> Iterator[Sheet]:
    """Of each scorer the leading metric, coverage, the other metrics, and the classes of failures."""
    summaries = [_SuiteSummary(suite, summary) for suite in suites for summary in suite.perturbations]
    for scorer in dict.fromkeys(each.summary.scorer for each in summaries):
        by_metric: dict[str, list[_SuiteSummary]] = {}
        for each in summaries:
            if each.summary.scorer == scorer:
                by_metric.setdefault(each.summary.metric, []).append(each)
        leading, *others = by_metric.values()
        coverage, *failures = _shares(leading, items)
        for members in (leading, coverage, *others, *failures):
            if members:
                yield _sheet(members, rows, columns)


class _SuiteSummary(NamedTuple):
    suite: records.SuiteRecord
    summary: records.PerturbationsRecord


def _shares(
    leading: Sequence[_SuiteSummary], items: Mapping[tuple[str, str], records.ItemRecord]
) -> Iterator[list[_SuiteSummary]]:
    for share in SHARES:
        shares: list[_SuiteSummary] = []
        for suite, summary in leading:
            owners = [(point, items.get((point.eval, suite.model))) for point in summary.points]
            points = [_share_of(point, share, summary, item) for point, item in owners]
            known = [point for point in points if point is not None]
            record = structs.replace(summary, metric=share, unit=SHARE, differences=(), points=known)
            shares.append(_SuiteSummary(suite, record))
        occurs = share == SHARES[0] or any(point.value for each in shares for point in each.summary.points)
        yield shares if occurs else []


def _share_of(
    point: records.PointRecord, share: str, summary: records.PerturbationsRecord, item: records.ItemRecord | None
) -> records.PointRecord | None:
    wanted = (share, summary.scorer, summary.signature)
    for metric in item.metrics if item else ():
        if (metric.name, metric.scorer, metric.signature) == wanted and not metric.group:
            figures = {name: getattr(metric, name) for name in ("value", "lower", "upper", "n", "method")}
            return structs.replace(point, **figures)
    return None


def _sheet(members: Sequence[_SuiteSummary], rows: Sequence[Heading], columns: Sequence[tuple[str, str]]) -> Sheet:
    cells: dict[tuple[str, tuple[str, str]], Row] = {}
    for suite, summary in members:
        row_maker = Rows(suite, summary)
        for point in summary.points:
            cells[point.perturbation, _column(summary)] = row_maker.of(point.perturbation, point)
    first = members[0].summary
    return Sheet(
        model=members[0].suite.model,
        metric=first.metric,
        scorer=first.scorer,
        unit=unit_text(first.unit),
        low=None,
        high=None,
        cells=tuple(tuple(cells.get((row.perturbation, column)) for column in columns) for row in rows),
    )


def _scaled(sheets: Sequence[Sheet]) -> Iterator[Sheet]:
    """With the ends of their scales: 0 to 100 for percentages, else the least and the greatest that any model has."""
    scales: dict[tuple[str, str], list[float]] = {}
    for sheet in sheets:
        values = scales.setdefault((sheet.metric, sheet.scorer), [0.0, 100.0] if sheet.unit == "%" else [])
        values += [cell.at for row in sheet.cells for cell in row if cell is not None and cell.at is not None]
    for sheet in sheets:
        values = scales[sheet.metric, sheet.scorer]
        yield replace(sheet, low=min(values), high=max(values)) if values else sheet
