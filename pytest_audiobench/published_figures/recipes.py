"""How a published figure was made, by name: benchmark, prompt, decoding, scorer; and whether other answers give it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from pytest_audiobench.datasets import declaration
from pytest_audiobench.datasets.catalogue import LOADERS, SUFFIX
from pytest_audiobench.datasets.declaration import Declaration, read_declarations
from pytest_audiobench.datasets.declared import declared_dataset
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import nearest
from pytest_audiobench.io.user_documents import toml_tables
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.published_figures import registry
from pytest_audiobench.published_figures.compare import OTHER_NAMES
from pytest_audiobench.published_figures.registry import Published
from pytest_audiobench.records.fields import Record
from pytest_audiobench.records.run import ItemRecord, MetricRecord
from pytest_audiobench.report.formatting import counted

_WORDS = re.compile(r"[a-z0-9.]+")
_NAMES = re.compile(r"[a-z0-9]+")
_SOURCES = re.compile(r"arxiv \d+\.\d+|[\w.-]+/[\w.-]+(?=[@ ]|$)")
Word = Literal["reproduced", "differs by a rule", "differs", "undecided"]
_WIDEST = 0.1
"""An interval of a share that is wider holds nearly any figure: it reproduces none."""


class Recipe(NamedTuple):
    """A published figure with everything that is known of how it came about."""

    name: str
    figure: Published
    scorer: str
    """The scorer of ours that is the publisher's rule; "" where it is not known."""
    eval: str = ""
    """The node id of the eval that asks so; "" where none does."""
    style: str = ""
    """The ``style=`` of the model's spec."""
    prompt: str = ""
    asks_prompt: str = ""
    """What ``--ab-prompt`` takes for it; "" where the eval's own prompt is the published one."""
    decoding: Mapping[str, str | int | float | bool] = {}
    answers: str = ""
    """Where its publisher's own answers lie."""
    scorer_of_answers: str = ""
    """The scorer of these, where their texts were normalised before they were recorded."""
    dataset: str = ""
    """Our name of the data set, where a benchmark declares the figure."""


class Reproduction(NamedTuple):
    """What other answers make of a recipe."""

    word: Word
    says: str


class _Row(Record, kw_only=True, frozen=True):
    name: str
    figure: str
    datasets: tuple[str, ...]
    prompt: str
    answers: str
    eval: str = ""
    style: str = ""
    scorer_of_answers: str = ""


@cache
def recipes() -> Mapping[str, Recipe]:
    """All recipes by name: of the tables' figures, then of what benchmarks' files say was published."""
    return {recipe.name: recipe for recipe in (*_of_tables(), *_of_benchmarks())}


def recipe_named(name: str) -> Recipe:
    """Raises UsageError for a name that is not there."""
    if (recipe := recipes().get(name)) is None:
        raise UsageError(
            f"no recipe is called {name[:80]!r}: {nearest(name, recipes(), 'audiobench reproduce lists all')}"
        )
    return recipe


def _of_tables() -> Iterator[Recipe]:
    text = (files("pytest_audiobench.published_figures") / "recipes.toml").read_bytes()
    figures = {figure.name: figure for figure in registry.everything()}
    for row in msgspec.convert(toml_tables(text)["recipe"], list[_Row]):
        for dataset in row.datasets:
            name, figure, eval_, answers = (
                text.replace("{dataset}", dataset) for text in (row.name, row.figure, row.eval, row.answers)
            )
            published = figures[figure]
            yield Recipe(
                name,
                published,
                published.protocol,
                eval_,
                row.style,
                row.prompt,
                answers=answers,
                scorer_of_answers=row.scorer_of_answers,
            )


def _of_benchmarks() -> Iterator[Recipe]:
    for file in sorted(path for path in LOADERS.values() if isinstance(path, Path)):
        for task, declared in read_declarations(file).items():
            function = f"test_{(task or file.name.removesuffix(SUFFIX))}".replace("-", "_")
            for name, row in zip(_names(declared), declared.published, strict=True):
                # What was measured under a perturbation is not a figure of the benchmark.
                if row.scorer is None or row.average is not None or row.perturbation is not None:
                    continue
                case = _case(declared, row)
                grid = [case[key] for key in declared.grid] if case is not None else []
                prompt = declared.prompts[row.prompt] if row.prompt else {}
                yield Recipe(
                    name,
                    _figure(declared, row),
                    row.scorer,
                    "" if case is None else f"{file}::{function}" + (f"[{'-'.join(grid)}]" if grid else ""),
                    prompt=f"--ab-prompt={row.prompt}, {prompt['source']}" if prompt else "",
                    asks_prompt=row.prompt or "",
                    decoding=row.decoding,
                    dataset=declared_dataset(declared, case or row.parameters).name,
                )


def _names(declared: Declaration) -> list[str]:
    """The rows' names: with the metric, the scorer and the value as far as others share what is before."""
    parts = [(_name(declared, row), row.metric, row.scorer or "", f"{row.value:g}") for row in declared.published]
    # What was measured under a perturbation has no recipe.
    plain = [part for part, row in zip(parts, declared.published, strict=True) if row.perturbation is None]
    shared: Counter[tuple[str, ...]] = Counter(part[:1] for part in plain)
    # Rows whose rule is not known have none either.
    shared.update(part[:length] for part in plain if part[2] for length in (2, 3))
    return ["/".join(part[: next((n for n in (1, 2, 3) if shared[part[:n]] == 1), 4)]) for part in parts]


@cache
def all_figures() -> tuple[Published, ...]:
    """The figures of the tables, and what only benchmarks' files say was published."""
    return *registry.everything(), *_benchmark_figures()


def _benchmark_figures() -> tuple[Published, ...]:
    tables: dict[tuple[str, str, float], list[Published]] = {}
    for each in registry.everything():
        for name in {each.metric, *OTHER_NAMES.get(each.metric, ())}:
            tables.setdefault(_key(each, name), []).append(each)
    declared = dict.fromkeys(
        _figure(data, row)
        for file in sorted(path for path in LOADERS.values() if isinstance(path, Path))
        for data in read_declarations(file).values()
        for row in data.published
    )
    return tuple(
        each for each in declared if not any(_is_same(each, other) for other in tables.get(_key(each, each.metric), ()))
    )


def _is_same(declared: Published, of_table: Published) -> bool:
    """Whether two figures of one model, metric and value are one: of one source, or of one data set by its name."""
    if _sources(declared) & _sources(of_table):
        return True
    names = [set(_NAMES.findall(f"{each.benchmark} {each.dataset}".lower())) for each in (declared, of_table)]
    return names[0] <= names[1] or names[1] <= names[0]


def _sources(figure: Published) -> set[str]:
    return set(_SOURCES.findall(figure.source.lower()))


def _key(figure: Published, metric: str) -> tuple[str, str, float]:
    return registry.plain(figure.model), metric, round(figure.value / (100 if figure.unit == "percent" else 1), 4)


def _case(declared: Declaration, row: declaration.Published) -> Mapping[str, str] | None:
    """The parameters of the eval that asks what the row is of; None where no one eval asks just that."""
    only = {name: values[0] for name, values in declared.grid.items() if len(values) == 1}
    case = {**only, **row.parameters}
    return case if {name: case.get(name) for name in declared.grid} in declared.ids() else None


def _values(declared: Declaration, row: declaration.Published) -> list[str]:
    return [row.parameters[name] for name in declared.parameters if name in row.parameters]


def _name(declared: Declaration, row: declaration.Published) -> str:
    model = "-".join(_WORDS.findall(row.model.lower()))
    return "/".join([declared.name, *_values(declared, row), model])


def _figure(declared: Declaration, row: declaration.Published) -> Published:
    of_file, _, _ = declared.name.partition("/")
    return Published(
        # Each task of a file has the rows of its averages.
        benchmark=of_file if row.average else declared.name,
        source=row.source,
        model=row.model,
        dataset=row.average or "/".join(_values(declared, row)) or declared.name,
        metric=row.metric,
        value=row.value,
        unit="fraction",
        protocol=row.scorer or "",
        conditions=f"the mean of {_parts(declared, row.average)}; {row.conditions}" if row.average else row.conditions,
        n=row.n,
    )


def _parts(declared: Declaration, average: str) -> str:
    """What an average is of, in words."""
    counts = {part: len(declared.averages.get(part, ())) for part in declared.averages[average]}
    return ", ".join(f"{part} (mean of {count})" if count else part for part, count in counts.items())


def reproduction(recipe: Recipe, item: ItemRecord, asked_anew: bool) -> Reproduction:
    """What the answers of ``item``, read by every scorer, make of the figure.

    Answers that its publisher recorded must give the printed number to its last digit; those of a run that
    ``asked_anew``, or of other samples, a number in whose interval it lies. Raises UsageError where the item has no
    such metric.
    """
    figure = recipe.figure
    names = OTHER_NAMES.get(figure.metric, (figure.metric,))
    rows = [row for row in item.metrics if row.name in names and not row.group and row.value is not None]
    if not rows:
        raise UsageError(f"{item.eval} has no {figure.metric}, of which {recipe.name} is")
    scale = 100 if figure.unit in ("percent", "BLEU") and rows[0].unit in FRACTIONS else 1
    value = figure.value / scale
    decimals = figure.decimals if figure.decimals is not None else len(repr(figure.value).partition(".")[2])
    half = 0.5 * 10.0**-decimals / scale + 1e-9
    anew = asked_anew or (figure.n is not None and item.n != figure.n)

    def gives(row: MetricRecord) -> bool:
        number = float(row.value or 0)
        if abs(number - value) <= half:
            return True
        return anew and row.lower is not None and row.upper is not None and row.lower <= value <= row.upper

    def shown(row: MetricRecord) -> str:
        sign = " %" if figure.unit == "percent" else ""
        texts = [f"{scale * float(end):.{decimals}f}" for end in (row.value, row.lower, row.upper) if end is not None]
        return f"{texts[0]}{sign}" + (f", {texts[1]} to {texts[2]}" if len(texts) == 3 else "")

    scorer = recipe.scorer if asked_anew else recipe.scorer_of_answers or recipe.scorer
    own = next((row for row in rows if row.scorer == scorer), None)
    printed = f"{figure.model}, {figure.metric} {figure.text} of {figure.dataset}"
    counts = f"; {item.n} samples here" if asked_anew else ""
    if figure.n is not None and item.n != figure.n:
        counts = f"; {item.n} samples here, {figure.n} there"
    said = f"{scorer} gives {shown(own)}" if own is not None else f"by which rule is not known ({shown(rows[0])})"
    if own is not None and gives(own):
        width = 0.0 if abs(float(own.value or 0) - value) <= half else float(own.upper or 0) - float(own.lower or 0)
        is_wide = own.unit in FRACTIONS and width > _WIDEST
        too_few = ", too few to decide" if is_wide else ""
        return Reproduction("undecided" if is_wide else "reproduced", f"{printed}: {said}{counts}{too_few}")
    others = sorted((row for row in rows if row is not own and gives(row)), key=lambda row: _distance(row, value))
    if others:
        rules = " and ".join(f"{row.scorer} ({shown(row)})" for row in others[:3])
        more = f" and {counted(len(others) - 3, 'more scorer')}" if len(others) > 3 else ""
        give = "gives" if len(others) == 1 else "give"
        return Reproduction(
            "differs by a rule", f"{printed}: {said}, and {rules}{more} {give} the printed number{counts}"
        )
    nearest_row = min(rows, key=lambda row: _distance(row, value))
    known = f"; disputed: {figure.disputed}" if figure.disputed else ""
    closest = f"the closest of {counted(len(rows), 'scorer')} is {nearest_row.scorer} ({shown(nearest_row)})"
    return Reproduction("differs", f"{printed}: {said}, {closest}{counts}{known}")


def _distance(row: MetricRecord, value: float) -> float:
    return abs(float(row.value or 0) - value) if row.value is not None else math.inf
