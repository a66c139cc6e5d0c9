"""``audiobench scorers``."""

from __future__ import annotations

import argparse

HELP = "list the protocols and their scorers: what they ask, how they read answers, where they come from"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show scorers whose family or name holds NAME")
    parser.add_argument("--markdown", action="store_true", help="print the whole list as docs/protocols.md holds it")


def run(args: argparse.Namespace) -> int:
    """0; 1 when nothing matches."""
    from pytest_audiobench.protocols import documentation_page
    from pytest_audiobench.protocols.catalogue import FAMILIES, family

    if args.markdown:
        print(documentation_page.markdown(), end="")
        return 0
    printed = 0
    for name, asks in FAMILIES.items():
        protocol = family(name)
        chosen = [
            scorer
            for scorer in protocol.available.values()
            if args.name is None or args.name in f"{name} {scorer.name}"
        ]
        if not chosen:
            continue
        printed += len(chosen)
        print(f"{name}: {asks}")
        for scorer in chosen:
            print(f"  {scorer.name:<32} {', '.join(scorer.metrics)}")
            if args.name is not None:
                print(f"    {scorer.about.rule}\n    source: {scorer.about.source}\n    {scorer.signature}")
                for what, text in (("known defects", scorer.about.defects), ("missing here", scorer.lacking())):
                    if text:
                        print(f"    {what}: {text}")
    if not printed:
        print(f"no scorer is called {args.name!r}: audiobench scorers lists them all")
    return 0 if printed else 1
