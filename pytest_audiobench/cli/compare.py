"""``audiobench compare A B [C …]``."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pytest_audiobench.cli._options import (
    COMPONENTS,
    add_output,
    add_reports,
    add_terms,
    add_terms_of_reading,
    local,
    names,
    place,
    put,
    terms_of_reading,
)

HELP = "compare runs or baselines with the first of them, sample by sample"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "sides",
        metavar="RUN|FILE",
        nargs="+",
        help="runs' folders, their run.json, baselines, or answers that any tool wrote (see audiobench list readers)",
    )
    add_reports(parser)
    add("--model", metavar="PATTERN", default="*", help="only models of this alias (default: all)")
    add_terms(parser)
    add_terms_of_reading(parser)
    add("--family", metavar="NAME[,KEY=VALUE…]", default="", help="the protocol of answers whose file does not say it")
    add("--metrics", metavar="headline|all|NAME,…", default="headline", help="the metrics (default: each eval's first)")
    add("--scorers", metavar="headline|all|NAME,…", default="headline", help="the scorers (default: the first)")
    add("--groups", metavar="all|none|FIELD,…", default="none", help="lines for groups of samples too (default: none)")
    add(
        "--allow-mismatch",
        action="append",
        default=[],
        choices=COMPONENTS,
        help="compare although this differs, on the samples that pair; may be given several times",
    )
    add(
        "--gate",
        action="store_true",
        help="exit with 1 when a line regressed, with 6 when none did and something could not be compared",
    )
    add_output(parser)
    add("--out", metavar="FILE", type=place, help="write it into this file; a page: x.html")


def run(args: argparse.Namespace) -> int:
    """0; with --gate 1 when a line regressed, 6 when none did and something could not be compared."""
    from pytest_audiobench.comparison.comparison import Rules, compare
    from pytest_audiobench.comparison.comparison_lines import NONE, Selection
    from pytest_audiobench.comparison.comparison_page import write_page
    from pytest_audiobench.comparison.comparison_text import remarks, text
    from pytest_audiobench.comparison.contenders import contenders
    from pytest_audiobench.evaluation.garbage_collection import collector_paused
    from pytest_audiobench.gate.threshold_syntax import read_margin

    read_margin(args.max_drop)
    groups = tuple(name for name in names(args.groups) if name != NONE)
    chosen = Selection(names(args.metrics), names(args.scorers), groups)
    terms = replace(terms_of_reading(args), family=args.family)
    with collector_paused():
        named = contenders([local(side) for side in args.sides], args.reports, args.model, args.eval, terms)
        comparison = compare(named, chosen, Rules(args.alpha, args.max_drop, args.allow_mismatch))
    if page := args.out is not None and args.out.suffix.lower() in (".html", ".htm"):
        write_page(args.out, comparison)
    put(
        text(comparison, args.format),
        remarks(comparison) if args.format in ("csv", "json") else (),
        None if page else args.out,
    )
    return comparison.exit_status() if args.gate else 0
