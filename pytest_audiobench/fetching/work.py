"""The fetching of a data set: files arrive next to its folder, are checked, and move there when all are whole."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

import msgspec
from msgspec.structs import replace

from pytest_audiobench.datasets.fetch_records import fetch_name, read_record, record_file
from pytest_audiobench.datasets.packs.archives import ARCHIVES, unpack_all
from pytest_audiobench.errors import DISK, FatalError, InfrastructureError, UsageError
from pytest_audiobench.fetching.place import PlaceFile, check_paths
from pytest_audiobench.fetching.plan import Layout, PlannedPart, declared_lines, planned
from pytest_audiobench.fetching.progress import Progress, Stopped, size_text, time_text
from pytest_audiobench.fetching.wanted_data import WantedData
from pytest_audiobench.records.fetch import SCHEMA, FetchRecord, FileRecord, PartRecord
from pytest_audiobench.report.atomic_files import write_bytes
from pytest_audiobench.report.formatting import counted

_MOST_MEMBERS = 10_000_000
_USUAL_UNFOLDING, _LEAST_UNFOLDING_BYTES = 30, 1_000_000_000
"""How many times its own size an archive may unfold to, and what any may."""
_ARRIVED, _UNPACKED = "arrived", "unpacked"
_BLOCK_BYTES = 1 << 20
_SPARE_BYTES = 50_000_000
"""What is left of a disk at least."""


@dataclass(frozen=True)
class Manner:
    """How to fetch."""

    say: Callable[[str], None] = print
    progress: TextIO | None = None
    """Where it is written how much has arrived."""
    folder: Path | None = None
    """What has the files in place of the network."""
    jobs: int = 4
    """Files that arrive side by side."""
    most_bytes: int | None = None
    """What one archive may unfold to."""
    waits: bool = False
    """Whether another fetch of the same data set is waited for."""
    dry: bool = False


def fetch(data: WantedData, root: Path, manner: Manner) -> bool:
    """Fetch the selected parts of a data set into ``root``; whether anything was lacking.

    Raises FatalErrors of one sentence each; what has arrived by then is taken up by the next fetch.
    """
    root = root.resolve()
    with _writing(root):
        root.mkdir(parents=True, exist_ok=True)
        with _lock(root, data.root, manner.waits):
            layout = Layout.of(root, data.root)
            try:
                parts = _planned(data, root, manner)
                lacking = [part for part in parts if part.listing is not None]
                _announce(data, parts, layout, manner)
                _check_room(data, lacking, root)
                if not manner.dry:
                    _fetch_parts(data, parts, layout, manner)
            finally:
                if manner.dry and not read_record(root, data.root):
                    shutil.rmtree(layout.stage, ignore_errors=True)
    return bool(lacking)


def _planned(data: WantedData, root: Path, manner: Manner) -> list[PlannedPart]:
    try:
        return planned(data, root, manner.folder)
    except FatalError:
        # Without a network a dry run still says what is known.
        for line in declared_lines(data, root) if manner.dry and manner.folder is None else ():
            manner.say(f"{data.root}: {line}")
        raise


def check(root: Path, name: str) -> Iterator[str]:
    """What is wrong with a data set that was fetched, a sentence each: every file is read again."""
    record = read_record(root, name)
    if record is None:
        raise UsageError(f"nothing of {name} was fetched into {root}: audiobench fetch {name} fetches it")
    for part in record.parts:
        if not part.complete:
            yield f"{root / name}: the fetch from {part.address} did not end; run audiobench fetch again"
            continue
        for file in part.files:
            path = root / name / file.path
            if path.is_symlink() or not path.is_file():
                yield f"{path} is not there, or no ordinary file; run audiobench fetch again"
            elif path.stat().st_size != file.bytes or _digests(path)["sha256"] != file.sha256:
                yield f"{path} is not what was fetched: it was changed; remove it and run audiobench fetch again"


def remove(root: Path, name: str) -> int:
    """Remove the files of a data set that were fetched; how many bytes they had. What is next to them stays.

    Raises UsageError for what no fetch brought.
    """
    record, layout = read_record(root, name), Layout.of(root, name)
    if record is None and not layout.stage.is_dir():
        raise UsageError(f"nothing of {name} was fetched into {root}; what came otherwise is left alone")
    if layout.folder.is_symlink() or layout.stage.is_symlink():
        raise UsageError(f"{layout.folder} is a symbolic link, which no fetch made: remove it yourself")
    files = [file for part in record.parts for file in part.files] if record else []
    with _writing(root), _lock(root, name, waits=False):
        if layout.stage.is_dir():
            shutil.rmtree(layout.stage)
        if record is not None:
            _remove_files(layout.folder, files)
        record_file(root, name).unlink(missing_ok=True)
    return sum(file.bytes for file in files)


def _remove_files(folder: Path, files: Iterable[FileRecord]) -> None:
    """Remove them, through no link and nowhere else, and then the folders that are empty."""
    top = folder.resolve()
    for file in files:
        path = folder / file.path
        if path.parent.resolve().is_relative_to(top) and not path.is_dir():
            path.unlink(missing_ok=True)
    for above, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(above):
            os.rmdir(above)


def _announce(data: WantedData, parts: Sequence[PlannedPart], layout: Layout, manner: Manner) -> None:
    for part in parts:
        manner.say(f"{data.root}: {part.line()}")
    if any(part.listing is not None for part in parts):
        free = size_text(shutil.disk_usage(layout.folder.parent).free)
        licence = ", ".join(data.licences) or "licence not known"
        licence += ", gated" if data.gated else ""
        manner.say(f"{data.root}: {licence}; into {layout.folder}, where {free} are free")


def _check_room(data: WantedData, parts: Sequence[PlannedPart], root: Path) -> None:
    there = _bytes_in(Layout.of(root, data.root).stage)
    needed, free = sum(part.room_bytes for part in parts) - there, shutil.disk_usage(root).free
    if needed > 0 and needed + _SPARE_BYTES > free:
        raise InfrastructureError(
            f"{data.root} takes {size_text(needed)}, and {root} has {size_text(free)} free: make room there, or "
            "name another folder with --data-root FOLDER"
        )


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else 0


def _fetch_parts(data: WantedData, parts: Sequence[PlannedPart], layout: Layout, manner: Manner) -> None:
    book = _Book(layout, data.root)
    for part in parts:
        book.begin(part)
    lacking = [part for part in parts if part.listing is not None]
    start = time.monotonic()
    if lacking:
        _download(data.root, lacking, layout, manner)
        for part in lacking:
            book.finish(part, *_checked(part, layout, manner), manner)
        files = sum(len(part.listing.files) for part in lacking if part.listing)
        manner.say(f"{data.root}: {counted(files, 'file')} fetched in {time_text(time.monotonic() - start)}")
    shutil.rmtree(layout.stage, ignore_errors=True)


def _download(name: str, parts: Sequence[PlannedPart], layout: Layout, manner: Manner) -> None:
    """Fetch all files, several at a time. The first error ends the others."""
    sizes = [part.bytes for part in parts]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    progress = Progress(name, total, manner.progress, sum(_bytes_in(_arrived(part, layout)) for part in parts))
    jobs = []
    for part in parts:
        assert part.listing is not None
        jobs += list(part.place.downloads(part.listing, _arrived(part, layout), progress))
    with ThreadPoolExecutor(manner.jobs) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            progress.stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)
            progress.end()
    errors = [error for future in futures if not future.cancelled() and (error := future.exception())]
    for error in errors:
        if not isinstance(error, Stopped):
            raise error


def _arrived(part: PlannedPart, layout: Layout) -> Path:
    return layout.stage / part.wanted.key / _ARRIVED


def _checked(part: PlannedPart, layout: Layout, manner: Manner) -> tuple[dict[FileRecord, Path], list[FileRecord]]:
    """The files by their paths in the data set's folder, with where they lie, and what was unpacked.

    Every digest is compared. Of two files of one path, as the README that is in each archive of a set, the first stays.
    """
    assert part.listing is not None
    arrived, unpacked = _arrived(part, layout), layout.stage / part.wanted.key / _UNPACKED
    if unpacked.is_dir():
        shutil.rmtree(unpacked)  # of a fetch that was killed while it unpacked
    held = {file.path: file.sha256 for file in part.known.archives} if part.known else {}
    if part.known:
        held |= {file.path.removeprefix(f"{part.into}/"): file.sha256 for file in part.known.files}
    files, archives = dict[str, tuple[FileRecord, Path]](), list[FileRecord]()
    for number, file in enumerate(part.listing.files):
        path = arrived / file.path
        sha256 = _verify(path, file, part, held.get(file.path))
        size = path.stat().st_size
        if not part.is_archive(file.path):
            files[_inside(part.into, file.path)] = FileRecord(_inside(part.into, file.path), size, sha256), path
            continue
        archives.append(FileRecord(file.path, size, sha256))
        most = manner.most_bytes or max(_USUAL_UNFOLDING * size, _LEAST_UNFOLDING_BYTES)
        members = _unpacked(path, unpacked / str(number), most)
        check_paths(members, file.path)
        place = _inside(part.into, file.path.rpartition("/")[0])
        for name, member in sorted(members.items()):
            to = _inside(place, name)
            files.setdefault(to, (FileRecord(to, member.stat().st_size, _digests(member)["sha256"]), member))
    return dict(files.values()), archives


def _unpacked(archive: Path, folder: Path, most_bytes: int) -> dict[str, Path]:
    """Where the files of an archive lie by their paths in it; of archives in it, as AISHELL-1 has one for each speaker,
    their own. Altogether they may unfold to ``most_bytes``, and once more as much.
    """
    folder.mkdir(parents=True)
    unpack_all(archive, folder / "all", most_bytes, _MOST_MEMBERS)
    left, files = most_bytes, dict[str, Path]()
    members = (member for member in (folder / "all").rglob("*") if member.is_file())
    for number, member in enumerate(sorted(members)):
        name = member.relative_to(folder / "all").as_posix()
        if not name.lower().endswith(ARCHIVES):
            files[name] = member
            continue
        inner = folder / str(number)
        unpack_all(member, inner, left, _MOST_MEMBERS)
        member.unlink()
        for file in sorted(inner.rglob("*")):
            if file.is_file():
                left -= file.stat().st_size
                files[_inside(name.rpartition("/")[0], file.relative_to(inner).as_posix())] = file
    return files


def _inside(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path


def _verify(path: Path, file: PlaceFile, part: PlannedPart, held: str | None) -> str:
    """The digest of a file that arrived. What is another than it should be is removed, and raises FatalError."""
    if path.is_symlink() or not path.is_file():
        raise FatalError(f"{part.place.address}: {file.path} did not arrive as an ordinary file; do not trust it")
    digests = _digests(path, file)
    wrong = [kind for kind in ("sha256", "md5", "blob") if (said := getattr(file, kind)) and said != digests[kind]]
    # What a server says of a URL's size may be that of another coding of it; what the benchmark's file says is meant.
    size = part.fetch.bytes if part.is_url else file.bytes
    if wrong or (size is not None and path.stat().st_size != size):
        path.unlink()
        kind = wrong[0] if wrong else "size"
        raise FatalError(
            f"{part.place.address}: what arrived of {file.path} has not the {kind} that "
            f"{'is pinned' if part.is_url else 'its place says'}: run this again; if it stays so, do not trust it"
        )
    if held is not None and digests["sha256"] != held:
        path.unlink()
        raise FatalError(
            f"{part.place.address}: {file.path} differs from the first fetch: it was changed there; the "
            f"local copy is kept, and audiobench fetch {fetch_name(part.wanted.needed_by[0])} --remove "
            "deletes it"
        )
    return digests["sha256"]


def _digests(path: Path, file: PlaceFile | None = None) -> dict[str, str]:
    """The SHA-256 of a file, and what else its place says of it."""
    hashes = {"sha256": hashlib.sha256()}
    if file is not None and file.md5:
        hashes["md5"] = hashlib.md5(usedforsecurity=False)
    if file is not None and file.blob:
        hashes["blob"] = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as content:
        while block := content.read(_BLOCK_BYTES):
            for each in hashes.values():
                each.update(block)
    return {kind: each.hexdigest() for kind, each in hashes.items()}


class _Book:
    """The record of a data set, written before and after anything changes in its folder."""

    def __init__(self, layout: Layout, name: str) -> None:
        self._layout, self._name = layout, name
        record = read_record(layout.folder.parent, name)
        self._parts = {(p.address, tuple(p.patterns), p.into): p for p in record.parts} if record else {}

    def begin(self, part: PlannedPart) -> None:
        """Record that a part is needed, and its commit; one that lacks is no longer taken for whole."""
        wanted, known = part.wanted, part.known
        record = PartRecord(
            address=part.place.address,
            patterns=part.fetch.files,
            into=part.into,
            unpacked=part.fetch.unpack,
            revision=part.listing.revision if part.listing else (known.revision if known else ""),
            pinned=part.pinned,
            needed_by=list(dict.fromkeys([*(known.needed_by if known else ()), *wanted.needed_by])),
            parameters=_union(known.parameters, wanted.parameters) if known else wanted.parameters,
            complete=part.listing is None,
            files=known.files if known else (),
            archives=known.archives if known else (),
        )
        self._put(record)

    def finish(
        self, part: PlannedPart, files: Mapping[FileRecord, Path], archives: Sequence[FileRecord], manner: Manner
    ) -> None:
        """Move the files of a part into the data set's folder."""
        begun = self._parts[part.place.address, part.fetch.files, part.into]
        others = {file.path: file.sha256 for each in self._parts.values() for file in each.files}
        self._put(replace(begun, files=list(files), archives=archives))
        kept = sum(not _move(at, self._layout.folder, file, others.get(file.path)) for file, at in files.items())
        if kept:
            manner.say(f"{self._name}: {counted(kept, 'file')} of that name was there from another part, and stays")
        stays = [file for file in files if others.get(file.path, file.sha256) == file.sha256]
        self._put(replace(begun, files=stays, archives=archives, complete=True))

    def _put(self, part: PartRecord) -> None:
        self._parts[part.address, tuple(part.patterns), part.into] = part
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record = FetchRecord(SCHEMA, self._name, now, list(self._parts.values()))
        write_bytes(record_file(self._layout.folder.parent, self._name), msgspec.json.encode(record) + b"\n")


def _union(some: Mapping[str, Sequence[str]], more: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The evals of both: a parameter that only one of them names is not a limit any more."""
    return {name: list(dict.fromkeys([*some[name], *more[name]])) for name in some if name in more}


def _move(at: Path, folder: Path, file: FileRecord, known: str | None) -> bool:
    """Move a file to its place; False where another part's lies there, which stays.

    Raises UsageError for what somebody else put there, and for a link in the way.
    """
    target, above = folder / file.path, folder
    for name in Path(file.path).parts[:-1]:
        above = above / name
        if above.is_symlink():
            raise UsageError(f"{above} is a symbolic link, and a fetch writes into no link: remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UsageError(f"{target} is a link or no ordinary file, and lies where one is to be written: remove it")
    if target.exists():
        there = _digests(target)["sha256"]
        if there != file.sha256 and known == there:
            return False
        if there != file.sha256 and known is None:
            raise UsageError(f"{target} already exists, and is another file than the one to be fetched: move it away")
    os.replace(at, target)
    return True


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _lock(root: Path, name: str, waits: bool) -> Iterator[None]:
    """No other process fetches the data set meanwhile; where files cannot be locked, this is not known."""
    path = root / f".{name}.lock"
    while True:
        with path.open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            except BlockingIOError:
                raise InfrastructureError(
                    f"{name} is being fetched into {root} by another process: wait until it has ended, and run this "
                    "again"
                ) from None
            except OSError:
                pass
            # Its earlier owner has removed it: a third process may lock a new one already.
            if not _is_at(file, path):
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


@contextmanager
def _writing(root: Path) -> Iterator[None]:
    """A disk that is full or fails, and a folder that may not be written, in a sentence."""
    try:
        yield
    except OSError as error:
        what = f"{error.filename or root} cannot be written ({error.strerror or error})"
        if error.errno in DISK:
            todo = "make room there and run this again, which continues where it ended"
            raise InfrastructureError(f"{what}: {todo}") from None
        raise UsageError(f"{what}: correct its permissions, or name another folder with --data-root FOLDER") from None
