"""From a clip to what a model is played: decode, average channels, edit, resample, cut to the window.

Edits are applied at the source's own rate, before resampling, so that their result does not depend on the listener.
Where a window is given, only the part of a file on which it depends is read; an edit that looks at the whole clip
(noise at a ratio to its level) makes the whole file be read. What is long is read, edited and resampled in blocks and
played from a temporary file. Samples beyond [-1, 1] are kept as they are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import takewhile

import numpy as np
import soundfile
import soxr

from pytest_audiobench.audio import combining, edits
from pytest_audiobench.audio.clip import (
    ArraySource,
    CellSource,
    Clip,
    CombinedSource,
    Edit,
    FileSource,
    PlayedAudio,
    Samples,
    SynthesisSource,
)
from pytest_audiobench.audio.long_sound import LONG_FRAMES, LongSound, pieces, resampled, room_for, spooled
from pytest_audiobench.audio.sound_file import LONGEST_S, Amount, SoundStream, SourceSound, encoded_stream, read_bytes
from pytest_audiobench.audio.source_samples import file_excerpt, file_sound, made_sound, source_stream
from pytest_audiobench.errors import AudioError

MOST_VALUES = 1 << 31
"""What is read of one file unless a caller says less: frames times channels, of which two are counted at least, at
16 kHz at least, and six hours of it. It is read in blocks; two hours at 48 kHz are 0.7e9."""

MOST_VALUES_AT_ONCE = 180_000_000
"""The same for what must be in memory whole: all clips of a combination together, and a clip for an edit that looks at
all of it. 31 minutes at 48 kHz, 93 at 16; some gigabytes while it is being computed."""

_TAIL_S = 0.1
"""Read beyond the window, so that the resampler's filter ends on sound; far more than half its length."""


def decode(clip: Clip, rate_hz: int, max_s: float | None, most_values: int = MOST_VALUES) -> PlayedAudio:
    """The clip as mono float32 at ``rate_hz``, its first ``max_s`` seconds where that is given.

    ``most_values`` bounds what may be read of a file for it: frames times channels, of which there are two at least,
    counted at 16 kHz where the rate is lower. What must be in memory whole has a tighter bound.

    Resampling is soxr's HQ. Raises AudioError, naming the clip and the remedy, for a file that is missing,
    empty, no audio, or shorter than its header promises, for one that is too large, and for samples that are NaN or
    infinite, or become so; UsageError for an edit or recipe that does not exist, InfrastructureError where a long sound
    finds no room on the disk.
    """
    window_s = None if max_s is None else max_s + _TAIL_S

    def in_memory(amount: Amount) -> PlayedAudio:
        sound, played = _source_and_samples(clip, rate_hz, window_s, amount)
        return _cut_to_window(sound, played, clip.edits, rate_hz, max_s)

    try:
        return in_memory(Amount(most_values))
    except LongSound as sound:
        frames = sound.frames
    if isinstance(clip.source, FileSource | CellSource | ArraySource):
        reach_s = edits.reach_s(clip.edits, math.inf if window_s is None else window_s)
        span_s = None if reach_s is None else edits.excerpt_s(clip.edits)
        with source_stream(clip.source, span_s, reach_s, Amount(most_values, most_values)) as stream:
            return _play_stream(str(clip.source), str(clip), stream, clip.edits, rate_hz, max_s)
    while True:  # what a combination takes shows while it is made
        try:
            with room_for(frames):
                return in_memory(Amount(most_values, frames))
        except LongSound as sound:
            frames = max(sound.frames, 2 * frames)


def decode_bytes(
    name: str, data: bytes, rate_hz: int, max_s: float | None, most_values: int = MOST_VALUES
) -> PlayedAudio:
    """:func:`decode` for a file's bytes in memory, such as a server receives; ``name`` stands for them in messages."""
    reach_s = None if max_s is None else max_s + _TAIL_S
    try:
        sound = read_bytes(name, data, reach_s, Amount(most_values))
        _check(name, sound.samples)
        return _cut_to_window(sound, _resample(name, sound, sound.samples, rate_hz, LONG_FRAMES), (), rate_hz, max_s)
    except LongSound:
        with encoded_stream(name, data, reach_s, Amount(most_values, most_values)) as stream:
            return _play_stream(name, name, stream, (), rate_hz, max_s)


def _play_stream(
    source: str, name: str, stream: SoundStream, made: tuple[Edit, ...], rate_hz: int, max_s: float | None
) -> PlayedAudio:
    """In blocks as far as the edits ``made`` allow; the rest of them are applied in memory, where there is room."""
    left = made[1:] if stream.is_excerpt else made
    in_blocks = tuple(takewhile(lambda edit: edits.kind_of(edit).stream, left))
    in_memory = left[len(in_blocks) :]
    lasts_s = stream.wanted / stream.rate_hz
    for edit in in_blocks:
        before_s, lasts_s = lasts_s, edits.length_s((edit,), lasts_s)
        _check_length(name, edit, lasts_s, max(LONGEST_S, before_s))
    frames = math.ceil(lasts_s * stream.rate_hz) + 1
    if in_memory and 2 * frames > MOST_VALUES_AT_ONCE:
        raise AudioError(
            f"{name}: {in_memory[0].name} needs all of it in memory, and {lasts_s:g} s at {stream.rate_hz} Hz are more "
            "than may be; take an excerpt of it"
        )
    read, edited, whole, played = _Tally(source), _Tally(name), _Tally(name), _Tally(name, rate_hz)
    blocks = read.counted(stream.blocks)
    room = room_for(frames) if in_memory else nullcontext()
    with room, np.errstate(over="ignore", invalid="ignore"):  # judged below, by name
        for edit in in_blocks:
            if edited_stream := edits.kind_of(edit).stream:
                blocks = edited_stream(blocks, stream.rate_hz, edit.parameters)
        blocks = edited.counted(blocks)
        if in_memory:
            samples = np.concatenate([np.zeros(0, dtype=np.float32), *blocks])
            read.check()
            edited.check()
            blocks = iter([_edited(name, samples, stream.rate_hz, in_memory, MOST_VALUES_AT_ONCE)])
        blocks = whole.counted(blocks)
        if stream.rate_hz != rate_hz:
            blocks = resampled(blocks, stream.rate_hz, rate_hz)
        samples, digest = spooled(played.counted(blocks), _window_frames(rate_hz, max_s))
    for tally in (read, edited, whole, played):
        tally.check()
    sound = SourceSound(samples, stream.rate_hz, stream.frames(read.frames))
    return _played_audio(samples, digest, sound, made, rate_hz, max_s)


def _source_and_samples(
    clip: Clip, rate_hz: int, window_s: float | None, amount: Amount
) -> tuple[SourceSound, Samples]:
    """The clip's source, and what is played of it at ``rate_hz``: maybe an array of which others hold a part."""
    name = str(clip)
    reach_s = edits.reach_s(clip.edits, math.inf if window_s is None else window_s)
    excerpt = _excerpt(clip, reach_s, amount)
    sound = excerpt or _source_sound(clip, rate_hz, reach_s, amount)
    _check(str(clip.source), sound.samples)
    if not clip.edits:
        return sound, _resample(name, sound, sound.samples, rate_hz, amount.at_once)
    left = clip.edits[1:] if excerpt else clip.edits
    edited = _edited(name, sound.samples, sound.rate_hz, left, amount.at_once)
    _check(name, edited)
    return sound, _resample(name, sound, edited, rate_hz, amount.at_once)


def _resample(name: str, sound: SourceSound, edited: Samples, rate_hz: int, at_once: int) -> Samples:
    if sound.rate_hz == rate_hz:
        return edited
    frames = len(edited) * rate_hz // sound.rate_hz
    if frames > at_once:
        raise LongSound(frames)
    played: Samples = soxr.resample(edited, sound.rate_hz, rate_hz, quality="HQ")
    if not len(played):
        raise AudioError(
            f"{name}: too short to be played ({sound.frames} frames at {sound.rate_hz} Hz are none at {rate_hz} Hz); "
            "leave it out"
        )
    _check(name, played, rate_hz)
    return played


def _window_frames(rate_hz: int, max_s: float | None) -> int | None:
    return None if max_s is None else max(1, round(max_s * rate_hz))


def _cut_to_window(
    sound: SourceSound, played: Samples, made: tuple[Edit, ...], rate_hz: int, max_s: float | None
) -> PlayedAudio:
    cut = played if max_s is None else played[: _window_frames(rate_hz, max_s)]
    if len(cut) > LONG_FRAMES:
        samples, digest = spooled(pieces(cut, LONG_FRAMES))
    else:
        samples = np.ascontiguousarray(cut) if cut.flags.writeable else cut.copy()
        digest = hashlib.sha256(np.ascontiguousarray(samples, dtype="<f4").data).hexdigest()
    return _played_audio(samples, digest, sound, made, rate_hz, max_s)


def _played_audio(
    samples: Samples, digest: str, sound: SourceSound, made: tuple[Edit, ...], rate_hz: int, max_s: float | None
) -> PlayedAudio:
    truncated_s = 0.0 if max_s is None else edits.length_s(made, sound.frames / sound.rate_hz) - max_s
    return PlayedAudio(
        samples=samples,
        rate_hz=rate_hz,
        pcm_digest=digest,
        source_rate_hz=sound.rate_hz,
        frames=sound.frames,
        decoder=decoder(),
        truncated_s=truncated_s if truncated_s * sound.rate_hz > 1 else 0.0,
    )


@cache
def decoder() -> str:
    """Which software decodes; the same file may decode differently under another."""
    return f"soundfile {soundfile.__version__} libsndfile {soundfile.__libsndfile_version__} soxr {soxr.__version__}"


def _source_sound(clip: Clip, rate_hz: int, reach_s: float | None, amount: Amount) -> SourceSound:
    source = clip.source
    if isinstance(source, ArraySource):
        shared = source.samples.view()
        shared.flags.writeable = False
        if len(shared) > amount.at_once:
            raise LongSound(len(shared))
        return SourceSound(shared, source.rate_hz, len(shared))
    if isinstance(source, SynthesisSource):
        return made_sound(source, rate_hz, lambda: _synthesis(clip, source, rate_hz))
    if isinstance(source, CombinedSource):
        return made_sound(source, source.rate_hz, lambda: _combination(source, amount))
    return file_sound(source, reach_s, amount)


def _excerpt(clip: Clip, reach_s: float | None, amount: Amount) -> SourceSound | None:
    """What a first trim keeps of a file, where that can be read alone: a recording may be hours long."""
    span_s = edits.excerpt_s(clip.edits)
    if span_s is None or reach_s is None or not isinstance(clip.source, FileSource):
        return None
    start_s, end_s = span_s
    return file_excerpt(clip.source, start_s, min(end_s, reach_s), amount)


def _synthesis(clip: Clip, source: SynthesisSource, rate_hz: int) -> SourceSound:
    from pytest_audiobench.audio import synthesis  # few runs play sounds that are made

    try:
        samples = synthesis.render(source, rate_hz)
    except ValueError as error:
        raise AudioError(f"{clip}: {error}") from None
    return SourceSound(samples, rate_hz, len(samples))


def _combination(source: CombinedSource, amount: Amount) -> SourceSound:
    rule = combining.rule_of(source)
    left = min(amount.most_values, MOST_VALUES_AT_ONCE)
    played: list[Samples] = []
    for clip in source.clips:
        played.append(_source_and_samples(clip, source.rate_hz, None, Amount(left, amount.at_once))[1])
        left -= 2 * len(played[-1])
    frames = sum(map(len, played))
    if frames > amount.at_once:
        raise LongSound(frames)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            samples = rule.combine(played, source.rate_hz, source.parameters, source.seed)
    except ValueError as error:
        raise AudioError(f"{source}: {error}; leave it out") from None
    return SourceSound(samples, source.rate_hz, len(samples))


def _edited(name: str, samples: Samples, rate_hz: int, left: Sequence[Edit], at_once: int) -> Samples:
    """``samples`` with the edits that are ``left``; what comes of them is not checked."""
    for edit in left:
        lasts_s = edits.length_s((edit,), len(samples) / rate_hz)
        if lasts_s * rate_hz > at_once:
            raise LongSound(math.ceil(lasts_s * rate_hz))
        _check_length(name, edit, lasts_s, max(MOST_VALUES_AT_ONCE / 2, len(samples) + 1) / rate_hz)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # judged later, by name
                samples = edits.apply(edit, samples, rate_hz)
        except ValueError as error:
            raise AudioError(f"{name}: {error}; leave the edit out for this clip") from None
    return samples


def _check_length(name: str, edit: Edit, lasts_s: float, most_s: float) -> None:
    if lasts_s > most_s:
        raise AudioError(f"{name}: {edit.name} would make {lasts_s:g} s of it, more than fits in memory; give it less")


class _Tally:
    """What is wrong with the samples of ``name``, counted block by block; of those at ``rate_hz`` where that is new."""

    def __init__(self, name: str, rate_hz: int | None = None) -> None:
        self._name, self._rate_hz = name, rate_hz
        self.frames = self._nan = self._infinite = 0

    def counted(self, blocks: Iterator[Samples]) -> Iterator[Samples]:
        """The blocks, once they were counted."""
        for block in blocks:
            self.count(block)
            yield block

    def count(self, samples: Samples) -> None:
        self.frames += len(samples)
        if not np.isfinite(samples).all():
            self._nan += int(np.isnan(samples).sum())
            self._infinite += int(np.isinf(samples).sum())

    def check(self) -> None:
        """Raises AudioError where there is no sound, or what is no number."""
        if not self.frames:
            raise AudioError(f"{self._name}: no sound in it (zero frames); leave it out, or fetch or edit it again")
        if self._nan or self._infinite:
            bad = f"{self._nan} of {self.frames} samples are not a number and {self._infinite} are infinite"
            if self._rate_hz is not None:
                bad += f" once it is at {self._rate_hz} Hz: its level is far outside [-1, 1]"
            raise AudioError(f"{self._name}: {bad}; repair it or leave it out")


def _check(name: str, samples: Samples, rate_hz: int | None = None) -> None:
    if not len(samples) or not np.isfinite(samples).all():
        tally = _Tally(name, rate_hz)
        tally.count(samples)
        tally.check()
