"""``audiobench baseline update RUN`` and ``audiobench baseline show [FILE]``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._options import Adding, add_reports, names
from pytest_audiobench.errors import UsageError

_MAIN = Path("baselines/main.json")
HELP = "write a run's scores into a small file that later runs are compared with, or show one"


def arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="update|show", dest="verb", required=True)
    update = verbs.add_parser("update", help="write the baseline of a run, and print what it changes")
    add = update.add_argument
    add("source", metavar="RUN", help="a run's folder, its name under --reports, or last")
    add("--out", metavar="FILE", type=Path, default=_MAIN, help=f"default {_MAIN}")
    add("--model", metavar="ALIAS", default="", help="which model, where the run has several")
    about = "protocols to keep beside the first (default: none)"
    add("--scorers", metavar="all|NAME,…", action=Adding, default="", help=about)
    add("--text", action="store_true", help="keep the answers too, 2,000 characters of each at most")
    add("--allow-partial", action="store_true", help="write it though the run was interrupted or evals of it failed")
    add("--allow-unreadable", action="store_true", help="write it though most answers of an eval could not be parsed")
    show = verbs.add_parser("show", help="the evals of a baseline, with their values")
    about_source = "a baseline's file, REF:PATH in git, or a run (default: the one file of baselines/)"
    show.add_argument("source", metavar="FILE", nargs="?", help=about_source)
    for verb in (update, show):
        add_reports(verb, "where runs are (default reports)")


def run(args: argparse.Namespace) -> int:
    """0 where the file was written, or shown."""
    from pytest_audiobench.comparison.baseline_sources import baseline_from
    from pytest_audiobench.comparison.baseline_text import about, changes, table

    if args.verb == "show":
        baseline = baseline_from(args.source or _only_file(), args.reports, Path.cwd(), texts=False)
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


def _only_file() -> str:
    """The baseline of this folder. Raises UsageError where there is none, or several."""
    files = sorted(Path("baselines").glob("*.json"))
    if len(files) == 1:
        return str(files[0])
    there = f"baselines/ has {', '.join(file.name for file in files[:5])}" if files else "there is no baselines/*.json"
    raise UsageError(f"{there}: name a file, or a run (audiobench baseline update RUN writes {_MAIN})")
