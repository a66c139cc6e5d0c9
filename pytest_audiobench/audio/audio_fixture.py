"""The ``audio`` fixture of a user's own tests: clips to load, make, change and listen to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio import combining, edits, synthesis
from pytest_audiobench.audio.clip import ArraySource, Clip, DataRoot, FileSource, Samples
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.audio.location import Locator
from pytest_audiobench.errors import AudioError, UsageError


class AudioFixture:
    """Clips for a test. ``here`` is the folder from which relative paths are read.

    Every method returns a new clip or numbers; clips are immutable, and decoded only when played or when
    :meth:`samples` is called. Bad audio raises AudioError, a mistaken parameter UsageError.
    """

    def __init__(self, here: Path, index: AudioIndex) -> None:
        self._here = here
        self._index = index

    def load(self, path: str | Path) -> Clip:
        """An audio file (WAV, FLAC, OGG, MP3, …); a relative path is read from the test file's folder."""
        file = self._here / path
        source = FileSource(DataRoot(file.parent.name or "here", file.parent.resolve()), file.name)
        Locator().find(source)
        return Clip(source)

    def array(self, samples: npt.ArrayLike, rate_hz: int, name: str = "array") -> Clip:
        """Your own waveform: floats nominally within [-1, 1], shape (frames,) or (frames, channels)."""
        wave = np.asarray(samples)
        if wave.dtype.kind != "f":
            raise UsageError(
                f"samples are {wave.dtype}, not floats; divide integers by their full scale (int16: 32768)"
            )
        if wave.ndim not in (1, 2) or rate_hz <= 0:
            raise UsageError(
                f"samples of shape {wave.shape} at {rate_hz} Hz are not a waveform; give (frames,) or"
                " (frames, channels)"
            )
        return Clip(ArraySource.of(wave.copy(), rate_hz, name))

    def tone(self, frequency_hz: float = 440.0, duration_s: float = 1.0, level_db: float = -12.0) -> Clip:
        """A sine; ``level_db`` is of its peak against full scale."""
        return Clip(synthesis.tone(frequency_hz, duration_s, level_db))

    def chirp(self, start_hz: float, end_hz: float, duration_s: float = 1.0, level_db: float = -12.0) -> Clip:
        """A sine that goes linearly from one frequency to another."""
        return Clip(synthesis.chirp(start_hz, end_hz, duration_s, level_db))

    def silence(self, duration_s: float = 1.0) -> Clip:
        """Digital silence."""
        return Clip(synthesis.silence(duration_s))

    def noise(self, duration_s: float = 1.0, seed: int | str = 0, level_db: float = -26.0) -> Clip:
        """White Gaussian noise; ``level_db`` is of its RMS against full scale."""
        return Clip(synthesis.white_noise(duration_s, seed, level_db))

    def pink_noise(self, duration_s: float = 1.0, seed: int | str = 0, level_db: float = -26.0) -> Clip:
        """Noise whose power falls by 3 dB an octave."""
        return Clip(synthesis.pink_noise(duration_s, seed, level_db))

    def louder(self, clip: Clip, db: float) -> Clip:
        """By ``db`` decibels; softer when negative."""
        return clip.edited(edits.gain(db))

    def trimmed(self, clip: Clip, start_s: float, end_s: float) -> Clip:
        """Only [start_s, end_s)."""
        return clip.edited(edits.trim(start_s, end_s))

    def padded(self, clip: Clip, before_s: float = 0.0, after_s: float = 0.0) -> Clip:
        """With digital silence before and after."""
        return clip.edited(edits.pad(before_s, after_s))

    def sped_up(self, clip: Clip, factor: float) -> Clip:
        """Faster and higher by ``factor``, as a tape is."""
        return clip.edited(edits.speed(factor))

    def with_noise(self, clip: Clip, snr_db: float, seed: int | str = 0) -> Clip:
        """With white noise at ``snr_db`` below the clip's RMS."""
        return clip.edited(edits.white_noise(snr_db, seed))

    def silenced(self, clip: Clip) -> Clip:
        """Digital silence of the same length: to see what a model answers when nothing is heard."""
        return clip.edited(edits.silence())

    def mixed(self, clip: Clip, other: Clip, snr_db: float = 0.0, rate_hz: int = 16_000) -> Clip:
        """``clip`` with ``other`` under it, ``snr_db`` = 20·log10 of the RMS of the first over the second's.

        The other begins where the first does, and is repeated or cut to its length before levels are taken.
        """
        return combining.with_noise(clip, other, snr_db, None, rate_hz)

    def mixture(self, clips: Sequence[Clip], levels_db: Sequence[float] = (), rate_hz: int = 16_000) -> Clip:
        """All ``clips`` together, at the RMS of the first unless ``levels_db`` says by how much louder; peak 0.95."""
        return combining.mixture(clips, levels_db or [0.0] * len(clips), rate_hz)

    def in_room(self, clip: Clip, response: Clip, rate_hz: int = 16_000) -> Clip:
        """``clip`` in the room whose impulse response is ``response``."""
        return combining.in_room(clip, response, rate_hz)

    def samples(self, clip: Clip, rate_hz: int = 16_000) -> Samples:
        """What a model at ``rate_hz`` would hear: mono float32, shape (frames,)."""
        return decode(clip, rate_hz, None).samples

    def duration_s(self, clip: Clip) -> float:
        """How long the clip lasts after its edits: as the file's header says, or counted where it says nothing."""
        (facts,) = self._index.facts_of([clip])
        if isinstance(facts, AudioError):
            raise facts
        return facts.duration_s if facts.duration_s is not None else decode(clip, 16_000, None).duration_s
