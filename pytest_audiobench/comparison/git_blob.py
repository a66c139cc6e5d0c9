"""A file as git has it at some commit: read from the repository, without touching the working tree."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.errors import UsageError

_SECONDS = 60.0


class Blob(NamedTuple):
    """``commit`` is the full name of what the ref stood for."""

    commit: str
    content: bytes


def blob(ref: str, path: str, folder: Path, most_bytes: int) -> Blob:
    """The file ``path`` (from the repository's top, or "./…" from ``folder``) as of ``ref``.

    Raises UsageError, with what to do, where there is no git, no repository, no such ref or path, and for a file of
    more than ``most_bytes``.
    """
    whole = f"{ref}:{path}"
    if ref.startswith("-"):
        raise UsageError(f"{whole!r} names no baseline: a ref of git does not begin with a dash")
    place = folder.resolve()
    if _git(folder, "rev-parse", "--git-dir").returncode:
        raise UsageError(
            f"there is no file {whole!r}, and {place} is in no git repository that could have it: correct the path"
        )
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").stdout.strip()
    if not commit:
        raise UsageError(
            f"the git repository of {place} knows no {ref!r}, of {whole!r}: fetch it (git fetch origin {ref}; a CI "
            "checkout holds one commit unless told otherwise), or correct it"
        )
    name = f"{commit.decode('ascii', 'replace')}:{path}"
    size = _git(folder, "cat-file", "-s", name).stdout.strip()
    if _git(folder, "cat-file", "-t", name).stdout.strip() != b"blob" or not size.isdigit():
        raise UsageError(
            f"git has no file {path!r} at {ref}: name it from the repository's top, or with ./ before from {place}"
        )
    if int(size) > most_bytes:
        raise UsageError(f"{whole} holds more than {most_bytes / 1e6:.0f} MB, which no baseline does: correct the path")
    found = _git(folder, "cat-file", "blob", name)
    if found.returncode:
        raise UsageError(f"git cannot read {whole} ({_said(found)}): check the repository with git fsck")
    return Blob(commit.decode("ascii", "replace"), found.stdout)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # No shell; nobody is asked for a password; what is not here is not fetched.
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not installed here, so no baseline can be read from it: give a file") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git cannot be asked for a baseline ({error}): give a file") from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else f"exit code {done.returncode}"
