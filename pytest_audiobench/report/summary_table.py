"""A run of several models as one table: a row for each eval and pooled suite of each, for spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_audiobench.records.run import ItemRecord, MetricRecord, RunRecord, SuiteRecord
from pytest_audiobench.report.atomic_files import write_text
from pytest_audiobench.report.safe_text import csv_text
from pytest_audiobench.report.verdict import PASS
from pytest_audiobench.report.view_model import evals

SUMMARY = "summary.csv"
COVERAGE = "coverage"


def write_summary(folder: Path, record: RunRecord) -> None:
    """Write ``summary.csv``."""
    write_text(folder / SUMMARY, csv_text(summary_rows(record)))


def summary_rows(record: RunRecord) -> list[dict[str, Any]]:
    """A row for each eval of each model, then for each pooled suite: the headline, its interval, and what became of it.

    Values are raw, in the metric's unit: a share is a fraction of one. What was not measured has none.
    """
    specs = {model.alias: model.spec for model in record.models}
    rows = [
        _row(item, specs, item.eval, PASS if view.verdict == "improved" else view.verdict, item.n, item.limited)
        for item, view in zip(record.items, evals(record), strict=True)
        if not item.control
    ]
    limited = {(item.suite, item.model) for item in record.items if item.limited}
    for suite in record.suites:
        n = next((metric.n for metric in _headline(suite)), 0)
        rows.append(_row(suite, specs, None, "", n, (suite.name, suite.model) in limited))
    return rows


def _row(
    owner: ItemRecord | SuiteRecord, specs: Mapping[str, str], eval_: str | None, verdict: str, n: int, limited: bool
) -> dict[str, Any]:
    headline = list(_headline(owner))
    first = next((metric for metric in headline if metric.name != COVERAGE), None)
    coverage = next((metric.value for metric in headline if metric.name == COVERAGE), None)
    return {
        "model": owner.model,
        "spec": specs.get(owner.model, ""),
        "suite": owner.suite if isinstance(owner, ItemRecord) else owner.name,
        "eval": eval_,
        "metric": first and first.name,
        "scorer": first and first.scorer,
        "value": first and first.value,
        "lower": first and first.lower,
        "upper": first and first.upper,
        "unit": first and first.unit,
        "direction": first and first.direction,
        "n": n,
        "coverage": coverage,
        "limited": limited,
        "verdict": verdict,
        "why": owner.message if isinstance(owner, ItemRecord) else "",
        "signature": first and first.signature,
    }


def _headline(owner: ItemRecord | SuiteRecord) -> Iterator[MetricRecord]:
    """The figures over all samples by the headline scorer."""
    scorers: Sequence[Any] = owner.scorers
    if scorers:
        key = (scorers[0].name, scorers[0].signature)
        yield from (each for each in owner.metrics if (each.scorer, each.signature) == key and not each.group)
