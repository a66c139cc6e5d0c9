"""``audiobench published [FILTER]``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.published_figures.registry import Published

_MOST_COMMANDS = 6
"""How many benchmarks figures may be of, for the commands that ask them to be shown."""

HELP = "list published figures and how they were measured, or say which of them cannot be right"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "filter",
        metavar="FILTER",
        nargs="*",
        help="parts of names, such as faithfulness/af3/emotion, or a number as it is printed, such as 57.8; "
        "salmonn, or salmonn and a task of it: who printed what of SALMONN's tasks, by which rule",
    )
    parser.add_argument(
        "--lint", action="store_true", help="fractions, copies, differences and ranks that cannot be right"
    )
    parser.add_argument("--table", action="store_true", help="a row for each system, and what it is comparable with")
    parser.add_argument("--markdown", type=Path, metavar="PATH", help="write the page of SALMONN's tasks")


def run(args: argparse.Namespace) -> int:
    """0; with --lint 1 when there are findings. Raises UsageError for a filter that names nothing."""
    from pytest_audiobench.cli._salmonn_page import claim_text, page, text
    from pytest_audiobench.published_figures.claims import claims_named, tasks
    from pytest_audiobench.published_figures.lint import lint
    from pytest_audiobench.published_figures.recipes import all_figures
    from pytest_audiobench.published_figures.registry import matching
    from pytest_audiobench.published_figures.system_tables import tables
    from pytest_audiobench.report.formatting import counted

    evals = {name for task in tasks() for name in task.evals}
    first, *rest = [part.lower() for part in args.filter] or [""]
    of_tasks = first == "salmonn" and evals.issuperset(rest) and not (args.lint or args.table)
    if args.markdown is not None:
        if not of_tasks or rest:
            raise UsageError(
                "--markdown writes the page of SALMONN's tasks: audiobench published salmonn --markdown PATH"
            )
        args.markdown.write_text(page(), encoding="utf-8")
        print(f"{len(tasks())} tasks written to {args.markdown}")
        return 0
    if of_tasks:
        print("\n".join(text(rest)).rstrip())
        return 0
    name = "/".join(args.filter)
    if args.lint:
        values = matching(name, all_figures()) if name else list(all_figures())
        findings = lint(values)
        for finding in findings:
            dispute = next((value.disputed for value in finding.values if value.disputed), "")
            print(f"{finding.rule}: {finding.says}" + (f" (known: {dispute})" if dispute else ""))
        print(f"{counted(len(findings), 'finding')} in {counted(len(values), 'figure')}")
        return 1 if findings else 0
    named = claims_named(name)
    try:
        values = matching(name, all_figures()) if name else list(all_figures())
    except UsageError:
        if first == "salmonn" and rest:
            unknown = ", ".join(part for part in rest if part not in evals)
            raise UsageError(
                f"neither a task of SALMONN's nor a published value is called {unknown}; the tasks are "
                f"{', '.join(name for task in tasks() for name in task.evals)}"
            ) from None
        if not named:
            raise
        values = []
    for line in tables(values) if args.table else (*_lines(values), *_commands(values)):
        print(line)
    for claim in named:
        print("\n".join(["", *claim_text(claim)]))
    return 0


def _lines(values: Sequence[Published]) -> Iterator[str]:
    """The figures, each with what is known of it below, and at the end where they are from."""
    from pytest_audiobench.cli._text import wrapped

    for value in values:
        name = "/".join(dict.fromkeys([value.benchmark, value.model, value.dataset, value.metric]))
        # A long name is broken behind its slashes.
        broken = wrapped(name.replace("/", "/ "), max(12, len(value.text) + 2), 12).replace("/ ", "/")
        yield f"{value.text:>10}  {broken.lstrip()}"
        left_out = f", {value.skipped:,} left out" if value.skipped else ""
        counts = f"n {value.n:,}{left_out}" if value.n else ""
        disputed = f"disputed: {value.disputed}" if value.disputed else ""
        facts = [value.protocol, value.conditions, value.encoder, counts, disputed]
        if any(facts):
            yield wrapped("; ".join(filter(None, facts)), 12)
    yield from (wrapped(f"source: {source}", 0, 2) for source in dict.fromkeys(value.source for value in values))


def _commands(values: Sequence[Published]) -> Iterator[str]:
    """How one's own model is asked the same, of figures of few benchmarks."""
    from pytest_audiobench.cli._text import wrapped
    from pytest_audiobench.datasets.catalogue import LOADERS
    from pytest_audiobench.published_figures.claims import PAPER, REPRODUCTION, tasks
    from pytest_audiobench.published_figures.registry import plain

    evals: dict[str, None] = {}
    for value in values:
        name = value.name.partition(" (")[0]
        is_salmonn = value.benchmark in (PAPER, REPRODUCTION)
        for task in tasks():
            if name in [other.figure for other in task.others] or (is_salmonn and value.dataset == task.dataset):
                evals[f"{task.command}; by which rules: audiobench published salmonn {task.evals[0]}"] = None
        benchmarks = [each for each in LOADERS if plain(value.benchmark).startswith(plain(each))]
        if benchmarks and not is_salmonn:
            benchmark = max(benchmarks, key=len)
            evals[f"pytest evals -k {benchmark}; by which rules: audiobench describe {benchmark}"] = None
    if len(evals) <= _MOST_COMMANDS:
        yield from (wrapped(f"of a model of yours: {command}", 0, 2) for command in evals)
