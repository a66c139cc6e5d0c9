"""A WAV file of one channel: written for servers that take nothing else, and read without libsndfile.

For a clip of five seconds in memory libsndfile takes a tenth of a millisecond, most of it in calls back for the bytes.
"""

from __future__ import annotations

import os
import struct
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.errors import AudioError

Pcm: TypeAlias = Literal["int16", "float32"]

MOST_SENT_BYTES = 1 << 26
"""Of a clip as a WAV file in a request, where several copies of it are in memory for each request on its way: 35
minutes at 16 kHz in 16 bits."""

_OPENINGS = {b"RIFF": "wav", b"fLaC": "flac", b"OggS": "ogg"}
ENCODINGS = (*_OPENINGS.values(), "mp3")
"""What a file of an answer's audio may be."""

_INTEGER, _FLOAT = 1, 3
_HEADER = struct.Struct("<4sI8sIHHIIHH4sI")
WAV_HEADER_BYTES = _HEADER.size
"""Of what :func:`wav_bytes` makes of 16-bit samples."""
_OPENING = struct.pack("<8sIH", b"WAVEfmt ", 16, _INTEGER)
_PLAIN = (b"RIFF", b"WAVEfmt ", 16, 1, 1, 2, 16, b"data")


def wav_bytes(samples: Samples, rate_hz: int, pcm: Pcm = "int16") -> memoryview:
    """Mono ``samples`` at ``rate_hz`` as a whole WAV file.

    "int16" is what every reader takes: a 16-bit source comes out as it was, anything finer is rounded, and
    samples beyond [-1, 1] are clipped. "float32" loses nothing.
    """
    header = _header(len(samples), rate_hz, pcm)
    file = np.empty(len(header) + len(samples) * np.dtype(pcm).itemsize, dtype=np.uint8)
    file[: len(header)] = np.frombuffer(header, dtype=np.uint8)
    if pcm == "float32":
        file[len(header) :].view("<f4")[:] = samples
    else:
        # In place: memory for a second array is asked of the system each time, which takes longer than all the rest.
        scaled = samples * np.float32(32768)
        np.clip(np.rint(scaled, out=scaled), -32768, 32767, out=scaled)
        file[len(header) :].view("<i2")[:] = scaled
    return file.data


def encoding_of(data: bytes) -> str:
    """Which of :data:`ENCODINGS` a file's bytes begin as; "mp3" where they begin as none of the others."""
    return _OPENINGS.get(data[:4], "mp3")


def wav_of_pcm16(data: bytes, rate_hz: int) -> bytes:
    """Little-endian 16-bit samples of one channel as a whole WAV file, in which they stand as they are."""
    return _header(len(data) // 2, rate_hz, "int16") + data[: len(data) // 2 * 2]


def sent_wav(samples: Samples, rate_hz: int, pcm: Pcm) -> memoryview:
    """:func:`wav_bytes` for a request. Raises AudioError for more than :data:`MOST_SENT_BYTES`, before it is made."""
    size = len(samples) * np.dtype(pcm).itemsize
    if size > MOST_SENT_BYTES:
        raise AudioError(
            f"a clip of {len(samples) / rate_hz:.0f} s at {rate_hz} Hz is {size / 1e6:.0f} MB as a WAV file, and "
            f"{MOST_SENT_BYTES / 1e6:.0f} MB are the most that is sent to a server; cut it into excerpts, or let a "
            "transcriber on this machine (hf:) take it piece by piece"
        )
    return wav_bytes(samples, rate_hz, pcm)


def _header(frames: int, rate_hz: int, pcm: Pcm) -> bytes:
    width = np.dtype(pcm).itemsize
    coding = _FLOAT if pcm == "float32" else _INTEGER
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, coding, 1, rate_hz, rate_hz * width, width, 8 * width)
    if pcm == "float32":  # formats other than integers also say how many frames there are
        form += struct.pack("<4sII", b"fact", 4, frames)
    size = frames * width
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + 8 + size, b"WAVE") + form + struct.pack("<4sI", b"data", size)


class PlainWav(NamedTuple):
    """The commonest WAV file of all: one channel, 16 bits, one header, nothing else."""

    data: bytes
    rate_hz: int
    frames: int

    def samples(self, frames: int) -> Samples:
        """The first ``frames``, the same floats as libsndfile gives."""
        integers = np.frombuffer(self.data, "<i2", frames, _HEADER.size)
        return integers.astype(np.float32) * np.float32(1 / 32768)


def plain_wav_file(path: str, most_bytes: int) -> PlainWav | None:
    """The file at ``path`` as a :class:`PlainWav`; None for anything else, more bytes, and what cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            is_small = os.fstat(file.fileno()).st_size <= most_bytes
            head = file.read(_HEADER.size) if is_small else b""
            return plain_wav(head + file.read()) if head[8:22] == _OPENING else None
    except OSError:
        return None


def plain_wav(data: bytes) -> PlainWav | None:
    """``data`` as a :class:`PlainWav`, whole and true to its header; None for anything else."""
    if len(data) <= _HEADER.size or len(data) % 2:
        return None
    riff, length, kind, size, coding, channels, rate_hz, _, block, bits, chunk, data_size = _HEADER.unpack_from(data)
    if (
        (riff, kind, size, coding, channels, block, bits, chunk) != _PLAIN
        or length != len(data) - 8
        or data_size != len(data) - _HEADER.size
    ):
        return None
    return PlainWav(data, rate_hz, data_size // 2)
