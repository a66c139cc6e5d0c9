"""The commonest WAV file of all, read without libsndfile: one channel, 16 bits, one header, nothing else.

For a clip of five seconds in memory libsndfile takes a tenth of a millisecond, most of it in calls back for the bytes.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from pytest_audiobench.audio.clip import Samples

_HEADER = struct.Struct("<4sI8sIHHIIHH4sI")

_PLAIN = (b"RIFF", b"WAVEfmt ", 16, 1, 1, 2, 16, b"data")


class PlainWav(NamedTuple):
    """Where the samples of such a file lie: its rate and number of frames, one 16-bit integer each."""

    data: bytes
    rate_hz: int
    frames: int

    def samples(self, frames: int) -> Samples:
        """The first ``frames``, the same floats as libsndfile gives."""
        integers = np.frombuffer(self.data, "<i2", frames, _HEADER.size)
        return integers.astype(np.float32) * np.float32(1 / 32768)


def plain_wav(data: bytes) -> PlainWav | None:
    """``data`` as such a file, whole and true to its header; None for anything else."""
    if len(data) <= _HEADER.size or len(data) % 2:
        return None
    riff, length, kind, size, coding, channels, rate_hz, _, block, bits, chunk, held = _HEADER.unpack_from(data)
    if (
        (riff, kind, size, coding, channels, block, bits, chunk) != _PLAIN
        or length != len(data) - 8
        or held != len(data) - _HEADER.size
    ):
        return None
    return PlainWav(data, rate_hz, held // 2)
