"""``audiobench compare A B [C …]``."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pytest_audiobench.cli._options import (
    COMPONENTS,
    Adding,
    add_compared,
    add_output,
    add_selection,
    add_terms_of_reading,
    local,
    names,
    place,
    put_or_page,
    terms_of_reading,
)

HELP = "compare runs or baselines with the first of them, sample by sample"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_compared(parser)
    add_selection(parser, "--max-drop")
    add_terms_of_reading(parser)
    add("--family", metavar="NAME[,KEY=VALUE…]", default="", help="the protocol of answers whose file does not say it")
    about = "lines for groups of samples too (default: none)"
    add("--groups", metavar="all|none|FIELD,…", action=Adding, default="none", help=about)
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
    from pytest_audiobench.comparison.comparison_text import answers, remarks, text
    from pytest_audiobench.comparison.contenders import contenders
    from pytest_audiobench.evaluation.garbage_collection import collector_paused
    from pytest_audiobench.gate.threshold_syntax import read_margin

    read_margin(args.max_drop)
    groups = tuple(name for name in names(args.groups) if name != NONE)
    chosen = Selection(names(args.metric), names(args.scorers), groups)
    terms = replace(terms_of_reading(args), family=args.family)
    with collector_paused():
        named = contenders([local(run) for run in args.runs], args.reports, args.model, args.eval, terms)
        comparison = compare(named, chosen, Rules(args.alpha, args.max_drop, args.allow_mismatch))
    put_or_page(
        args,
        lambda: text(comparison, args.format),
        "\n".join(answers(comparison)),
        remarks(comparison),
        lambda file: write_page(file, comparison),
    )
    return comparison.exit_status() if args.gate else 0
