"""``audiobench calibrate RUN RUN RUN …``."""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
from pathlib import Path

from pytest_audiobench.cli._options import Adding, add_reports, add_selection, level, names
from pytest_audiobench.cli._text import say
from pytest_audiobench.cli.power import share
from pytest_audiobench.errors import UsageError

HELP = "thresholds or margins from runs of one unchanged model, with their rate of false alarms and power"

REGRESSED = 1
"""The exit code where the model is worse than the earlier calibration: nothing was written."""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="*", help="runs of one model, 3 or more: folders, or names under --reports")
    add("--figures", metavar="FILE", type=Path, help="instead a CSV of figures: eval, metric, run, value, n")
    add(
        "--ask",
        metavar="N",
        type=int,
        default=0,
        help="run pytest so often, asking again each time: its arguments behind --",
    )
    add("--name", metavar="NAME", default="", help="what the runs of --ask are called (default: calibrate-DAY)")
    add("--margins", action="store_true", help="margins against a baseline instead of thresholds")
    add(
        "--false-alarms",
        metavar="SHARE",
        type=level,
        default=0.05,
        help="runs of the unchanged model that alarm (default 0.05)",
    )
    add("--power", metavar="SHARE", type=share, default=0.8, help="how surely the printed loss is seen (default 0.8)")
    add("--model", metavar="PATTERN", default="", help="which model's alias, or a part of it, where a run has several")
    add_selection(parser, "--eval")
    add("--metric", metavar="NAME,…", action=Adding, default="", help="the metrics (default: each eval's first)")
    add("--out", metavar="FILE", type=Path, help="write them into this file of thresholds, such as audiobench.toml")
    add("--accept", metavar="EVAL", action="append", default=[], help="write even if this eval became worse; a pattern")
    add_reports(parser)


def run(args: argparse.Namespace) -> int:
    """0; 1 where the model is worse than at the earlier calibration of ``--out``, which is then left as it is."""
    from pytest_audiobench.comparison.calibration_file import Calibration, read, write
    from pytest_audiobench.comparison.calibration_text import OLD_DAYS, calibration_lines, moved_lines
    from pytest_audiobench.comparison.repeated_runs import figures_in_table, repeated_runs
    from pytest_audiobench.gate.calibration import Terms, calibrated, moved_since
    from pytest_audiobench.gate.config import matches

    if args.out is not None and args.out.name == "pyproject.toml":
        raise UsageError(
            "thresholds of calibrate go into their own file, such as audiobench.toml: name it by --out FILE"
        )
    earlier = None if args.out is None else read(args.out)
    today = datetime.datetime.now(datetime.UTC).date()
    if args.figures and (args.ask or args.runs):
        raise UsageError("name runs, or --figures FILE, or --ask N: one of them")
    runs = _asked(args, today) if args.ask else args.runs
    terms = Terms(args.false_alarms, args.power, args.margins)
    if args.figures:
        found = figures_in_table(args.figures, args.eval)
    elif runs:
        found = repeated_runs(runs, args.reports, args.model, args.eval, names(args.metric))
    else:
        raise UsageError(
            "calibrate needs runs of one unchanged model: name three or more, or ask for them by --ask 5 -- evals …"
        )
    lines = calibrated(found.figures, terms)
    now = Calibration(today, found.model, found.names, terms, lines)
    print("\n".join(calibration_lines(now)))
    for note in found.notes:
        print(f"note: {note}")
    if earlier is not None:
        moved = moved_since(earlier.by_line, lines, terms.false_alarms)
        print("\n".join(["", *moved_lines(moved, earlier, {line.metric: line.unit for line in lines})]))
        if (days := (today - earlier.day).days) > OLD_DAYS:
            print(f"note: the earlier calibration was {days} days old")
        worse = [each for each in moved if each.verdict == "worse"]
        if refused := [each for each in worse if not any(matches(pattern, each.eval) for pattern in args.accept)]:
            say(
                f"audiobench: {args.out} is left unchanged: {', '.join(dict.fromkeys(each.eval for each in refused))} "
                "became worse since it was calibrated, and new thresholds would hide that. Find the cause, or accept "
                f"it by --accept {refused[0].eval}"
            )
            return REGRESSED
    if args.out is not None:
        write(args.out, now)
        print(f"\nwritten to {args.out}; a run applies it by --ab-config={args.out}")
    return 0


def _asked(args: argparse.Namespace, today: datetime.date) -> list[str]:
    """The names of the runs that were made: each with its own store, which the same command continues with."""
    from pytest_audiobench.report.run_writer import RECORD
    from pytest_audiobench.stats.run_noise import FEWEST_RUNS

    if args.ask < FEWEST_RUNS:
        raise UsageError(f"--ask {args.ask} is too few: ask {FEWEST_RUNS} times or more, 5 are usual")
    name = args.name or f"calibrate-{today.isoformat()}"
    stores = Path(".audiobench")
    runs = [f"{name}-{number}" for number in range(1, args.ask + 1)]
    for each in runs:
        if (args.reports / each / RECORD).is_file():
            say(f"audiobench: the run {each} is there and is not asked again (another --name asks again)")
            continue
        options = [f"--ab-run={each}", f"--ab-store={stores / f'{each}.sqlite'}", f"--ab-reports={args.reports}"]
        code = subprocess.run([sys.executable, "-m", "pytest", *args.runs, *options], env=os.environ).returncode
        if code not in (0, 1):
            raise UsageError(f"the run {each} ended with exit code {code}: correct that; the same command continues")
    return runs
