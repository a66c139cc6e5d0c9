"""Sounds made of several clips: each rule by name and version, a pure function of waveforms at one rate.

A combination is made by the functions of this module (``with_noise(clip, noise, 10)``), never by hand. Its parameters
are strings, so that a clip's key is the same on every machine. All clips are played at the combination's own rate,
whatever theirs is; rules compute in float64. A changed definition gets a new version, never the old number.

A seed is what a random choice depends on, in addition to the rule: give each sample its own (``identity.seed("babble",
sample.id)``). Levels are root mean squares over all frames, silence and a constant part included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pytest_audiobench.audio import edits, signals
from pytest_audiobench.audio.clip import Clip, CombinedSource, Parameters, Samples, decimal, number, registered
from pytest_audiobench.audio.signals import Wave, convolved
from pytest_audiobench.audio.sound_file import HIGHEST_RATE_HZ, LOWEST_RATE_HZ
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of

if TYPE_CHECKING:
    from pytest_audiobench.audio.scene import Placement, Spans

RATE_HZ = 16_000
MINUS_9_DB = "0.35481338923357547"
MOST_CLIPS = 100
"""All clips of a combination are in memory together."""

LONGEST_GAP_S = 60.0

Combine: TypeAlias = Callable[[Sequence[Samples], int, Parameters, str | None], Samples]
_MIXTURE_PEAK = 0.95
_BABBLE_RMS = 0.05


@dataclass(frozen=True)
class Rule:
    """A registered rule.

    ``combine`` returns the waveform made of others (a shape (frames,) each) at a rate, and raises ValueError where it
    is not defined for them. ``length_s`` is the result's duration given theirs.
    """

    name: str
    version: int
    combine: Combine
    length_s: Callable[[Sequence[float], Parameters], float]


def mixture(
    clips: Sequence[Clip],
    levels_db: Sequence[float],
    rate_hz: int = RATE_HZ,
    length: Literal["longest", "shortest"] = "longest",
) -> Clip:
    """The clips sounding together, the n-th ``levels_db[n]`` decibels louder than the first would be at 0.

    The mixer of audiobench's sound identification (github.com/THENIROCK/audiobench, mixing.py): every clip is made as
    long as the ``longest`` by digital silence at its end (or cut to the ``shortest``, as published), brought to a peak
    of 0.95, then to the RMS of the first times its level; their sum is brought to a peak of 0.95. Of all that only the
    ratios of RMS and the last peak can be heard. The RMS counts the silence that was added: a short sound in a long
    mixture is as strong as the others over the whole, and louder while it lasts.

    Not defined where a clip is silent. Raises UsageError for no clips, for more than :data:`MOST_CLIPS`, and for
    levels that are not one finite number a clip.
    """
    if not clips:
        raise UsageError("a mixture of no clips is not sound; give at least one")
    if len(levels_db) != len(clips):
        raise UsageError(f"a mixture of {len(clips)} clips has {len(levels_db)} levels; give one a clip, the first 0")
    if length not in ("longest", "shortest"):
        raise UsageError(f"a mixture is as long as its 'longest' or its 'shortest' clip, not {length!r}")
    levels = " ".join(decimal("levels_db", level) for level in levels_db)
    return _combination("mixture", clips, rate_hz, (("levels_db", levels), ("length", length)))


def at_rate(clip: Clip, rate_hz: int = RATE_HZ) -> Clip:
    """``clip`` alone, resampled: edits that follow act at ``rate_hz``, whatever the rate of its file is."""
    return _combination("alone", (clip,), rate_hz, ())


def with_noise(clip: Clip, under: Clip, snr_db: float, seed: int | str | None = 0, rate_hz: int = RATE_HZ) -> Clip:
    """``clip`` with ``under`` beneath it: ``snr_db`` is 20·log10 of the RMS of the one over the other's, over the clip.

    The noise begins at a place that ``seed`` draws (None: at its beginning), continues at its beginning after its end,
    and is repeated or cut to the clip's length before its level is taken. Where half of the clip is silent, speech
    stands 3 dB higher above the noise than ``snr_db`` says. A sum that 16 bits cannot hold is made softer as a whole.
    Not defined where the clip or the excerpt of the noise is silent.
    """
    drawn = None if seed is None else str(seed)
    return _combination("noise", (clip, under), rate_hz, (("snr_db", decimal("snr_db", snr_db)),), drawn)


def in_room(clip: Clip, response: Clip, rate_hz: int = RATE_HZ) -> Clip:
    """``clip`` as heard in the room whose impulse response is ``response``.

    The convolution of both from the response's direct sound on, which is its largest sample by magnitude (as Ko et al.
    2017 and those after them take it), so that nothing comes later than it did; cut to the clip's length and brought to
    its RMS. A peak that 16 bits cannot hold makes it softer as a whole. Not defined for a silent response.
    """
    return _combination("room", (clip, response), rate_hz, ())


def babble(clips: Sequence[Clip], seed: int | str = 0, rate_hz: int = RATE_HZ) -> Clip:
    """Many voices at once, to lie under another clip: all ``clips`` at the same RMS, as long as the longest.

    Each begins at a place drawn by ``seed`` and continues at its own beginning after its end, up to the length of
    the longest; their sum has an RMS of 0.05 (-26 dB), less where 16 bits would not hold its peak. Not defined where a
    clip is silent.
    """
    if len(clips) < 2:
        raise UsageError(f"babble is made of several voices, not of {len(clips)}; give at least two clips")
    return _combination("babble", clips, rate_hz, (), str(seed))


def preceded(clip: Clip, by: Clip, gap_s: float = 0.25, level_db: float = 0.0, rate_hz: int = RATE_HZ) -> Clip:
    """``by``, then ``gap_s`` of digital silence, then ``clip``.

    ``by`` is brought to the RMS of ``clip`` and ``level_db`` decibels above it, each taken over its own frames. A peak
    that 16 bits cannot hold makes all of it softer. Not defined where one is silent. Raises UsageError for a gap below
    0 or above :data:`LONGEST_GAP_S`.
    """
    if gap_s > LONGEST_GAP_S:
        raise UsageError(f"gap_s={gap_s:g} is beyond {LONGEST_GAP_S:g}, the longest pause between clips; give less")
    gap = ("gap_s", decimal("gap_s", gap_s, least=0.0))
    return _combination("preceded", (clip, by), rate_hz, (gap, ("level_db", decimal("level_db", level_db))))


def joined(clips: Sequence[Clip], gap_s: float = 0.1, rate_hz: int = RATE_HZ) -> Clip:
    """The clips one after another, each at its own level, with ``gap_s`` of digital silence between two.

    0.1 s is what SALMONN's dataset.py puts between the utterances of a trial. Raises UsageError for no clips, and for a
    gap below 0 or above :data:`LONGEST_GAP_S`.
    """
    if not clips or gap_s > LONGEST_GAP_S:
        raise UsageError(f"{len(clips)} clips are joined with gaps of 0 to {LONGEST_GAP_S:g} s, not {gap_s:g}")
    return _combination("joined", clips, rate_hz, (("gap_s", decimal("gap_s", gap_s, least=0.0)),))


def overlaid(clip: Clip, by: Clip, level_db: float = 0.0, rate_hz: int = RATE_HZ) -> Clip:
    """``clip`` and ``by`` from the beginning of both, as long as the longer of them; neither is repeated.

    ``by`` is brought to the RMS of ``clip`` and ``level_db`` decibels above it, each taken over its own frames: the
    ratio holds while both sound, however short the one is (:func:`mixture` counts the silence after it). A sum that 16
    bits cannot hold is made softer as a whole. Not defined where one is silent.
    """
    return _combination("overlaid", (clip, by), rate_hz, (("level_db", decimal("level_db", level_db)),))


def summed(
    clips: Sequence[Clip],
    gains: Sequence[float],
    rate_hz: int = RATE_HZ,
    length: Literal["longest", "shortest"] = "longest",
) -> Clip:
    """The clips sounding together from their beginnings, each times its gain and nothing else, as LibriMix's scripts
    add sources: as long as the ``longest``, or cut to the ``shortest``.

    A sum that 16 bits cannot hold is made softer as a whole. Raises UsageError for gains that are not one a clip.
    """
    if not clips or len(gains) != len(clips):
        raise UsageError(f"a sum of {len(clips)} clips has {len(gains)} gains; give one a clip")
    factors = " ".join(decimal("gains", gain) for gain in gains)
    return _combination("summed", clips, rate_hz, (("gains", factors), ("length", length)))


def in_scene(
    clips: Sequence[Clip], placements: Sequence[Placement], frames: int, ducked: Spans = (), floor: str = MINUS_9_DB
) -> Clip:
    """The clips at their ``placements`` in a scene of ``frames`` at 16 kHz: :mod:`pytest_audiobench.audio.scene`.

    Beds are multiplied by ``floor`` during the spans ``ducked``. Not defined where what sounds of a clip is silent.
    Raises UsageError for a placement that leaves the scene.
    """
    if not clips or len(clips) != len(placements):
        raise UsageError(f"a scene of {len(clips)} clips has {len(placements)} placements; give one a clip")
    from pytest_audiobench.audio.scene import scene_parameters  # few runs play scenes

    return _combination("scene", clips, RATE_HZ, scene_parameters(frames, placements, ducked, floor))


def moves_time(before: Clip, after: Clip) -> bool:
    """Whether what sounds at a time of ``before`` sounds at another one of ``after``, which may be made of it."""
    if after.source == before.source:
        return edits.move_time(after.edits[len(before.edits) :])
    if not isinstance(after.source, CombinedSource):
        return False
    parts = [clip for clip in after.source.clips if _holds(clip, before)]
    keeps_time = rule_of(after.source).length_s in (_first, _longest) and not edits.move_time(after.edits)
    return bool(parts) and (not keeps_time or any(moves_time(before, part) for part in parts))


def _holds(clip: Clip, part: Clip) -> bool:
    source = clip.source
    return source == part.source or (isinstance(source, CombinedSource) and any(_holds(c, part) for c in source.clips))


def rule_of(source: CombinedSource) -> Rule:
    """The registered rule of ``source``. Raises UsageError, which names what is known."""
    return registered("rule", _RULES, source.rule, source.version)


def _combination(
    rule: str, clips: Sequence[Clip], rate_hz: int, parameters: Parameters, seed: str | None = None
) -> Clip:
    if len(clips) > MOST_CLIPS:
        raise UsageError(f"a {rule} of {len(clips)} clips is more than the {MOST_CLIPS} that are combined; give fewer")
    if not LOWEST_RATE_HZ <= rate_hz <= HIGHEST_RATE_HZ:
        raise UsageError(
            f"rate_hz={rate_hz} is not a sampling rate; give one from {LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ}"
        )
    return Clip(CombinedSource(rule, 1, rate_hz, tuple(clips), parameters, seed))


def _alone(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    (clip,) = clips
    return clip


def _mixture(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    texts = dict(parameters)
    frames = (min if texts.get("length") == "shortest" else max)(len(clip) for clip in clips)
    total, wave = np.zeros(frames), np.empty(frames)
    levels_db = [number((("levels_db", level),), "levels_db") for level in texts.get("levels_db", "").split(" ")]
    if len(levels_db) != len(clips):
        raise UsageError(
            f"a mixture of {len(clips)} clips has {len(levels_db)} levels; make mixtures by their function"
        )
    for place, (clip, level_db) in enumerate(zip(clips, levels_db, strict=True), start=1):
        end = min(len(clip), frames)
        wave[:end], wave[end:] = clip[:end], 0.0
        power = float(np.dot(wave, wave)) / frames
        if not power:
            raise ValueError(_silent(place, len(clips)))
        wave *= signals.amplitude(level_db) / np.sqrt(power)
        total += wave
    peak = max(float(np.max(total)), -float(np.min(total)))
    if not peak:
        raise ValueError("the clips of the mixture cancel one another to silence")
    total *= _MIXTURE_PEAK / peak
    return total.astype(np.float32)


def _noise(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    speech, under = clips
    looped = _loop(under, 0 if seed is None else seed_of("noise start", 1, seed), len(speech))
    return signals.add_noise(speech, looped, number(parameters, "snr_db"))


def _room(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    dry, response = (clip.astype(np.float64) for clip in clips)
    if not response.any():
        raise ValueError("the response of the room is silent")
    direct = int(np.argmax(np.abs(response)))
    wet = convolved(dry, response)[direct : direct + len(dry)]
    return signals.within_full_scale(signals.scaled_to_rms(wet, signals.rms(dry)))


def _babble(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    frames = max(len(clip) for clip in clips)
    total = np.zeros(frames)
    for place, clip in enumerate(clips, start=1):
        voice = _loop(clip, seed_of("babble start", 1, place, seed or ""), frames)
        if not signals.rms(voice):
            raise ValueError(_silent(place, len(clips)))
        total += signals.scaled_to_rms(voice, 1.0)
    return signals.within_full_scale(signals.scaled_to_rms(total, _BABBLE_RMS))


def _sequence(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    clip, by = clips
    gap = np.zeros(round(number(parameters, "gap_s") * rate_hz))
    return signals.within_full_scale(np.concatenate([_at_level(by, clip, parameters), gap, clip]))


def _joined(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    gap = np.zeros(round(number(parameters, "gap_s") * rate_hz), dtype=np.float32)
    first, *others = clips
    return np.concatenate([first, *(part for clip in others for part in (gap, clip))])


def _overlay(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    clip, by = clips
    total = np.zeros(max(len(clip), len(by)))
    total[: len(clip)] = clip
    total[: len(by)] += _at_level(by, clip, parameters)
    return signals.within_full_scale(total)


def _sum(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    texts = dict(parameters)
    gains = [number((("gains", gain),), "gains") for gain in texts.get("gains", "").split(" ")]
    if len(gains) != len(clips):
        raise UsageError(f"a sum of {len(clips)} clips has {len(gains)} gains; make sums by their function")
    total = np.zeros((min if texts.get("length") == "shortest" else max)(map(len, clips)))
    for clip, gain in zip(clips, gains, strict=True):
        end = min(len(clip), len(total))
        total[:end] += clip[:end].astype(np.float64) * gain
    return signals.within_full_scale(total)


def _scene(clips: Sequence[Samples], rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    from pytest_audiobench.audio.scene import scene

    return scene(clips, parameters)


def _at_level(by: Samples, clip: Samples, parameters: Parameters) -> Wave:
    levels = signals.rms(clip), signals.rms(by)
    if not all(levels):
        raise ValueError(_silent(1 + levels.index(0.0), len(levels)))
    return by.astype(np.float64) * (levels[0] / levels[1] * signals.amplitude(number(parameters, "level_db")))


def _loop(samples: Samples, start: int, frames: int) -> Wave:
    """``frames`` of ``samples`` as an endless loop from frame ``start`` on."""
    return np.resize(np.roll(samples, -(start % len(samples))), frames).astype(np.float64)


def _silent(place: int, clips: int) -> str:
    which = "its one clip is silent" if clips == 1 else f"clip {place} of {clips} is silent"
    return f"it is mixed at a ratio of levels, and {which}"


def _first(lengths_s: Sequence[float], parameters: Parameters) -> float:
    return lengths_s[0]


def _length_of(lengths_s: Sequence[float], parameters: Parameters) -> float:
    return (min if dict(parameters).get("length") == "shortest" else max)(lengths_s)


def _longest(lengths_s: Sequence[float], parameters: Parameters) -> float:
    return max(lengths_s)


_RULES = {
    (rule.name, rule.version): rule
    for rule in (
        Rule("mixture", 1, _mixture, _length_of),
        Rule("alone", 1, _alone, _first),
        Rule("noise", 1, _noise, _first),
        Rule("room", 1, _room, _first),
        Rule("babble", 1, _babble, _longest),
        Rule("preceded", 1, _sequence, lambda lengths_s, parameters: sum(lengths_s) + number(parameters, "gap_s")),
        Rule(
            "joined",
            1,
            _joined,
            lambda lengths_s, parameters: sum(lengths_s) + number(parameters, "gap_s") * (len(lengths_s) - 1),
        ),
        Rule("overlaid", 1, _overlay, _longest),
        Rule("summed", 1, _sum, _length_of),
        Rule("scene", 1, _scene, lambda lengths_s, parameters: round(number(parameters, "frames")) / RATE_HZ),
    )
}
