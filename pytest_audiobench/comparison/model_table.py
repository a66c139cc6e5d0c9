"""The table of ``audiobench table``: models by benchmarks, and in each line the model that is shown to be the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_audiobench.comparison.comparison_lines import PlannedLine, Selection, estimate, parse_rate, planned_lines
from pytest_audiobench.comparison.contenders import Contender, labels
from pytest_audiobench.comparison.table_cells import amount, between
from pytest_audiobench.gate.regression import Line, Terms, regression_of
from pytest_audiobench.gate.regression_text import change_of, change_texts, level_text
from pytest_audiobench.metrics.metric import Estimate, MetricKind
from pytest_audiobench.metrics.value import PERCENT_UNITS
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.report.formatting import group_text
from pytest_audiobench.report.verdict import LOW_PARSE_RATE


@dataclass(frozen=True)
class Cell:
    """One model in one benchmark."""

    estimate: Estimate
    mismatch: str = ""
    """Why it may not be compared with the line's first; it is marked, and no difference is claimed."""
    is_best: bool = False
    parse_rate: float | None = None
    tested: RegressionRecord | None = None
    """Its comparison with the line's first, on the samples of both; None where there is none."""

    @property
    def is_hardly_parsed(self) -> bool:
        """Whether so few answers were parsed that the value says little."""
        return self.parse_rate is not None and self.parse_rate < LOW_PARSE_RATE

    @property
    def change(self) -> tuple[str, str]:
        """``+38.8 pp`` and ``+26.2 to +50.3``; empty texts where there is none."""
        return change_texts(self.tested) if self.tested else ("", "")

    @property
    def change_values(self) -> tuple[float | None, float | None, float | None]:
        """The change with the ends of its interval, in the metric's unit."""
        return change_of(self.tested) if self.tested else (None, None, None)

    def value(self, unit: str) -> str:
        """``87.5`` of a share, in percent."""
        return amount(self.estimate.value, unit)

    def interval(self, unit: str) -> str:
        """``81.2 to 92.3``; empty where none is known."""
        return between(self.estimate.lower, self.estimate.upper, unit)


@dataclass(frozen=True)
class TableLine:
    """One metric of one eval, or of a suite: a cell for each model, None where it has none."""

    plan: PlannedLine
    cells: Sequence[Cell | None]

    @property
    def kind(self) -> MetricKind:
        return self.plan.kind

    @property
    def name(self) -> str:
        """``bundled/digits``, with its group of samples."""
        return self.plan.name + (f" [{group_text(self.plan.group)}]" if self.plan.group else "")

    @property
    def metric(self) -> str:
        """``accuracy (%)``."""
        unit = "%" if self.kind.unit in PERCENT_UNITS else self.kind.unit
        return f"{self.kind.name} ({unit})" if unit else self.kind.name

    @property
    def n(self) -> int:
        """The samples that count in the first cell."""
        return next((cell.estimate.n for cell in self.cells if cell), 0)


@dataclass(frozen=True)
class ModelTable:
    """Models by benchmarks."""

    models: Sequence[str]
    """A name for each, no two alike."""
    sources: Sequence[str]
    lines: Sequence[TableLine]
    alpha: float
    tests: int
    """The comparisons by which alpha is divided: of every two comparable cells of a line, both ways."""
    notes: Sequence[str]

    @property
    def rule(self) -> str:
        """What the marks mean."""
        best = (
            f"Bold: better than every other model of its benchmark by the paired test of audiobench compare, at "
            f"{level_text(self.alpha, max(1, self.tests), 'of the table')}; without one, none is shown to be the best."
        )
        return f"95 % confidence intervals. {best}" if self.tests else "95 % confidence intervals."


def model_table(contenders: Sequence[Contender], chosen: Selection, alpha: float) -> ModelTable:
    """The table of all evals of the contenders. Raises UsageError for a metric or a scorer that no eval has."""
    plans, notes = planned_lines(contenders, chosen)
    lines = [TableLine(plan, list(_cells(plan))) for plan in plans]
    comparable = [sum(cell is not None and not cell.mismatch for cell in line.cells) for line in lines]
    tests = sum(count * (count - 1) for count in comparable)
    terms = Terms(alpha, max(1, tests))
    partial = [f"{each.name} is not whole: {'; '.join(each.missing[:5])}" for each in contenders if each.missing]
    passed_over = [note for each in contenders for note in (*each.passed_over, *each.notes)]
    return ModelTable(
        models=labels(contenders),
        sources=[each.source for each in contenders],
        lines=[_with_best(line, terms) for line in lines],
        alpha=alpha,
        tests=tests,
        notes=list(dict.fromkeys([*partial, *passed_over, *notes])),
    )


def _cells(plan: PlannedLine) -> Iterator[Cell | None]:
    first: int | None = None
    for at, side in enumerate(plan.sides):
        figure = None if side is None else estimate(side, plan.kind, plan.scorer, plan.group)
        if side is None or figure is None or figure.value != figure.value:
            yield None
        elif first is None:
            first = at
            yield Cell(figure, parse_rate=parse_rate(side, plan.scorer, plan.group))
        else:
            tested = _tested(plan, first, at, Terms())
            mismatch = _mismatch(plan, first, at, tested)
            rate = parse_rate(side, plan.scorer, plan.group)
            yield Cell(figure, mismatch, parse_rate=rate, tested=None if mismatch else tested)


def _mismatch(plan: PlannedLine, first: int, at: int, tested: RegressionRecord) -> str:
    """Why the numbers of two contenders may not be compared; "" where they may."""
    if tested.status == "not_comparable":
        return tested.detail
    one, other = (side.columns.ids for side in (plan.sides[first], plan.sides[at]) if side is not None)
    only_one = np.setxor1d(one, other).size
    # A test is made on what both have; a number is over all that its own side has.
    if only_one > Terms().most_unmatched * np.union1d(one, other).size:
        return f"{only_one:,} samples were asked of only one of the two"
    return ""


def _tested(plan: PlannedLine, better: int, other: int, terms: Terms) -> RegressionRecord:
    """Whether the contender ``other`` is worse than ``better`` by anything at all, on the samples of both."""
    side = plan.sides[other]
    assert side is not None
    group = (("scorer", plan.scorer), *plan.group.items())
    return regression_of(plan.sides[better], side, Line(plan.kind.name, group, "0"), terms)


def _with_best(line: TableLine, terms: Terms) -> TableLine:
    sign = 1.0 if line.kind.direction == "higher" else -1.0
    values = {at: sign * cell.estimate.value for at, cell in enumerate(line.cells) if cell and not cell.mismatch}
    best = max(values, key=lambda at: values[at], default=0)
    others = [at for at in values if at != best]
    if not others or any(_tested(line.plan, best, at, terms).status != "regressed" for at in others):
        return line
    cells = [replace(cell, is_best=at == best) if cell else None for at, cell in enumerate(line.cells)]
    return replace(line, cells=cells)
