"""Clips' identities and durations in bulk, without decoding: hashed once, remembered between runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pytest_audiobench.audio import combining, edits
from pytest_audiobench.audio.clip import ArraySource, CellSource, Clip, CombinedSource, FileSource
from pytest_audiobench.audio.file_facts import CellKey, FileFacts, FileMemory, FreshFacts, read_facts
from pytest_audiobench.audio.location import FileKey, Located, Locator
from pytest_audiobench.audio.parquet_cells import cell_facts
from pytest_audiobench.errors import AudioError, FileUnreachable, UsageError
from pytest_audiobench.identity import digest

_PORTION = 64
_THREADS = 8


class ClipFacts(NamedTuple):
    """A clip's identity and how long it lasts."""

    digest: str
    """The source's: SHA-256 of a file's encoded bytes; the clip's key is ``clip.key_from(digest)``."""
    duration_s: float | None
    """After its edits, from the file's header, which may be wrong; None when no header can be read."""


_Place: TypeAlias = tuple[str, str, CellKey | None]
"""A folder, a path within it, and which cell of that file."""


class AudioIndex(AbstractContextManager["AudioIndex"]):
    """Files' digests and header durations; the file system is asked only whether they changed.

    ``path`` is the SQLite file that remembers, None for a memory that ends with the process. A file is not
    remembered while it is younger than ``settle_s``: within a clock's tick it could change unseen.
    """

    def __init__(self, path: Path | None, settle_s: float = 10.0) -> None:
        self._memory = FileMemory(path)
        self._settle_s = settle_s

    @property
    def is_persistent(self) -> bool:
        """Whether the next process will know what this one learned."""
        return self._memory.is_persistent

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._memory.close()

    def facts_of(self, clips: Sequence[Clip]) -> list[ClipFacts | AudioError]:
        """One entry for each clip, in order; an AudioError says what is wrong with its file and what to do.

        Raises UsageError for an edit or recipe that does not exist.
        """
        sources = {_place(source): source for clip in clips for source in _files(clip)}
        located, errors = _locations(sources)
        files = {place: source for place, source in sources.items() if isinstance(source, FileSource)}
        cells = {place: source for place, source in sources.items() if isinstance(source, CellSource)}
        facts = {**errors, **self._facts(located, files), **self._facts_of_cells(located, cells)}
        return [_clip_facts(clip, facts) for clip in clips]

    def digest_of(self, path: Path) -> str:
        """The SHA-256 of any file, by the same memory. Raises UsageError when it cannot be read."""
        try:
            key = FileKey.of(os.stat(path))
            facts = self._memory.recall([key]).get(key)
            if facts is None:
                fresh = read_facts(os.fspath(path))
                self._remember([fresh])
                facts = fresh.facts
        except OSError as error:
            raise UsageError(f"{path}: cannot be read ({error.strerror}); correct the path") from None
        return facts.digest

    def _facts(
        self, located: Mapping[_Place, Located], sources: Mapping[_Place, FileSource]
    ) -> dict[_Place, FileFacts | AudioError]:
        keys = {place: located[place].key for place in sources if place in located}
        remembered = self._memory.recall(list(keys.values()))
        facts: dict[_Place, FileFacts | AudioError] = {
            place: remembered[key] for place, key in keys.items() if key in remembered
        }
        cold = [place for place in keys if place not in facts]
        reads = _read_all([(sources[place], located[place].path) for place in cold])
        self._remember([read for read in reads if isinstance(read, FreshFacts)])
        facts.update(
            (place, read.facts if isinstance(read, FreshFacts) else read)
            for place, read in zip(cold, reads, strict=True)
        )
        return facts

    def _facts_of_cells(
        self, located: Mapping[_Place, Located], cells: Mapping[_Place, CellSource]
    ) -> dict[_Place, FileFacts | AudioError]:
        facts: dict[_Place, FileFacts | AudioError] = {}
        files: dict[tuple[str, str], dict[CellKey, _Place]] = {}
        for place, source in cells.items():
            if place in located:
                files.setdefault(place[:2], {})[_cell(source)] = place
        for places in files.values():
            file = located[next(iter(places.values()))]
            remembered = self._memory.recall_cells(file.key, list(places))
            cold = [cells[place] for cell, place in places.items() if cell not in remembered]
            fresh: dict[CellKey, FileFacts] = {}
            for source, read in cell_facts(file.path, cold) if cold else ():
                facts[places[_cell(source)]] = read
                if isinstance(read, FileFacts):
                    fresh[_cell(source)] = read
            if file.key.age_s(time.time_ns()) >= self._settle_s:
                self._memory.remember_cells(file.key, fresh)
            facts.update((places[cell], known) for cell, known in remembered.items())
        return facts

    def _remember(self, reads: Sequence[FreshFacts]) -> None:
        """Of files whose later changes are sure to show in their keys."""
        settled = [read for read in reads if read.key and read.key.age_s(read.at_ns) >= self._settle_s]
        self._memory.remember({read.key: read.facts for read in settled if read.key})


def unreachable(clips: Sequence[Clip]) -> tuple[int, list[AudioError], list[int]]:
    """How many files ``clips`` are of, what is wrong with those that are missing or empty, and the lines that name
    them; none is read.
    """
    sources = {_place(source): source for clip in clips for source in _files(clip)}
    wrong = _locations(sources)[1]
    lines = [source.line for place in wrong if isinstance(source := sources[place], FileSource) and source.line]
    return len(sources), list(wrong.values()), lines


def _files(clip: Clip) -> Iterator[FileSource | CellSource]:
    source = clip.source
    if isinstance(source, FileSource | CellSource):
        yield source
    elif isinstance(source, CombinedSource):
        for part in source.clips:
            yield from _files(part)


def _place(source: FileSource | CellSource) -> _Place:
    """Sources are equal when their roots' names are; files are the same when the folders are."""
    if isinstance(source, CellSource):
        return os.fspath(source.file.root.folder), source.file.path, _cell(source)
    return os.fspath(source.root.folder), source.path, None


def _cell(source: CellSource) -> CellKey:
    return source.column, source.row_group, source.row, source.rate_hz or 0


def _locations(
    sources: Mapping[_Place, FileSource | CellSource],
) -> tuple[dict[_Place, Located], dict[_Place, AudioError]]:
    locator = Locator()
    located: dict[_Place, Located] = {}
    errors: dict[_Place, AudioError] = {}
    for place, source in sources.items():
        try:
            located[place] = locator.find(source.file if isinstance(source, CellSource) else source)
        except AudioError as error:
            errors[place] = error
    return located, errors


def _read_all(files: Sequence[tuple[FileSource, str]]) -> list[FreshFacts | AudioError]:
    """Small files cost more in Python than on disk, so threads take them by the portion."""
    if not files:
        return []
    portions = [files[start : start + _PORTION] for start in range(0, len(files), _PORTION)]
    with ThreadPoolExecutor(min(len(portions), _THREADS)) as pool:
        reads = pool.map(lambda portion: [_file_facts(source, path) for source, path in portion], portions)
        return [read for portion in reads for read in portion]


def _file_facts(source: FileSource, path: str) -> FreshFacts | AudioError:
    try:
        return read_facts(path)
    except OSError as error:
        return FileUnreachable(f"{source}: cannot be read ({error.strerror}); correct {path} or its permissions")


def _clip_facts(clip: Clip, files: Mapping[_Place, FileFacts | AudioError]) -> ClipFacts | AudioError:
    source = clip.source
    if isinstance(source, FileSource | CellSource):
        facts = files[_place(source)]
        if isinstance(facts, AudioError):
            return facts
        source_digest, duration_s = facts
    elif isinstance(source, ArraySource):
        source_digest, duration_s = source.digest, len(source.samples) / source.rate_hz
    elif isinstance(source, CombinedSource):
        parts = [_clip_facts(part, files) for part in source.clips]
        if (error := next((part for part in parts if isinstance(part, AudioError)), None)) is not None:
            return error
        source_digest, duration_s = _combination_facts(source, [part for part in parts if isinstance(part, ClipFacts)])
    else:
        source_digest, duration_s = source.digest, source.duration_s
    return ClipFacts(source_digest, duration_s if duration_s is None else edits.length_s(clip.edits, duration_s))


def _combination_facts(source: CombinedSource, parts: Sequence[ClipFacts]) -> tuple[str, float | None]:
    keys = [clip.key_from(facts.digest) for clip, facts in zip(source.clips, parts, strict=True)]
    lengths_s = [facts.duration_s for facts in parts if facts.duration_s is not None]
    whole = len(lengths_s) == len(parts)
    length_s = combining.rule_of(source).length_s(lengths_s, source.parameters) if whole else None
    return digest(source.payload(keys)), length_s
