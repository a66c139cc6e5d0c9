"""Where a source's file really lies, inside its data root, and the state it is in."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.errors import FileUnreachable

_LARGEST = 2**63 - 1
"""SQLite's integers are signed; some file systems number with all 64 bits."""

_MOST_FOLDERS = 20
"""In which a missing file is looked for."""


class FileKey(NamedTuple):
    """What changes when a file does. The inode's change time cannot be set back, so it catches restored mtimes."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileKey:
        return cls(
            status.st_dev & _LARGEST, status.st_ino & _LARGEST, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )

    def age_s(self, now_ns: int) -> float:
        """How long nothing happened to the file; negative when its clock is ahead of ours."""
        return (now_ns - max(self.mtime_ns, self.ctime_ns)) / 1e9


class Located(NamedTuple):
    """A regular, non-empty file on this machine."""

    path: str
    key: FileKey


class Locator:
    """Finds sources' files at the cost of one ``lstat`` each: folders are resolved once, and remembered."""

    def __init__(self) -> None:
        self._folders: dict[tuple[str, str], str] = {}
        self._inner: dict[Path, list[Path]] = {}

    def find(self, source: FileSource) -> Located:
        """Raises FileUnreachable for a path that leaves its root, and for a file that is missing, empty or none."""
        try:
            return self._find(source)
        except FileNotFoundError:
            remedy = f"add it, or correct its path; a data set's folder is named by --ab-data={source.root.name}=FOLDER"
            listed = ""
            if source.line:
                listed = f" (line {source.line} of {source.root.listing})"
                beside = self._beside(source)
                remedy = f'it is in {beside}: write root="{beside}"' if beside else remedy
            raise FileUnreachable(f"{source}{listed}: no such file; looked for {source.location}; {remedy}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise FileUnreachable(f"{source}: cannot be read ({reason}); correct the path or its permissions") from None

    def _beside(self, source: FileSource) -> str:
        """The folder in the list's that has the file, where that was forgotten; "" for none."""
        root = source.root.folder
        if root not in self._inner:
            try:
                self._inner[root] = sorted(path for path in root.iterdir() if path.is_dir())[:_MOST_FOLDERS]
            except OSError:
                self._inner[root] = []
        return next((path.name for path in self._inner[root] if (path / source.path).is_file()), "")

    def _find(self, source: FileSource) -> Located:
        root = os.fspath(source.root.folder)
        folder, slash, name = source.path.rpartition("/")
        real = self._folders.get((root, folder))
        if real is None:
            real = self._folders[root, folder] = self._real(source, folder + slash)
        if name == ".." or "\\" in name:
            raise _leaving(source)
        path = real + name
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            path = os.path.realpath(path)
            if not _is_within(path, os.path.realpath(root)):
                raise _linked_out(source)
            status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "no ordinary file"
            raise FileUnreachable(f"{source}: {path} is {what}; name an audio file")
        if status.st_size == 0:
            raise FileUnreachable(f"{source}: the file is empty (0 bytes); fetch it again")
        return Located(path, FileKey.of(status))

    @staticmethod
    def _real(source: FileSource, folder: str) -> str:
        if os.path.isabs(folder) or "\\" in folder or ".." in folder.split("/"):
            raise _leaving(source)
        root = source.root.folder
        real = os.path.realpath(os.path.join(root, folder))
        if not _is_within(real, os.path.realpath(root)):
            raise _linked_out(source)
        return os.path.join(real, "")


def _leaving(source: FileSource) -> FileUnreachable:
    root = source.root.folder
    return FileUnreachable(f"{source}: the path leaves its data root; write it relative to {root}, with / and no ..")


def _linked_out(source: FileSource) -> FileUnreachable:
    root = source.root.folder
    return FileUnreachable(f"{source}: a symbolic link leads out of its data root {root}; put the file itself there")


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
