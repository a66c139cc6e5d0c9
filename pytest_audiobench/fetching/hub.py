"""Files of a data set of the Hugging Face Hub: huggingface_hub knows its address, the token and the commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pytest_audiobench.datasets.declaration import Fetch
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.fetching.download import TIMEOUT_S, Passing, Reply, Unreachable, download, refusal, tried
from pytest_audiobench.fetching.place import Count, Listing, PlaceFile, check_paths, wanted
from pytest_audiobench.fetching.progress import Stopped
from pytest_audiobench.sharing.hub import TemporaryHubError, hub_api

_TIMEOUT_S = 15.0
"""How long the hub may take to say what a repository's commit is."""


class HubDataset:
    """Those files of a data set that ``[[fetch]]`` names."""

    kind = "dataset"

    def __init__(self, fetch: Fetch) -> None:
        assert fetch.hub is not None
        self._repo, self._patterns = fetch.hub, fetch.files
        self.address = f"hub:{fetch.hub}"
        self._api = hub_api("fetch")

    @property
    def _where(self) -> str:
        return f"the {self.kind} {self._repo} of {self._api.endpoint}"

    def listing(self, revision: str | None) -> Listing:
        def ask() -> tuple[str, list[PlaceFile]]:
            with judged(self._where, self.page, revision):
                # Asked for a pinned commit too: where the hub cannot be reached it says so at once, while the library
                # tries a listing again and again.
                info = self._api.repo_info(self._repo, repo_type=self.kind, revision=revision, timeout=_TIMEOUT_S)
                commit = revision or str(info.sha)
                tree = self._api.list_repo_tree(self._repo, recursive=True, repo_type=self.kind, revision=commit)
                return commit, [_listed(entry) for entry in tree if hasattr(entry, "size")]

        commit, tree = tried(ask, first=True)
        files = list(wanted(tree, self._patterns, self._where))
        check_paths((file.path for file in files), self._where)
        return Listing(commit, files)

    def downloads(self, listing: Listing, into: Path, count: Count) -> Iterator[Callable[[], None]]:
        for file in listing.files:
            where = f"{file.path} of {self._where}"
            opener = partial(self._opened, file.path, listing.revision, where)
            yield partial(download, into / file.path, where, opener, count)

    @property
    def page(self) -> str:
        """Its page, for people."""
        return f"{self._api.endpoint}/{'datasets/' if self.kind == 'dataset' else ''}{self._repo}"

    @contextmanager
    def _opened(self, path: str, commit: str, where: str, headers: Mapping[str, str]) -> Iterator[Reply]:
        from huggingface_hub import get_session, hf_hub_url
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

        url = hf_hub_url(self._repo, path, repo_type=self.kind, revision=commit, endpoint=self._api.endpoint)
        # Its client sends the token to no other host, where the file itself often lies.
        sent = {**build_hf_headers(library_name="pytest-audiobench", token=self._api.token), **headers}
        # Its client would wait for ever.
        stream = get_session().stream("GET", url, headers=sent, timeout=TIMEOUT_S)
        with judged(where, self.page, commit), stream as response:
            if response.status_code != 416:
                hf_raise_for_status(response)
            said = {name.lower(): value for name, value in response.headers.items()}
            yield Reply(response.status_code, said, response.iter_raw())


def _listed(entry: Any) -> PlaceFile:
    sha256 = entry.lfs.sha256 if getattr(entry, "lfs", None) else None
    return PlaceFile(str(entry.path), int(entry.size), sha256, blob=None if sha256 else str(entry.blob_id))


@contextmanager
def judged(where: str, page: str, revision: str | None) -> Iterator[None]:
    """Whatever huggingface_hub raises as one sentence, without what was sent."""
    try:
        yield
    except (FatalError, Passing, Stopped, GeneratorExit):
        raise
    except TemporaryHubError as error:
        raise Passing(f"{where}: {error}", error.wait_s) from None
    except Exception as error:
        raise _sentence(error, where, page, revision) from None


def _sentence(error: Exception, where: str, page: str, revision: str | None) -> Exception:
    from huggingface_hub import errors

    if isinstance(error, errors.OfflineModeIsEnabled):
        return UsageError(
            "huggingface_hub is offline (HF_HUB_OFFLINE=1): unset it, or take the files with --from FOLDER"
        )
    status = getattr(getattr(error, "response", None), "status_code", None)
    log_in = "log in by hf auth login, or set HF_TOKEN; files that you have already are taken with --from FOLDER"
    if isinstance(error, errors.GatedRepoError):
        return FatalError(f"{where} is gated (reply {status}): accept its terms at {page}, and {log_in}")
    if isinstance(error, errors.RevisionNotFoundError):
        return FatalError(
            f"{where} has no commit {revision} any more: look at {page}, and correct [[fetch]] in the file"
        )
    if isinstance(error, errors.RepositoryNotFoundError) and status in (401, 404):
        return FatalError(
            f"{where} is not there, or only for those who are admitted (reply {status}): look at {page}, and {log_in}"
        )
    if status is not None:
        return refusal(status, where, f"look at {page}, and {log_in}")
    # httpx's errors by their library's name, since that differs between versions.
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError):
        return error
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, OSError) or {"TransportError", "StreamError"} & kinds:
        gone = Unreachable if {"ConnectError", "ConnectTimeout"} & kinds else Passing
        return gone(f"{where}: the connection failed ({type(error).__name__})")
    return FatalError(f"{where} answered with what no hub answers ({type(error).__name__}): correct HF_ENDPOINT")
