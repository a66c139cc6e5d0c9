"""``audiobench audit RUN [RUN …]``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._options import add_output, add_places, add_reports, add_selection, count, local, places, put
from pytest_audiobench.cli._text import say

HELP = "list suspect items of the data by what several runs say of them; no score is changed"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="runs over the same evals: folders, or names below --reports")
    add_reports(parser)
    add_selection(parser, "--eval", "--model")
    add("--most", metavar="N", type=count, default=20, help="how many suspects of a check are printed (default 20)")
    add_places(parser)
    add_output(parser)
    add(
        "--out",
        metavar="FOLDER",
        type=Path,
        help="write a page with the sounds there, and the suspects as suspects.csv and suspects.jsonl, which "
        "--ab-corrections takes",
    )


def run(args: argparse.Namespace) -> int:
    """0; 5 where nothing could be compared."""
    from pytest_audiobench.comparison.audit_page import write_page
    from pytest_audiobench.comparison.audit_text import COLUMNS, correction_lines, correction_rows, text
    from pytest_audiobench.comparison.data_audit import audit
    from pytest_audiobench.evaluation.garbage_collection import collector_paused
    from pytest_audiobench.report.atomic_files import write_text
    from pytest_audiobench.report.safe_text import csv_text

    where = places(args)
    with collector_paused():
        audited = audit([local(name) for name in args.runs], args.reports, args.eval, args.model)
    put(text(audited, args.format, args.most), audited.notes if args.format in ("csv", "json") else (), None)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        remarks = write_page(args.out / "audit.html", audited, where)
        write_text(args.out / "suspects.csv", csv_text(correction_rows(audited), COLUMNS))
        write_text(args.out / "suspects.jsonl", correction_lines(audited))
        say(f"written to {args.out}: audit.html, suspects.csv, suspects.jsonl")
        for remark in remarks:
            say(f"note: {remark}")
    return audited.exit_status()
