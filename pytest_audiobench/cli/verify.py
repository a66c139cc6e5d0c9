"""``audiobench verify RUN|FILE|SUBMISSION``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._options import add_data_folders, add_reports, local, put
from pytest_audiobench.errors import UsageError

HELP = "recompute a run's or a submission's hashes and numbers from its files and report which part fails"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("named", metavar="RUN|FILE", help="a run's folder or name, an artifact, or a submission")
    add_reports(parser)
    about = "recompute the digests of this data set's audio, and rebuild its clips' keys; may be given several times"
    add_data_folders(parser, about)
    add("--signers", metavar="FILE", type=Path, help="who may have signed a submission: OpenSSH's allowed signers")
    add("--accepted", metavar="FILE", type=Path, help="the record that audiobench leaderboard --accepted keeps")
    add("-v", "--verbose", action="store_true", help="name the parts that hold too, of each eval and suite")
    add("--json", action="store_true", help="print every part as JSON")


def run(args: argparse.Namespace) -> int:
    """0 where all that can be recomputed holds (and an allowed signer signed a submission), 1 where a part fails."""
    from pytest_audiobench.evaluation.garbage_collection import collector_paused
    from pytest_audiobench.sharing.submission import is_submission
    from pytest_audiobench.verifier.clip_checks import Folders
    from pytest_audiobench.verifier.run_verification import verify
    from pytest_audiobench.verifier.verification_text import as_json, text

    args.named = local(args.named)
    path = Path(args.named)
    if args.accepted is not None and args.signers is None:
        raise UsageError("--accepted says when a signature was first seen, which counts with --signers FILE only")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"{path} is not a regular file: write what it holds into one, and name that")
    if is_submission(path):
        return _submission(args)
    if args.signers is not None and (path.exists() or (args.reports / path).exists()):
        raise UsageError(
            f"{path} is not a submission, so it has no signature to compare with --signers: audiobench push "
            "--dry-run --output FILE --sign KEY writes one of a run"
        )
    with collector_paused():
        verification = verify(args.named, args.reports, Folders(dict(args.data)))
    put(as_json(verification) if args.json else text(verification, args.verbose), (), None)
    return verification.exit_status()


def _submission(args: argparse.Namespace) -> int:
    from pytest_audiobench.evaluation.garbage_collection import collector_paused
    from pytest_audiobench.sharing.signers import read_signers
    from pytest_audiobench.sharing.submission_checks import as_json, text, verify_submission

    if args.data:
        raise UsageError(f"{args.named} is a submission, which holds no audio: --data is for a run")
    with collector_paused():
        signers = None if args.signers is None else read_signers(args.signers, args.accepted)
        verification = verify_submission(Path(args.named), signers)
    put(as_json(verification) if args.json else text(verification), (), None)
    return 0 if verification.holds else 1
