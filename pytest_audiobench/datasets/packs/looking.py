"""A whole pack looked at: what clips each label has, and what is the matter with any of them; nothing is decoded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.audio.location import Locator
from pytest_audiobench.datasets.packs.headers import check_length, header_of
from pytest_audiobench.datasets.packs.pack import CONDITIONS, Pack
from pytest_audiobench.datasets.packs.sound_id import draw
from pytest_audiobench.errors import AudiobenchError


@dataclass(frozen=True)
class LabelLook:
    """The clips of one label, their whole duration, and how many have which rate."""

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


def look(pack: Pack) -> PackLook:
    """Read every clip's header."""
    locator, labels, wrong = Locator(), [], []
    for label, clips in pack.clips.items():
        rates: Counter[int] = Counter()
        duration_s = 0.0
        for clip in clips:
            if not isinstance(clip.source, FileSource):
                continue
            try:
                header = header_of(clip.source, locator)
                check_length(clip.source, header)
            except AudiobenchError as error:
                wrong.append(str(error))
                continue
            if not header.frames:
                wrong.append(f"{clip.source}: no sound in it (zero frames); leave it out, or fetch it again")
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
