"""A hub of data sets, by huggingface_hub: each call waits a bounded time, and each failure is one sentence.

The library finds the token and the hub's address (``HF_ENDPOINT``) by its own means, or the token is that of a file
which it does not know (:func:`hub_token`). It is never printed, written or kept. What may pass (a reply of 429 or 5xx,
a connection that was cut) is left to the caller to try again, since the library's own trying waits as long as a server
asks it to.
"""

from __future__ import annotations

import glob
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha1, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.errors import FatalError, UsageError, install_command
from pytest_audiobench.models.remote.api_keys import hub_token
from pytest_audiobench.models.remote.endpoint import hush
from pytest_audiobench.report.formatting import printable

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RepoKind: TypeAlias = Literal["dataset", "space"]
TIMEOUT_S = 60.0
"""How long a connection may stand still."""
MOST_WAIT_S = 120.0
"""The longest pause that a hub may ask for before it is asked again."""

_PASSING = (408, 425, 429, 500, 502, 503, 504)
_CONFLICT = (409, 412)
_LONGEST_REASON = 200
_WORDS: Mapping[RepoKind, str] = {"dataset": "data set", "space": "Space"}
_OPTIONS: Mapping[RepoKind, str] = {"dataset": "--repo", "space": "--space"}
_LOG_IN = "log in by hf auth login, or set HF_TOKEN"


class TemporaryHubError(Exception):
    """A failure that another try may cure; ``wait_s`` is the pause that the hub asked for, None for none."""

    def __init__(self, says: str, wait_s: float | None = None) -> None:
        super().__init__(says)
        self.wait_s = wait_s


class Conflict(TemporaryHubError):
    """Somebody else committed since the head was looked at."""


class Head(NamedTuple):
    """The state of a repository: its commit, and whether only some can see it."""

    commit: str
    private: bool


class HubFile(NamedTuple):
    """A file of a repository. ``blob`` is git's name of its content, or the SHA-256 of a large file."""

    path: str
    size: int
    blob: str


class Hub:
    """Data sets, or with ``kind`` "space" Spaces, on the hub that huggingface_hub is set up for.

    ``token`` takes precedence over the library's own; ``named_by`` is the option that names the repository.
    """

    def __init__(self, token: str | None = None, kind: RepoKind = "dataset", named_by: str = "") -> None:
        self._api, self._token, self._kind = hub_api("push", token), token, kind
        self._named_by = named_by or _OPTIONS[kind]

    @property
    def address(self) -> str:
        """The hub's address."""
        return str(self._api.endpoint)

    def page(self, repo: str) -> str:
        """The address of a repository's page."""
        return f"{self.address}/{self._kind}s/{repo}"

    def user(self) -> str:
        """Whom the token belongs to. Raises FatalError without a token, or with one that the hub refuses."""
        with self._judged("asking the hub whose token this is"):
            return str(self._api.whoami()["name"])

    def create(self, repo: str, private: bool) -> None:
        """Make the data set ``repo`` unless it is there. A Space, which is a program, is never made."""
        if self._kind == "space":
            return
        with self._judged(f"making the data set {repo}"):
            self._api.create_repo(repo, repo_type="dataset", private=private or None, exist_ok=True)

    def head(self, repo: str) -> Head:
        """The newest commit of ``repo``."""
        with self._judged(f"looking at the {_WORDS[self._kind]} {repo}"):
            info = self._api.repo_info(repo, repo_type=self._kind)
            return Head(str(info.sha), bool(info.private))

    def file(self, repo: str, path: str, commit: str) -> HubFile | None:
        """The file at ``path`` in ``commit``; None where there is none."""
        with self._judged(f"looking for {path} in {repo}"):
            entries = self._api.get_paths_info(repo, [path], repo_type=self._kind, revision=commit)
            return next((_listed(entry) for entry in entries if entry.path == path), None)

    def files(self, repo: str, folder: str, commit: str) -> Iterator[HubFile]:
        """The files below ``folder`` in ``commit``; none where there is no such folder."""
        from huggingface_hub.errors import EntryNotFoundError

        with self._judged(f"listing {folder} of {repo}"):
            tree = self._api.list_repo_tree(repo, folder, recursive=True, repo_type=self._kind, revision=commit)
            try:
                yield from (_listed(entry) for entry in tree if hasattr(entry, "size"))
            except EntryNotFoundError:
                return

    def commit(
        self, repo: str, files: Mapping[str, bytes | Path], parent: str, message: str, deleted: Sequence[str] = ()
    ) -> None:
        """Add or replace ``files``, and remove the ``deleted``, in one commit upon ``parent``: whole or not at all.

        Raises :class:`Conflict` where ``parent`` is no longer the newest.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        with self._judged(f"writing {next(iter(files)) if len(files) == 1 else f'{len(files)} files'} to {repo}"):
            added = [CommitOperationAdd(path_in_repo=path, path_or_fileobj=content) for path, content in files.items()]
            self._api.create_commit(
                repo,
                [*added, *(CommitOperationDelete(path_in_repo=path, is_folder=False) for path in deleted)],
                repo_type=self._kind,
                commit_message=message,
                parent_commit=parent,
            )

    def download(self, repo: str, paths: list[str], commit: str, into: Path) -> None:
        """Write the files ``paths`` of ``commit`` below ``into``."""
        from huggingface_hub import snapshot_download

        with self._judged(f"fetching {len(paths)} files of {repo}"):
            exactly = [glob.escape(path) for path in paths]
            snapshot_download(
                repo,
                repo_type=self._kind,
                revision=commit,
                local_dir=into,
                allow_patterns=exactly,
                endpoint=self.address,
                token=self._api.token,
                max_workers=4,
            )
            # Where the hub fails midway the library is content with what it has.
            if missing := [path for path in paths if not (into / path).is_file()]:
                raise TemporaryHubError(f"{len(missing)} of {len(paths)} files of {repo} did not arrive")

    @contextmanager
    def _judged(self, doing: str) -> Iterator[None]:
        """Whatever the library raises as one sentence without its traceback, which may hold what was sent."""
        try:
            yield
        except (FatalError, TemporaryHubError, GeneratorExit):
            raise
        except Exception as error:
            raise _judged(error, doing, self.address, _WORDS[self._kind], self._named_by, self._token) from None


def blob_of(content: bytes) -> tuple[str, str]:
    """What a hub calls a file that holds ``content``: git's name of it, and its SHA-256 where it is kept as large."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest(), sha256(content).hexdigest()


def hub_api(extra: str, token: str | None = None) -> HfApi:
    """The library's client, which waits a bounded time; raises UsageError where it lacks, which ``extra`` brings."""
    try:
        import huggingface_hub
        from huggingface_hub import get_session, set_client_factory
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        raise UsageError(f"a hub is asked by huggingface_hub (1 or later): {install_command(extra)}") from None
    hush("httpx", "httpx2", "httpcore")
    # Its warnings repeat addresses, and what they tell of is told here in a sentence.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    disable_progress_bars()
    session = get_session()
    client, hooks = type(session), {**session.event_hooks, "response": [_raise_passing]}
    # The library's own client waits without end, and would sleep for as long as a reply of 429 says.
    set_client_factory(lambda: client(event_hooks=hooks, follow_redirects=True, timeout=TIMEOUT_S))
    return huggingface_hub.HfApi(library_name="pytest-audiobench", token=token or hub_token())


def check_token() -> None:
    """Raises UsageError where there is no token, without asking the hub whether it knows it."""
    from huggingface_hub import get_token

    if not (hub_token() or get_token()):
        raise UsageError(f"there is no token for the hub: {_LOG_IN}")


def _raise_passing(response: Any) -> None:
    if response.status_code in _PASSING:
        if (wait_s := _asked_wait(response.headers)) is not None and wait_s > MOST_WAIT_S:
            raise FatalError(
                f"the hub asks to be left alone for {wait_s:.0f} s (reply {response.status_code}): try later"
            )
        why = "has too many requests" if response.status_code == 429 else "cannot answer now"
        raise TemporaryHubError(f"the hub {why} (reply {response.status_code})", wait_s)


def _asked_wait(headers: Any) -> float | None:
    """The pause that a reply asks for, in seconds: Retry-After as seconds or as a date (RFC 9110)."""
    header = str(headers.get("retry-after") or "").strip()
    if header.isascii() and header.isdigit():
        return float(header) if len(header) < 10 else math.inf
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _judged(error: Exception, doing: str, address: str, kind: str, option: str, token: str | None) -> Exception:
    """What ``error``, met while ``doing`` something, is to us."""
    from huggingface_hub import errors

    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.OfflineModeIsEnabled):
        return UsageError(
            "huggingface_hub is offline (HF_HUB_OFFLINE=1): unset it" + ", or push with --dry-run" * (option != "--to")
        )
    if isinstance(error, errors.LocalTokenNotFoundError):
        return UsageError(f"there is no token for {address}: {_LOG_IN}")
    if isinstance(error, errors.HFValidationError):
        return UsageError(f"{doing}: that is not a name of a {kind}: write it as USER/NAME")
    if status in _CONFLICT:
        return Conflict(f"{doing}: somebody else writes there at the same time (reply {status})")
    if status is not None:
        return FatalError(f"{doing}: {_refusal(status, kind, option)}{_error_text(error, token)}")
    # httpx's errors by their library's name, since that differs between versions.
    if isinstance(error, OSError) or "TransportError" in {kind.__name__ for kind in type(error).__mro__}:
        return TemporaryHubError(f"{doing}: the connection to {address} failed ({type(error).__name__})")
    return FatalError(
        f"{doing}: {address} answered with what no hub answers ({type(error).__name__}): correct HF_ENDPOINT"
    )


def _refusal(status: int, kind: str, option: str) -> str:
    if status == 401:
        return f"the hub does not know the token (reply 401): {_LOG_IN}"
    if status == 403:
        return f"the token may not do this (reply 403): give it the right to write there, or name another {option}"
    if status == 404:
        return f"there is no such {kind}, or the token may not see it (reply 404): correct {option}"
    return f"the hub refused it (reply {status})"


def _error_text(error: Exception, token: str | None) -> str:
    """What the hub said to it, without the token, which a reply may repeat."""
    from huggingface_hub import get_token

    token = token or hub_token() or get_token() or "\0"
    reason = str(getattr(error, "server_message", None) or "").replace(token, "[token]")
    return f"; it says: {printable(reason)[:_LONGEST_REASON]}" if reason else ""


def _listed(entry: Any) -> HubFile:
    large = getattr(entry, "lfs", None)
    return HubFile(str(entry.path), int(entry.size), str(large.sha256 if large else entry.blob_id))
