"""A file's samples as libsndfile reads them, mono, in blocks, no further than is needed.

libsndfile does not check how many bytes of sound a header promises: for a truncated WAV it corrects the frame count in
silence, for a truncated MP3 it repeats the count of the Xing header. Formats that check themselves (FLAC, CAF) need no
help. OGG promises nothing, nor does an MP3 without a Xing header: its length is an estimate, 1.8 times the truth for
one complete file of uneven bit rate.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import reduce
from io import BytesIO
from itertools import chain
from math import ceil
from typing import BinaryIO, NamedTuple

import numpy as np
import soundfile

from pytest_audiobench.audio.clip import FileSource, Samples
from pytest_audiobench.audio.long_sound import LONG_FRAMES, LongSound
from pytest_audiobench.audio.wav import PlainWav, plain_wav, plain_wav_file
from pytest_audiobench.errors import AudioError, FileUnreachable

LOWEST_RATE_HZ = 1000
"""Below it nothing is sound, and resampling a hostile header's 1 Hz would fill the memory."""
HIGHEST_RATE_HZ = 384_000
"""The highest at which sound is recorded; a compressed second at more would be a weapon."""
LONGEST_S = 6 * 3600.0
"""What is read of one file at most, in seconds: longer is not a clip."""
_COUNTED_RATE_HZ = 16_000
"""Sound at a lower rate grows when it is brought to a listener's."""
_BLOCK_VALUES = 1 << 20
_AVERAGED_VALUES = 1 << 19
"""Of several channels at a time, in memory that is used again; after each soundfile seeks, which FLAC pays for."""
_INTEGERS = ("PCM_S8", "PCM_U8", "PCM_16", "PCM_24", "PCM_32")
_ENTERED = dict.fromkeys(("WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF"), (*_INTEGERS, "FLOAT", "DOUBLE")) | {
    "FLAC": _INTEGERS,
    "OGG": ("VORBIS",),
}
"""Opus makes its noise of what it decoded before, and MP3 borrows bits from it: they differ when entered."""
_UNKNOWN_BYTES = 0x7FFFF000
"""Sizes from here on are written by programs that stream (ffmpeg, sox) and mean "unknown"."""
_MOST_CHUNKS = 1000
_MOST_PLAIN_BYTES = 1 << 26
"""Larger files are read in blocks."""
_SLOPPY_BYTES = 64
"""Some writers count the header as data; so little is not missing audio."""
_FIRST_FRAME_BYTES = 2048
_HAS_FRAMES, _HAS_BYTES = 1, 2
_MP3_COMPLETE = 0.99
"""Encoders differ in whether tags and the header itself count; mpg123 warns from the same 1 % on."""


class Amount(NamedTuple):
    """How much may be read of one file."""

    most_values: int
    """Frames times channels, of which there are two at least, counted at 16 kHz where the rate is lower."""
    at_once: int = LONG_FRAMES
    """Frames in memory at once: for more of them LongSound is raised."""


class SourceSound(NamedTuple):
    """A source's samples from its beginning, at its own rate."""

    samples: Samples
    rate_hz: int
    frames: int
    """All it has, read or not."""


class Recording(NamedTuple):
    """What was read of a file: mono samples, and its header's rate, frames and channels.

    The samples are from its beginning, but for those of :func:`read_excerpt`, which are that excerpt's.
    """

    samples: Samples
    rate_hz: int
    promised: int
    channels: int
    is_whole: bool

    def serves(self, reach_s: float | None) -> bool:
        """Whether ``reach_s`` seconds, all when None, were read."""
        return self.is_whole or len(self.samples) >= _frames_within(self.promised, self.rate_hz, reach_s)

    def sound(self, name: str, reach_s: float | None, amount: Amount) -> SourceSound:
        """The first ``reach_s`` seconds. Raises AudioError as if they were read now."""
        wanted = _frames_within(self.promised, self.rate_hz, reach_s)
        _check_amount(name, wanted, self.channels, self.rate_hz, amount)
        samples = self.samples[:wanted]
        reaches_end = wanted == self.promised or len(samples) < wanted
        return SourceSound(samples, self.rate_hz, len(samples) if reaches_end else self.promised)


class SoundStream(NamedTuple):
    """A source's samples from its beginning, or those of an excerpt, as they are read: mono, at its own rate."""

    blocks: Iterator[Samples]
    rate_hz: int
    promised: int
    """Frames of the source, by its header."""
    wanted: int
    """How many the blocks hold; they may hold fewer where the header is an estimate."""
    is_excerpt: bool = False

    def frames(self, count: int) -> int:
        """All that the source has, once ``count`` were read."""
        return count if self.wanted == self.promised or count < self.wanted else self.promised


def read_file(source: FileSource, path: str, reach_s: float | None, amount: Amount) -> Recording:
    """The first ``reach_s`` seconds of the file at ``path``, all of it when None; channels averaged.

    Raises AudioError, before anything is read, when more than ``amount`` would have to be; so do the others here.
    """
    if plain := plain_wav_file(path, _MOST_PLAIN_BYTES):
        return _plain(str(source), plain, reach_s, amount)
    with _file(source, path) as (sound, file):
        return _read(str(source), sound, file, reach_s, amount)


@contextmanager
def file_stream(
    source: FileSource, path: str, span_s: tuple[float, float] | None, reach_s: float | None, amount: Amount
) -> Iterator[SoundStream]:
    """:func:`read_file`, block by block within the context; the excerpt ``span_s`` alone where that can be read so."""
    with _file(source, path) as (sound, file):
        name, start_s, end_s = str(source), *(span_s or (0.0, 0.0))
        end_s = end_s if reach_s is None else min(end_s, reach_s)
        excerpt = _excerpt(name, sound, file, start_s, end_s, amount) if span_s else None
        yield excerpt or _stream(name, sound, file, reach_s, amount)


@contextmanager
def encoded_stream(name: str, data: bytes, reach_s: float | None, amount: Amount) -> Iterator[SoundStream]:
    """:func:`file_stream` for a file's bytes in memory."""
    with _open(name, BytesIO(data)) as sound:
        yield _stream(name, sound, BytesIO(data), reach_s, amount)


def read_excerpt(source: FileSource, path: str, start_s: float, end_s: float, amount: Amount) -> Recording | None:
    """Only [start_s, end_s) of the file at ``path``, to the nearest frame, as it is when all of the file is read.

    None where the format cannot be entered in the middle without a difference, or where what was asked for is not
    there: then the file must be read from its beginning. Raises AudioError as :func:`read_file` does.
    """
    with _file(source, path) as (sound, file):
        stream = _excerpt(str(source), sound, file, start_s, end_s, amount)
        if stream is None:
            return None
        samples = _joined(stream)
        if not 0 < len(samples) == stream.wanted:
            return None
        return Recording(samples, sound.samplerate, sound.frames, sound.channels, is_whole=False)


class _Watched:
    """A file for libsndfile, which takes an error of the system for zeros or the file's end, even in a header.

    It has no name: one ending in .raw would be taken for headerless samples.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed by close)
        self.seek, self.tell, self.close = self._file.seek, self._file.tell, self._file.close
        self.error: OSError | None = None

    def readinto(self, buffer: memoryview) -> int:
        try:
            return self._file.readinto(buffer)
        except OSError as error:
            self.error = error
            return 0


@contextmanager
def _file(source: FileSource, path: str) -> Iterator[tuple[soundfile.SoundFile, BinaryIO]]:
    with ExitStack() as files:
        try:
            watched = files.enter_context(closing(_Watched(path)))
            file = files.enter_context(open(path, "rb"))
        except OSError as error:
            raise FileUnreachable(
                f"{source}: cannot be read ({error.strerror}); correct {path} or its permissions"
            ) from None
        try:
            with _open(str(source), watched) as sound:
                yield sound, file
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # of a file that sound is written to meanwhile
                raise
            watched.error = error
        except AudioError:
            if watched.error is None:
                raise
        if watched.error is not None:
            why = f"{source}: cannot be read ({watched.error.strerror})"
            raise FileUnreachable(f"{why}; look at the disk of {path}, and try again")


def read_bytes(name: str, data: bytes, reach_s: float | None, amount: Amount) -> SourceSound:
    """:func:`read_file` for a file's bytes in memory; ``name`` stands for them in messages."""
    return read_encoded(name, data, reach_s, amount).sound(name, reach_s, amount)


def read_encoded(name: str, data: bytes, reach_s: float | None, amount: Amount) -> Recording:
    """:func:`read_file` for a file's bytes in memory, to be remembered."""
    if plain := plain_wav(data):
        return _plain(name, plain, reach_s, amount)
    with _open(name, BytesIO(data)) as sound:
        return _read(name, sound, BytesIO(data), reach_s, amount)


def _plain(name: str, plain: PlainWav, reach_s: float | None, amount: Amount) -> Recording:
    _check_rate(name, plain.rate_hz)
    wanted = _frames_within(plain.frames, plain.rate_hz, reach_s)
    _check_amount(name, wanted, 1, plain.rate_hz, amount)
    return Recording(plain.samples(wanted), plain.rate_hz, plain.frames, 1, wanted == plain.frames)


def _frames_within(frames: int, rate_hz: int, reach_s: float | None) -> int:
    return frames if reach_s is None else min(frames, ceil(reach_s * rate_hz) + 1)


def _read(name: str, sound: soundfile.SoundFile, file: BinaryIO, reach_s: float | None, amount: Amount) -> Recording:
    stream = _stream(name, sound, file, reach_s, amount)
    samples = _joined(stream)
    reaches_end = stream.wanted == stream.promised or len(samples) < stream.wanted
    return Recording(samples, sound.samplerate, sound.frames, sound.channels, reaches_end)


def _stream(
    name: str, sound: soundfile.SoundFile, file: BinaryIO, reach_s: float | None, amount: Amount
) -> SoundStream:
    _check_header(name, file, sound)
    wanted = _frames_within(sound.frames, sound.samplerate, reach_s)
    _check_amount(name, wanted, sound.channels, sound.samplerate, amount)
    return SoundStream(_blocks(name, sound, wanted), sound.samplerate, sound.frames, wanted)


def _excerpt(
    name: str, sound: soundfile.SoundFile, file: BinaryIO, start_s: float, end_s: float, amount: Amount
) -> SoundStream | None:
    if sound.subtype not in _ENTERED.get(sound.format, ()):
        return None
    _check_header(name, file, sound)
    start, end = (min(sound.frames, round(place_s * sound.samplerate)) for place_s in (start_s, end_s))
    _check_amount(name, end - start, sound.channels, sound.samplerate, amount)
    try:
        sound.seek(start)
    except soundfile.SoundFileError:
        return None
    return SoundStream(
        _blocks(name, sound, end - start, is_excerpt=True), sound.samplerate, sound.frames, end - start, True
    )


def _check_amount(name: str, frames: int, channels: int, rate_hz: int, amount: Amount) -> None:
    values = frames * max(2, channels) * max(1.0, _COUNTED_RATE_HZ / rate_hz)
    if values > amount.most_values or frames > LONGEST_S * rate_hz:
        raise AudioError(
            f"{name}: {frames} frames of {channels} channels at {rate_hz} Hz are more than may be read here; "
            "take a shorter clip, one at a lower rate or one with fewer channels"
        )
    if frames > amount.at_once:
        raise LongSound(frames)


def _open(name: str, file: _Watched | BinaryIO) -> soundfile.SoundFile:
    try:
        return soundfile.SoundFile(file, closefd=False)
    except soundfile.SoundFileError as error:
        reason = str(error).rpartition(": ")[2].rstrip(".").lower()
        if reason.startswith("file does not exist"):  # libsndfile's words for whatever mpg123 refuses
            reason = "an MP3 without a sound frame"
        raise AudioError(
            f"{name}: not audio that libsndfile can read ({reason}); replace it by a WAV, FLAC, OGG or MP3 file"
        ) from None


def _check_header(name: str, file: BinaryIO, sound: soundfile.SoundFile) -> None:
    _check_rate(name, sound.samplerate)
    cut_data = _CUT_DATA.get(sound.format)
    if cut_data and (cut := cut_data(file)):
        promised, actual = cut
        raise AudioError(
            f"{name}: the file is cut off: its header promises {promised} bytes of sound and it holds {actual}; "
            "fetch it again"
        )


def _check_rate(name: str, rate_hz: int) -> None:
    if not LOWEST_RATE_HZ <= rate_hz <= HIGHEST_RATE_HZ:
        raise AudioError(f"{name}: its header gives a rate of {rate_hz} Hz; correct or replace the file")


def _blocks(name: str, sound: soundfile.SoundFile, wanted: int, is_excerpt: bool = False) -> Iterator[Samples]:
    """``wanted`` frames from where the file is, averaged; a file of fewer was cut off, an excerpt ends there."""
    left, channels = wanted, sound.channels
    at_once = min(wanted, _BLOCK_VALUES if channels == 1 else max(1, _AVERAGED_VALUES // channels))
    room = np.empty((at_once if channels > 1 else 0, channels), dtype=np.float32)
    while left > 0:
        into = room if channels > 1 else np.empty((min(left, at_once), 1), dtype=np.float32)
        try:
            block = sound.read(out=into[:left])
        except soundfile.SoundFileError as error:
            reason = str(error).rpartition(": ")[2].rstrip(".")
            raise AudioError(f"{name}: damaged after {wanted - left} frames ({reason}); fetch it again") from None
        if not len(block):
            break
        yield _mean_of_channels(block)
        left -= len(block)
    if left and not is_excerpt and sound.format != "MP3":  # an MP3's count may be an estimate; the true one wins
        raise AudioError(
            f"{name}: the file is cut off: its header promises {sound.frames} frames and it holds {wanted - left}; "
            "fetch it again"
        )


def _joined(stream: SoundStream) -> Samples:
    """All its blocks, each put in its place at once: new memory costs as much as the copying."""
    first = next(stream.blocks, np.zeros(0, dtype=np.float32))
    if len(first) == stream.wanted:
        return first
    samples, end = np.empty(stream.wanted, dtype=np.float32), 0
    for block in chain([first], stream.blocks):
        samples[end : end + len(block)] = block
        end += len(block)
    return samples if end == stream.wanted else samples[:end].copy()


def _mean_of_channels(block: Samples) -> Samples:
    """Channel by channel: a tenth of the time that ``mean(axis=1)`` takes over so short an axis."""
    if block.shape[1] == 1:
        return block[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):  # judged where it is played
        total: Samples = reduce(np.add, block.T)
        total /= np.float32(block.shape[1])
    return total


def _cut_wav(file: BinaryIO) -> tuple[int, int] | None:
    """The bytes that a RIFF file's data chunk promises and has; None when all are there or the format is another."""
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
            return (size, end - start) if missing > _SLOPPY_BYTES and size < _UNKNOWN_BYTES else None
        position = start + size + size % 2
    return None


def _cut_mp3(file: BinaryIO) -> tuple[int, int] | None:
    """The bytes that an MP3's Xing (or Info) header counts and those there are; None when none are missing."""
    tag = file.read(10)
    tag_bytes = sum(byte << shift for byte, shift in zip(tag[6:10], (21, 14, 7, 0), strict=False))
    sound_start = 10 + tag_bytes if tag[:3] == b"ID3" else 0
    actual = file.seek(0, 2) - sound_start
    file.seek(sound_start)
    beginning = file.read(_FIRST_FRAME_BYTES)
    position = max(beginning.find(b"Xing"), beginning.find(b"Info"))
    fields = beginning[position + 4 : position + 16]
    if position < 0 or len(fields) < 12 or not fields[3] & _HAS_BYTES:
        return None
    counted = fields[8:12] if fields[3] & _HAS_FRAMES else fields[4:8]
    promised = int.from_bytes(counted, "big")
    return (promised, actual) if actual < promised * _MP3_COMPLETE else None


_CUT_DATA = {"WAV": _cut_wav, "WAVEX": _cut_wav, "MP3": _cut_mp3}
