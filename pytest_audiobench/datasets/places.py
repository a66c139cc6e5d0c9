"""Places where data may lie on this machine, and the paths inside them that others wrote."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.errors import DataNotFound, UsageError

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_HALF = re.compile(r"[\ud800-\udfff]")
_PLAIN = re.compile(r"[\w-](?:[^/\\:\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|/(?=[\w-]))*")
"""Paths that need no closer look: every part begins with a letter, digit, underscore or hyphen."""

_DATA_ROOT, _DATA = "AUDIOBENCH_DATA_ROOT", "AUDIOBENCH_DATA"


class NamedFolders(dict[str, Path]):
    """Folders given for one data set each, by its name, and which of the names were looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.lookups: set[str] = set()

    def __getitem__(self, name: str) -> Path:
        self.lookups.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True, slots=True)
class Places:
    """Where data may lie on this machine."""

    here: Path
    """The folder of the test file, from which a manifest's relative path is read."""
    named: Mapping[str, Path] = field(default_factory=dict)
    """Folders given for one data set (``--ab-data=sakura=/data/SAKURA``)."""
    shelves: Sequence[Path] = ()
    """Folders that hold data sets by name (``--ab-data=/data``), in order."""
    mixes: Sequence[str] = ()
    """The mixtures of sounds that the run asks for, in a line or by a file (``--ab-mix``)."""
    scenes: int | None = None
    """How many soundscapes an eval takes (``--ab-scenes``)."""
    pools: Path | None = None
    """The folder of what soundscapes are put together from (``--ab-pools``)."""
    cache: Path | None = None
    """A folder for what is made for the data, from run to run: that of the answer store."""

    def find(self, name: str, *landmarks: str, remedy: str = "") -> DataRoot:
        """The folder of data set ``name``: the first that holds any of ``landmarks``, paths or patterns of shards.

        Raises DataNotFound, which says where it was looked for, how to come by it (``remedy``) and how to point to it.
        """
        shelves = dict.fromkeys(shelf / name for shelf in self.shelves)  # one may be given and be the default too
        candidates = [self.named[name]] if name in self.named else list(shelves)
        for folder in candidates:
            if folder.is_dir() and any(holds(folder, landmark) for landmark in landmarks):
                return DataRoot(name, folder.resolve())
        searched = ", ".join(_lacking(folder, landmarks) for folder in candidates) or "nowhere: no data folder is set"
        raise DataNotFound(
            f"{name} is not on this machine (looked for {searched}); {remedy}point to it with --ab-data={name}=FOLDER",
            name,
        )


def folders(entries: Sequence[str], base: Path, option: str) -> tuple[NamedFolders, list[Path]]:
    """The folders that ``[NAME=]FOLDER`` entries of ``option`` name: those of one data set, and shelves of many.

    Relative ones start at ``base``; what is behind an address of fsspec is copied. Raises UsageError for what is no
    folder on this machine.
    """
    named, shelves = NamedFolders(), list[Path]()
    for entry in entries:
        name, equals, written = entry.partition("=")
        is_named = bool(equals) and os.sep not in name
        path = _folder(base, written if is_named else entry, is_named, option)
        if not path.is_dir():
            raise UsageError(f"{option}={entry}: {path} is not a folder on this machine")
        if is_named:
            named[name] = path
        else:
            shelves.append(path)
    return named, shelves


def data_root(given: str | Path | None = None) -> Path:
    """Where fetched data lies: ``given``, else what the environment says, else in the user's cache; it may be missing.

    Of AUDIOBENCH_DATA, which may also name folders of single data sets, it is the first that is not one of those.
    """
    if given or (given := os.environ.get(_DATA_ROOT)):
        return Path(given).expanduser()
    for entry in filter(None, os.environ.get(_DATA, "").split(os.pathsep)):
        if os.sep in entry.partition("=")[0] or "=" not in entry:
            return Path(entry).expanduser()
    return user_cache() / "data"


def user_cache() -> Path:
    """Our folder in the user's cache (XDG Base Directory Specification)."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The specification wants a relative one to be ignored.
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "audiobench"


def _folder(base: Path, written: str, is_named: bool, option: str) -> Path:
    if "://" in written:
        from pytest_audiobench.datasets.remote_places import is_remote, local_copy

        if is_remote(written) and not is_named:
            raise UsageError(f"{option}={written}: name the one data set that is there, as {option}=NAME={written}")
        if is_remote(written):
            return local_copy(written)
    return base / Path(written).expanduser()


def holds(folder: Path, landmark: str) -> bool:
    """Whether a file of that path, or of that pattern, lies in the folder."""
    return (folder / landmark).exists() or ("*" in landmark and any(folder.glob(landmark)))


def _lacking(folder: Path, landmarks: Sequence[str]) -> str:
    return f"{folder}, which has no {' and no '.join(landmarks)}" if folder.is_dir() else str(folder)


def relative_path(written: str) -> str:
    """``written`` in its one form (``./a//b.wav`` is ``a/b.wav``).

    Raises ValueError, which says what is wrong, for a path that is not a path inside a folder. Whether a
    symbolic link leads out of the folder is seen when the file is read.
    """
    if _PLAIN.fullmatch(written):
        return written
    if CONTROL.search(written):
        raise ValueError(f"the path {written!r} holds a control character")
    if _HALF.search(written):
        raise ValueError(f"the path {written!r} is not UTF-8; rename the file")
    if "\\" in written:
        raise ValueError(f"the path {written!r} holds a backslash; write it with forward slashes")
    path = PurePosixPath(written)
    if path.is_absolute() or PureWindowsPath(str(path)).drive or ".." in path.parts:
        raise ValueError(f"the path {written!r} leaves its folder; write it relative to the folder, without ..")
    if not path.parts:
        raise ValueError("the path is empty")
    return str(path)
