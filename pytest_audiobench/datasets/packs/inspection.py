"""The inspection of a whole pack: the clips of each label, and what is the matter with any; nothing is decoded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import soundfile

from pytest_audiobench.audio.clip import FileSource, SynthesisSource
from pytest_audiobench.audio.decode import MOST_VALUES_AT_ONCE
from pytest_audiobench.audio.location import Locator
from pytest_audiobench.datasets.packs.pack import CONDITIONS, Pack
from pytest_audiobench.datasets.packs.sound_id import draw_mixtures
from pytest_audiobench.errors import AudioError


@dataclass(frozen=True)
class LabelInspection:
    """The clips of one label, their whole duration by their headers and recipes, and how many files have which rate."""

    label: str
    clips: int
    duration_s: float
    rates_hz: Counter[int]


@dataclass(frozen=True)
class PackInspection:
    """All labels, and the problems, a sentence each."""

    labels: tuple[LabelInspection, ...]
    problems: tuple[str, ...]

    @property
    def rates_hz(self) -> Counter[int]:
        return sum((label.rates_hz for label in self.labels), Counter[int]())


def inspect_pack(pack: Pack) -> PackInspection:
    """The labels and problems of ``pack``, from every clip's header."""
    locator, labels, problems = Locator(), [], []
    for label, clips in pack.clips.items():
        rates: Counter[int] = Counter()
        duration_s = 0.0
        for clip in clips:
            if isinstance(clip.source, FileSource):
                try:
                    clip_s, rate_hz = _duration_and_rate(clip.source, locator)
                except AudioError as error:
                    problems.append(str(error))
                    continue
                rates[rate_hz] += 1
                duration_s += clip_s
            elif isinstance(clip.source, SynthesisSource):
                duration_s += clip.source.duration_s
        labels.append(LabelInspection(label, len(clips), duration_s, rates))
    return PackInspection(tuple(labels), tuple(problems))


def probe_counts(pack: Pack) -> dict[str, tuple[int, int, int]]:
    """For each condition that the pack is large enough for: mixtures, probes of what is there, of what is not."""
    mixtures = {condition: draw_mixtures(pack, condition) for condition in CONDITIONS}
    return {
        condition: (
            len(drawn),
            sum(len(mixture.labels) for mixture in drawn),
            sum(len(mixture.absent) for mixture in drawn),
        )
        for condition, drawn in mixtures.items()
        if drawn
    }


def _duration_and_rate(source: FileSource, locator: Locator) -> tuple[float, int]:
    """Raises AudioError for a file that cannot be found, leaves its folder, is not audio, or is not of a fit length."""
    path = locator.find(source).path
    try:
        with open(path, "rb") as file, soundfile.SoundFile(file.fileno(), closefd=False) as sound:
            frames, rate_hz, channels = sound.frames, sound.samplerate, sound.channels
    except (OSError, soundfile.SoundFileError) as error:
        reason = str(error).rpartition(": ")[2].rstrip(".").lower()
        raise AudioError(f"{source}: not audio that libsndfile can read ({reason}); replace it") from None
    if not frames:
        raise AudioError(f"{source}: no sound in it (zero frames); leave it out, or fetch it again")
    if frames * max(2, channels) > MOST_VALUES_AT_ONCE:
        raise AudioError(
            f"{source}: its header promises {frames} frames of {channels} channels, more than all parts of a mixture "
            "may have; cut it to what is heard"
        )
    return frames / rate_hz, rate_hz
