"""``audiobench power BASELINE|RUN``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pytest_audiobench.cli._options import add_output, add_reports, add_selection, put
from pytest_audiobench.errors import UsageError

HELP = "how small a drop each eval can see, and how many samples a given drop needs"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("baseline", metavar="BASELINE|RUN", help="a baseline's file, or a run's folder or name")
    add("--drop", metavar="MARGIN", help="the drop to be seen, such as 2pp (default: some usual ones)")
    add("--metric", metavar="NAME", help="the metric (default: each eval's first)")
    add_selection(parser, "--eval", "--model", "--max-drop", "--alpha")
    add(
        "--against",
        metavar="BASELINE|RUN",
        help="another run, to count the flips in: the samples whose score changes for no reason",
    )
    add("--flips", metavar="SHARE", type=share, help="the share of flips, where none are counted (default 2%%)")
    add("--power", metavar="SHARE", type=share, default=0.8, help="how surely (default 0.8)")
    add("--lines", metavar="N", type=lines, help="comparisons that share alpha (default: the evals)")
    add_reports(parser)
    add_output(parser)


def share(text: str) -> float:
    """``2%`` or ``0.02``. Raises argparse's error for what is no share."""
    try:
        value = float(f"{text[:-1]}e-2" if text.endswith("%") else text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: write 2% or 0.02, from 0 to below 1")
    return value


def lines(text: str) -> int:
    """A number of lines. Raises argparse's error for what is none."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) == int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines: write 1 or more")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """0. Raises UsageError for what cannot be read, an eval or a metric that is not there, and a drop that is none."""
    from pytest_audiobench.comparison.baseline_sources import baseline_from
    from pytest_audiobench.comparison.power_text import text as power_table
    from pytest_audiobench.gate.config import matches
    from pytest_audiobench.gate.power import PowerQuery, power_of, usual_drops
    from pytest_audiobench.gate.threshold_syntax import read_margin

    drops = (args.drop,) if args.drop is not None else usual_drops(args.max_drop)
    for text in (*drops, args.max_drop):
        read_margin(text)
    if not args.alpha < args.power:
        raise UsageError(f"a power of {args.power:g} is chance alone at alpha {args.alpha:g}: ask for 0.8, say")
    if args.against is not None and args.flips is not None:
        raise UsageError("flips are counted by --against or given by --flips: leave one away")
    source = baseline_from(args.baseline, args.reports, Path(), texts=False)
    other = baseline_from(args.against, args.reports, Path(), texts=False) if args.against is not None else None
    if other is None and args.flips is None and source.pair is not None:
        # Of two models of one run the flips are between them, and its lines are the candidate's.
        candidate, base = source.pair
        other = replace(source, models={candidate: source.models[candidate]})
        source = replace(source, models={base: source.models[base]})
    sides = [
        side
        for alias, contents in source.models.items()
        if matches(args.model, alias)
        for eval_, side in contents.sides.items()
        if matches(args.eval, eval_)
    ]
    if not sides:
        raise UsageError(f"no eval of {source.source} matches {args.eval!r} by a model that matches {args.model!r}")
    compared = len(sides)  # a gate compares all, whichever metric is asked about
    if args.metric is not None:
        if not (having := [side for side in sides if args.metric in side.metrics.get(side.headline, ())]):
            measured = dict.fromkeys(name for side in sides for name in side.metrics.get(side.headline, ()))
            raise UsageError(f"no eval here measures {args.metric!r}; they measure {', '.join(measured)}")
        sides = having
    question = PowerQuery(
        args.drop, args.max_drop, args.metric, args.alpha, args.lines or compared, args.power, args.flips
    )
    powers, notes = [], []
    for side in sides:
        against = None if other is None else other.side(side.eval, side.model)
        if other is not None and against is None:
            notes.append(f"{other.source} has no eval {side.eval}: its flips are not counted")
        powers += [power_of(side, against, question._replace(drop=drop)) for drop in drops]
    put(power_table(powers, question, drops, notes, args.format), notes if args.format in ("csv", "json") else (), None)
    return 0
