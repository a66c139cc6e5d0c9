"""A whole pack looked at: what clips each label has, and what is the matter with any of them; nothing is decoded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import soundfile

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.audio.decode import MOST_VALUES_OF_PARTS
from pytest_audiobench.audio.location import Locator
from pytest_audiobench.datasets.packs.pack import CONDITIONS, Pack
from pytest_audiobench.datasets.packs.sound_id import draw
from pytest_audiobench.errors import AudioError


@dataclass(frozen=True)
class LabelLook:
    """The clips of one label, their whole duration by their headers, and how many have which rate."""

    label: str
    clips: int
    duration_s: float
    rates_hz: Counter[int]


@dataclass(frozen=True)
class PackLook:
    """All labels, and what is wrong, a sentence each."""

    labels: tuple[LabelLook, ...]
    wrong: tuple[str, ...]

    @property
    def rates_hz(self) -> Counter[int]:
        return sum((one.rates_hz for one in self.labels), Counter[int]())


class _Header(NamedTuple):
    duration_s: float
    rate_hz: int


def look(pack: Pack) -> PackLook:
    """Read every clip's header."""
    locator, labels, wrong = Locator(), [], []
    for label, clips in pack.clips.items():
        rates: Counter[int] = Counter()
        duration_s = 0.0
        for clip in clips:
            if isinstance(clip.source, FileSource):
                try:
                    header = _header(clip.source, locator)
                except AudioError as error:
                    wrong.append(str(error))
                    continue
                rates[header.rate_hz] += 1
                duration_s += header.duration_s
        labels.append(LabelLook(label, len(clips), duration_s, rates))
    return PackLook(tuple(labels), tuple(wrong))


def probes(pack: Pack) -> dict[str, tuple[int, int, int]]:
    """For each condition that the pack is large enough for: mixtures, probes of what is there, of what is not."""
    found = {condition: draw(pack, condition) for condition in CONDITIONS}
    return {
        condition: (len(drawn), sum(len(one.labels) for one in drawn), sum(len(one.absent) for one in drawn))
        for condition, drawn in found.items()
        if drawn
    }


def _header(source: FileSource, locator: Locator) -> _Header:
    """Raises AudioError for a file that cannot be found, leaves its folder, is no audio, or is not of a fit length."""
    path = locator.find(source).path
    try:
        with open(path, "rb") as file, soundfile.SoundFile(file.fileno(), closefd=False) as sound:
            frames, rate_hz, channels = sound.frames, sound.samplerate, sound.channels
    except (OSError, soundfile.SoundFileError) as error:
        reason = str(error).rpartition(": ")[2].rstrip(".").lower()
        raise AudioError(f"{source}: not audio that libsndfile can read ({reason}); replace it") from None
    if not frames:
        raise AudioError(f"{source}: no sound in it (zero frames); leave it out, or fetch it again")
    if frames * max(2, channels) > MOST_VALUES_OF_PARTS:
        raise AudioError(
            f"{source}: its header promises {frames} frames of {channels} channels, more than all parts of a mixture "
            "may have; cut it to what is heard"
        )
    return _Header(frames / rate_hz, rate_hz)
