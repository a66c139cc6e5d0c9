"""``audiobench published [FILTER]``."""

from __future__ import annotations

import argparse

HELP = "list published figures with their perturbations, or say which of them cannot be right"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("filter", metavar="FILTER", nargs="*", help="parts of names, such as faithfulness/af3/emotion")
    parser.add_argument("--lint", action="store_true", help="impossible fractions, copied values, wrong differences")


def run(args: argparse.Namespace) -> int:
    """0; with --lint 1 when anything was found."""
    from pytest_audiobench.published.lint import lint
    from pytest_audiobench.published.registry import everything, matching

    values = matching("/".join(args.filter)) if args.filter else list(everything())
    if args.lint:
        findings = lint(values)
        for finding in findings:
            known = next((one.disputed for one in finding.values if one.disputed), "")
            print(f"{finding.rule}: {finding.says}" + (f" (known: {known})" if known else ""))
        print(f"{len(findings)} findings in {len(values)} figures")
        return 1 if findings else 0
    for one in values:
        about = [one.protocol, f"n {one.n}" if one.n else "", f"disputed: {one.disputed}" if one.disputed else ""]
        print("  ".join([one.text.rjust(10), one.name, *(f"[{text}]" for text in about if text)]))
    if len({one.source for one in values}) == 1:
        print(f"source: {values[0].source}")
    return 0
