"""Folders and files behind ``s3://``, ``gs://``, ``hf://`` and other addresses of fsspec: copied to the user's cache.

A copy is of what lies there now: every use asks for the files' sizes and entity tags, and copies those that changed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pytest_audiobench.datasets.places import relative_path, user_cache
from pytest_audiobench.errors import DISK, FatalError, InfrastructureError, UsageError, install_command
from pytest_audiobench.identity import digest

_ADDRESS = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://.")
_TAGS = ("ETag", "etag", "blob_id", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "created")
"""What the file systems call that which changes with a file."""
_STATE = "copy.json"


def is_remote(text: str) -> bool:
    """Whether ``text`` is such an address. Web pages are not: their folders cannot be listed."""
    return _ADDRESS.match(text) is not None


def local_copy(address: str, patterns: Sequence[str] = ()) -> Path:
    """A folder, or a file, of this machine that holds what ``address`` does; of a folder only files whose names match.

    Raises UsageError for what is not there, and InfrastructureError for what cannot be reached.
    """
    system, place = _file_system(address)
    files, single = _listing(system, place, address, patterns)
    name = place.rstrip("/").rpartition("/")[2] or "all"
    folder = user_cache() / "remote" / digest([address, list(patterns)])[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _copy(system, files, folder, folder if single else folder / name, address)
    except OSError as error:
        what = f"{folder} cannot be written ({error.strerror or error})"
        if error.errno in DISK:
            raise InfrastructureError(f"{what}: make room there and run this again") from None
        raise UsageError(f"{what}: correct its permissions, or set XDG_CACHE_HOME") from None
    return folder / name


def _shown(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _file_system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(f"{_shown(address)} is read by fsspec: {install_command('remote')}") from None
    try:
        system, place = url_to_fs(address)
        return system, str(place)
    except ImportError as error:
        raise UsageError(f"{_shown(address)} needs a library that is not installed: {error}") from None
    except ValueError as error:
        raise UsageError(f"{_shown(address)} is not an address that fsspec knows: {error}") from None
    except Exception as error:  # some connect at once
        raise _judged(error, address) from None


def _listing(
    system: Any, place: str, address: str, patterns: Sequence[str]
) -> tuple[dict[str, tuple[str, int, str]], bool]:
    """By path below the folder: where each file lies, its size and its tag; and whether the place is a file itself."""
    try:
        single = bool(system.isfile(place))
        found = {place: system.info(place)} if single else system.find(place, detail=True)
    except Exception as error:
        raise _judged(error, address) from None
    files = {}
    for path, information in found.items():
        inside = path.rpartition("/")[2] if single else os.path.relpath(f"/{path.lstrip('/')}", f"/{place.lstrip('/')}")
        if not single and patterns and not any(fnmatch(inside, pattern) for pattern in patterns):
            continue
        try:
            plain = relative_path(inside)
        except ValueError as error:
            raise UsageError(f"{_shown(address)} has a file that is not copied: {error}; do not trust it") from None
        # Where none of these is said, whatever else is tells one file from another.
        tag = next((str(information[name]) for name in _TAGS if information.get(name) is not None), None)
        tag = digest(sorted(map(str, information.items()))) if tag is None else tag
        files[plain] = (path, int(information.get("size") or 0), tag)
    if not files:
        raise UsageError(f"there is nothing at {_shown(address)}: correct the address")
    return files, single


def _copy(system: Any, files: Mapping[str, tuple[str, int, str]], folder: Path, into: Path, address: str) -> None:
    """Copy what is not here as it lies there now, and remove what does not lie there any more."""
    state = folder / _STATE
    try:
        known = msgspec.json.decode(state.read_bytes(), type=dict[str, tuple[int, str]])
    except (OSError, msgspec.MsgspecError):
        known = {}
    lacking = [
        path
        for path, (_, size, tag) in files.items()
        if known.get(path) != (size, tag) or not _is_whole(into / path, size)
    ]
    needed, free = sum(files[path][1] for path in lacking), shutil.disk_usage(folder).free
    if needed > free:
        figures = f"{needed / 1e9:.1f} GB, and {folder} has {free / 1e9:.1f} GB free"
        raise InfrastructureError(f"{_shown(address)} takes {figures}: make room there")
    for path in known.keys() - files.keys():
        (into / path).unlink(missing_ok=True)
    for path in lacking:
        target = into / path
        part = target.with_name(f".{target.name}.part")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            system.get_file(files[path][0], str(part))
        except Exception as error:
            if isinstance(error, OSError) and error.errno in DISK:
                raise
            raise _judged(error, address) from None
        if not _is_whole(part, files[path][1]):
            part.unlink(missing_ok=True)
            raise InfrastructureError(f"{path} of {_shown(address)} did not arrive whole: run this again")
        os.replace(part, target)
    now = {path: (size, tag) for path, (_, size, tag) in files.items()}
    if now != known:
        part = state.with_name(f"{_STATE}.part")
        part.write_bytes(msgspec.json.encode(now))
        os.replace(part, state)


def _is_whole(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _judged(error: Exception, address: str) -> FatalError:
    """What a file system raises, in a sentence; its own text may repeat what was sent."""
    where = _shown(address)
    if isinstance(error, FileNotFoundError):
        return UsageError(f"there is nothing at {where}: correct the address")
    if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
        return UsageError(f"{where} may not be read: log in there as its own tools do")
    return InfrastructureError(f"{where} cannot be read ({type(error).__name__}): try again later")
