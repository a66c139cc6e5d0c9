"""``audiobench schema``."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "print the JSON Schema of run.json, of the line files, of baselines or of submissions"


def arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("name", nargs="?", choices=("run", "lines", "baseline", "submission"), help="which schema")
    group.add_argument("--out", type=Path, metavar="FOLDER", help="write all of them into FOLDER, as docs/ has them")


def run(args: argparse.Namespace) -> int:
    """0."""
    import json

    from pytest_audiobench.records.schema import schema, write_schemas

    if args.out is not None:
        print(f"{len(write_schemas(args.out))} schemas written to {args.out}")
    else:
        print(json.dumps(schema(args.name), indent=1, ensure_ascii=False))
    return 0
