"""Files of a git repository at one commit, by the git command: no history of it, and nothing of it is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from pytest_audiobench.datasets.declaration import Fetch
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.fetching.download import Passing, Unreachable, tried
from pytest_audiobench.fetching.place import Count, Listing, PlaceFile, check_paths, shown, wanted

_CLONE = ".git"
_SETTINGS = (
    *("core.hooksPath=/dev/null", "protocol.ext.allow=never", "core.autocrlf=false", "core.symlinks=false"),
    *("gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false"),
)
_SAFE = tuple(word for setting in _SETTINGS for word in ("-c", setting))
_ATTRIBUTES = "* -text -ident -working-tree-encoding\n"
"""What the repository's own attributes may not change: the bytes of files. LFS is a filter, and stays."""
_FILE, _LINK, _MODULE = "100", "120000", "160000"
_LFS = b"version https://git-lfs"
_SECRET = re.compile(r"(\w+://)[^/@\s]+@")
_OF_A_REPOSITORY = {
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
    *("GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX"),
}
"""What git sets for a hook, of the repository that the hook is run in."""
_GONE = ("not our ref", "couldn't find remote ref", "no such remote ref", "bad object", "unadvertised object")
_DENIED = ("authentication failed", "could not read username", "could not read password", "permission denied", "403")
_UNREACHABLE = ("could not resolve host", "failed to connect", "couldn't connect")
_MISSING = ("not found", "does not exist", "does not appear to be a git repository")


class GitRepository:
    """Those files of a repository that ``[[fetch]]`` names. ``work`` is a folder for its objects."""

    def __init__(self, fetch: Fetch, work: Path) -> None:
        assert fetch.git is not None
        if shutil.which("git") is None:
            raise UsageError(f"{shown(fetch.git)} is fetched by git, which is not installed: install it")
        self._url, self._patterns, self._folder = fetch.git, fetch.files, work / _CLONE
        self.address = shown(fetch.git)

    def listing(self, revision: str | None) -> Listing:
        """The files of the commit, whose objects are fetched without their contents where the server can do that."""
        commit = revision or tried(self._head, first=True)
        if not self._has(commit):
            tried(partial(self._fetch, commit), first=True)
        tree = self._git("ls-tree", "-r", "-z", "--full-tree", commit)
        entries = [entry.split(b"\t", 1) for entry in tree.split(b"\0") if entry]
        modes = {os.fsdecode(path): information.decode().split() for information, path in entries}
        files = [PlaceFile(path, blob=blob) for path, (mode, _, blob) in modes.items() if mode != _MODULE]
        files = list(wanted(files, self._patterns, self.address))
        check_paths((file.path for file in files), self.address)
        if links := [file.path for file in files if modes[file.path][0] == _LINK]:
            raise FatalError(
                f"{self.address} has the symbolic link {links[0][:200]!r}, which is not fetched: name the files "
                "themselves in [[fetch]]"
            )
        return Listing(commit, files)

    def downloads(self, listing: Listing, into: Path, count: Count) -> Iterator[Callable[[], None]]:
        yield partial(self._check_out, listing, into, count)

    def _check_out(self, listing: Listing, into: Path, count: Count) -> None:
        into.mkdir(parents=True, exist_ok=True)
        paths = "\0".join(file.path for file in listing.files).encode(errors="surrogateescape")
        where = ("--git-dir", str(self._folder), "--work-tree", str(into))

        def check_out() -> None:
            self._git(
                *(*where, "--literal-pathspecs", "checkout", "-f", listing.revision),
                *("--pathspec-from-file=-", "--pathspec-file-nul"),
                content=paths,
            )

        tried(check_out)
        for file in listing.files:
            with (into / file.path).open("rb") as content:
                if content.read(len(_LFS)) == _LFS:
                    raise FatalError(
                        f"{self.address} keeps {file.path} by git-lfs, which is not installed: install it and run this "
                        "again"
                    )
            count((into / file.path).stat().st_size)

    def _head(self) -> str:
        lines = self._git("ls-remote", self._url, "HEAD").decode(errors="replace").split()
        if not lines:
            raise FatalError(f"{self.address} has no commit: it is empty; correct [[fetch]] in the file")
        return lines[0]

    def _has(self, commit: str) -> bool:
        if not self._folder.is_dir():
            return False
        try:
            self._git("ls-tree", "-r", "-z", "--full-tree", commit)
        except (FatalError, Passing):
            return False
        return True

    def _fetch(self, commit: str) -> None:
        if not (self._folder / "HEAD").is_file():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._git("init", "-q", "--bare", str(self._folder))
            (self._folder / "info").mkdir(exist_ok=True)
            (self._folder / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
            self._git("config", "remote.origin.url", self._url)
            self._git("config", "core.bare", "false")
        try:
            self._git("fetch", "-q", "--no-tags", "--depth=1", "--filter=blob:none", "origin", commit)
        except FatalError:
            # Some servers give only what has a name: then the commit is looked for in the whole history.
            self._git("fetch", "-q", "--filter=blob:none", "origin", "+refs/heads/*:refs/remotes/origin/*")
            if not self._has(commit):
                raise

    def _git(self, *arguments: str, content: bytes | None = None) -> bytes:
        """What a git command prints. Raises FatalError, or Passing where another try may help."""
        allowed = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:http:git:ssh:file", "LC_ALL": "C"}
        place = () if "--git-dir" in arguments or not self._folder.is_dir() else ("--git-dir", str(self._folder))
        environment = {**{k: v for k, v in os.environ.items() if k not in _OF_A_REPOSITORY}, **allowed}
        done = subprocess.run(
            ["git", *_SAFE, *place, *arguments], input=content, capture_output=True, check=False, env=environment
        )
        if done.returncode == 0:
            return done.stdout
        says = " ".join(_SECRET.sub(r"\1", done.stderr.decode(errors="replace")).split())
        # Some of its messages have the address without what goes before the user.
        for secret in filter(None, urlsplit(self._url).netloc.rpartition("@")[:1]):
            says = says.replace(f"{secret}@", "")
        raise self._failure(says)

    def _failure(self, says: str) -> Exception:
        lower = says.lower()
        if "no space left" in lower:
            return FatalError(f"{self._folder} cannot be written (No space left on device): make room there")
        if any(words in lower for words in _GONE):
            return FatalError(
                f"{self.address} has not the commit that it should have: look whether it moved, and correct [[fetch]] "
                "in the file"
            )
        if any(words in lower for words in _DENIED):
            return FatalError(
                f"{self.address} may not be fetched by everybody: ask its publisher, set up git for it, or take the "
                "files with --from FOLDER"
            )
        if any(words in lower for words in _MISSING):
            return FatalError(
                f"{self.address} is not there any more: look for it at its publisher's, correct [[fetch]] in the file, "
                "or take it from a folder with --from FOLDER"
            )
        gone = Unreachable if any(words in lower for words in _UNREACHABLE) else Passing
        return gone(f"git cannot fetch {self.address} ({shown(says)[:300]})")
