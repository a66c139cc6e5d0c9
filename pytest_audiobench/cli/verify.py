"""``audiobench verify SUBMISSION``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._holding import put

HELP = "recompute what a submission says of itself, and say who signed it"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("named", metavar="FILE", help="a submission's file")
    parser.add_argument(
        "--signers", metavar="FILE", type=Path, help="who may sign a submission: OpenSSH's file of allowed signers"
    )


def run(args: argparse.Namespace) -> int:
    """0 where all holds and an allowed signer signed it, else 1."""
    from pytest_audiobench.errors import UsageError
    from pytest_audiobench.runs.collector import patient
    from pytest_audiobench.sharing.checking import verify_submission
    from pytest_audiobench.sharing.report_text import text
    from pytest_audiobench.sharing.signers import read_signers
    from pytest_audiobench.sharing.submission import is_submission

    path = Path(args.named)
    if not is_submission(path):
        raise UsageError(f"{path} is no submission: write one with audiobench push RUN --dry-run --output FILE")
    with patient():
        report = verify_submission(path, None if args.signers is None else read_signers(args.signers))
    put(text(report), (), None)
    return 0 if report.holds else 1
