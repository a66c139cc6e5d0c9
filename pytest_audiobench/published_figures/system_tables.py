"""Published figures as tables: a row for each system, a column for each metric, and what they are comparable with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from pytest_audiobench.published_figures.compare import OTHER_NAMES
from pytest_audiobench.published_figures.lint import lint
from pytest_audiobench.published_figures.registry import Published
from pytest_audiobench.report.formatting import aligned, counted

RANKED: Mapping[str, str] = {"reward": "f1", "f1": "reward"}
"""Metrics of one table that put systems in different orders, by each other: where both are, both ranks are."""


def tables(values: Sequence[Published]) -> Iterator[str]:
    """The lines of a table for each data set and conditions of ``values``, in words what each is comparable with, and
    what :func:`lint` finds in it.
    """
    for _, group in groupby(sorted(values, key=_measured), key=_measured):
        figures = list(group)
        systems: dict[str, dict[str, Published]] = {}
        for value in figures:
            systems.setdefault(value.model, {})[value.metric] = value
        metrics = list(dict.fromkeys(value.metric for value in figures))
        ranks = {metric: _ranks(metric, systems) for metric in metrics if RANKED.get(metric) in metrics}
        head = ["", *(f"by {metric}" for metric in ranks), *metrics]
        rows = [
            [
                model,
                *(places.get(model, "–") for places in ranks.values()),
                *(row[metric].text if metric in row else "–" for metric in metrics),
            ]
            for model, row in systems.items()
        ]
        yield f"{figures[0].benchmark}/{figures[0].dataset}, {counted(len(systems), 'system')}"
        yield from aligned([head, *rows])
        yield from _conditions(figures, list(ranks))
        yield from (f"{finding.rule}: {finding.says}" for finding in lint(figures))
        yield ""


def _measured(value: Published) -> tuple[str, ...]:
    return value.benchmark, value.source, value.dataset, value.conditions, value.encoder


def _ranks(metric: str, systems: Mapping[str, Mapping[str, Published]]) -> dict[str, str]:
    """Each system's rank by a metric of which more is better; equal values share one."""
    values = {model: row[metric].value for model, row in systems.items() if metric in row}
    return {model: str(1 + sum(other > value for other in values.values())) for model, value in values.items()}


def _conditions(figures: Sequence[Published], ranked: Sequence[str]) -> Iterator[str]:
    any_ = figures[0]
    known = [any_.conditions, *dict.fromkeys(f"n {value.n}" for value in figures if value.n)]
    known += [f"encoder {any_.encoder}"] * bool(any_.encoder)
    known += [*dict.fromkeys(value.protocol for value in figures if value.protocol)]
    yield "; ".join(["measured under", *filter(None, known)]).replace(";", ":", 1)
    if ranked:
        yield (
            f"ranks by {' and '.join(ranked)} are of the values as printed: no interval of any is known, so that "
            "nothing says which neighbours differ"
        )
    yield "comparable: these systems with one another, column by column"
    if any(value.code_public is False for value in figures):
        yield (
            "comparable with caution: runs of this project on the same clips"
            + f", captions compared by {any_.encoder} (audiobench score --published)" * bool(any_.encoder)
            + ": how the unpublished scorer averages is not known"
        )
    if any_.encoder:
        yield (
            f"not comparable: figures by any other encoder than {any_.encoder}, whatever the clips; figures on other "
            "clips, generated scenes among them"
        )
    names = {value.metric: OTHER_NAMES[value.metric] for value in figures if value.metric in OTHER_NAMES}
    if any_.encoder and names:
        yield f"called otherwise here: {', '.join(f'{there} is {names[there][-1]}' for there in names)}"
