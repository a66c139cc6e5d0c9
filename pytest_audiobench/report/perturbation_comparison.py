"""All perturbations of a data set in one table, where answers are held against those to the clean clips.

Where each sample says whether its answer stayed the same, tables by family would say half of what the perturbations do:
so these data sets have one table, a row for each perturbation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pytest_audiobench.report import perturbations
from pytest_audiobench.report.perturbations import Curve, Line, Row, Summary

Json: TypeAlias = Mapping[str, Any]

SAME = "consistency"
"""The metric that says so (``metrics/kinds/faithfulness.py``)."""


@dataclass(frozen=True)
class PerturbationComparison:
    """The leading metric under all perturbations of a data set; ``same`` is, by perturbation, the share of same answers."""

    suite: str
    model: str
    dataset: str
    series: str
    metric: str
    unit: str
    rows: tuple[Row, ...]
    same: Mapping[str, str]
    lines: tuple[Line, ...]


Owner: TypeAlias = tuple[str, str, str, str]
"""Suite, model, data set and series of evals."""


def owner(one: PerturbationComparison | Curve | Summary) -> Owner:
    """Whose perturbations these are."""
    return one.suite, one.model, one.dataset, one.series


def perturbation_comparisons(
    curves: Sequence[Curve], summaries: Sequence[Summary]
) -> dict[Owner, PerturbationComparison]:
    """A table for each data set whose answers are held against clean ones, from all that is said of perturbations."""
    headline = {owner(one): one for one in reversed(summaries) if one.leading}
    same: dict[Owner, dict[str, str]] = {}
    everything: list[Curve | Summary] = [*curves, *summaries]
    for one in everything:
        first = headline.get(owner(one))
        if one.metric == SAME and first is not None and one.scorer == first.scorer:
            same.setdefault(owner(one), {}).update({row.perturbation: row.value for row in one.rows})
    return {own: _table(own, headline[own], found, curves, summaries) for own, found in same.items()}


def title(one: PerturbationComparison, several: bool) -> str:
    """``faithfulness, digits: accuracy under 20 perturbations``; the model is named where there are ``several``."""
    of = perturbations.owned(one.suite, one.dataset, one.series)
    return f"{of}{f', {one.model}' if several else ''}: {one.metric} under {len(one.rows)} perturbations"


def _table(
    own: Owner, first: Summary, same: Mapping[str, str], curves: Sequence[Curve], summaries: Sequence[Summary]
) -> PerturbationComparison:
    mine = [one for one in curves if one.leading and owner(one) == own and one.metric == first.metric]
    others = [one for one in summaries if one.leading and owner(one) == own and one.metric == first.metric]
    rows = [
        *(one.clean for one in mine if one.clean is not None),
        *(row for one in mine for row in one.rows),
        *(row for one in others for row in one.rows),
    ]
    told = [replace(line, name=f"{one.family}, {line.name}") for one in mine for line in one.lines]
    return PerturbationComparison(
        *own,
        metric=first.metric,
        unit=first.unit,
        rows=tuple({row.perturbation: replace(row, label=row.perturbation) for row in rows}.values()),
        same=same,
        lines=(*told, *(line for one in others for line in one.lines)),
    )
