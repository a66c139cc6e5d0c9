"""What a file's header promises and libsndfile does not check: how many bytes of sound there should be.

For a truncated WAV, libsndfile corrects the frame count in silence; for a truncated MP3 it repeats the
count of the Xing header. Formats that check themselves (FLAC, CAF) need no help, and OGG promises nothing.
An MP3 without a Xing header promises nothing either: its length is an estimate, 1.8 times the truth for
one complete file of uneven bit rate.
"""

from __future__ import annotations

from typing import BinaryIO, NamedTuple

_UNKNOWN_BYTES = 0x7FFFF000
"""Sizes from here on are written by programs that stream (ffmpeg, sox) and mean "unknown"."""
_MOST_CHUNKS = 1000
_SLOPPY_BYTES = 64
"""Some writers count the header as data; so little is no missing audio."""


class ShortData(NamedTuple):
    """A data chunk that is cut off."""

    promised_bytes: int
    held_bytes: int


def short_wav_data(file: BinaryIO) -> ShortData | None:
    """The data chunk of a RIFF file when its end is missing; None when all is there or the format is another."""
    if file.read(4) != b"RIFF":
        return None
    end = file.seek(0, 2)
    position = 12
    for _ in range(_MOST_CHUNKS):
        file.seek(position)
        header = file.read(8)
        if len(header) < 8:
            break
        size, start = int.from_bytes(header[4:], "little"), position + 8
        if header[:4] == b"data":
            missing = start + size - end
            return ShortData(size, end - start) if missing > _SLOPPY_BYTES and size < _UNKNOWN_BYTES else None
        position = start + size + size % 2
    return None


def short_mp3_data(file: BinaryIO) -> ShortData | None:
    """An MP3 whose Xing (or Info) header counts more bytes than there are; None when none are missing."""
    tag = file.read(10)
    sound_start = 10 + _syncsafe(tag[6:10]) if tag[:3] == b"ID3" else 0
    held = file.seek(0, 2) - sound_start
    file.seek(sound_start)
    beginning = file.read(_FIRST_FRAME_BYTES)
    position = max(beginning.find(b"Xing"), beginning.find(b"Info"))
    fields = beginning[position + 4 : position + 16]
    if position < 0 or len(fields) < 12 or not fields[3] & _HAS_BYTES:
        return None
    counted = fields[8:12] if fields[3] & _HAS_FRAMES else fields[4:8]
    promised = int.from_bytes(counted, "big")
    return ShortData(promised, held) if held < promised * _MP3_COMPLETE else None


def _syncsafe(size: bytes) -> int:
    return sum(byte << shift for byte, shift in zip(size, (21, 14, 7, 0), strict=False))


_FIRST_FRAME_BYTES = 2048
_HAS_FRAMES, _HAS_BYTES = 1, 2
_MP3_COMPLETE = 0.99
"""Encoders differ in whether tags and the header itself count; mpg123 warns from the same 1 % on."""
