"""Where a source's file really lies, and that it lies inside its data root."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.errors import AudioError


class Located(NamedTuple):
    """A regular, non-empty file on this machine and what ``stat`` said of it."""

    path: str
    status: os.stat_result


class Locator:
    """Finds sources' files at the cost of one ``lstat`` each: folders are resolved once, and remembered."""

    def __init__(self) -> None:
        self._inside: dict[tuple[str, str], str | None] = {}

    def find(self, source: FileSource) -> Located:
        """Raises AudioError for a path that leaves its root, and for a file that is missing, empty or none."""
        try:
            return self._find(source)
        except FileNotFoundError:
            remedy = f"add it, or point to the folder that has it with --ab-data {source.root.name}=FOLDER"
            raise AudioError(f"{source}: no such file; looked for {source.location}; {remedy}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise AudioError(f"{source}: cannot be read ({reason}); correct the path or its permissions") from None

    def _find(self, source: FileSource) -> Located:
        root, (folder, _, name) = os.fspath(source.root.folder), source.path.rpartition("/")
        if os.path.isabs(source.path) or "\\" in source.path or ".." in source.path.split("/"):
            raise AudioError(f"{source}: the path leaves its data root; write it relative to {root}, with / and no ..")
        real = self._real(root, folder)
        if real is None:
            raise self._outside(source)
        path = os.path.join(real, name)
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            path, top = os.path.realpath(path), os.path.realpath(root)
            if not _is_within(path, top):
                raise self._outside(source)
            status = os.stat(path)
        return self._checked(source, path, status)

    def _real(self, root: str, folder: str) -> str | None:
        """The folder with all links resolved, None when that is outside the root."""
        known = (root, folder)
        if known not in self._inside:
            real = os.path.realpath(os.path.join(root, folder))
            self._inside[known] = real if _is_within(real, os.path.realpath(root)) else None
        return self._inside[known]

    @staticmethod
    def _outside(source: FileSource) -> AudioError:
        root = source.root.folder
        return AudioError(f"{source}: a symbolic link leads out of its data root {root}; put the file itself there")

    @staticmethod
    def _checked(source: FileSource, path: str, status: os.stat_result) -> Located:
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "no ordinary file"
            raise AudioError(f"{source}: {path} is {what}; name an audio file")
        if status.st_size == 0:
            raise AudioError(f"{source}: the file is empty (0 bytes); fetch it again")
        return Located(path, status)


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
