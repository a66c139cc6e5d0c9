"""What is to be fetched of a data set: what lies here, what each place has, what it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.datasets.catalogue import LOADERS
from pytest_audiobench.datasets.declaration import Fetch
from pytest_audiobench.datasets.fetch_records import fetch_name, read_record
from pytest_audiobench.datasets.packs.archives import ARCHIVES
from pytest_audiobench.errors import UsageError
from pytest_audiobench.fetching.download import UrlFile
from pytest_audiobench.fetching.git import GitRepository
from pytest_audiobench.fetching.hub import HubDataset
from pytest_audiobench.fetching.place import Folder, Listing, Place, shown
from pytest_audiobench.fetching.progress import size_text
from pytest_audiobench.fetching.wanted_data import WantedData, WantedPart
from pytest_audiobench.records.fetch import PartRecord

_LISTED_AT_ONCE = 8
"""Places that are asked side by side what they have."""


class Layout(NamedTuple):
    """Where the files of one data set lie."""

    folder: Path
    stage: Path
    """Where files arrive; a folder of the same file system, so that what is whole is moved at once."""

    @classmethod
    def of(cls, root: Path, name: str) -> Layout:
        return cls(root / name, root / f".{name}.part")


@dataclass
class PlannedPart:
    """A part to fetch, with what is known of it."""

    wanted: WantedPart
    place: Place
    known: PartRecord | None
    """What an earlier fetch recorded."""
    listing: Listing | None
    """None where all lies here already."""

    @property
    def fetch(self) -> Fetch:
        return self.wanted.fetch

    @property
    def into(self) -> str:
        return self.fetch.into or ""

    @property
    def pinned(self) -> bool:
        return bool(self.fetch.revision or self.fetch.sha256 or self.fetch.md5)

    @property
    def bytes(self) -> int | None:
        """The size of what is to arrive; None if it is not declared."""
        sizes = [file.bytes for file in self.listing.files] if self.listing else []
        if None in sizes:
            return self.fetch.bytes
        return sum(size for size in sizes if size is not None)

    @property
    def room_bytes(self) -> int:
        """What it takes on the disk: an archive is next to what it unpacks to, of which it does not say the size."""
        packed = [file.bytes or 0 for file in self.listing.files if self.is_archive(file.path)] if self.listing else []
        return (self.bytes or 0) + sum(packed)

    def is_archive(self, path: str) -> bool:
        return self.fetch.unpack and path.lower().endswith(ARCHIVES)

    def line(self) -> str:
        """What is fetched from where, for people."""
        if self.listing is None:
            return f"{self.place.address}: all of it is here"
        count = len(self.listing.files)
        size = size_text(self.bytes) if self.bytes is not None else "size not known before"
        at = f" at {self.listing.revision[:12]}" if self.listing.revision and not self.is_url else ""
        if self.pinned:
            state = "pinned"
        elif self.known and self.known.revision == self.listing.revision:
            state = "as first fetched"
        else:
            state = "not pinned: this revision is pinned from now on"
        return f"{self.place.address}{at}: {count} {'file' if count == 1 else 'files'}, {size} ({state})"

    @property
    def is_url(self) -> bool:
        return self.fetch.url is not None


def declared_lines(data: WantedData, root: Path) -> list[str]:
    """What is declared of the parts of a data set, for people: where they are, their files and sizes."""
    lines = []
    for part in data.parts.values():
        fetch = part.fetch
        files = ", ".join(fetch.files) or ("1 file" if fetch.url else "all its files")
        at = f" at {fetch.revision[:12]}" if fetch.revision else ""
        size = size_text(fetch.bytes) if fetch.bytes else "size not declared, which its publisher is asked for"
        address = f"hub:{fetch.hub}" if fetch.hub else shown(fetch.git or fetch.url or "")
        lines.append(f"declared: {address}{at}: {files}, {size}")
    return [*lines, f"declared: into {Layout.of(root, data.root).folder}"] if lines else []


def planned(data: WantedData, root: Path, folder: Path | None) -> list[PlannedPart]:
    """The parts of a data set, those that lie here already too. ``folder`` has the files in place of the network.

    Raises UsageError for what cannot be fetched, and FatalError for what its place refuses.
    """
    layout, record = Layout.of(root, data.root), read_record(root, data.root)
    if layout.folder.is_symlink() or layout.stage.is_symlink():
        link = layout.folder if layout.folder.is_symlink() else layout.stage
        raise UsageError(f"{link} is a symbolic link, and a fetch writes into no link: remove it, or fetch elsewhere")
    if record is None and layout.folder.is_dir() and any(layout.folder.iterdir()):
        raise UsageError(
            f"{layout.folder} already exists and was not fetched by audiobench: runs use it; to fetch it again, move "
            "it away first"
        )
    parts = list(data.parts.values())
    if folder is not None and not parts:
        parts = [WantedPart(Fetch(), {}, data.names)]
    if not parts:
        raise UsageError(_without_fetch(data))
    earlier = {_key(part): part for part in record.parts} if record else {}
    # One after the other: what the Hub's library is set up for, it is set up for as a whole.
    places = [_place(part, layout, folder) for part in parts]
    with ThreadPoolExecutor(_LISTED_AT_ONCE) as pool:
        return list(pool.map(lambda part, place: _planned(part, place, earlier, layout), parts, places))


def _planned(
    part: WantedPart, place: Place, earlier: Mapping[tuple[object, ...], PartRecord], layout: Layout
) -> PlannedPart:
    fetch = part.fetch
    known = earlier.get((place.address, fetch.files, fetch.into or "", fetch.unpack))
    revision = fetch.revision
    remedy = f"remove it with audiobench fetch {fetch_name(part.needed_by[0])} --remove, and fetch again"
    if known and revision and known.revision and known.revision != revision:
        raise UsageError(
            f"{layout.folder} is of the commit {known.revision[:12]}, and {revision[:12]} is wanted now: {remedy}"
        )
    arrived = {file.sha256 for file in known.archives or known.files} if known and known.complete else set()
    if arrived and fetch.sha256 and fetch.sha256 not in arrived:
        raise UsageError(f"{layout.folder} has another file of {place.address} than is pinned now: {remedy}")
    if known and known.complete and not _lacking(known, layout.folder):
        return PlannedPart(part, place, known, None)
    held = known.revision if known and not fetch.url else ""
    return PlannedPart(part, place, known, place.listing(revision or held or None))


def _key(part: PartRecord) -> tuple[object, ...]:
    return part.address, tuple(part.patterns), part.into, part.unpacked


def _place(part: WantedPart, layout: Layout, folder: Path | None) -> Place:
    fetch = part.fetch
    if folder is not None:
        return Folder(folder, fetch, f"hub:{fetch.hub}" if fetch.hub else shown(fetch.git or fetch.url or ""))
    if fetch.hub is not None:
        return HubDataset(fetch)
    return UrlFile(fetch) if fetch.url is not None else GitRepository(fetch, layout.stage / part.key)


def _lacking(part: PartRecord, folder: Path) -> Sequence[str]:
    """The files of a part that are not there, or of another size."""
    lacking = []
    for file in part.files:
        try:
            if (folder / file.path).lstat().st_size != file.bytes:
                lacking.append(file.path)
        except OSError:
            lacking.append(file.path)
    return lacking


def _without_fetch(data: WantedData) -> str:
    # Where the folder is that of a benchmark, its files are taken over by that name, whatever else reads them.
    name = data.root if data.root in LOADERS else " and ".join(data.names)
    how = f"--ab-data={data.root}=FOLDER points to it, and audiobench fetch {name} --from FOLDER takes it over"
    if data.obtain:
        return f"{name} cannot be fetched: {data.obtain}; then {how}"
    return f"{name} does not say where its files are fetched from; {how}"
