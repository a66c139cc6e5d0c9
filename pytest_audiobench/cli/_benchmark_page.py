"""The page docs/benchmarks.md: what the files of the published benchmarks say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
[adding-benchmarks.md](adding-benchmarks.md) says how to declare another. None brings its data: `--ab-data=NAME=FOLDER`
points to it, and what is not on this machine is skipped. What is not in a file, such as a licence, is not known to it.
`audiobench list benchmarks --markdown docs/benchmarks.md` writes this page; `audiobench describe NAME` is of one.
"""


def benchmarks() -> dict[str, Path]:
    """The files of the published benchmarks that are bundled and of those that extensions declare, by their names."""
    return {name: path for name, path in sorted(LOADERS.items()) if isinstance(path, Path)}


def page() -> str:
    """The page of them all."""
    return "\n".join([_HEAD, *map(_section, benchmarks().values())])


def _files(data: Declaration) -> str:
    """Those of the rows in every layout, of which one is read."""
    rows = [data.data.rows, *(layout.data.rows for layout in data.layouts)]
    return " or ".join(f"`{file}`" for written in rows for file in texts(written))


def task_tables(file: Path) -> dict[str, tuple[Mapping[str, Any], Declaration]]:
    """The tasks of a file by name, "" for the only one: what its tables say, and the data that they declare."""
    tables = tasks_of(file, read_toml(file), Mistakes())
    return {task: (tables[task], data) for task, data in read_declarations(file).items()}


def file_source(file: Path) -> tuple[str, str]:
    """What a file says of itself, before its tasks: title and citation; those of its first task where it says none."""
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


def _section(file: Path) -> str:
    tasks = task_tables(file)
    _, data = next(iter(tasks.values()))
    source = data.source
    name = file.name.removesuffix(SUFFIX)
    title = ". ".join(filter(None, file_source(file)))
    every = [each for _, each in tasks.values()]
    of_roots = {each.root: next(first for first in every if first.root == each.root) for each in every}
    rows = [
        ("source", source.repository or ""),
        ("licence", source.licence or ""),
        ("access", source.obtain or ("the hub asks for an account that its publisher admits" if source.gated else "")),
        ("fetched from", ", ".join(dict.fromkeys(place_of(fetch) for each in every for fetch in each.fetch))),
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
    lines = [f"## {name}\n", f"{title}.\n" if title else "", *comment(file), "| | |\n|---|---|"]
    # A bar parts cells, inside a code span too.
    lines += [f"| {key} | {value.replace('|', chr(92) + '|')} |" for key, value in rows if value]
    published = _merged(
        [_published_row("" if _is_shared(row, every) else task, row) for row in each.published]
        for task, (_, each) in tasks.items()
    )
    if published:
        lines += ["\n| published | of | metric | value | scorer | conditions | source |\n|---|---|---|---|---|---|---|"]
        lines += published
    return "\n".join(line for line in lines if line) + "\n"


def _merged(parts: Iterable[Iterable[str]]) -> list[str]:
    """The texts of all parts, each once."""
    return list(dict.fromkeys(text for part in parts for text in part))


def _unproven(task: str, data: Declaration) -> list[str]:
    return [f"{task}: {data.unproven}" if task else data.unproven] if data.unproven else []


def _is_shared(row: Published, tasks: Sequence[Declaration]) -> bool:
    return len(tasks) > 1 and all(row in data.published for data in tasks)


def _published_row(task: str, row: Published) -> str:
    of = row.average or ", ".join(filter(None, [task, *row.parameters.values()]))
    scorer = f"`{row.scorer}`" if row.scorer else ""
    return f"| {row.model} | {of} | {row.metric} | {row.value:g} | {scorer} | {row.conditions} | {row.source} |"


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
