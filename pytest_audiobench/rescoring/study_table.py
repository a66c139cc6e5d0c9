"""The study that several models' answers to the same evals make, with what always answering one label would score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.records.run import ItemRecord, MetricRecord
from pytest_audiobench.report.formatting import aligned, interval_text, printable, value_text
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.rescoring.majority import Majority

_BELOW, _ALL_BELOW = "<", "<<"
_SHOWN = ", by the first figure of each that has an interval"
_LEGEND = (
    "majority: what always answering the most common label scores",
    f"{_BELOW} is below the majority, {_ALL_BELOW} with its whole interval",
)


class _Cell(NamedTuple):
    """One model in one eval, by the headline."""

    item: ItemRecord
    metric: MetricRecord
    constant: float | None

    @property
    def mark(self) -> str:
        """Whether it lies below what a constant answer scores."""
        value, upper = self.metric.value, self.metric.upper
        if self.constant is None or value is None or self.metric.direction == "lower" or value >= self.constant:
            return ""
        return _ALL_BELOW if upper is not None and upper < self.constant else _BELOW

    @property
    def constant_text(self) -> str:
        return "" if self.constant is None else value_text(self.constant, self.metric.unit)


def lines(items: Sequence[ItemRecord], majorities: Mapping[tuple[str, str], Majority]) -> Iterator[str]:
    """A block for each eval, a row for each model; nothing unless two models answered one eval."""
    evals = _by_eval(items, majorities)
    if not evals:
        return
    models = len({cell.item.model for cells in evals.values() for cell in cells})
    yield from ("", f"{models} models in {len(evals)} evals{_SHOWN}", *_LEGEND)
    for name, cells in evals.items():
        yield printable(f"{name}: {cells[0].metric.name} by {cells[0].metric.scorer}")
        rows = [("model", "value", "interval", "majority", "n", "")]
        rows += [
            (
                cell.item.model,
                value_text(cell.metric.value, cell.metric.unit),
                interval_text(cell.metric, cell.metric.unit),
                cell.constant_text,
                str(cell.metric.n),
                cell.mark,
            )
            for cell in cells
        ]
        yield from aligned(rows, left=(0, 5))
    yield from (f"below the majority: {text}" for text in _below(evals))


def markdown(items: Sequence[ItemRecord], majorities: Mapping[tuple[str, str], Majority]) -> Iterator[str]:
    """The same as one table, a row for each eval and a column for each model."""
    evals = _by_eval(items, majorities)
    if not evals:
        return
    models = list(dict.fromkeys(cell.item.model for cells in evals.values() for cell in cells))
    yield from ("", f"**{len(models)} models in {len(evals)} evals{_SHOWN}.** {escaped('; '.join(_LEGEND))}", "")
    yield table_row(["eval", "metric", *map(escaped, models)])
    yield f"| :-- | :-- |{' --: |' * len(models)}"
    for name, cells in evals.items():
        by_model = {cell.item.model: _markdown_cell(cell) for cell in cells}
        heading = [escaped(name), escaped(f"{cells[0].metric.name} by {cells[0].metric.scorer}")]
        yield table_row([*heading, *(by_model.get(model, "") for model in models)])
    yield from ("", *(f"- below the majority: {escaped(text)}" for text in _below(evals)))


def _markdown_cell(cell: _Cell) -> str:
    unit, majority = cell.metric.unit, f" (majority {cell.constant_text})" if cell.constant_text else ""
    interval = interval_text(cell.metric, unit)
    return escaped(f"{value_text(cell.metric.value, unit)} {interval}{majority} {cell.mark}".strip())


def _by_eval(items: Sequence[ItemRecord], majorities: Mapping[tuple[str, str], Majority]) -> dict[str, list[_Cell]]:
    evals: dict[str, list[_Cell]] = {}
    shown: dict[str, str] = {}
    for item in items:
        headline = [metric for metric in item.metrics if metric.scorer == item.scorers[0].name and not metric.group]
        own = [metric for metric in headline if metric.name not in SHARES]
        if own and item.eval not in shown:
            # Without an interval no two models can be distinguished.
            shown[item.eval] = next((metric.name for metric in own if metric.lower is not None), own[0].name)
        for metric in [metric for metric in own if metric.name == shown[item.eval]]:
            majority = majorities.get((item.eval, item.model))
            constant = None if majority is None else majority.values.get((metric.name, metric.scorer or ""))
            evals.setdefault(item.eval, []).append(_Cell(item, metric, constant))
    return evals if majorities and any(len(cells) > 1 for cells in evals.values()) else {}


def _below(evals: Mapping[str, Sequence[_Cell]]) -> Iterator[str]:
    """Of each eval, the models below the majority."""
    for name, cells in evals.items():
        if below := [f"{cell.item.model} {cell.mark}" for cell in cells if cell.mark]:
            yield f"{name}: {len(below)} of {len(cells)} models"
