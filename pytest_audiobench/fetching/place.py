"""A place that files come from, and what it says of them before they are fetched."""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol
from unicodedata import normalize
from urllib.parse import unquote, urlsplit, urlunsplit

from pytest_audiobench.datasets.declaration import Fetch
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.report.formatting import printable

_LONGEST_NAME = 255
"""Bytes of a part of a path, on all file systems in use."""

_HIDDEN = (".git", ".cache")
"""Folders of git and of the Hub's library that are not part of a data set."""


class PlaceFile(NamedTuple):
    """A file as its place lists it; what the place does not say is None."""

    path: str
    bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None
    blob: str | None = None
    """What git calls the content."""


class Listing(NamedTuple):
    """What a place has."""

    revision: str
    """The commit, or the entity tag of what is behind a URL; "" where there is none."""
    files: Sequence[PlaceFile]


Count = Callable[[int], None]
"""Takes how many more bytes have arrived."""


class Place(Protocol):
    """Where files come from. All methods raise FatalErrors of one sentence, without any secret."""

    address: str
    """As it is recorded."""

    def listing(self, revision: str | None) -> Listing:
        """The selected files, at ``revision``, or else as they are now."""
        ...

    def downloads(self, listing: Listing, into: Path, count: Count) -> Iterable[Callable[[], None]]:
        """What fetches the files into the folder, in pieces that may run side by side; what is there is taken up."""
        ...


def shown(address: str) -> str:
    """An address without its user and password, for people and records."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return printable(address)
    if not parts.netloc:
        return printable(address)
    return printable(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))


def wanted(files: Iterable[PlaceFile], patterns: Sequence[str], where: str) -> Iterator[PlaceFile]:
    """Those of ``files`` that the patterns name, of which * also stands for folders: all where there are none.

    Raises FatalError for a pattern that names none.
    """
    left = set(patterns)
    for file in files:
        matches = [pattern for pattern in patterns if fnmatchcase(file.path, _whole(pattern))]
        left.difference_update(matches)
        if matches or not patterns:
            yield file
    if left:
        raise FatalError(f"{where} has no {min(left)}: it was moved there, or renamed; correct [[fetch]] in the file")


def _whole(pattern: str) -> str:
    return f"{pattern}*" if pattern.endswith("/") else pattern


def check_paths(paths: Iterable[str], where: str) -> None:
    """Raises FatalError for names that no folder of this machine should get from outside."""
    folded: dict[str, str] = {}
    for path in paths:
        try:
            plain = relative_path(path)
        except ValueError as error:
            raise FatalError(f"{where} has a file that is not fetched: {error}; do not trust it") from None
        if plain != path or any(len(part.encode()) > _LONGEST_NAME for part in path.split("/")):
            what = "is not written plainly" if plain != path else "has a part of more than 255 bytes"
            raise FatalError(f"{where} has a file that is not fetched: the path {path[:200]!r} {what}; do not trust it")
        for part in _above(path):
            if (other := folded.setdefault(normalize("NFD", part).casefold(), part)) != part:
                names = f"{printable(other)[:200]} and {printable(part)[:200]}"
                raise FatalError(f"{where} has {names}, which are one name on some disks; fetch them manually")


def _above(path: str) -> Iterator[str]:
    """A path and the folders that it is in."""
    while path:
        yield path
        path = posixpath.dirname(path)


class Folder:
    """A folder that has what ``fetch`` would bring, by the same paths; of a URL the file of its name."""

    def __init__(self, folder: Path, fetch: Fetch, address: str = "") -> None:
        """Without an ``address`` the folder stands for itself."""
        if not folder.is_dir():
            raise UsageError(f"--from {folder}: there is no such folder; name the one that has the files")
        self._folder, self._fetch = folder, fetch
        self.address = address or f"folder:{folder.resolve()}"

    def listing(self, revision: str | None) -> Listing:
        """The existing files, without a known commit."""
        where = f"--from {self._folder}"
        fetch = self._fetch
        if fetch.url is not None:
            name = unquote(urlsplit(fetch.url).path.rpartition("/")[2])
            check_paths([name], shown(fetch.url))
            if not (self._folder / name).is_file():
                raise UsageError(f"{where}: {name} is not there; name the folder that has it")
            return Listing("", [self._file(name)._replace(sha256=fetch.sha256, md5=fetch.md5)])
        all_files = [self._file(path) for path in sorted(self._paths())]
        files = list(wanted(all_files, fetch.files, where))
        if not files:
            raise UsageError(f"{where}: it is empty; name the folder that has the files")
        check_paths((file.path for file in files), where)
        return Listing(revision or "", files)

    def downloads(self, listing: Listing, into: Path, count: Count) -> Iterator[Callable[[], None]]:
        for file in listing.files:
            yield partial(self._copy, file.path, into / file.path, count)

    def _copy(self, path: str, to: Path, count: Count) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        part = to.with_name(f"{to.name}.part")
        shutil.copyfile(self._folder / path, part)
        os.replace(part, to)
        count(to.stat().st_size)

    def _file(self, path: str) -> PlaceFile:
        return PlaceFile(path, (self._folder / path).stat().st_size)

    def _paths(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if name not in _HIDDEN]
            for name in names:
                path = Path(folder, name)
                if path.is_file():
                    yield path.relative_to(self._folder).as_posix()
