"""``audiobench list benchmarks|models|protocols|scorers|metrics|perturbations|readers|runs [WORD]``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._options import add_places, places
from pytest_audiobench.cli._text import say, table, wrapped
from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.datasets.places import Places

HELP = (
    "list the benchmarks, models, protocols, scorers, metrics, perturbations or readers that there are, or the runs in "
    "reports; describe says more of one"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("kind", choices=list(_LISTS), help="what to list")
    add("word", nargs="?", metavar="WORD", help="only what has WORD in its name, its task, its domain or its language")
    add(
        "--markdown",
        type=Path,
        metavar="PATH",
        help="write the pages of all benchmarks or scorers into a folder, or the page of all readers",
    )
    add_places(parser)


def run(args: argparse.Namespace) -> int:
    """0; 1 when nothing matches. Raises UsageError for pages that there are not."""
    from pytest_audiobench import extensions

    if args.markdown is not None:
        if args.kind not in _PAGES or args.word is not None:
            raise UsageError(f"--markdown writes pages of all {' or all '.join(_PAGES)}: list one of these")
        print(_PAGES[args.kind](args.markdown))
        return 0
    for problem in extensions.load():
        say(f"note: {problem}")
    lines = list(_LISTS[args.kind](args.word or "", places(args)))
    print("\n".join(lines) or f"none of the {args.kind} has {args.word!r}: audiobench list {args.kind} lists them all")
    return 0 if lines else 1


def _benchmarks(word: str, where: Places) -> Iterator[str]:
    from pytest_audiobench.cli._benchmark_page import benchmarks, file_source, is_here
    from pytest_audiobench.datasets.declaration import read_declarations

    rows = []
    for name, file in benchmarks().items():
        tasks = read_declarations(file)
        if any(word in text for text in (name, *(each for data in tasks.values() for each in data.source.keywords))):
            proven = "no" if any(data.unproven for data in tasks.values()) else "yes"
            here = "yes" if any(is_here(data, where) for data in tasks.values()) else "no"
            evals = str(sum(len(data.ids()) for data in tasks.values()))
            rows.append((name, evals, here, proven, file_source(file)[0]))
    if rows:
        yield from table([("name", "evals", "here", "proven", "title"), *rows], right=(1,))


def _models(word: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.cli.describe import model_kinds
    from pytest_audiobench.models.hf.families import FAMILIES
    from pytest_audiobench.models.spec import presets

    kinds = [(f"{name}:", about) for name, about in model_kinds().items() if word in name]
    families = [
        (name, family.status, ", ".join(task for task in family.tasks))
        for name, family in FAMILIES.items()
        if word in name or word in "hf"
    ]
    if kinds:
        yield from table([("kind", "what it is"), *kinds])
    named = [(name, f"{each['spec']}: {each['about']}") for name, each in presets().items() if word in name]
    if named:
        yield from ["", "presets: names that --ab-model takes for a spec"]
        yield from table([("name", "the spec, and what it is"), *named])
    if families:
        yield from ["", "checkpoints of transformers that hf: knows, by model_type"]
        yield from table([("type", "status", "tasks"), *families])


def _protocols(word: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.protocols.catalogue import FAMILIES

    rows = [(name, about) for name, about in sorted(FAMILIES.items()) if word in name]
    yield from table(rows) if rows else ()


def _scorers(word: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.protocols.catalogue import FAMILIES, family

    for name, about in FAMILIES.items():
        scorers = [scorer for scorer in family(name).available.values() if word in f"{name} {scorer.name}"]
        if scorers:
            yield f"{name}: {about}"
            yield from (wrapped(f"{each.name}: {', '.join(each.metrics)}", 2, 6) for each in scorers)


def _metrics(word: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.metrics.registry import metric_kind, names

    kinds = [metric_kind(name) for name in names() if word in name]
    rows = [(kind.name, kind.direction, kind.unit, kind.about) for kind in kinds]
    yield from table([("name", "better", "unit", "what it is"), *rows]) if rows else ()


def _perturbations(word: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.datasets.perturbations.catalogue import ABOUT, GROUPS, PERTURBATION_CATALOGUE

    by_family: dict[str, list[str]] = {}
    for name, each in PERTURBATION_CATALOGUE.items():
        by_family.setdefault(each.family, []).append(name)
    for family, names in by_family.items():
        if word in f"{family} {' '.join(names)} {ABOUT[family]}":
            unit = PERTURBATION_CATALOGUE[names[0]].unit
            yield wrapped(f"{family}: {ABOUT[family]}{f', in {unit}' * bool(unit)}", 0, 2)
            yield wrapped(", ".join(names), 2, 4)
    groups = [f"{name} ({len(members)})" for name, members in GROUPS.items() if word in name]
    if groups:
        yield ""
        yield wrapped(f"Groups, which are asked together: {', '.join(groups)}", 0, 2)


def _runs(word: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.viewer.run_list import RunList

    if not _REPORTS.is_dir():
        raise UsageError(f"there is no folder {_REPORTS} here: audiobench view FOLDER shows the runs of another")
    found = RunList(_REPORTS).rows(word, float("inf"))["runs"]
    rows = [
        (run["name"], run["started"][:16].replace("T", " "), str(run["evals"]), run["word"], ", ".join(run["models"]))
        for run in found
    ]
    yield from table([("name", "started", "evals", "verdict", "models"), *rows], right=(2,)) if rows else ()


def _readers(word: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.rescoring.layouts import known_readers

    readers = [reader for reader in known_readers() if word in reader.name]
    yield from (wrapped(f"{each.name} ({each.endings}; {each.origin}): {each.about}", 0, 2) for each in readers)


_READERS_HEAD = """# Readers

Files of recorded answers that `audiobench score`, `audiobench compare`, `--ab-baseline` and `replay:` read. The format
is recognised by the content. [Scoring again](scoring-again.md#files-of-other-tools) shows how to use them.

Tested with: a *real file* was published by the tool's authors or users; *written by the tool*: by its own code; an
*imitation* was written after its documentation.

This page is written by `audiobench list readers --markdown docs/readers.md`.

| reader | files | tested with | content |
|---|---|---|---|
"""


def _reader_page(file: Path) -> str:
    from pytest_audiobench.rescoring.layouts import known_readers

    readers = known_readers()
    lines = [f"| `{each.name}` | {each.endings} | {each.origin} | {each.about} |\n" for each in readers]
    file.write_text(_READERS_HEAD + "".join(lines), encoding="utf-8")
    return f"{len(readers)} readers written to {file}"


def _benchmark_pages(folder: Path) -> str:
    from pytest_audiobench.cli._benchmark_page import write_pages

    return f"{len(write_pages(folder))} pages written to {folder}"


def _scorer_pages(folder: Path) -> str:
    from pytest_audiobench.protocols.scorer_documentation_pages import write_pages

    return f"{len(write_pages(folder))} pages written to {folder}"


_REPORTS = Path("reports")
_LISTS: Mapping[str, Callable[[str, Places], Iterator[str]]] = {
    "benchmarks": _benchmarks,
    "models": _models,
    "protocols": _protocols,
    "scorers": _scorers,
    "metrics": _metrics,
    "perturbations": _perturbations,
    "readers": _readers,
    "runs": _runs,
}
_PAGES: Mapping[str, Callable[[Path], str]] = {
    "benchmarks": _benchmark_pages,
    "scorers": _scorer_pages,
    "readers": _reader_page,
}
