"""``audiobench verify``: what was named, found and verified by its kind."""

from __future__ import annotations

from pathlib import Path

from pytest_audiobench.compat.thenirock_audiobench.artifact import artifact_at
from pytest_audiobench.errors import UsageError
from pytest_audiobench.report.run_files import RECORD
from pytest_audiobench.verification.artifact_verification import verify_artifact
from pytest_audiobench.verification.checks import Verification
from pytest_audiobench.verification.clip_checks import Folders
from pytest_audiobench.verification.run_verification import verify_run


def verify(named: str, reports: Path, folders: Folders) -> Verification:
    """Verify the run or artifact that ``named`` is: a folder, a run.json, a name under ``reports``, a file.

    Raises UsageError where there is nothing of that name that can be verified.
    """
    path = Path(named)
    if path.name == RECORD and path.is_file():
        return verify_run(path.parent, reports, folders)
    if path.is_file():
        found = artifact_at(path)
        if found is None:
            raise UsageError(f"{path} is neither a run's {RECORD} nor a run file of audiobench: name one of these")
        return verify_artifact(found, folders)
    return verify_run(named, reports, folders)
