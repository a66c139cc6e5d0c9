"""Who prints figures of SALMONN: the fifteen tasks of its table with the rule of each, and the papers that name it.

The facts lie in ``salmonn.toml`` and ``claims.toml``, the figures in ``tables/``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeVar

import msgspec

from pytest_audiobench.io.user_documents import toml_tables
from pytest_audiobench.published_figures import registry
from pytest_audiobench.published_figures.registry import Published
from pytest_audiobench.records.fields import Record

PAPER, REPRODUCTION = "SALMONN-T3", "SALMONN-T3-repro"
_HEADLINE = "with activation tuning"
_RATES = ("wer", "meteor")
_R = TypeVar("_R", bound="Task | Claim")


class Other(Record, kw_only=True, frozen=True):
    """A figure that somebody else prints of nearly the same, by its name without conditions."""

    figure: str
    differs: str
    """Why it cannot be compared."""


class Measured(Record, kw_only=True, frozen=True):
    """What recorded answers give by the default scorer."""

    value: str
    of: str
    command: str


class Task(Record, kw_only=True, frozen=True):
    """A task of SALMONN's table."""

    evals: tuple[str, ...]
    """The ids of the evals that ask it."""
    title: str
    dataset: str
    """What the tables of the paper and of the reproduction call its data."""
    metrics: tuple[str, ...]
    scorer: str
    """The default scorer."""
    others: tuple[Other, ...] = ()
    measured: tuple[Measured, ...] = ()
    note: str = ""
    """What the figures of the paper and of the reproduction cannot tell."""

    @property
    def command(self) -> str:
        """How a model is asked the task."""
        return f"pytest evals/salmonn.audiobench.toml -k test_{self.evals[0]}"


class Claim(Record, kw_only=True, frozen=True):
    """A paper or repository that prints figures of SALMONN or is cited for them, and how they were measured."""

    name: str
    title: str
    prints: str
    """What it prints of SALMONN."""
    paper: str
    code: str
    seen: str
    """What was read of it; all else is unseen."""
    data: str
    split: str
    prompt: str
    judge: str
    same_data: str
    """Whether the data are those of SALMONN's own table."""
    benchmarks: tuple[str, ...] = ()
    """The tables that hold its figures."""


class Row(NamedTuple):
    """A figure of a task with its rule."""

    who: str
    value: str
    says: str


@cache
def tasks() -> tuple[Task, ...]:
    """The tasks, in the table's order."""
    return _read("salmonn.toml", "task", tuple[Task, ...])


@cache
def claims() -> tuple[Claim, ...]:
    """The papers and repositories."""
    return _read("claims.toml", "claim", tuple[Claim, ...])


def _read(name: str, key: str, kind: type[tuple[_R, ...]]) -> tuple[_R, ...]:
    return msgspec.convert(toml_tables((files(__package__) / name).read_bytes())[key], kind)


def claims_named(text: str) -> list[Claim]:
    """The claims whose name, or a table of theirs, has all parts of ``text``."""
    parts = registry.parts_of(text)
    return [claim for claim in claims() if parts and all(registry.plain(part) in _names(claim) for part in parts)]


def _names(claim: Claim) -> str:
    return " ".join(map(registry.plain, (claim.name, claim.title, *claim.benchmarks)))


def figures(task: Task, benchmark: str, metric: str) -> list[Published]:
    """A task's figures of SALMONN in one table, those of the paper with activation tuning."""
    values = registry.values(benchmark=benchmark, model="SALMONN-13B", dataset=task.dataset, metric=metric)
    return [value for value in values if benchmark != PAPER or value.conditions == _HEADLINE]


def rows(task: Task) -> Iterator[Row]:
    """Who printed what of a task by which rule: the paper, the reproduction, others, and what reads it here."""
    for who, benchmark in (("paper", PAPER), ("reproduction", REPRODUCTION)):
        for metric in task.metrics:
            for figure in figures(task, benchmark, metric):
                yield Row(who, _value(task, figure), rule(figure))
    for other in task.others:
        for figure in registry.everything():
            if figure.name.partition(" (")[0] == other.figure:
                conditions = f" ({figure.conditions})" if figure.conditions else ""
                by = f"{figure.benchmark}, {figure.model}, {figure.metric}{conditions}"
                disputed = f"; disputed: {figure.disputed}" if figure.disputed else ""
                yield Row(
                    "others", _as_printed_by_the_paper(figure), f"{by}; not comparable: {other.differs}{disputed}"
                )
    for measured in task.measured:
        yield Row("ours", measured.value, f"{task.scorer} of {measured.of}: {measured.command}")
    yield Row("ours", "", f"{task.scorer} by {task.command}")


def rule(figure: Published) -> str:
    """What gives a figure of the paper or of the reproduction, in words."""
    conditions = figure.conditions.removeprefix(_HEADLINE)
    disputed = f"disputed: {figure.disputed}" if figure.disputed else ""
    return "; ".join(filter(None, [figure.protocol or "the rule is not said", conditions, disputed]))


def _value(task: Task, figure: Published) -> str:
    return f"{figure.metric} {figure.text}" if len(task.metrics) > 1 else figure.text


def _as_printed_by_the_paper(figure: Published) -> str:
    """Error rates as percentages, also if printed as fractions."""
    return f"{100 * figure.value:.2f} %" if figure.unit == "fraction" and figure.metric in _RATES else figure.text
