"""Figures over perturbations (slopes, areas, means) of every contender, their differences, and the tables of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_audiobench.comparison.comparison_lines import PlannedLine
from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.comparison.table_cells import amount, metric_label, signed_cells, table_lines
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample, statistics_of
from pytest_audiobench.evaluation.curves import Samples, step
from pytest_audiobench.evaluation.perturbation_series import SampleScore, series, unperturbed
from pytest_audiobench.evaluation.scoring import finite
from pytest_audiobench.gate.pairing import pair_samples
from pytest_audiobench.metrics.metric import MetricKind, span
from pytest_audiobench.records.run import PerturbationRecord
from pytest_audiobench.report.formatting import wrapped
from pytest_audiobench.report.perturbation_view import subject_name
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.stats.drops import Drop
from pytest_audiobench.stats.weighted_sums import Points, area_weights, contrast, slope_weights


@dataclass(frozen=True)
class CurveLine:
    """A figure over perturbations: each contender's value, and how much more it is than the first's, on shared samples.

    ``values`` are over each one's own samples, None where it lacks an eval; ``differences`` are None there and for the
    first, ``pairs`` how many answers they rest on. A slope's are in the metric's unit per step of dose, as
    ``figure`` has it.
    """

    suite: str
    dataset: str
    series: str
    figure: str
    kind: MetricKind
    scorer: str
    values: Sequence[float | None]
    differences: Sequence[Drop | None]
    pairs: Sequence[int]


class _Figure(NamedTuple):
    """The evals that a figure is over, by their places among the lines of a data set, and the weight of each."""

    name: str
    places: Sequence[int]
    weights: Sequence[float]


def curve_lines(lines: Sequence[PlannedLine]) -> list[CurveLine]:
    """The figures over perturbations of all that is compared eval by eval, where a data set is under two or more."""
    together: dict[tuple[str, str, str], list[PlannedLine]] = {}
    for line in lines:
        if not line.is_pooled and not line.group and line.kind.parts is not None:
            together.setdefault((line.suite, line.kind.name, line.scorer), []).append(line)
    return [curve_line for line_group in together.values() for curve_line in _metric_lines(line_group)]


def _metric_lines(lines: Sequence[PlannedLine]) -> Iterator[CurveLine]:
    known = ([side for side in line.sides if side is not None] for line in lines)
    # A baseline's file does not say of itself what perturbation its data set is under.
    items = [next((side for side in sides if side.perturbation), sides[0]) for sides in known]
    for name, places in series(items):
        if len(places) < 2:
            continue
        group, described = [lines[place] for place in places], [items[place] for place in places]
        for figure in _figures([item.perturbation for item in described if item.perturbation is not None]):
            chosen = [group[place] for place in figure.places]
            sides = [[line.sides[at] for line in chosen] for at in range(len(group[0].sides))]
            differences = [
                _difference(sides[0], others, chosen[0], figure) if at else None for at, others in enumerate(sides)
            ]
            yield CurveLine(
                suite=group[0].suite,
                dataset=unperturbed(described[0].dataset, described[0].perturbation),
                series=name,
                figure=figure.name,
                kind=group[0].kind,
                scorer=group[0].scorer,
                values=[_value(side, group[0], figure) for side in sides],
                differences=[description and description[0] for description in differences],
                pairs=[description[1] if description else 0 for description in differences],
            )


def _figures(perturbations: Sequence[PerturbationRecord]) -> Iterator[_Figure]:
    families: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for place, perturbation in enumerate(perturbations):
        if perturbation.dose is not None:
            families.setdefault((perturbation.family, perturbation.unit), []).append((place, perturbation.dose))
    for (family, unit), points in families.items():
        places, doses = [place for place, _ in points], [dose for _, dose in points]
        if len(set(doses)) > 1:
            per = step(doses)
            slope = [per * weight for weight in slope_weights(doses)]
            yield _Figure(f"{family}: slope per {per:g} {unit}".rstrip(), places, slope)
            yield _Figure(
                f"{family}: area from {min(doses):g} to {max(doses):g} {unit}".rstrip(), places, area_weights(doses)
            )
    count = len(perturbations)
    yield _Figure(f"mean of {count} perturbations", range(count), [1.0 / count] * count)


def _value(sides: Sequence[ComparableEval | None], line: PlannedLine, figure: _Figure) -> float | None:
    rows = [[] if side is None else side.rows for side in sides]
    if (points := _points(rows, line)) is None or None in sides:
        return None
    value = points.value(figure.weights)
    return value if math.isfinite(value) else None


def _difference(
    first: Sequence[ComparableEval | None], others: Sequence[ComparableEval | None], line: PlannedLine, figure: _Figure
) -> tuple[Drop, int] | None:
    pairs = [
        pair_samples(side, other, line.scorer).rows
        for side, other in zip(first, others, strict=True)
        if side is not None and other is not None
    ]
    if len(pairs) < len(first):
        return None
    rows = [[pair[at] for pair in eval_pairs] for at in (0, 1) for eval_pairs in pairs]
    if (points := _points(rows, line)) is None:
        return None
    weights = [sign * weight for sign in (-1.0, 1.0) for weight in figure.weights]
    return contrast(points, weights, span(line.kind.unit)), sum(map(len, pairs))


def _points(rows: Sequence[Sequence[ComparableSample]], line: PlannedLine) -> Points | None:
    def asked(row: ComparableSample) -> SampleScore:
        return SampleScore(row.identity, statistics_of(row, line.scorer, line.kind.name), row.cluster or row.sample_id)

    sums = Samples([map(asked, side_rows) for side_rows in rows]).sums(line.kind)
    return None if isinstance(sums, str) else sums.points(range(len(rows)))


_HEAD = ("over perturbations", "value", "change", "interval", "pairs")
_ABOUT = "over perturbations: change: each minus {} in percentage points (pp), on pairs; no verdict rests on these"


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
            "difference": difference and finite(difference.value),
            "difference_lower": difference and finite(difference.lower),
            "difference_upper": difference and finite(difference.upper),
            "pairs": pairs,
            "method": "" if difference is None else difference.method,
        }
        for line in lines
        for contender, value, difference, pairs in zip(
            contenders, line.values, line.differences, line.pairs, strict=True
        )
    ]


def curve_table(contenders: Sequence[Contender], lines: Sequence[CurveLine]) -> Iterator[str]:
    """Nothing where there is no figure over perturbations."""
    if not lines:
        return
    yield from wrapped(_ABOUT.format(contenders[0].letter))
    yield from table_lines(_HEAD, (3,), [(_name(line), list(_cells(contenders, line))) for line in lines])
    yield ""


def curve_cells(contenders: Sequence[Contender], lines: Sequence[CurveLine]) -> list[tuple[str, ...]]:
    """The rows of a table, behind its head; each figure's name stands in its first row."""
    head = ("figure", "", *_HEAD[1:])
    rows = [(_name(line) * (at == 0), *cells) for line in lines for at, cells in enumerate(_cells(contenders, line))]
    return [head, *rows] if rows else []


def curve_markdown(contenders: Sequence[Contender], lines: Sequence[CurveLine]) -> Iterator[str]:
    if not lines:
        return
    yield f"- {escaped(_ABOUT.format(contenders[0].letter))}"
    yield ""
    head, *rows = curve_cells(contenders, lines)
    yield table_row(map(escaped, head))
    yield table_row((":--", ":--", *("--:",) * (len(_HEAD) - 1)))
    yield from (table_row(escaped(cell.strip()) for cell in cells) for cells in rows)
    yield ""


def _name(line: CurveLine) -> str:
    owner = subject_name(line.suite, line.dataset, line.series)
    return f"{owner} {line.figure} of {metric_label(line.kind.name, line.kind.unit)} by {line.scorer}"


def _cells(contenders: Sequence[Contender], line: CurveLine) -> Iterator[tuple[str, ...]]:
    unit = line.kind.unit
    for contender, value, change, pairs in zip(contenders, line.values, line.differences, line.pairs, strict=True):
        cells: tuple[str, ...] = ("", "", "")
        if change is not None:
            by, lower, upper = map(finite, (change.value, change.lower, change.upper))
            cells = (*signed_cells(by, lower, upper, unit), str(pairs))
        yield f"  {contender.letter}", amount(value, unit), *cells
