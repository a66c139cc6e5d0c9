"""Scorer a file's samples by libsndfile, as mono, in blocks, no further than is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from io import BytesIO
from math import ceil
from typing import BinaryIO, NamedTuple

import numpy as np
import soundfile

from pytest_audiobench.audio.clip import FileSource, Samples
from pytest_audiobench.audio.file_length import short_mp3_data, short_wav_data
from pytest_audiobench.audio.plain_wav import plain_wav
from pytest_audiobench.errors import AudioError, FileUnreachable


class SourceSound(NamedTuple):
    """A source's samples from its beginning, at its own rate; ``frames`` counts all it has, read or not."""

    samples: Samples
    rate_hz: int
    frames: int


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
        return self.is_whole or len(self.samples) >= _wanted(self.promised, self.rate_hz, reach_s)

    def sound(self, name: str, reach_s: float | None, most_values: int) -> SourceSound:
        """The first ``reach_s`` seconds. Raises AudioError as if they were read now."""
        wanted = _wanted(self.promised, self.rate_hz, reach_s)
        _check_amount(name, wanted, self.channels, self.rate_hz, most_values)
        samples = self.samples[:wanted]
        reaches_end = wanted == self.promised or len(samples) < wanted
        return SourceSound(samples, self.rate_hz, len(samples) if reaches_end else self.promised)


def read_file(source: FileSource, path: str, reach_s: float | None, most_values: int) -> Recording:
    """The first ``reach_s`` seconds of the file at ``path``, all of it when None; channels averaged.

    Raises AudioError, before anything is read, when more than ``most_values`` would have to be: frames times channels,
    of which there are two at least, counted at 16 kHz where the rate is lower.
    """
    with _file(source, path) as (sound, file):
        return _read(str(source), sound, file, reach_s, most_values)


def read_excerpt(source: FileSource, path: str, start_s: float, end_s: float, most_values: int) -> Recording | None:
    """Only [start_s, end_s) of the file at ``path``, to the nearest frame, as it is when all of the file is read.

    None where the format cannot be entered in the middle without a difference, or where what was asked for is not
    there: then the file must be read from its beginning. Raises AudioError as :func:`read_file` does.
    """
    with _file(source, path) as (sound, file):
        if sound.subtype not in _ENTERED.get(sound.format, ()):
            return None
        _check_header(str(source), file, sound)
        start, end = (min(sound.frames, round(place_s * sound.samplerate)) for place_s in (start_s, end_s))
        _check_amount(str(source), end - start, sound.channels, sound.samplerate, most_values)
        try:
            sound.seek(start)
        except soundfile.SoundFileError:
            return None
        samples = _mono(str(source), sound, end - start)
        if not 0 < len(samples) == end - start:
            return None
        return Recording(samples, sound.samplerate, sound.frames, sound.channels, is_whole=False)


@contextmanager
def _file(source: FileSource, path: str) -> Iterator[tuple[soundfile.SoundFile, BinaryIO]]:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise FileUnreachable(
            f"{source}: cannot be read ({error.strerror}); correct {path} or its permissions"
        ) from None
    try:
        # By descriptor: a name ending in .raw would be taken for headerless samples.
        with _opened(str(source), descriptor) as sound, open(path, "rb") as file:
            yield sound, file
    finally:
        os.close(descriptor)


def read_bytes(name: str, data: bytes, reach_s: float | None, most_values: int) -> SourceSound:
    """The same of a file's bytes in memory; ``name`` stands for them in messages."""
    plain = plain_wav(data)
    if plain is not None and LOWEST_RATE_HZ <= plain.rate_hz <= HIGHEST_RATE_HZ:
        wanted = _wanted(plain.frames, plain.rate_hz, reach_s)
        return SourceSound(plain.samples(wanted), plain.rate_hz, plain.frames)
    with _opened(name, BytesIO(data)) as sound:
        return _read(name, sound, BytesIO(data), reach_s, most_values).sound(name, reach_s, most_values)


def _wanted(frames: int, rate_hz: int, reach_s: float | None) -> int:
    return frames if reach_s is None else min(frames, ceil(reach_s * rate_hz) + 1)


def _read(name: str, sound: soundfile.SoundFile, file: BinaryIO, reach_s: float | None, most_values: int) -> Recording:
    _check_header(name, file, sound)
    wanted = _wanted(sound.frames, sound.samplerate, reach_s)
    _check_amount(name, wanted, sound.channels, sound.samplerate, most_values)
    samples = _mono(name, sound, wanted)
    _check_count(name, sound, len(samples), wanted)
    reaches_end = wanted == sound.frames or len(samples) < wanted
    return Recording(samples, sound.samplerate, sound.frames, sound.channels, reaches_end)


def _check_amount(name: str, frames: int, channels: int, rate_hz: int, most_values: int) -> None:
    if frames * max(2, channels) * max(1.0, _COUNTED_RATE_HZ / rate_hz) > most_values:
        raise AudioError(
            f"{name}: {frames} frames of {channels} channels at {rate_hz} Hz are more than may be read here; "
            "take a shorter clip, one at a lower rate or one with fewer channels"
        )


def _opened(name: str, opened: int | BinaryIO) -> soundfile.SoundFile:
    try:
        return soundfile.SoundFile(opened, closefd=False)
    except soundfile.SoundFileError as error:
        reason = str(error).rpartition(": ")[2].rstrip(".").lower()
        if reason.startswith("file does not exist"):  # libsndfile's words for whatever mpg123 refuses
            reason = "an MP3 without a sound frame"
        raise AudioError(
            f"{name}: not audio that libsndfile can read ({reason}); replace it by a WAV, FLAC, OGG or MP3 file"
        ) from None


def _check_header(name: str, file: BinaryIO, sound: soundfile.SoundFile) -> None:
    if not LOWEST_RATE_HZ <= sound.samplerate <= HIGHEST_RATE_HZ:
        raise AudioError(f"{name}: its header gives a rate of {sound.samplerate} Hz; correct or replace the file")
    promise = _PROMISES.get(sound.format)
    if promise is None:
        return
    if short := promise(file):
        promised, held = short
        raise AudioError(
            f"{name}: the file is cut off: its header promises {promised} bytes of sound and it holds {held}; "
            "fetch it again"
        )


def _mono(name: str, sound: soundfile.SoundFile, wanted: int) -> Samples:
    blocks: list[Samples] = []
    left = wanted
    try:
        while left > 0:
            block = sound.read(min(left, _BLOCK_VALUES // sound.channels), dtype="float32", always_2d=True)
            if not len(block):
                break
            blocks.append(_averaged(block))
            left -= len(block)
    except soundfile.SoundFileError as error:
        reason = str(error).rpartition(": ")[2].rstrip(".")
        raise AudioError(f"{name}: damaged after {wanted - left} frames ({reason}); fetch it again") from None
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.float32)


def _averaged(block: Samples) -> Samples:
    """Channel by channel: a tenth of the time that ``mean(axis=1)`` takes over so short an axis."""
    if block.shape[1] == 1:
        return block[:, 0]
    total: Samples = reduce(np.add, block.T)
    return total / np.float32(block.shape[1])


def _check_count(name: str, sound: soundfile.SoundFile, held: int, wanted: int) -> None:
    """An MP3's count may be an estimate; the true one wins."""
    if held < wanted and sound.format != "MP3":
        raise AudioError(
            f"{name}: the file is cut off: its header promises {sound.frames} frames and it holds {held}; "
            "fetch it again"
        )


LOWEST_RATE_HZ = 1000
"""Below it nothing is sound, and resampling a hostile header's 1 Hz would fill the memory."""
HIGHEST_RATE_HZ = 384_000
"""The highest at which sound is recorded; a compressed second at more would be a weapon."""
_COUNTED_RATE_HZ = 16_000
"""Sound at a lower rate grows when it is brought to a listener's."""
_BLOCK_VALUES = 1 << 20
_PROMISES = {"WAV": short_wav_data, "WAVEX": short_wav_data, "MP3": short_mp3_data}
_INTEGERS = ("PCM_S8", "PCM_U8", "PCM_16", "PCM_24", "PCM_32")
_ENTERED = dict.fromkeys(("WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF"), (*_INTEGERS, "FLOAT", "DOUBLE")) | {
    "FLAC": _INTEGERS,
    "OGG": ("VORBIS",),
}
"""Opus makes its noise of what it decoded before, and MP3 borrows bits from it: they differ when entered."""
