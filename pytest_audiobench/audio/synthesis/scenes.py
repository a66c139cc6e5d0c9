"""Tones, noise, places without speech and sequences of short sounds: what a recogniser should write nothing for.

The places follow the non-speech clips of audiobench's ASR hallucination suite (github.com/THENIROCK/audiobench,
data/asr_hallucination/procedural.py), with levels by RMS instead of by peak, filters without delay, and the phases of
music from the integral of its frequencies.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource, decimal, number
from pytest_audiobench.audio.signals import Wave, band_pass, coloured_noise
from pytest_audiobench.audio.synthesis.recipe import Render, duration, level, playable_frequency, recipe, seed

_HARMONICS = 10
_ROOT_HZ, _WAVER_HZ, _WAVER_DEPTH_HZ = 220.0, 0.15, 8.0
_CHORD = ((1.0, 0.35, 0.0), (5 / 4, 0.22, 0.3), (3 / 2, 0.18, 0.6))
"""Ratio to the root, amplitude, phase."""
_EVENTS_A_SECOND = 1.25
_LATEST = 0.6
_HIGHEST_HZ = 2000.0


def tone(frequency_hz: float, duration_s: float, level_db: float = -12.0) -> SynthesisSource:
    """A sine of ``frequency_hz`` from phase zero; to be played at more than twice its frequency."""
    return recipe("tone", duration_s, level_db, ("frequency_hz", decimal("frequency_hz", frequency_hz, least=0.0)))


def chirp(start_hz: float, end_hz: float, duration_s: float, level_db: float = -12.0) -> SynthesisSource:
    """A sine whose frequency goes linearly from ``start_hz`` to ``end_hz``."""
    return recipe(
        "chirp",
        duration_s,
        level_db,
        ("start_hz", decimal("start_hz", start_hz, least=0.0)),
        ("end_hz", decimal("end_hz", end_hz, least=0.0)),
    )


def silence(duration_s: float) -> SynthesisSource:
    """Digital silence."""
    return SynthesisSource("silence", 1, (("duration_s", duration(duration_s)),))


def white_noise(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """White Gaussian noise, flat up to half the rate it is played at."""
    return recipe("white_noise", duration_s, level_db, ("seed", str(seed)))


def pink_noise(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """Noise whose power falls by 3 dB an octave."""
    return recipe("pink_noise", duration_s, level_db, ("seed", str(seed)))


def silence_floor(duration_s: float, seed: int | str, level_db: float = -62.0) -> SynthesisSource:
    """The hiss of a quiet recording: white Gaussian noise; -62 dB is an RMS of 0.0008."""
    return recipe("silence_floor", duration_s, level_db, ("seed", str(seed)))


def room_tone(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """An empty room: a hum of 60 Hz and hiss from 3 to 7 kHz, 1 dB more of the hum than of the hiss."""
    return recipe("room_tone", duration_s, level_db, ("seed", str(seed)))


def hum(duration_s: float, seed: int | str, level_db: float = -26.0, mains_hz: float = 60.0) -> SynthesisSource:
    """Mains hum: ``mains_hz`` and its harmonics up to the tenth, the n-th of amplitude 1/n, at phases by ``seed``."""
    parameters = (("seed", str(seed)), ("mains_hz", decimal("mains_hz", mains_hz, least=1.0)))
    return recipe("hum", duration_s, level_db, *parameters)


def cafe(duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """Chatter without words that comes and goes: :func:`pytest_audiobench.audio.signals.cafe`."""
    return recipe("cafe", duration_s, level_db, ("seed", str(seed)))


def music_bed(duration_s: float, seed: int | str, level_db: float = -20.0) -> SynthesisSource:
    """A major chord on 220 Hz that wavers by 8 Hz and pulses 1.2 times a second, under a little hiss."""
    return recipe("music_bed", duration_s, level_db, ("seed", str(seed)))


def _tone(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    frequency_hz = playable_frequency(number(parameters, "frequency_hz"), rate_hz)
    return _sine(frequency_hz * np.arange(frames) / rate_hz, parameters)


def _chirp(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    start_hz, end_hz = (playable_frequency(number(parameters, name), rate_hz) for name in ("start_hz", "end_hz"))
    time_s = np.arange(frames) / rate_hz
    slope = (end_hz - start_hz) / number(parameters, "duration_s")
    return _sine(start_hz * time_s + slope / 2 * time_s**2, parameters)


def _sine(cycles: Wave, parameters: Parameters) -> Samples:
    return (level(parameters) * np.sin(2 * np.pi * cycles)).astype(np.float32)


def _room_tone(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    identity = ("room_tone", 1, seed(parameters))
    phase = np.pi * signals.stream("phase", *identity).random_sample()
    sound = 0.02 * np.sin(2 * np.pi * playable_frequency(60.0, rate_hz) * np.arange(frames) / rate_hz + phase)
    return _at_level(sound + 0.03 * _hiss(frames, rate_hz, 3000.0, 7000.0, *identity), parameters)


def _hum(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    mains_hz = playable_frequency(number(parameters, "mains_hz"), rate_hz)
    phases = 2 * np.pi * signals.stream("hum", 1, seed(parameters)).random_sample(_HARMONICS)
    cycles = 2 * np.pi * mains_hz * np.arange(frames) / rate_hz
    sound = np.zeros(frames)
    for harmonic, phase in enumerate(phases, start=1):
        if 2 * harmonic * mains_hz < rate_hz:
            sound += np.sin(harmonic * cycles + phase) / harmonic
    return _at_level(sound, parameters)


def _music_bed(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    identity = ("music_bed", 1, seed(parameters))
    waver, pulse = np.pi * signals.stream("phases", *identity).random_sample(2)
    time_s = np.arange(frames) / rate_hz
    playable_frequency(_ROOT_HZ * 2, rate_hz)
    swing = 2 * np.pi * _WAVER_HZ
    cycles = _ROOT_HZ * time_s - _WAVER_DEPTH_HZ / swing * (np.cos(swing * time_s + waver) - np.cos(waver))
    chord = sum(
        (strength * np.sin(2 * np.pi * ratio * cycles + phase) for ratio, strength, phase in _CHORD), np.zeros(frames)
    )
    beat = 0.6 + 0.4 * np.sin(2 * np.pi * 1.2 * time_s + pulse)
    return _at_level(chord * beat + 0.02 * _hiss(frames, rate_hz, 6000.0, 7800.0, *identity), parameters)


def _hiss(frames: int, rate_hz: int, low_hz: float, high_hz: float, *identity: str | int) -> Wave:
    """Noise in a band, as dense at every rate as white noise of unit variance is at 16 kHz."""
    hiss = coloured_noise(frames, rate_hz, band_pass(low_hz, high_hz, order=2), "hiss", *identity)
    return hiss * float(np.sqrt(rate_hz / 16_000))


def _at_level(sound: Wave, parameters: Parameters) -> Samples:
    return signals.scaled_to_rms(sound, level(parameters)).astype(np.float32)


def events(duration_s: float, seed: int | str, level_db: float = -12.0) -> SynthesisSource:
    """Five events in four seconds, one at least, with silence between; ``level_db`` is of the loudest's peak.

    The sound is cut into equal parts, and each has one event of a kind, at a place and with a strength drawn by
    ``seed``: a knock (two or three blows, each a sine of 120 to 260 Hz that dies away in 30 ms), a beep (a sine of
    700 to 2000 Hz for 80 to 250 ms) or a click (noise that dies away in 2 ms). It is to be played at more than 4 kHz.
    """
    return recipe("events", duration_s, level_db, ("seed", str(seed)))


def _events(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    playable_frequency(_HIGHEST_HZ, rate_hz)
    draw = signals.stream("events", 1, seed(parameters))
    parts = max(1, round(frames / rate_hz * _EVENTS_A_SECOND))
    sound = np.zeros(frames)
    for part in range(parts):
        make = _MAKERS[draw.randint(len(_MAKERS))]
        strength, place = 0.4 + 0.6 * draw.random_sample(), draw.random_sample()
        event = strength * make(rate_hz, draw)
        start = round((part + _LATEST * place) * frames / parts)
        audible = event[: frames - start]
        sound[start : start + len(audible)] += audible
    sound *= level(parameters) / float(np.max(np.abs(sound)))
    return sound.astype(np.float32)


def _knock(rate_hz: int, draw: np.random.RandomState) -> Wave:
    blows, pitch_hz = 2 + draw.randint(2), 120 + 140 * draw.random_sample()
    time_s = np.arange(round(0.12 * rate_hz)) / rate_hz
    blow = np.sin(2 * np.pi * pitch_hz * time_s) * np.exp(-time_s / 0.03)
    return np.tile(blow, blows)


def _beep(rate_hz: int, draw: np.random.RandomState) -> Wave:
    pitch_hz, duration_s = 700 + (_HIGHEST_HZ - 700) * draw.random_sample(), 0.08 + 0.17 * draw.random_sample()
    time_s = np.arange(round(duration_s * rate_hz)) / rate_hz
    ramps = np.minimum(1, np.minimum(time_s, time_s[-1] - time_s) / 0.01)
    beep: Wave = ramps * np.sin(2 * np.pi * pitch_hz * time_s)
    return beep


def _click(rate_hz: int, draw: np.random.RandomState) -> Wave:
    time_s = np.arange(round(0.015 * rate_hz)) / rate_hz
    hiss = 2 * draw.random_sample(len(time_s)) - 1
    click: Wave = hiss * np.exp(-time_s / 0.002)
    return click


_MAKERS: tuple[Callable[[int, np.random.RandomState], Wave], ...] = (_knock, _beep, _click)

RENDERS: dict[tuple[str, int], Render] = {
    ("tone", 1): _tone,
    ("chirp", 1): _chirp,
    ("silence", 1): lambda frames, rate_hz, parameters: np.zeros(frames, dtype=np.float32),
    ("white_noise", 1): lambda frames, _, given: signals.at_rms(signals.white(frames, seed(given)), level(given)),
    ("pink_noise", 1): lambda frames, _, given: signals.at_rms(signals.pink(frames, seed(given)), level(given)),
    ("silence_floor", 1): lambda frames, _, given: _at_level(
        signals.gaussian(frames, "silence_floor", 1, seed(given)), given
    ),
    ("room_tone", 1): _room_tone,
    ("hum", 1): _hum,
    ("cafe", 1): lambda frames, rate_hz, given: _at_level(signals.cafe(frames, rate_hz, "cafe", 1, seed(given)), given),
    ("music_bed", 1): _music_bed,
    ("events", 1): _events,
}
