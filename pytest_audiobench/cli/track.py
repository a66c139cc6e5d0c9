"""``audiobench track FOLDER|RUN …``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._options import add_output, add_reports, add_selection, names, place, put_or_page

HELP = "follow one model over its runs, by step or time: curves, the best, the last, significant drops"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "places",
        metavar="FOLDER|RUN",
        nargs="+",
        type=Path,
        help="a folder of runs, such as reports, or runs: folders, or names under --reports",
    )
    add_reports(parser)
    add(
        "--model",
        metavar="PATTERN",
        default="",
        help="which models' runs, by alias or spec or a part of it (needed where several are)",
    )
    add_selection(parser, "--eval", "--metric", "--max-drop", "--alpha")
    add("--order", choices=("step", "time"), default="step", help="what orders them (default step)")
    add(
        "--step",
        metavar="REGEX",
        default="",
        help="where a name has its step, such as 'step-(\\d+)' (default: by words)",
    )
    add_output(parser)
    add("--out", metavar="FILE", type=place, help="write it into this file; a page with curves: x.html")


def run(args: argparse.Namespace) -> int:
    """0."""
    from pytest_audiobench.comparison.comparison_lines import Selection
    from pytest_audiobench.comparison.run_series import by_pattern, by_words, named_places, ordered_points
    from pytest_audiobench.comparison.track import TrackOptions, track
    from pytest_audiobench.comparison.track_page import write_page
    from pytest_audiobench.comparison.track_text import summary, text
    from pytest_audiobench.evaluation.garbage_collection import collector_paused
    from pytest_audiobench.gate.threshold_syntax import read_margin

    read_margin(args.max_drop)
    find = by_pattern(args.step) if args.step else by_words
    wanted = TrackOptions(Selection(names(args.metric)), args.eval, args.alpha, args.max_drop)
    places = named_places(args.places, args.reports)
    with collector_paused():
        checkpoints, model, notes = ordered_points(places, args.model, find, args.order)
        curves = track(model, checkpoints, wanted, notes)
    put_or_page(
        args, lambda: text(curves, args.format), summary(curves), curves.notes, lambda file: write_page(file, curves)
    )
    return 0
