"""``audiobench merge SHARD… --pytest "ARGS"``."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.answer_store import Store

HELP = "put the answers of a run's shards (pytest --ab-shard=I/N) together, and judge them as one run"
_FOLDER = Path(".audiobench") / "merged"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("shards", metavar="SHARD", nargs="+", type=Path, help="a shard's store, or a folder with stores in it")
    add(
        "--pytest",
        metavar="ARGS",
        required=True,
        help="the arguments that the shards' pytest had, without --ab-shard, --ab-run and --ab-store, in one quoted "
        'text: "evals --ab-model=hf:CHECKPOINT"',
    )
    add(
        "--store",
        metavar="FILE",
        type=Path,
        help="where the answers are put together, on a local disk (default: .audiobench/merged/NAME.sqlite)",
    )
    add("--run", dest="name", metavar="NAME", help="the merged run's name (default: merged, date and time)")


def run(args: argparse.Namespace) -> int:
    """Pytest's own exit code over all answers; 6 where shards are missing."""
    from pytest_audiobench.evaluation.answer_store import Store
    from pytest_audiobench.evaluation.shards import shards_ended, shards_text

    name = args.name or f"merged-{time.strftime('%Y%m%d-%H%M%S')}"
    if Path(name).name != name:
        raise UsageError(f"--run takes a plain name, not {name!r}")
    path = args.store or _FOLDER / f"{name}.sqlite"
    if path.exists():
        raise UsageError(f"{path} already exists: choose another name with --run, or file with --store")
    stores = list(_stores(args.shards))
    with Store(path, name) as store:
        for found in stores:
            _absorb(store, found)
        counts = shards_ended(store)
    if len(counts) != 1:
        given = " and ".join(f"of {count}" for count in sorted(counts)) or "of no run with --ab-shard"
        raise UsageError(f"the stores are {given}: give those of one run's shards")
    ((count, ended),) = counts.items()
    if missing := sorted(set(range(1, count + 1)) - ended):
        say(f"missing: {shards_text(missing, count)}")
    command = [f"--ab-shard=all/{count}", f"--ab-run={name}", f"--ab-store={path}", *shlex.split(args.pytest)]
    print(f"pytest {shlex.join(command)}", flush=True)
    return subprocess.call([sys.executable, "-m", "pytest", *command])


def _absorb(store: Store, found: Path) -> None:
    # Of a copy: a store on a network disk, or in a folder that cannot be written, cannot be opened where it lies.
    with tempfile.TemporaryDirectory() as folder:
        for end in ("", "-wal"):
            if (part := found.with_name(found.name + end)).exists():
                shutil.copyfile(part, Path(folder) / f"copy{end}")
        if damaged := store.absorb(Path(folder) / "copy", found):
            say(f"{found}: {damaged} damaged answers were left out")


def _stores(places: Sequence[Path]) -> Iterator[Path]:
    """The stores that are named, and those in folders that are. Raises UsageError for a place without any."""
    for place in places:
        found = [place] if place.is_file() else [each for each in sorted(place.rglob("*.sqlite")) if _is_store(each)]
        if not found:
            raise UsageError(f"{place} holds no store: name what --ab-store of a shard wrote, or a folder with it")
        yield from found


def _is_store(path: Path) -> bool:
    # Next to a store is the index of audio files, and in the folder of an earlier merge maybe what that put together.
    return path.is_file() and path.name != "audio.sqlite" and path.parent.name != _FOLDER.name
