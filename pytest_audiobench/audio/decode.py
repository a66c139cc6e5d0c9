"""From a clip to what a model is played: decode, average channels, edit, resample, cut to the window.

Edits are applied at the source's own rate, before resampling, so that their result does not depend on the listener.
Where a window is given, only the part of a file on which it depends is read; an edit that looks at the whole clip
(noise at a ratio to its level) makes the whole file be read. Samples beyond [-1, 1] are kept as they are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import soundfile
import soxr

from pytest_audiobench.audio import combining, edits
from pytest_audiobench.audio.clip import (
    ArraySource,
    Clip,
    CombinedSource,
    Edit,
    FileSource,
    PlayedAudio,
    Samples,
    SynthesisSource,
)
from pytest_audiobench.audio.sound_file import SourceSound, read_bytes
from pytest_audiobench.audio.source_samples import file_excerpt, file_sound, made_sound
from pytest_audiobench.errors import AudioError

MOST_VALUES = 1 << 29
"""What is read of one file unless a caller says less: frames times channels, of which two are counted at least, at
16 kHz at least. 93 minutes at 48 kHz, 4.6 hours at 16; a few gigabytes while it is being decoded."""

MOST_VALUES_OF_PARTS = 180_000_000
"""The same for all clips of a combination, which are in memory together: 31 minutes at 48 kHz, 93 at 16."""

_TAIL_S = 0.1
"""Read beyond the window, so that the resampler's filter ends on sound; far more than half its length."""


def decode(clip: Clip, rate_hz: int, max_s: float | None, most_values: int = MOST_VALUES) -> PlayedAudio:
    """The clip as mono float32 at ``rate_hz``, its first ``max_s`` seconds where that is given.

    ``most_values`` bounds what may be read of a file for it: frames times channels, of which there are two at least,
    counted at 16 kHz where the rate is lower. The parts of a combination have a tighter bound, all together.

    Resampling is soxr's HQ. Raises AudioError, naming the clip and the remedy, for a file that is missing,
    empty, no audio, or shorter than its header promises, for one that is too large, and for samples that are NaN or
    infinite; UsageError for an edit or recipe that does not exist.
    """
    window_s = None if max_s is None else max_s + _TAIL_S
    sound, played = _source_and_samples(clip, rate_hz, window_s, most_values)
    return _cut_to_window(
        str(clip), sound, played, edits.length_s(clip.edits, sound.frames / sound.rate_hz), rate_hz, max_s
    )


def decode_bytes(
    name: str, data: bytes, rate_hz: int, max_s: float | None, most_values: int = MOST_VALUES
) -> PlayedAudio:
    """:func:`decode` for a file's bytes in memory, such as a server receives; ``name`` stands for them in messages."""
    sound = read_bytes(name, data, None if max_s is None else max_s + _TAIL_S, most_values)
    _check(name, sound.samples)
    played = _resample(name, sound, sound.samples, rate_hz)
    return _cut_to_window(name, sound, played, sound.frames / sound.rate_hz, rate_hz, max_s)


def _source_and_samples(
    clip: Clip, rate_hz: int, window_s: float | None, most_values: int
) -> tuple[SourceSound, Samples]:
    """The clip's source, and what is played of it at ``rate_hz``: maybe an array of which others hold a part."""
    reach_s = edits.reach_s(clip.edits, math.inf if window_s is None else window_s)
    excerpt = _excerpt(clip, reach_s, most_values)
    sound = excerpt or _source_sound(clip, rate_hz, reach_s, most_values)
    left = clip.edits[1:] if excerpt else clip.edits
    return sound, _resample(str(clip), sound, _apply(clip, sound, left), rate_hz)


def _resample(name: str, sound: SourceSound, edited: Samples, rate_hz: int) -> Samples:
    played = edited
    if sound.rate_hz != rate_hz:
        played = soxr.resample(edited, sound.rate_hz, rate_hz, quality="HQ")
    if not len(played):
        raise AudioError(
            f"{name}: too short to be played ({sound.frames} frames at {sound.rate_hz} Hz are none at {rate_hz} Hz); "
            "leave it out"
        )
    return played


def _cut_to_window(
    name: str, sound: SourceSound, played: Samples, length_s: float, rate_hz: int, max_s: float | None
) -> PlayedAudio:
    cut = played if max_s is None else played[: max(1, round(max_s * rate_hz))]
    samples = np.ascontiguousarray(cut) if cut.flags.writeable else cut.copy()
    truncated_s = 0.0 if max_s is None else length_s - max_s
    return PlayedAudio(
        samples=samples,
        rate_hz=rate_hz,
        pcm_digest=hashlib.sha256(np.ascontiguousarray(samples, dtype="<f4").data).hexdigest(),
        source_rate_hz=sound.rate_hz,
        frames=sound.frames,
        decoder=decoder(),
        truncated_s=truncated_s if truncated_s * sound.rate_hz > 1 else 0.0,
    )


@cache
def decoder() -> str:
    """Which software decodes; the same file may decode differently under another."""
    return f"soundfile {soundfile.__version__} libsndfile {soundfile.__libsndfile_version__} soxr {soxr.__version__}"


def _source_sound(clip: Clip, rate_hz: int, reach_s: float | None, most_values: int) -> SourceSound:
    source = clip.source
    if isinstance(source, ArraySource):
        shared = source.samples.view()
        shared.flags.writeable = False
        return SourceSound(shared, source.rate_hz, len(shared))
    if isinstance(source, SynthesisSource):
        return made_sound(source, rate_hz, lambda: _synthesis(clip, source, rate_hz))
    if isinstance(source, CombinedSource):
        return made_sound(source, source.rate_hz, lambda: _combination(source, most_values))
    return file_sound(source, reach_s, most_values)


def _excerpt(clip: Clip, reach_s: float | None, most_values: int) -> SourceSound | None:
    """What a first trim keeps of a file, where that can be read alone: a recording may be hours long."""
    span_s = edits.excerpt_s(clip.edits)
    if span_s is None or reach_s is None or not isinstance(clip.source, FileSource):
        return None
    start_s, end_s = span_s
    return file_excerpt(clip.source, start_s, min(end_s, reach_s), most_values)


def _synthesis(clip: Clip, source: SynthesisSource, rate_hz: int) -> SourceSound:
    from pytest_audiobench.audio import synthesis  # few runs play sounds that are made

    try:
        samples = synthesis.render(source, rate_hz)
    except ValueError as error:
        raise AudioError(f"{clip}: {error}") from None
    return SourceSound(samples, rate_hz, len(samples))


def _combination(source: CombinedSource, most_values: int) -> SourceSound:
    rule = combining.rule_of(source)
    left = min(most_values, MOST_VALUES_OF_PARTS)
    played: list[Samples] = []
    for clip in source.clips:
        played.append(_source_and_samples(clip, source.rate_hz, None, left)[1])
        left -= 2 * len(played[-1])
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            samples = rule.combine(played, source.rate_hz, source.parameters, source.seed)
    except ValueError as error:
        raise AudioError(f"{source}: {error}; leave it out") from None
    return SourceSound(samples, source.rate_hz, len(samples))


def _apply(clip: Clip, sound: SourceSound, left: Sequence[Edit]) -> Samples:
    samples = sound.samples
    _check(str(clip.source), samples)
    for edit in left:
        lasts_s = edits.length_s((edit,), len(samples) / sound.rate_hz)
        if 2 * lasts_s * sound.rate_hz > max(MOST_VALUES, 2 * len(samples) + 2):
            raise AudioError(
                f"{clip}: {edit.name} would make {lasts_s:g} s of it, more than fits in memory; give it less"
            )
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # judged below, by name
                samples = edits.apply(edit, samples, sound.rate_hz)
        except ValueError as error:
            raise AudioError(f"{clip}: {error}; leave the edit out for this clip") from None
    if clip.edits:
        _check(str(clip), samples)
    return samples


def _check(name: str, samples: Samples) -> None:
    if not len(samples):
        raise AudioError(f"{name}: no sound in it (zero frames); leave it out, or fetch or edit it anew")
    if not np.isfinite(samples).all():
        nan, infinite = int(np.isnan(samples).sum()), int(np.isinf(samples).sum())
        bad = f"{nan} of {len(samples)} samples are not a number and {infinite} are infinite"
        raise AudioError(f"{name}: {bad}; repair it or leave it out")
