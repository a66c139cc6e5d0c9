"""Sound that is not held in memory at once: read, edited and resampled in blocks, and played from a file.

Nothing of it depends on the blocks: the resampler gives the same bytes for a stream as for the whole.
"""

from __future__ import annotations

import hashlib
import mmap
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soxr

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.errors import disk_errors

LONG_FRAMES = 1 << 23
"""Sound of more is long: 8.7 minutes at 16 kHz, 2.9 at 48. Shorter clips are decoded in memory, on each thread."""

DECODED_BYTES = 512 << 20
"""What long sounds that must be in memory whole may take while they are decoded, on all threads of a process."""

_BYTES_A_FRAME = 32
"""Of a waveform while it is computed with: float64 has copies, float32 as well."""
_BLOCK_FRAMES = 1 << 18


class LongSound(Exception):
    """Sound of more ``frames`` than are decoded in memory without asking for room."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.frames = frames


class Room:
    """Bytes that the threads of a process share, first come first served.

    A thread that needs more than there are waits until all are free and takes them all; none waits while holding some:
    so all get their turn.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = self._left = most_bytes
        self._turn, self._freed = threading.Lock(), threading.Condition()

    @contextmanager
    def of(self, wanted_bytes: int) -> Iterator[None]:
        """Holds so many bytes within the block, once there are."""
        wanted_bytes = min(wanted_bytes, self._most_bytes)
        with self._turn, self._freed:
            self._freed.wait_for(lambda: self._left >= wanted_bytes)
            self._left -= wanted_bytes
        try:
            yield
        finally:
            with self._freed:
                self._left += wanted_bytes
                self._freed.notify_all()


_ROOM = Room(DECODED_BYTES)


@contextmanager
def room_for(frames: int) -> Iterator[None]:
    """Room for a sound of ``frames`` in memory; not to be asked for by who has some, or a lock on sounds."""
    with _ROOM.of(frames * _BYTES_A_FRAME):
        yield


def resampled(blocks: Iterable[Samples], from_hz: float, to_hz: float) -> Iterator[Samples]:
    """The blocks of what ``soxr.resample`` makes of all together, bit for bit."""
    stream = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality="HQ")
    for block in blocks:
        for start in range(0, len(block), _BLOCK_FRAMES):  # a low rate makes much of little
            yield stream.resample_chunk(np.ascontiguousarray(block[start : start + _BLOCK_FRAMES]))
    yield stream.resample_chunk(np.zeros(0, dtype=np.float32), last=True)


def silent_blocks(frames: int) -> Iterator[Samples]:
    """Digital silence."""
    for start in range(0, frames, _BLOCK_FRAMES):
        yield np.zeros(min(_BLOCK_FRAMES, frames - start), dtype=np.float32)


def spooled(blocks: Iterable[Samples], most_frames: int | None = None) -> tuple[Samples, str]:
    """The first ``most_frames`` of all blocks as one waveform, and the SHA-256 of its float32 little-endian bytes.

    It lies in a file without a name in the folder for temporary ones, which goes when the waveform does: the system
    keeps of it in memory what it has room for. Raises InfrastructureError where the disk is full.
    """
    content, frames = hashlib.sha256(), 0
    with disk_errors(Path(tempfile.gettempdir())), tempfile.TemporaryFile(prefix="audiobench-sound-") as file:
        for block in blocks:
            left = block if most_frames is None else block[: most_frames - frames]
            portion = np.ascontiguousarray(left, dtype="<f4")
            frames += len(portion)
            content.update(portion.data)
            file.write(portion.data)
        file.flush()
        if not frames:
            return np.zeros(0, dtype=np.float32), content.hexdigest()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.frombuffer(mapped, dtype="<f4"), content.hexdigest()


def pieces(samples: Samples, width: int) -> Iterator[Samples]:
    """``samples`` in pieces of ``width``, the last one shorter; of a waveform in a file one at a time in memory."""
    mapped = _mapping(samples)
    for start in range(0, len(samples), width):
        if mapped is None:
            yield samples[start : start + width]
            continue
        yield samples[start : start + width].copy()
        first = start * samples.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
        mapped.madvise(mmap.MADV_DONTNEED, first, min(width * samples.itemsize + mmap.PAGESIZE, len(mapped) - first))


def _mapping(samples: Samples) -> mmap.mmap | None:
    """The mapped file that all of ``samples`` is, where the system can let go of a part."""
    base: object = samples.base
    if isinstance(base, memoryview):
        base = base.obj
    if isinstance(base, mmap.mmap) and len(base) == samples.nbytes and hasattr(mmap, "MADV_DONTNEED"):
        return base
    return None
