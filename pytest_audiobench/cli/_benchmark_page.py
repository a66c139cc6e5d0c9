"""The pages of docs/benchmarks: what the files of the published benchmarks say, a page for each, and their index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_audiobench.datasets.catalogue import LOADERS, SUFFIX
from pytest_audiobench.datasets.declaration import (
    Declaration,
    Fetch,
    OpenParameter,
    Parameter,
    Published,
    read_declarations,
    read_toml,
    tasks_of,
    texts,
    values_of,
)
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound
from pytest_audiobench.io.mistakes import Mistakes

_HEAD = """# Benchmarks

The published benchmarks that are bundled, each declared in one file of `evals/`;
[adding a benchmark](../adding-benchmarks.md) shows how to declare another. Their data is not bundled:
`audiobench fetch NAME` fetches it, or `--ab-data=NAME=FOLDER` names its folder; evals without data are skipped.
Each page has the file's content, such as the licence and published values; `audiobench describe NAME` prints one.

`audiobench list benchmarks --markdown docs/benchmarks` writes these pages.
"""
_DOMAINS = ("speech", "sound", "music")
_MOST_MODELS = 10
"""Columns of a table of published values; of more models each value has a row."""


def benchmarks() -> dict[str, Path]:
    """The files of the published benchmarks that are bundled and of those that extensions declare, by their names."""
    return {name: path for name, path in sorted(LOADERS.items()) if isinstance(path, Path)}


def write_pages(folder: Path) -> list[Path]:
    """The pages, written into ``folder``; those of benchmarks that are gone are deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"README.md": "\n".join(_index())}
    pages |= {f"{name}.md": _page(file) for name, file in benchmarks().items()}
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


def _index() -> Iterator[str]:
    """The benchmarks by what is heard in them."""
    rows: dict[str, list[str]] = {domain: [] for domain in (*_DOMAINS, "several")}
    for name, file in benchmarks().items():
        tasks = read_declarations(file).values()
        domains = _merged(texts(data.source.domain) for data in tasks)
        asked = ", ".join(_merged(texts(data.source.task) for data in tasks))
        evals = sum(len(data.ids()) for data in tasks)
        row = f"| [{name}]({name}.md) | {file_source(file)[0]} | {asked} | {evals} |"
        rows[domains[0] if len(domains) == 1 else "several"].append(row)
    yield _HEAD
    for domain, lines in rows.items():
        yield f"## {domain.capitalize()}{' domains' * (domain == 'several')}\n"
        yield "| name | title | tasks | evals |\n|---|---|---|---|"
        yield from (*lines, "")


def _files(data: Declaration) -> str:
    """Those of the rows in every layout, of which one is read."""
    rows = [data.data.rows, *(layout.data.rows for layout in data.layouts)]
    return " or ".join(f"`{file}`" for written in rows for file in texts(written))


def task_tables(file: Path) -> dict[str, tuple[Mapping[str, Any], Declaration]]:
    """The tasks of a file by name, "" for the only one: what its tables say, and the data that they declare."""
    tables = tasks_of(file, read_toml(file), Mistakes())
    return {task: (tables[task], data) for task, data in read_declarations(file).items()}


def file_source(file: Path) -> tuple[str, str]:
    """What a file says about itself, before its tasks: title and citation; of its first task where it has none."""
    own, first = read_toml(file).get("source", {}), next(iter(read_declarations(file).values())).source
    return own.get("title") or first.title or "", own.get("citation") or first.citation or ""


def protocol_name(table: Mapping[str, Any]) -> str:
    """That of a task, which is multiple choice where its file names none."""
    return str(table.get("protocol", "multiple_choice"))


def is_here(data: Declaration, where: Places) -> bool:
    """Whether something of the data is on this machine."""
    for case in data.cases({}):
        with suppress(DataNotFound):
            where.find(data.root, *data.files(case))
            return True
    return False


def _page(file: Path) -> str:
    tasks = task_tables(file)
    _, data = next(iter(tasks.values()))
    source = data.source
    name = file.name.removesuffix(SUFFIX)
    title = ". ".join(filter(None, file_source(file)))
    every = [each for _, each in tasks.values()]
    of_roots = {each.root: next(first for first in every if first.root == each.root) for each in every}
    rows = [
        ("source", _linked(source.repository or "")),
        ("licence", source.licence or ""),
        ("access", source.obtain or ("the hub asks for an account that its publisher admits" if source.gated else "")),
        ("fetched from", _linked(", ".join(dict.fromkeys(place_of(fetch) for each in every for fetch in each.fetch)))),
        ("published prompts", ", ".join(f"`--ab-prompt={name}`" for name in _merged(each.prompts for each in every))),
        ("select", " ".join(f"`-m {word}`" for word in [name, *source.keywords])),
        ("data", "; ".join(f"`--ab-data={each.root}=FOLDER`, with {_files(each)}" for each in of_roots.values())),
        *((key, _values(values)) for key, values in data.parameters.items()),
        ("tasks", ", ".join(f"`{task}`" for task in tasks if task)),
        ("suites", ", ".join(f"`-k {suite}`" for suite in data.suites)),
        ("answers withheld", ", ".join(f"`{value}`" for values in data.withheld.values() for value in values)),
        ("evals", str(sum(len(each.ids()) for each in every))),
        ("protocol", ", ".join(dict.fromkeys(f"`{protocol_name(table)}`" for table, _ in tasks.values()))),
        ("groups", ", ".join(f"`{group}`" for group in data.groups or ())),
        ("cluster", f"`{data.cluster}`" if data.cluster else ""),
        ("note", data.note),
        ("unproven", "; ".join(_merged(_unproven(task, each) for task, (_, each) in tasks.items()))),
    ]
    lines = [
        f"# {name}\n",
        f"{title}. One of the [benchmarks](README.md).\n" if title else "",
        *comment(file),
        "| | |\n|---|---|",
    ]
    lines += [f"| {key} | {_in_cell(value)} |" for key, value in rows if value]
    lines += _published(tasks)
    return "\n".join(line for line in lines if line) + "\n"


def _published(tasks: Mapping[str, tuple[Mapping[str, Any], Declaration]]) -> Iterator[str]:
    """The published values: a table for all that were measured the same way and come from one place."""
    every = [each for _, each in tasks.values()]
    ways: dict[tuple[str, str], dict[tuple[str, str, str], dict[str, list[str]]]] = {}
    for task, (_, data) in tasks.items():
        for row in data.published:
            named = "" if _is_shared(row, every) else task
            of = row.average or ", ".join(filter(None, [named, *row.parameters.values()]))
            key = (of, row.metric, f"`{row.scorer}`" if row.scorer else "")
            said = ways.setdefault((row.conditions, row.source), {}).setdefault(key, {}).setdefault(row.model, [])
            if f"{row.value:g}" not in said:
                said.append(f"{row.value:g}")
    if ways:
        yield "\n## Published values"
    alone = []
    for (conditions, source), values in ways.items():
        if len(values) > 1:
            yield f"\n{conditions[:1].upper() + conditions[1:]}.\n\nSource: {source}.\n"
            yield from _value_table(values)
            continue
        for key, by_model in values.items():
            for model, said in by_model.items():
                alone.append(f"| {' | '.join([*key, model, ', '.join(said), conditions, source])} |")
    if alone:
        yield "\n| of | metric | scorer | model | value | conditions | source |\n|---|---|---|---|---|---|---|"
        yield from alone


def _value_table(values: Mapping[tuple[str, str, str], Mapping[str, Sequence[str]]]) -> Iterator[str]:
    models = _merged(values.values())
    if len(models) > _MOST_MODELS:
        yield "| of | metric | scorer | model | value |\n|---|---|---|---|---|"
        for key, by_model in values.items():
            for model, said in by_model.items():
                yield f"| {' | '.join(key)} | {model} | {', '.join(said)} |"
        return
    yield f"| of | metric | scorer | {' | '.join(models)} |\n|---|---|---|{'---|' * len(models)}"
    for key, by_model in values.items():
        yield f"| {' | '.join(key)} | {' | '.join(', '.join(by_model.get(model, ())) for model in models)} |"


def _linked(text: str) -> str:
    return re.sub(r"https?://[^\s,;]+", r"<\g<0>>", text)


def _in_cell(text: str) -> str:
    """A bar parts cells, inside a code span too."""
    return text.replace("|", r"\|")


def _merged(parts: Iterable[Iterable[str]]) -> list[str]:
    """The texts of all parts, each once."""
    return list(dict.fromkeys(text for part in parts for text in part))


def _unproven(task: str, data: Declaration) -> list[str]:
    return [f"{task}: {data.unproven}" if task else data.unproven] if data.unproven else []


def _is_shared(row: Published, tasks: Sequence[Declaration]) -> bool:
    return len(tasks) > 1 and all(row in data.published for data in tasks)


def place_of(fetch: Fetch) -> str:
    """Where it is fetched from, and whether that is pinned."""
    pinned = f" at `{fetch.revision[:12]}`" if fetch.revision else "" if fetch.sha256 or fetch.md5 else ", not pinned"
    return f"https://huggingface.co/datasets/{fetch.hub}{pinned}" if fetch.hub else f"{fetch.git or fetch.url}{pinned}"


def _values(parameter: Parameter) -> str:
    said = ", ".join(f"`{value}`" for value in values_of(parameter))
    if isinstance(parameter, OpenParameter):
        pattern = "what matches " if isinstance(parameter.others, str) else ""
        said += f"; for `dataset(…)` also {pattern}{', '.join(f'`{other}`' for other in texts(parameter.others))}"
    return said


def comment(file: Path) -> list[str]:
    """What the file's first comment says, as a paragraph."""
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return ["\n".join(lines) + "\n"] if lines else []
