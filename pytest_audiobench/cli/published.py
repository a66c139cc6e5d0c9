"""``audiobench published [FILTER]``."""

from __future__ import annotations

import argparse

HELP = "list published figures and how they were measured, or say which of them cannot be right"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("filter", metavar="FILTER", nargs="*", help="parts of names, such as faithfulness/af3/emotion")
    parser.add_argument(
        "--lint", action="store_true", help="fractions, copies, differences and ranks that cannot be right"
    )
    parser.add_argument("--table", action="store_true", help="a row for each system, and what it is comparable with")


def run(args: argparse.Namespace) -> int:
    """0; with --lint 1 when there are findings."""
    from pytest_audiobench.published_figures.lint import lint
    from pytest_audiobench.published_figures.registry import everything, matching
    from pytest_audiobench.published_figures.system_tables import tables

    values = matching("/".join(args.filter)) if args.filter else list(everything())
    if args.lint:
        findings = lint(values)
        for finding in findings:
            dispute = next((value.disputed for value in finding.values if value.disputed), "")
            print(f"{finding.rule}: {finding.says}" + (f" (known: {dispute})" if dispute else ""))
        print(f"{len(findings)} findings in {len(values)} figures")
        return 1 if findings else 0
    for line in tables(values) if args.table else ():
        print(line)
    for value in () if args.table else values:
        dispute = f"disputed: {value.disputed}" if value.disputed else ""
        facts = [value.protocol, value.encoder, f"n {value.n}" if value.n else "", dispute]
        print("  ".join([value.text.rjust(10), value.name, *(f"[{text}]" for text in facts if text)]))
    if len({value.source for value in values}) == 1:
        print(f"source: {values[0].source}")
    return 0
