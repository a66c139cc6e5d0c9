"""Packs in archives: unpacked into a folder that the user names, and trusted in nothing.

Only ordinary files and folders are written, only inside the folder, never over one that is there, and no more of them
than is bounded, whatever the archive says about itself: what is written is counted while it is written.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.errors import DISK, InfrastructureError, UsageError

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MOST_MEMBERS = 200_000
MOST_BYTES = 4_000_000_000
_DEEPEST = 20
"""Folders around a file: each member could bring thousands of its own."""

_OPENERS: dict[str, Any] = {
    ".tar": open,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}
_METADATA = "__MACOSX"
"""Where macOS puts what is no part of the content."""

_TAR_BLOCK_BYTES = 512
_WITHOUT_CONTENT = b"123456"
_OF_THE_NEXT = b"xgLK"
_LONGEST_HEADER_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 18
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, NotImplementedError, ValueError)


def stem(archive: Path) -> str:
    """The name of an archive's pack: its file name without the ending. Raises UsageError for another ending."""
    name = archive.name
    end = next((end for end in ARCHIVES if name.lower().endswith(end) and len(name) > len(end)), None)
    if end is None:
        raise UsageError(f"{archive} is not an archive by its name; it must end with {', '.join(ARCHIVES)}")
    return name[: -len(end)]


def unpack(archive: Path, into: Path, most_bytes: int = MOST_BYTES) -> Path:
    """Unpack ``archive`` into a new folder of its name in ``into``, and return that; a sole folder of all is left away.

    Raises UsageError, having written nothing that stays, for what is no archive or is damaged, for a member that is a
    link or no ordinary file, would leave the folder or lies more than 20 folders deep, for more than 200,000 members,
    and for more than ``most_bytes``.
    """
    target = into / stem(archive)
    if target.exists():
        raise UsageError(f"{target} already exists; remove it, or unpack {archive.name} elsewhere")
    into.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=into))
    try:
        unpack_all(archive, work / "all", most_bytes)
        _top(work / "all").rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def unpack_all(archive: Path, folder: Path, most_bytes: int, most_members: int | None = None) -> None:
    """Unpack ``archive`` into the new ``folder`` as it is. Raises as :func:`unpack`, and may leave a part there."""
    members = _zip_members if archive.name.lower().endswith(".zip") else _tar_members
    bounds = _Bounds(most_bytes, most_members or MOST_MEMBERS)
    try:
        _write(archive, members(archive, bounds), folder, bounds)
    except FileNotFoundError:
        raise UsageError(f"there is no archive {archive}; correct the path") from None
    except FileExistsError:
        raise UsageError(f"{archive} has two members of one name; pack it again") from None
    except (OSError, *_BROKEN) as error:
        if isinstance(error, OSError) and error.errno in DISK:
            raise InfrastructureError(f"{folder} cannot be written ({error.strerror}): make room there") from None
        raise UsageError(f"{archive} cannot be unpacked ({error}); fetch it again") from None


def _top(folder: Path) -> Path:
    """``folder``, or the sole one in it where that is the whole pack's and not a label's."""
    top = list(folder.iterdir())
    entries = list(top[0].iterdir()) if len(top) == 1 and top[0].is_dir() else []
    return top[0] if any(entry.is_dir() or entry.suffix in (".json", ".csv") for entry in entries) else folder


class _Bounds(NamedTuple):
    """What an archive may hold."""

    bytes: int
    members: int

    @property
    def furthest(self) -> int:
        """How far a tar archive's stream may go."""
        return self.bytes + self.members * 2 * _TAR_BLOCK_BYTES


def _write(archive: Path, members: Iterator[tuple[str, IO[bytes] | None]], folder: Path, bounds: _Bounds) -> None:
    folder.mkdir()
    left, files = bounds.bytes, 0
    for count, (written, content) in enumerate(members):
        if count == bounds.members:
            raise _too_many(archive, bounds)
        if written.split("/")[0] == _METADATA or (content is None and written in (".", "./")):
            continue
        try:
            path = folder / relative_path(written.rstrip("/") if content is None else written)
        except ValueError as error:
            raise UsageError(f"{archive} has a member that cannot be unpacked: {error}; do not trust it") from None
        if len(path.relative_to(folder).parts) > _DEEPEST:
            raise UsageError(f"{archive} has a member more than {_DEEPEST} folders deep; do not trust it")
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
            continue
        files += 1
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            while block := content.read(_BLOCK_BYTES):
                left -= len(block)
                if left < 0:
                    raise _too_much(archive, bounds)
                file.write(block)
    if not files:
        raise UsageError(f"{archive} holds no file; pack the sounds into it")


def _zip_members(archive: Path, bounds: _Bounds) -> Iterator[tuple[str, IO[bytes] | None]]:
    with zipfile.ZipFile(archive) as opened:
        members = opened.infolist()
        if len(members) > bounds.members:
            raise _too_many(archive, bounds)
        if sum(member.file_size for member in members) > bounds.bytes:
            raise _too_much(archive, bounds)
        for member in members:
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir():
                yield member.filename, None
                continue
            if kind not in (0, stat.S_IFREG):
                raise _no_file(archive, member.filename)
            if member.flag_bits & 1:
                raise UsageError(f"{archive}: {member.filename[:200]!r} is encrypted; unpack it yourself")
            with opened.open(member) as content:
                yield member.filename, content


def _tar_members(archive: Path, bounds: _Bounds) -> Iterator[tuple[str, IO[bytes] | None]]:
    opener = _OPENERS[archive.name.lower().removeprefix(stem(archive).lower())]
    with opener(archive, "rb") as stream:
        _check_count(archive, stream, bounds)
        stream.seek(0)
        bounded: Any = _Bounded(archive, stream, bounds)
        with tarfile.open(fileobj=bounded, mode="r:") as opened:
            for member in opened:
                if member.isdir():
                    yield member.name, None
                    continue
                if not member.isreg() or member.issparse():
                    raise _no_file(archive, member.name)
                content = opened.extractfile(member)
                assert content is not None  # as it is for every ordinary file
                yield member.name, content


def _check_count(archive: Path, stream: IO[bytes], bounds: _Bounds) -> None:
    """Raises UsageError for more members, or more content, than is bounded, as long as nothing is written.

    Looks at types and sizes alone: tarfile takes seconds for the members of a hostile archive. Whatever it reads
    otherwise than this is counted again while it is written.
    """
    count = position = 0
    while (header := stream.read(_TAR_BLOCK_BYTES))[257:262] == b"ustar":
        kind, size = header[156:157], _number(header[124:136])
        count += kind not in _OF_THE_NEXT
        position += _TAR_BLOCK_BYTES
        if kind not in _WITHOUT_CONTENT:
            position += -(-size // _TAR_BLOCK_BYTES) * _TAR_BLOCK_BYTES
        if count > bounds.members:
            raise _too_many(archive, bounds)
        if position > bounds.furthest:
            raise _too_much(archive, bounds)
        if position != stream.tell():
            stream.seek(position)


def _number(field: bytes) -> int:
    """Octal digits, or from 8 GB on the bytes themselves behind one with the highest bit."""
    return int.from_bytes(field[1:], "big") if field[0] & 0x80 else int(field.strip(b"\0 ") or b"0", 8)


class _Bounded:
    """A stream that ends with an error: tarfile itself would read a header of any length into memory."""

    def __init__(self, archive: Path, stream: IO[bytes], bounds: _Bounds) -> None:
        self._archive, self._stream, self._bounds = archive, stream, bounds

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _LONGEST_HEADER_BYTES:
            raise UsageError(f"{self._archive} has a header of {size} bytes; do not trust it")
        data = self._stream.read(size)
        self._check(self._stream.tell())
        return data

    def seek(self, position: int) -> int:
        self._check(position)
        return self._stream.seek(position)

    def tell(self) -> int:
        return self._stream.tell()

    def _check(self, position: int) -> None:
        if position > self._bounds.furthest:
            raise _too_much(self._archive, self._bounds)


def _too_many(archive: Path, bounds: _Bounds) -> UsageError:
    return UsageError(f"{archive} has more than {bounds.members} members; unpack it yourself if you trust it")


def _too_much(archive: Path, bounds: _Bounds) -> UsageError:
    return UsageError(
        f"{archive} unfolds to more than {bounds.bytes / 1e9:g} GB; allow more with --most-gb N if you trust it"
    )


def _no_file(archive: Path, name: str) -> UsageError:
    return UsageError(f"{archive}: {name[:200]!r} is a link or no ordinary file; pack the files themselves")
