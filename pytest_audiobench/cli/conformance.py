"""``audiobench conformance FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.errors import UsageError

HELP = "send reference cases through the scorers of the registry, and compare"

_AGREED, _FAILED, _NOTHING = 0, 1, 5


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="of *.json files of reference cases, or one of them"
    )


def run(args: argparse.Namespace) -> int:
    """0 where every case agrees, is ours by a rule or outside; 1 where one is not; 5 where nothing was compared."""
    from pytest_audiobench import extensions
    from pytest_audiobench.conformance.report import Tally, closing_lines, file_line, head_line

    if not args.folder.exists():
        raise UsageError(f"{args.folder} is not there: name a folder of *.json files of reference cases, or one file")
    paths = [args.folder] if args.folder.is_file() else sorted(args.folder.rglob("*.json*"))
    if not paths:
        print(f"{args.folder} holds no *.json file: nothing was compared")
        return _NOTHING
    extensions.load()
    tally = Tally()
    print(head_line())
    for path in paths:
        print(file_line(path, args.folder, tally), flush=True)
    print("\n".join(closing_lines(tally)))
    if tally.failures or tally.unreadable:
        return _FAILED
    return _AGREED if tally.compared else _NOTHING
