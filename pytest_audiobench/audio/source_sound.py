"""A source's samples: read, rendered or combined, or remembered from the last time.

Files' samples are remembered by what the file system says of the file, as :mod:`.index` remembers its digest: asked
anew each time, and never while a change could go unseen. Sounds that are made are remembered by all they are made of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from pytest_audiobench.audio.clip import ArraySource, CombinedSource, FileSource, Source, SynthesisSource
from pytest_audiobench.audio.file_memory import FileKey
from pytest_audiobench.audio.location import Located, Locator
from pytest_audiobench.audio.sound_file import Recording, SourceSound, read_excerpt, read_file
from pytest_audiobench.audio.sound_memory import SoundMemory

SETTLE_S = 10.0
"""A file that changed less long ago could change again within one tick of its clock."""

_FILES: SoundMemory[Recording] = SoundMemory(128 << 20)
_MADE: SoundMemory[SourceSound] = SoundMemory(32 << 20)


def file_sound(source: FileSource, reach_s: float | None, most_values: int) -> SourceSound:
    """The first ``reach_s`` seconds of a file, all of it when None; channels averaged.

    ``frames`` is counted when the end was reached, else it is the header's. Raises AudioError.
    """
    located = Locator().find(source)

    def read() -> Recording:
        return read_file(source, located.path, reach_s, most_values)

    key = _settled(located)
    recording = read() if key is None else _FILES.get(key, read, lambda held: held.serves(reach_s))
    return recording.sound(str(source), reach_s, most_values)


def file_excerpt(source: FileSource, start_s: float, end_s: float, most_values: int) -> SourceSound | None:
    """Only [start_s, end_s) of a file; None where it must be read from its beginning, or was. Raises AudioError."""
    located = Locator().find(source)

    def read() -> Recording:
        recording = read_excerpt(source, located.path, start_s, end_s, most_values)
        if recording is None:
            raise _NoExcerpt
        return recording

    key = _settled(located)
    if key is not None and _FILES.holds(key, lambda held: held.serves(end_s)):
        return None
    try:
        excerpt = read() if key is None else _FILES.get((key, start_s, end_s), read, lambda held: True)
    except _NoExcerpt:
        return None
    return SourceSound(excerpt.samples, excerpt.rate_hz, excerpt.promised)


class _NoExcerpt(Exception):
    """The file cannot be entered in the middle."""


def made_sound(source: SynthesisSource | CombinedSource, rate_hz: int, make: Callable[[], SourceSound]) -> SourceSound:
    """What ``make`` makes of ``source`` at ``rate_hz``."""
    key = _key_of(source, rate_hz, Locator())
    return make() if key is None else _MADE.get(key, make, lambda held: True)


def _key_of(source: Source, rate_hz: int, locator: Locator) -> Hashable:
    """All that the samples of ``source`` depend on; None where a file of it may be changing."""
    if isinstance(source, FileSource):
        return _settled(locator.find(source))
    if isinstance(source, ArraySource):
        return source.digest
    if isinstance(source, SynthesisSource):
        return source, rate_hz
    parts = [(_key_of(clip.source, source.rate_hz, locator), clip.edits) for clip in source.clips]
    if any(key is None for key, _ in parts):
        return None
    return source.rule, source.version, source.rate_hz, source.parameters, source.seed, tuple(parts)


def _settled(located: Located) -> FileKey | None:
    key = FileKey.of(located.status)
    return key if key.age_s(time.time_ns()) >= SETTLE_S else None
