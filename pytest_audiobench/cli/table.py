"""``audiobench table RUN…``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._options import add_compared, local, names, place, put
from pytest_audiobench.errors import UsageError

HELP = "models by benchmarks for a paper or a README: LaTeX, Markdown or CSV, and a plot as SVG"

_USUAL_COLUMNS, _MOST_COLUMNS = 4, 100


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_compared(parser)
    add("--format", choices=("markdown", "latex", "csv"), default="markdown", help="how to write it (default markdown)")
    add("--rows", choices=("models", "benchmarks"), help="what the rows are (default: what there is more of)")
    add("--change", action="store_true", help="the change from the first model beside each further one")
    columns = f"numbers beside each other; more go into a further table (default {_USUAL_COLUMNS})"
    add("--columns", metavar="N", type=int, default=_USUAL_COLUMNS, help=columns)
    add("--out", metavar="FILE", type=place, help="write it into this file")
    add("--plot", choices=("bar", "radar"), default="bar", help="what --svg draws (default bar)")
    add("--svg", metavar="FILE", type=place, help="draw the values with their intervals into this file too")


def run(args: argparse.Namespace) -> int:
    """0. Raises UsageError for what is no run, and for a plot that cannot be drawn."""
    from pytest_audiobench.comparison.comparison_lines import Selection
    from pytest_audiobench.comparison.contenders import contenders
    from pytest_audiobench.comparison.model_table import model_table
    from pytest_audiobench.comparison.model_table_plot import bar_plot, radar_plot
    from pytest_audiobench.comparison.model_table_text import Footnotes, remarks, text
    from pytest_audiobench.evaluation.garbage_collection import collector_paused

    if not 1 <= args.columns <= _MOST_COLUMNS:
        raise UsageError(f"--columns {args.columns} is none: give 1 to {_MOST_COLUMNS}")
    with collector_paused():
        sides = contenders([local(run) for run in args.runs], args.reports, args.model, args.eval, least=1)
        table = model_table(sides, Selection(names(args.metric), names(args.scorers)), args.alpha)
    if args.change and len(table.models) < 2:
        raise UsageError("--change is from the first model to each further one: name another run")
    if args.change and args.rows == "models":
        raise UsageError("--change has a row for each benchmark: leave --rows models away")
    rows = (
        "changes" if args.change else args.rows or ("models" if len(table.models) >= len(table.lines) else "benchmarks")
    )
    if args.svg is not None:
        _draw(args.svg, (radar_plot if args.plot == "radar" else bar_plot)(table))
    put(
        text(table, args.format, rows, args.columns),
        remarks(table, Footnotes())[1:] if args.format == "csv" else (),
        args.out,
    )
    return 0


def _draw(file: Path, svg: str) -> None:
    put(svg, (), file)
