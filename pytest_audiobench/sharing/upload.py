"""The upload of a submission to a hub: written once, never half, and never over another unless asked to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.sharing.hub import Head, Hub, TemporaryHubError, blob_of

FOLDER = "submissions"
DEFAULT_NAME = "audiobench-leaderboard-submissions"
TRIES = 4
LONGEST_SUITE = 100
"""Characters of a suite's folder: a longer name could not be written where the data set is fetched to."""

_FIRST_WAIT_S = 1.0
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_Found = TypeVar("_Found")


class UploadTarget(NamedTuple):
    """Where a submission goes; ``overwrite`` lets it replace another of the same run."""

    repo: str
    path: str
    private: bool = False
    overwrite: bool = False


def path_of(suite: str, run_hash: str) -> str:
    """``submissions/<suite>/<run_hash>.json``, the suite's name with nothing in it that a path could misread."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", suite.replace("/", "__")).lstrip(".")[:LONGEST_SUITE] or "_"
    return f"{FOLDER}/{name}/{run_hash}.json"


def is_repo(name: str) -> bool:
    """Whether ``name`` is one of a data set: USER/NAME."""
    return _REPO.fullmatch(name) is not None


def push(content: bytes, where: UploadTarget, hub: Hub, sleep: Callable[[float], None]) -> bool:
    """Write ``content`` to the hub; False where just that already exists.

    What passes is tried ``TRIES`` times in all, with pauses by ``sleep`` that double or are as long as the hub asks.
    Before each try the hub is asked what is there, so a reply that was lost on its way makes no second commit.
    Raises FatalError for what does not pass, and for another file at that place unless ``where.overwrite``.
    """
    with_retries(lambda: hub.create(where.repo, where.private), sleep)
    head = with_retries(lambda: hub.head(where.repo), sleep)
    if where.private and not head.private:
        raise UsageError(
            f"{where.repo} already exists, and everybody can see it: --private makes only a new data set private; "
            "name another --repo, or make this one private on the hub"
        )
    return with_retries(lambda: _commit(content, where, hub), sleep)


def with_retries(call: Callable[[], _Found], sleep: Callable[[float], None]) -> _Found:
    """What ``call`` returns, after as many tries as it takes, up to ``TRIES``. Raises FatalError after these."""
    for number in range(TRIES):
        try:
            return call()
        except TemporaryHubError as error:
            failed = error
        if number < TRIES - 1:
            sleep(_FIRST_WAIT_S * 2**number if failed.wait_s is None else failed.wait_s)
    raise FatalError(f"{failed}, {TRIES} times in a row: try again later; the partial upload is not counted")


def _commit(content: bytes, where: UploadTarget, hub: Hub) -> bool:
    head: Head = hub.head(where.repo)
    if (there := hub.file(where.repo, where.path, head.commit)) is not None and there.blob in blob_of(content):
        return False
    if there is not None and not where.overwrite:
        raise FatalError(f"{where.repo} has a submission of this run already, at {where.path}: --overwrite replaces it")
    run = where.path.rpartition("/")[2][:12]
    hub.commit(where.repo, {where.path: content}, head.commit, f"Submit {where.path.split('/')[1]} run {run}")
    return True
