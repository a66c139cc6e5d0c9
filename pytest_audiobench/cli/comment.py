"""``audiobench comment RUN``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import UsageError

HELP = "write a run as a comment on a pull request: the verdict, what changed, the samples that flipped"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="a run's folder, its name under reports, or last")
    parser.add_argument("--link", metavar="URL", default="", help="where the report can be opened or fetched")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write into this file (default: standard output)")


def run(args: argparse.Namespace) -> int:
    """0 whatever the run's verdict. A run that left no record has a comment that says so, and the exit code is 4."""
    from pytest_audiobench.report.atomic_files import write_text
    from pytest_audiobench.report.formatting import printable
    from pytest_audiobench.report.pull_request_comment import comment, comment_without_verdict
    from pytest_audiobench.report.run_reader import load_run
    from pytest_audiobench.report.verdict import run_verdict

    try:
        run_record, reason = load_run(args.folder), ""
    except UsageError as error:
        run_record, reason = None, str(error)
    text = comment(run_record, args.link) if run_record else comment_without_verdict(reason, args.link)
    if args.out is None:
        sys.stdout.write(text)
    else:
        write_text(args.out, text)
    if run_record is None:
        raise UsageError(reason)
    # Where the last call of pytest was refused, an earlier run lies there.
    record, verdict = run_record.record, run_verdict(run_record.record)
    counts = f" ({verdict.counts})" * bool(verdict.counts)
    say(printable(f"comment on {run_record.folder}, which finished {record.finished}: {verdict.word}{counts}"))
    return 0
