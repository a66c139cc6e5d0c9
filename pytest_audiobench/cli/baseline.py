"""``audiobench baseline update RUN`` and ``audiobench baseline show FILE``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._options import add_reports, names

HELP = "write a run's scores into a small file that later runs are compared with, or show one"


def arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="update|show", dest="verb", required=True)
    update = verbs.add_parser("update", help="write the baseline of a run, and print what it changes")
    add = update.add_argument
    add("source", metavar="RUN", help="a run's folder, its name under --reports, or last")
    add("--out", metavar="FILE", type=Path, default=Path("baselines/main.json"), help="default baselines/main.json")
    add("--model", metavar="ALIAS", default="", help="which model, where the run has several")
    add("--scorers", metavar="all|NAME,…", default="", help="protocols to keep beside the first (default: none)")
    add("--text", action="store_true", help="keep the answers too, 2,000 characters of each at most")
    add("--allow-partial", action="store_true", help="write it though the run was interrupted or evals of it failed")
    add("--allow-unreadable", action="store_true", help="write it though most answers of an eval could not be read")
    show = verbs.add_parser("show", help="the evals of a baseline, with their values")
    show.add_argument("source", metavar="FILE", help="a baseline's file, REF:PATH in git, or a run")
    for verb in (update, show):
        add_reports(verb, "where runs are (default reports)")


def run(args: argparse.Namespace) -> int:
    """0 where the file was written, or shown."""
    from pytest_audiobench.comparison.baseline_sources import baseline_from
    from pytest_audiobench.comparison.baseline_text import about, changes, table

    if args.verb == "show":
        baseline = baseline_from(args.source, args.reports, Path.cwd(), texts=False)
        for contents in baseline.models.values():
            print("\n".join([*about(contents), *table(contents)]))
        return 0
    from pytest_audiobench.comparison.baseline_update import BaselineOptions, write_baseline
    from pytest_audiobench.report.formatting import printable

    source = f"{args.source}#{args.model}" if args.model else args.source
    baseline = baseline_from(source, args.reports, Path.cwd(), texts=args.text)
    options = BaselineOptions(names(args.scorers), args.text, args.allow_partial, args.allow_unreadable)
    done = write_baseline(baseline, args.out, options)
    print("\n".join(about(done.contents)))
    print("\n".join(table(done.contents) if done.before is None else changes(done.before, done.contents)))
    each = f"{done.size_bytes / done.contents.samples:.0f} bytes each" if done.contents.samples else "none"
    print(printable(f"written to {args.out}: {done.contents.samples} samples, {each}"))
    return 0
