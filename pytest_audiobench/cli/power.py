"""``audiobench power BASELINE|RUN``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._options import add_output, add_reports, add_selection, count, put
from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.comparison.baseline_sources import Baseline
    from pytest_audiobench.evaluation.comparable_eval import ComparableEval

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
        help="another run, to count the flips between the two: samples that become worse, and as many better ones",
    )
    add("--flips", metavar="SHARE", type=share, help="the share of flips, where none are counted (default 2%%)")
    add("--power", metavar="SHARE", type=share, default=0.8, help="how surely (default 0.8)")
    add("--lines", metavar="N", type=count, help="comparisons that share alpha (default: the evals)")
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


def run(args: argparse.Namespace) -> int:
    """0. Raises UsageError for what cannot be read, an eval or a metric that is not there, and a drop that is none."""
    from pytest_audiobench.comparison.baseline_sources import baseline_from
    from pytest_audiobench.comparison.power_text import text as power_table
    from pytest_audiobench.gate.config import chosen
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
    aliases = chosen(args.model, source.models, f"model of {source.source}")
    sides = [side for alias, of in source.models.items() if alias in aliases for side in of.sides.values()]
    wanted = chosen(args.eval, (side.eval for side in sides), f"eval of {source.source}")
    sides = [side for side in sides if side.eval in wanted]
    compared = len(sides)  # a gate compares all, whichever metric is asked about
    if args.metric is not None:
        if not (having := [side for side in sides if args.metric in side.metrics.get(side.headline, ())]):
            measured = dict.fromkeys(name for side in sides for name in side.metrics.get(side.headline, ()))
            raise UsageError(f"no eval here measures {args.metric!r}; they measure {', '.join(measured)}")
        sides = having
    question = PowerQuery(
        args.drop, args.max_drop, args.metric, args.alpha, args.lines or compared, args.power, args.flips
    )
    others, notes = _pairs(sides, other)
    asked = [question._replace(drop=drop) for drop in drops]
    powers = [power_of(*pair, each) for pair in zip(sides, others, strict=True) for each in asked]
    put(power_table(powers, question, drops, notes, args.format), notes if args.format in ("csv", "json") else (), None)
    return 0


def _pairs(
    sides: Sequence[ComparableEval], other: Baseline | None
) -> tuple[list[ComparableEval | None], Sequence[str]]:
    """For each of ``sides`` the eval in which flips are counted; why there is none where ``other`` was named."""
    from pytest_audiobench.evaluation.comparable_eval import ComparableEval, same_answers
    from pytest_audiobench.io.mistakes import listed

    if other is None:
        return [None] * len(sides), ()
    found, stored, notes = list[ComparableEval | None](), list[str](), list[str]()
    for side in sides:
        against = other.side(side.eval, side.model)
        if against is None:
            notes.append(f"{other.source} has no eval {side.eval}: its flips are not counted")
        elif (side.stored or against.stored) and same_answers(side, against):
            # Read again they are the same whatever the model's noise.
            stored.append(side.eval)
            against = None
        found.append(against)
    if stored:
        notes.append(
            f"no flips are counted in {listed(stored, 3)}: both runs have the same stored answers of one model, which "
            "measure no noise; ask it again by --ab-refresh"
        )
    return found, notes
