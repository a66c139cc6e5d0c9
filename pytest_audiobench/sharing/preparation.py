"""A run made ready to be shared: its submission, held to what it says before anybody else sees it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.report.run_reader import Run
from pytest_audiobench.sharing.payload import About, payload_of
from pytest_audiobench.sharing.submission import MOST_BYTES, Submission, decoded
from pytest_audiobench.sharing.submission_checks import unsound
from pytest_audiobench.verification.clip_checks import Folders
from pytest_audiobench.verification.run_verification import verify_run

if TYPE_CHECKING:
    from pytest_audiobench.sharing.sshsig import PrivateKey


LARGE = 5_000_000
"""Bytes of a file from which on only each eval's first scorer has its statistics in it."""


class Prepared(NamedTuple):
    """The submission, its file's bytes, and what is marked in it, a sentence each."""

    submission: Submission
    content: bytes
    marks: list[str]


def prepared(run: Run, suite: str, model: str, about: About, key: PrivateKey | None) -> Prepared:
    """The submission of what ``model`` did in ``suite``, signed where there is a ``key``.

    A limited run, one that is not whole, and failed askings are marked in it. Raises UsageError for a run whose hashes
    or numbers do not follow from its files, and for one that is too large to be read by others.
    """
    if fails := verify_run(run.folder, Path(), Folders({})).failing():
        raise UsageError(
            f"{run.folder} does not hold, so it is not shared: {', '.join(fails[:5])}; audiobench verify {run.folder} "
            "says why, and running again asks no model"
        )
    submission = Submission.of(payload_of(run, suite, model, about), key)
    if len(submission.encoded()) > LARGE:
        submission = Submission.of(payload_of(run, suite, model, about, evident=()), key)
    content = submission.encoded()
    if len(content) > MOST_BYTES:
        raise UsageError(
            f"the submission would hold {len(content) / 1e6:.0f} MB, and {MOST_BYTES / 1e6:.0f} MB can be read: split "
            "the suite"
        )
    # Read back as others read it: what they would refuse is refused here.
    if failing := unsound(decoded(content, "the submission"), "the submission"):
        raise UsageError(
            f"{run.folder} does not hold together, so it is not shared: {failing}; its files were edited, or another "
            "version wrote it: run again, which asks no model"
        )
    return Prepared(submission, content, list(_marks(submission)))


def _marks(submission: Submission) -> list[str]:
    payload = submission.payload
    failed = sum(one["scorers"][0]["coverage"].get("errors", 0) for one in payload["items"] if one["scorers"])
    return [
        *([f"limited to {payload['limit']} samples of each eval"] if payload["limited"] else []),
        *payload["missing"],
        *([f"{failed} samples could not be asked"] if failed else []),
        *(
            ["not signed: a leaderboard takes no submission that nobody signed (--sign KEY)"]
            if not submission.signature
            else []
        ),
    ]
