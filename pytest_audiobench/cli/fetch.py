"""``audiobench fetch NAME…``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._options import add_data_root
from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import FatalError, UsageError

if TYPE_CHECKING:
    from pytest_audiobench.fetching.wanted_data import WantedData
    from pytest_audiobench.fetching.work import Manner

HELP = (
    "fetch benchmarks' data, or models, by name: from the Hub, git, URLs or a folder; what is here is not fetched again"
)

_USUAL_JOBS, _MOST_JOBS = 4, 64


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "names",
        nargs="*",
        metavar="NAME",
        help="a benchmark, one eval of it as NAME[ID], a task as NAME/TASK, a file *.audiobench.toml, or hf:owner/name",
    )
    add("--all", action="store_true", help="every benchmark that can be fetched; with --check or --remove all that was")
    add(
        "--only",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="only for evals with this value of a parameter, as --only split=test-clean; repeatable",
    )
    add_data_root(parser)
    add("--from", dest="folder", metavar="FOLDER", type=Path, help="take the files from this folder or mirror instead")
    add("--dry-run", action="store_true", help="list what would be fetched, its size and its folder")
    add("--check", action="store_true", help="read all that was fetched again, and compare it with its digests")
    add("--remove", action="store_true", help="remove what was fetched")
    add("--jobs", metavar="N", type=int, default=_USUAL_JOBS, help=f"files at the same time (default {_USUAL_JOBS})")
    add("--most-gb", metavar="N", type=float, help="what one archive may unfold to (default: 30 times its size)")


def run(args: argparse.Namespace) -> int:
    """0; 1 where something could not be fetched, or is not what was fetched."""
    from pytest_audiobench.datasets.fetch_records import recorded_names
    from pytest_audiobench.datasets.places import data_root
    from pytest_audiobench.fetching import work
    from pytest_audiobench.fetching.models import KIND, fetch_model
    from pytest_audiobench.fetching.wanted_data import all_names, wanted_data

    root = data_root(args.data_root)
    only = _only(args.only)
    _check_arguments(args)
    names = list(dict.fromkeys(args.names))
    if args.check or args.remove:
        roots = recorded_names(root) if args.all else [data.root for data in wanted_data(names, {}, with_needs=False)]
        return 1 if sum(_check(root, name) if args.check else _remove(root, name) for name in roots) else 0
    manner = work.Manner(
        say=_say,
        progress=sys.stderr,
        folder=args.folder,
        jobs=args.jobs,
        most_bytes=int(args.most_gb * 1e9) if args.most_gb else None,
        dry=args.dry_run,
    )
    models = [name for name in names if name.startswith(KIND)]
    if models and args.folder is not None:
        raise UsageError("--from is for data: a model's folder is named as it is, --ab-model=hf:FOLDER")
    wanted = wanted_data([*(all_names() if args.all else ()), *(name for name in names if name not in models)], only)
    where = f" --ab-data-root={args.data_root}" if args.data_root else ""
    failures = sum(_attempt(name, partial(fetch_model, name, _say, args.dry_run)) for name in models)
    failures += sum(_attempt(each.root, partial(_fetch, each, root, manner, where)) for each in wanted)
    return 1 if failures else 0


def _fetch(data: WantedData, root: Path, manner: Manner, where: str) -> None:
    from pytest_audiobench.fetching import work

    if work.fetch(data, root, manner) and not manner.dry:
        _say(f"{data.root}: pytest{where} -k {data.names[0]} uses it")


def _check_arguments(args: argparse.Namespace) -> None:
    if not args.names and not args.all:
        raise UsageError("name what to fetch, or give --all: audiobench list benchmarks says what there is")
    if args.check + args.remove + args.dry_run > 1:
        raise UsageError("--dry-run, --check and --remove are different things: give one of them")
    if (args.check or args.remove) and (args.only or args.folder):
        raise UsageError("--check and --remove are of all that was fetched of a data set: leave --only and --from out")
    if args.remove and any(name.endswith("]") for name in args.names):
        raise UsageError("--remove is of all that was fetched of a data set: name the benchmark without [ID]")
    if not 1 <= args.jobs <= _MOST_JOBS:
        raise UsageError(f"--jobs {args.jobs} is none: give 1 to {_MOST_JOBS}")
    if args.most_gb is not None and not 0 < args.most_gb <= 1_000_000:
        raise UsageError(f"--most-gb {args.most_gb:g} is not a size; give gigabytes above 0")


def _only(entries: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        if not (key and equals and value):
            raise UsageError(f"--only {entry}: write a parameter and its value, as --only split=test-clean")
        values.setdefault(key, []).append(value)
    return values


def _attempt(name: str, call: Callable[[], None]) -> int:
    """0; 1 where it failed, which ends nothing else that was asked for."""
    from pytest_audiobench.report.formatting import printable

    try:
        call()
    except FatalError as error:
        say(f"audiobench: {name}: {printable(str(error)).removeprefix(f'{name}: ')}")
        return 1
    return 0


def _check(root: Path, name: str) -> int:
    from pytest_audiobench.fetching import work
    from pytest_audiobench.report.formatting import printable

    wrong = list(work.check(root, name))
    for sentence in wrong:
        say(printable(sentence))
    if not wrong:
        _say(f"{name}: every file is as it was fetched")
    return len(wrong)


def _remove(root: Path, name: str) -> int:
    from pytest_audiobench.fetching import work
    from pytest_audiobench.fetching.progress import size_text

    size = size_text(work.remove(root, name))
    stays = f"; what no fetch brought stays in {root / name}" if (root / name).exists() else ""
    _say(f"{name}: removed, {size}{stays}")
    return 0


def _say(line: str) -> None:
    from pytest_audiobench.report.formatting import printable

    print(printable(line), flush=True)
