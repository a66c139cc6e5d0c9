"""A look at the headers of a pack's clips, so that no small file that stands for hours is unfolded into memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import soundfile

from pytest_audiobench.audio.clip import Clip, FileSource
from pytest_audiobench.audio.location import Locator
from pytest_audiobench.errors import AudioError, UsageError

MOST_VALUES = 60_000_000
"""Frames times channels of one clip: ten minutes in stereo at 48 kHz."""


class Header(NamedTuple):
    """What a file says of itself."""

    frames: int
    rate_hz: int
    channels: int

    @property
    def duration_s(self) -> float:
        return self.frames / self.rate_hz


def header_of(source: FileSource, locator: Locator) -> Header:
    """The header of a clip's file. Raises AudioError where it cannot be found, leaves its folder, or is no audio."""
    path = locator.find(source).path
    try:
        with open(path, "rb") as file, soundfile.SoundFile(file.fileno(), closefd=False) as sound:
            return Header(sound.frames, sound.samplerate, sound.channels)
    except (OSError, soundfile.SoundFileError) as error:
        reason = str(error).rpartition(": ")[2].rstrip(".").lower()
        raise AudioError(f"{source}: not audio that libsndfile can read ({reason}); replace it") from None


def check_lengths(clips: Iterable[Clip]) -> None:
    """Raises UsageError for a clip that is longer, by its header, than a mixture's source may be.

    What cannot be read is passed over: it is told of as the sample's error, where its audio is wanted at all.
    """
    locator = Locator()
    for source in {clip.source: None for clip in clips}:
        if not isinstance(source, FileSource):
            continue
        try:
            header = header_of(source, locator)
        except AudioError:
            continue
        check_length(source, header)


def check_length(source: FileSource, header: Header) -> None:
    """Raises UsageError for too long a clip."""
    if header.frames * header.channels > MOST_VALUES:
        raise UsageError(
            f"{source}: its header promises {header.frames} frames of {header.channels} channels, and a sound of a "
            f"mixture has at most {MOST_VALUES} values (ten minutes in stereo at 48 kHz); cut it to what is heard"
        )
