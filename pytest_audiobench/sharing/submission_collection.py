"""Submissions of many: from a folder, or from a data set on a hub, bounded in number and size."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.records.submission import MOST_BYTES
from pytest_audiobench.sharing.hub import Hub, HubFile
from pytest_audiobench.sharing.signers import Signers
from pytest_audiobench.sharing.submission import decoded
from pytest_audiobench.sharing.submission_checks import Report, verified
from pytest_audiobench.sharing.upload import FOLDER, LONGEST_SUITE, is_repo, with_retries

MOST_FILES = 5_000
MOST_BYTES_IN_ALL = 512 * 2**20
"""Read back, the statistics of samples take about 20 times as much memory."""
_LONGEST = 600
"""Characters of a reason: a file that is refused may hold names of any length."""
_PATH = re.compile(rf"{FOLDER}/[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{LONGEST_SUITE - 1}}}/[0-9a-f]{{64}}\.json")


class RejectedFile(NamedTuple):
    """A file that does not count, and why."""

    name: str
    why: str


class Collection(NamedTuple):
    """The submissions of ``source``: those that are verified, files that are rejected, and the names of all suites."""

    source: str
    suites: Sequence[str]
    verified: Sequence[Report]
    refused: Sequence[RejectedFile]


def collect(named: str, signers: Signers, sleep: Callable[[float], None], suite: str = "") -> Collection:
    """The submissions in the folder ``named``, or in the data set USER/NAME of that name on the hub.

    Those of other suites than ``suite`` (empty: of none) are skipped.

    Raises UsageError where it is neither, or holds more than can be read.
    """
    folder = Path(named).expanduser()
    if folder.is_dir():
        paths_inside = sorted(folder.rglob("*.json"))
        # A pipe would be waited for without end.
        paths = [path for path in paths_inside if path.is_file()]
        no_files = [path.relative_to(folder) for path in paths_inside if not path.is_file()]
        odd = [RejectedFile(str(path), "it is not a file") for path in no_files]
        for _ in _bounded(named, (HubFile(str(path), path.stat().st_size, "") for path in paths)):
            pass
        return _of_files(_Source(named, folder, signers, suite), paths, odd)
    if not is_repo(named):
        raise UsageError(f"there is no folder {named}: name a folder of submissions, or a data set as USER/NAME")
    with tempfile.TemporaryDirectory(prefix="audiobench-") as temporary:
        hub = Hub()
        commit = with_retries(lambda: hub.head(named), sleep).commit
        listed = with_retries(lambda: list(_bounded(named, hub.files(named, FOLDER, commit))), sleep)
        wanted = [file for file in listed if _PATH.fullmatch(file.path) and file.size <= MOST_BYTES]
        taken = {file.path for file in wanted}
        too_large = "it holds {:.0f} MB, more than a submission does"
        misplaced = f"it does not lie at {FOLDER}/SUITE/RUN_HASH.json"
        others = [
            RejectedFile(file.path, too_large.format(file.size / 1e6) if file.size > MOST_BYTES else misplaced)
            for file in listed
            if file.path not in taken
        ]
        into = Path(temporary)
        if wanted:
            with_retries(lambda: hub.download(named, [file.path for file in wanted], commit, into), sleep)
        source = _Source(f"{named} at {commit[:12]}", into, signers, suite)
        return _of_files(source, [into / file.path for file in wanted], others)


def _bounded(named: str, files: Iterator[HubFile]) -> Iterator[HubFile]:
    size = 0
    for number, file in enumerate(files, 1):
        size += file.size
        if number > MOST_FILES or size > MOST_BYTES_IN_ALL:
            raise UsageError(
                f"{named} holds more than {MOST_FILES} files or {MOST_BYTES_IN_ALL / 1e6:.0f} MB of submissions: put "
                "those that are wanted into a folder, and name that"
            )
        yield file


class _Source(NamedTuple):
    source: str
    folder: Path
    signers: Signers
    suite: str


def _of_files(source: _Source, paths: Sequence[Path], others: Sequence[RejectedFile]) -> Collection:
    accepted, refused, suites = [], list(others), set()
    for path in paths:
        name = str(path.relative_to(source.folder))
        try:
            with path.open("rb") as file:
                submission = decoded(file.read(MOST_BYTES + 1), name)
            suite = submission.payload.suite
            suites.add(suite)
            if source.suite not in ("", suite):
                continue
            report = verified(submission, name, source.signers)
        except OSError as error:
            refused.append(RejectedFile(name, f"it cannot be read ({error.strerror})"[:_LONGEST]))
            continue
        except UsageError as error:
            refused.append(RejectedFile(name, _without(name, str(error))[:_LONGEST]))
            continue
        if report.holds:
            accepted.append(report)
        else:
            refused.append(RejectedFile(name, report.failing[:_LONGEST]))
    return Collection(source.source, sorted(suites), accepted, refused)


def _without(name: str, message: str) -> str:
    """A message about a file whose name stands before it already."""
    about = message.removeprefix(f"{name}: ")
    return f"it {about.removeprefix(f'{name} ')}" if about.startswith(f"{name} ") else about
