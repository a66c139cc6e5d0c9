"""``audiobench push RUN``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from pytest_audiobench.cli._options import add_reports, names, place
from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import UsageError

HELP = "share a model's results in a suite of a run: a signed file, written to a data set on a hub"

_LONGEST_TOKEN = 1_000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RUN", help="a run's folder, its name under --reports, or last")
    parser.add_argument("--suite", default="", help="which suite, where the run has several")
    parser.add_argument("--model", metavar="ALIAS", default="", help="which model, where the run has several")
    parser.add_argument(
        "--repo",
        metavar="USER/NAME",
        default="",
        help="the data set (default: audiobench-leaderboard-submissions of yours)",
    )
    parser.add_argument(
        "--space", metavar="USER/NAME", default="", help="a Space that already exists, in place of a data set"
    )
    parser.add_argument(
        "--token",
        metavar="TOKEN|-",
        help="the hub's token; - reads it from standard input, and the variable HF_TOKEN needs no option",
    )
    parser.add_argument("--sign", metavar="KEY", type=Path, help="sign with this private SSH key")
    parser.add_argument("--notes", metavar="TEXT", default="", help="what a reader should know")
    parser.add_argument("--tags", metavar="NAME,…", default="", help="words to find it by")
    parser.add_argument("--author", metavar="NAME", default=None, help="the author of the model or the run, if not you")
    parser.add_argument("--private", action="store_true", help="make the data set private, where it is new")
    parser.add_argument("--overwrite", action="store_true", help="replace a submission of the same run")
    parser.add_argument("--dry-run", action="store_true", help="do not contact the hub: show what would be written")
    parser.add_argument("--output", metavar="FILE", type=place, help="write the submission into this file too")
    add_reports(parser, "where runs are (default reports)")


def run(args: argparse.Namespace) -> int:
    """0 where the hub has it now, or with --dry-run where it could be written; 1 where the hub refused it."""
    from pytest_audiobench.evaluation.garbage_collection import collector_paused
    from pytest_audiobench.report.atomic_files import write_bytes
    from pytest_audiobench.report.formatting import printable
    from pytest_audiobench.report.run_reader import load_run
    from pytest_audiobench.report.run_writer import iso
    from pytest_audiobench.sharing.hub import Hub
    from pytest_audiobench.sharing.payload import SubmissionInfo, choose, prepare_submission
    from pytest_audiobench.sharing.private_keys import load_key
    from pytest_audiobench.sharing.upload import DEFAULT_NAME, UploadTarget, is_repo, path_of, push, with_retries

    for option, name, kind in (("--repo", args.repo, "data set"), ("--space", args.space, "Space")):
        if name and not is_repo(name):
            raise UsageError(f"{option} {name} is not a name of a {kind}: write it as USER/NAME")
    if args.repo and args.space:
        raise UsageError("--repo names a data set and --space a Space: give one of them")
    if args.space and args.private:
        raise UsageError("--private is for a new data set, and --space names an existing Space: leave it out")
    token = None if args.token is None else _token(args.token)
    run_record = load_run(args.source, args.reports)
    suite, model = choose(run_record, args.suite, args.model)
    key = None if args.sign is None else load_key(args.sign.expanduser())
    hub = None if args.dry_run else Hub(token, "space" if args.space else "dataset")
    user = None if hub is None else with_retries(hub.user, time.sleep)
    about = SubmissionInfo(iso(time.time()), user, args.author, args.notes, names(args.tags))
    with collector_paused():
        submission, content, marks = prepare_submission(run_record, suite, model, about, key)
    repo = args.space or args.repo or f"{user or '<user>'}/{DEFAULT_NAME}"
    where = UploadTarget(repo, path_of(suite, submission.payload.hashes.run_hash), args.private, args.overwrite)
    if args.output is not None:
        write_bytes(args.output, content)
    print(printable(f"{suite} by {model}: {len(content)} bytes, payload_sha256 {submission.payload_sha256}"))
    for mark in marks:
        print(printable(f"marked in it: {mark}"))
    if hub is None:
        print(printable(f"would be written to {repo}: {where.path}"))
    else:
        status = "written to" if push(content, where, hub, time.sleep) else "just this is already at"
        print(printable(f"{status} {hub.page(repo)}: {where.path}"))
    if args.output is not None:
        print(printable(f"written to {args.output}"))
    return 0


def _token(given: str) -> str:
    """The token of ``--token``. Raises UsageError, which does not repeat it, for what is none."""
    if given == "-":
        text = sys.stdin.readline(_LONGEST_TOKEN + 2).strip()
    else:
        text = given.strip()
        say(
            "note: --token TOKEN can be read in the list of processes and in the shell's history: HF_TOKEN, or "
            "--token - with the token on standard input, cannot"
        )
    if not text or len(text) > _LONGEST_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        where = "standard input's first line" if given == "-" else "--token"
        raise UsageError(f"{where} is not a token: write one word of at most {_LONGEST_TOKEN} characters")
    return text
