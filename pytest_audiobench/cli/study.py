"""``audiobench study write RUN FOLDER`` and ``audiobench study table FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._text import say

HELP = "the faithfulness study: a run's answers in its files, and its published table recomputed from its outputs"


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    write = actions.add_parser("write", help="write a finished run's answers in the study's own files")
    write.add_argument("source", metavar="RUN", type=Path, help="the run's folder")
    write.add_argument("folder", metavar="FOLDER", type=Path, help="a new folder, laid out as the study's repository")
    write.add_argument(
        "--labels",
        choices=("strict", "runtime", "recovered"),
        default="strict",
        help="how letters are read: by ours (default), by the study's rule of the run, or by its later recovery",
    )
    table = actions.add_parser("table", help="print the study's published table next to the values of its outputs")
    table.add_argument("folder", metavar="FOLDER", type=Path, help="the study's outputs: a folder for each model")
    table.add_argument("--manifests", metavar="FOLDER", type=Path, help="its manifests (default: beside the outputs)")


def run(args: argparse.Namespace) -> int:
    from pytest_audiobench.cli._options import put

    if args.action == "table":
        from pytest_audiobench.compat.faithfulness_study.published_table import table

        put(table(args.folder, args.manifests), (), None)
        return 0
    from pytest_audiobench.compat.faithfulness_study.export import write_study

    written = write_study(args.source, args.folder, args.labels)
    put("".join(f"{rows:6}  {file}\n" for file, rows in sorted(written.rows.items())), written.notes, None)
    say(f"written to {args.folder}")
    return 0
