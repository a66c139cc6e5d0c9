"""A source's samples: read, rendered or combined, or remembered from the last time.

Files' samples are remembered by what the file system says of the file, as :mod:`.index` remembers its digest: asked
again each time, and never while a change could go unseen. Sounds that are made are remembered by all they are made of.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from pytest_audiobench.audio.clip import (
    ArraySource,
    CellSource,
    CombinedSource,
    FileSource,
    Samples,
    Source,
    SynthesisSource,
)
from pytest_audiobench.audio.location import FileKey, Locator
from pytest_audiobench.audio.long_sound import LONG_FRAMES, pieces
from pytest_audiobench.audio.parquet_cells import read_cell
from pytest_audiobench.audio.sound_file import (
    Amount,
    Recording,
    SoundStream,
    SourceSound,
    encoded_stream,
    file_stream,
    read_encoded,
    read_excerpt,
    read_file,
)

SETTLE_S = 10.0
"""A file that changed less long ago could change again within one tick of its clock."""
_FOLDERS_S = 1.0
"""How long it is remembered where folders really are: to ask takes ten times as long as to ask for a file's state."""


_latest = (Locator(), 0.0)


def _locator() -> Locator:
    global _latest
    locator, until_s = _latest
    if (now_s := time.monotonic()) >= until_s:
        locator = Locator()
        _latest = (locator, now_s + _FOLDERS_S)
    return locator


def file_sound(source: FileSource | CellSource, reach_s: float | None, amount: Amount) -> SourceSound:
    """The first ``reach_s`` seconds of a file or a cell, all of it when None; channels averaged.

    ``frames`` is counted when the end was reached, else it is the header's. Raises AudioError.
    """
    located = _locator().find(source.file if isinstance(source, CellSource) else source)
    is_settled = _is_settled(located.key)

    def read() -> Recording:
        if isinstance(source, CellSource):
            content = read_cell(source, located.path, located.key if is_settled else None)
            if isinstance(content, bytes):
                return read_encoded(str(source), content, reach_s, amount)
            return Recording(content, source.rate_hz or 0, len(content), 1, is_whole=True)
        return read_file(source, located.path, reach_s, amount)

    if is_settled:
        recording = _FILES.get(_place(source, located.key), read, lambda recording: recording.serves(reach_s))
    else:
        recording = read()
    return recording.sound(str(source), reach_s, amount)


def _place(source: FileSource | CellSource, key: FileKey) -> Hashable:
    if isinstance(source, FileSource):
        return key
    return key, source.column, source.row_group, source.row, source.rate_hz


def file_excerpt(source: FileSource, start_s: float, end_s: float, amount: Amount) -> SourceSound | None:
    """Only [start_s, end_s) of a file; None where it must be read from its beginning, or was. Raises AudioError."""
    located = _locator().find(source)

    def read() -> Recording:
        recording = read_excerpt(source, located.path, start_s, end_s, amount)
        if recording is None:
            raise _NoExcerpt
        return recording

    try:
        if not _is_settled(located.key):
            excerpt = read()
        elif _FILES.has(located.key, lambda recording: recording.serves(end_s)):
            return None
        else:
            excerpt = _FILES.get((located.key, start_s, end_s), read)
    except _NoExcerpt:
        return None
    return SourceSound(excerpt.samples, excerpt.rate_hz, excerpt.promised)


@contextmanager
def source_stream(
    source: FileSource | CellSource | ArraySource,
    span_s: tuple[float, float] | None,
    reach_s: float | None,
    amount: Amount,
) -> Iterator[SoundStream]:
    """:func:`file_sound` block by block, also of a waveform in memory; of a file that can be entered the span alone."""
    if isinstance(source, FileSource):
        with file_stream(source, _locator().find(source).path, span_s, reach_s, amount) as stream:
            yield stream
        return
    content: bytes | Samples
    if isinstance(source, ArraySource):
        content, rate_hz = source.samples, source.rate_hz
    else:
        content, rate_hz = read_cell(source, _locator().find(source.file).path), source.rate_hz or 0
    if isinstance(content, bytes):
        with encoded_stream(str(source), content, reach_s, amount) as stream:
            yield stream
    else:
        yield SoundStream(pieces(content, LONG_FRAMES), rate_hz, len(content), len(content))


class _NoExcerpt(Exception):
    """The file cannot be entered in the middle."""


def made_sound(source: SynthesisSource | CombinedSource, rate_hz: int, make: Callable[[], SourceSound]) -> SourceSound:
    """What ``make`` makes of ``source`` at ``rate_hz``."""
    key = _key_of(source, rate_hz, _locator())
    return make() if key is None else _MADE.get(key, make)


def _key_of(source: Source, rate_hz: int, locator: Locator) -> Hashable:
    """All that the samples of ``source`` depend on; None where a file of it may be changing."""
    if isinstance(source, FileSource | CellSource):
        key = locator.find(source.file if isinstance(source, CellSource) else source).key
        return _place(source, key) if _is_settled(key) else None
    if isinstance(source, ArraySource):
        return source.digest
    if isinstance(source, SynthesisSource):
        return source, rate_hz
    parts = [(_key_of(clip.source, source.rate_hz, locator), clip.edits) for clip in source.clips]
    if any(key is None for key, _ in parts):
        return None
    return source.rule, source.version, source.rate_hz, source.parameters, source.seed, tuple(parts)


def _is_settled(key: FileKey) -> bool:
    return key.age_s(time.time_ns()) >= SETTLE_S


Sound = TypeVar("Sound", Recording, SourceSound)


class SoundMemory(Generic[Sound]):
    """Sounds by key, at most ``most_bytes`` of their samples; what was asked for longest ago is forgotten first.

    Perturbations, evals and models that follow ask for a sound again. Threads may share the memory, and what one of
    them is making the others wait for. A sound of more than a quarter of the room is made and not stored. A set that
    does not fit and is asked for in rounds is made again each time, as it would be without a memory.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._sounds: OrderedDict[Hashable, Sound] = OrderedDict()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Sound], serves: Callable[[Sound], bool] = lambda _: True) -> Sound:
        """What is stored under ``key`` if it ``serves``, else what ``make`` makes, whose errors are the caller's.

        Its samples cannot be written to: they are everybody's.
        """
        with self._lock:
            if (sound := self._recall(key, serves)) is not None:
                return sound
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                if (sound := self._recall(key, serves)) is not None:
                    return sound
            try:
                sound = make()
                sound.samples.flags.writeable = False
                with self._lock:
                    self._store(key, sound)
                return sound
            finally:
                with self._lock:
                    self._turns.pop(key, None)

    def has(self, key: Hashable, serves: Callable[[Sound], bool]) -> bool:
        """Whether what is stored under ``key`` would be given without being made."""
        with self._lock:
            sound = self._sounds.get(key)
            return sound is not None and serves(sound)

    def _recall(self, key: Hashable, serves: Callable[[Sound], bool]) -> Sound | None:
        sound = self._sounds.get(key)
        if sound is None or not serves(sound):
            return None
        self._sounds.move_to_end(key)
        return sound

    def _store(self, key: Hashable, sound: Sound) -> None:
        self._forget(self._sounds.pop(key, None))
        if 4 * sound.samples.nbytes > self._most_bytes:
            return
        self._sounds[key] = sound
        self._bytes += sound.samples.nbytes
        while self._bytes > self._most_bytes:
            self._forget(self._sounds.popitem(last=False)[1])

    def _forget(self, sound: Sound | None) -> None:
        self._bytes -= 0 if sound is None else sound.samples.nbytes


_FILES: SoundMemory[Recording] = SoundMemory(128 << 20)
_MADE: SoundMemory[SourceSound] = SoundMemory(32 << 20)
