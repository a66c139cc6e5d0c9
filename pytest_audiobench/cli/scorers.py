"""``audiobench scorers``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "list the protocols and their scorers: what they ask, how they read answers, where they come from"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="show scorers whose family or name holds NAME")
    add("--markdown", type=Path, metavar="FOLDER", help="write a page for each family into FOLDER, as docs/scorers is")


def run(args: argparse.Namespace) -> int:
    """0; 1 when nothing matches."""
    from pytest_audiobench import extensions
    from pytest_audiobench.protocols.catalogue import FAMILIES, family
    from pytest_audiobench.protocols.scorer_documentation import documentation_of

    if args.markdown is not None:
        from pytest_audiobench.protocols.scorer_documentation_pages import write_pages

        print(f"{len(write_pages(args.markdown))} pages written to {args.markdown}")
        return 0
    for problem in extensions.load():
        print(f"note: {problem}", file=sys.stderr)
    matches = 0
    for name, asks in FAMILIES.items():
        scorers = [
            scorer
            for scorer in family(name).available.values()
            if args.name is None or args.name in f"{name} {scorer.name}"
        ]
        if not scorers:
            continue
        matches += len(scorers)
        print(f"{name}: {asks}")
        for scorer in scorers:
            print(f"  {scorer.name:<32} {', '.join(scorer.metrics)}")
            if args.name is not None:
                documentation = documentation_of(name, scorer)
                print(f"    {documentation.rule}\n    source: {documentation.source}\n    {scorer.signature}")
                for what, text in (("known defects", documentation.defects), ("missing here", scorer.missing_parts())):
                    if text:
                        print(f"    {what}: {text}")
    if not matches:
        print(f"no scorer is called {args.name!r}: audiobench scorers lists them all")
    return 0 if matches else 1
