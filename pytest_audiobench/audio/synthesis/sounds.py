"""Everyday sounds and plain music, computed: what scenes are put together from, beside the bundled recordings.

Pitch, pace and timbre of each are drawn by its seed. They are plausible, not real: who recognises them has heard what
makes the sound, and nothing is known of recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource, decimal, number
from pytest_audiobench.audio.signals import Wave, band_pass, low_pass
from pytest_audiobench.audio.synthesis.recipe import Render, level, playable_frequency, recipe, seed
from pytest_audiobench.errors import UsageError

_LOWEST_RATE_HZ = 16_000
_SCALES = {"major": (0, 4, 7, 12), "minor": (0, 3, 7, 12)}
_CHORDS = {"major": (0, 5, 7, 0), "minor": (0, -4, 3, -2)}
"""Roots in semitones, a bar each."""


def everyday(sound: str, duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """One of :data:`MAKERS`. Raises UsageError for another one."""
    if sound not in MAKERS:
        raise UsageError(f"there is no everyday sound {sound!r}; there are {', '.join(MAKERS)}")
    return recipe("everyday", duration_s, level_db, ("sound", sound), ("seed", str(seed)))


def arpeggio(
    duration_s: float, seed: int | str, root_hz: float = 220.0, bpm: float = 90.0, mode: str = "major"
) -> SynthesisSource:
    """Plucked notes of broken chords, four a beat's pair, over a bass: ``mode`` is major or minor."""
    if mode not in _SCALES:
        raise UsageError(f"mode={mode!r} of an arpeggio is neither major nor minor")
    parameters = (("root_hz", decimal("root_hz", root_hz, least=20.0)), ("bpm", decimal("bpm", bpm, least=10.0)))
    return recipe("arpeggio", duration_s, -20.0, *parameters, ("mode", mode), ("seed", str(seed)))


class _Strip:
    """A strip of sound to be filled, with the numbers that a maker draws."""

    def __init__(self, frames: int, rate_hz: int, *identity: str | int) -> None:
        self._identity, self._noises = identity, 0
        self.frames, self.rate_hz, self.length_s = frames, rate_hz, frames / rate_hz
        self.draw = signals.stream(*identity)
        self.time_s: Wave = np.arange(frames) / rate_hz
        self.wave: Wave = np.zeros(frames)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * float(self.draw.random_sample())

    def noise(self, low_hz: float, high_hz: float, duration_s: float | None = None) -> Wave:
        """Noise in a band, at unit level."""
        self._noises += 1
        frames = self.frames if duration_s is None else max(1, round(duration_s * self.rate_hz))
        shape = band_pass(low_hz, high_hz, order=2) if low_hz else low_pass(high_hz, order=2)
        noise = signals.coloured_noise(frames, self.rate_hz, shape, "noise", self._noises, *self._identity)
        return signals.scaled_to_rms(noise, 1.0)

    def span(self, duration_s: float) -> Wave:
        """The seconds of a short event."""
        return np.arange(max(1, round(duration_s * self.rate_hz))) / self.rate_hz

    def add(self, at_s: float, event: Wave, strength: float = 1.0) -> None:
        """What passes the end is cut."""
        start = round(at_s * self.rate_hz)
        event = event[: max(0, self.frames - start)]
        self.wave[start : start + len(event)] += strength * event

    def beats(self, least_s: float, most_s: float, first_s: float = 0.02) -> Iterator[float]:
        """Times at intervals that are drawn anew each."""
        at_s = first_s
        while at_s < self.length_s - 0.02:
            yield at_s
            at_s += self.between(least_s, most_s)


def _tone(hz: Wave | float, time_s: Wave) -> Wave:
    """A sine whose frequency is given for each frame."""
    step = time_s[1] - time_s[0] if len(time_s) > 1 else 0.0
    wave: Wave = np.sin(2 * np.pi * np.cumsum(np.full(len(time_s), 1.0) * hz) * step)
    return wave


def _buzz(hz: float, time_s: Wave, harmonics: int, fall: float) -> Wave:
    return sum((np.sin(2 * np.pi * n * hz * time_s) / n**fall for n in range(1, harmonics + 1)), np.zeros(len(time_s)))


def _swell(time_s: Wave, ramp_s: float = 0.02) -> Wave:
    """1 but for ramps at both ends."""
    swell: Wave = np.clip(np.minimum(time_s, time_s[-1] - time_s) / ramp_s, 0.0, 1.0)
    return swell


def _whistling(s: _Strip) -> None:
    tune_hz = s.between(900, 1200) * 2 ** (s.draw.choice([0, 2, 4, 5, 7, 9], 40) / 12)
    for at_s, hz in zip(s.beats(0.25, 0.4), tune_hz, strict=False):
        t = s.span(0.24)
        s.add(at_s, _swell(t, 0.04) * _tone(hz * (1 + 0.008 * np.sin(2 * np.pi * 6 * t)), t))
    s.wave += 0.01 * s.noise(1500, 4000)


def _dripping(s: _Strip) -> None:
    for at_s in s.beats(0.35, 0.7):
        t, low_hz = s.span(0.12), s.between(700, 1000)
        s.add(at_s, _tone(low_hz + 7000 * t, t) * np.exp(-t * 35), s.between(0.6, 1))


def _footsteps(s: _Strip) -> None:
    pace_s, body_hz = s.between(0.48, 0.6), s.between(70, 110)
    for at_s in s.beats(pace_s - 0.02, pace_s + 0.02):
        t = s.span(0.16)
        s.add(at_s, np.sin(2 * np.pi * body_hz * t) * np.exp(-t * 40))
        s.add(at_s + 0.03, s.noise(400, 2500, 0.12) * np.exp(-s.span(0.12) * 35), 0.25)


def _sawing(s: _Strip) -> None:
    strokes = (s.time_s * s.between(1.4, 2.2)) % 1.0
    rasp = s.noise(800, 5000) * (1 + 0.8 * np.sign(np.sin(2 * np.pi * s.between(70, 100) * s.time_s)))
    s.wave += rasp * np.where(strokes < 0.55, np.sin(np.pi * strokes / 0.55), 0.35 * np.sin(np.pi * (1 - strokes)))


def _typing(s: _Strip) -> None:
    for at_s in s.beats(0.07, 0.22):
        t = s.span(0.03)
        s.add(at_s, s.noise(1800, 5500, 0.03) * np.exp(-t * 250), s.between(0.5, 1))
        s.add(at_s + 0.045, s.noise(900, 2500, 0.03) * np.exp(-t * 200), 0.4)


def _hammering(s: _Strip) -> None:
    pace_s, hz = s.between(0.4, 0.6), s.between(900, 1300)
    for at_s in s.beats(pace_s - 0.03, pace_s + 0.03):
        t = s.span(0.3)
        ring = sum((np.sin(2 * np.pi * hz * r * t) * np.exp(-t * 12 * r) for r in (1, 2.3, 3.9)), np.zeros(len(t)))
        s.add(at_s, ring + 2 * s.noise(300, 3000, 0.3) * np.exp(-t * 90))


def _applause(s: _Strip) -> None:
    for _ in range(round(90 * s.length_s)):
        low_hz = s.between(700, 1300)
        s.add(
            s.between(0, s.length_s), s.noise(low_hz, 2 * low_hz, 0.02) * np.exp(-s.span(0.02) * 180), s.between(0.3, 1)
        )


def _car_horn(s: _Strip) -> None:
    low_hz = s.between(340, 420)
    for at_s in s.beats(0.75, 1.0):
        t = s.span(s.between(0.35, 0.6))
        s.add(at_s, _swell(t) * (_buzz(low_hz, t, 9, 0.7) + _buzz(low_hz * 1.26, t, 8, 0.7)))


def _wind(s: _Strip) -> None:
    gusts = 0.55 + 0.45 * np.sin(2 * np.pi * s.between(0.3, 0.6) * s.time_s + s.between(0, 6))
    s.wave += gusts * (s.noise(0, 350) + 0.5 * gusts * s.noise(450, 650))


def _crickets(s: _Strip) -> None:
    hz, trill_hz = s.between(4200, 5200), s.between(28, 36)
    for at_s in s.beats(0.45, 0.55):
        t = s.span(0.25)
        s.add(at_s, _swell(t) * np.sin(2 * np.pi * hz * t) * np.sin(np.pi * trill_hz * t) ** 2)


def _frog(s: _Strip) -> None:
    pulse_hz, hz = s.between(32, 45), s.between(500, 750)
    for at_s in s.beats(0.6, 0.9):
        t = s.span(0.38)
        since = (t * pulse_hz) % 1.0 / pulse_hz
        s.add(at_s, _swell(t, 0.08) * np.exp(-since * 130) * _buzz(hz, since, 3, 0.8))


def _owl(s: _Strip) -> None:
    hz = s.between(320, 420)
    for at_s in s.beats(1.3, 1.6):
        for later_s, lasts_s in ((0.0, 0.5), (0.62, 0.14), (0.8, 0.4)):
            t = s.span(lasts_s)
            s.add(at_s + later_s, _swell(t, 0.06) * _tone(hz * (1 + 0.06 * np.sin(np.pi * t / lasts_s)), t))


def _dog(s: _Strip) -> None:
    hz = s.between(380, 560)
    for at_s in s.beats(0.4, 0.8):
        t = s.span(0.2)
        fall = hz * (1.15 - 2.2 * t)
        voice = sum((_tone(n * fall, t) / n**0.6 for n in range(1, 7)), np.zeros(len(t)))
        s.add(at_s, np.sin(np.pi * t / 0.2) * (voice + 0.7 * s.noise(500, 2200, 0.2)))


def _glass(s: _Strip) -> None:
    t = s.span(0.15)
    s.add(0.02, 3 * s.noise(2500, 7000, 0.15) * np.exp(-t * 40))
    for _ in range(26):
        ring_s, hz = s.span(0.3), s.between(2500, 7200)
        place_s = 0.03 + 0.7 * s.between(0, 1) ** 2
        s.add(place_s, np.sin(2 * np.pi * hz * ring_s) * np.exp(-ring_s * s.between(14, 40)), s.between(0.2, 0.8))


def _sonar(s: _Strip) -> None:
    hz = s.between(1200, 1700)
    for at_s in s.beats(1.2, 1.3):
        t = s.span(1.0)
        s.add(at_s, np.clip(t / 0.01, 0, 1) * np.exp(-t * 5) * np.sin(2 * np.pi * hz * t))


def _bouncing(s: _Strip) -> None:
    at_s, gap_s, hz = 0.02, s.between(0.5, 0.65), s.between(140, 220)
    while gap_s > 0.03 and at_s < s.length_s - 0.05:
        t = s.span(0.12)
        s.add(at_s, (np.sin(2 * np.pi * hz * t) + 0.5 * np.sin(2 * np.pi * 2.7 * hz * t)) * np.exp(-t * 50), gap_s)
        at_s, gap_s = at_s + gap_s, gap_s * 0.78


def _vacuum(s: _Strip) -> None:
    hz = s.between(110, 140)
    s.wave += (
        0.5 * _buzz(hz, s.time_s, 24, 0.5) + 1.2 * s.noise(500, 5000) + 0.8 * np.sin(2 * np.pi * 15 * hz * s.time_s)
    )


def _pouring(s: _Strip) -> None:
    rise_hz = s.between(450, 600) + s.between(350, 500) * s.time_s / s.length_s
    flutter = 0.6 + 0.4 * s.noise(0, 14)
    s.wave += flutter * _tone(rise_hz * (1 + 0.04 * s.noise(0, 40)), s.time_s) + 0.25 * s.noise(1500, 5000)


def _train_horn(s: _Strip) -> None:
    hz = s.between(270, 320)
    for at_s in s.beats(1.5, 1.7):
        t = s.span(1.3)
        s.add(at_s, _swell(t, 0.12) * sum((_buzz(hz * r, t, 6, 1.1) for r in (1, 1.2, 1.5)), np.zeros(len(t))))


def _steam(s: _Strip) -> None:
    since = s.time_s % s.between(0.9, 1.3)
    s.wave += s.noise(3500, 7500) * np.clip(since / 0.03, 0, 1) * np.exp(-since * 2.5)


def _fire(s: _Strip) -> None:
    s.wave += 0.3 * s.noise(0, 200)
    for at_s in s.beats(0.01, 0.12):
        s.add(at_s, s.noise(1000, 6000, 0.012) * np.exp(-s.span(0.012) * 400), s.between(0.3, 3))


def _helicopter(s: _Strip) -> None:
    blades = (s.time_s * s.between(11, 15)) % 1.0
    s.wave += np.exp(-blades * 6) * (s.noise(0, 300) + 0.3 * s.noise(300, 1200)) + 0.15 * s.noise(2000, 4000)


def _foghorn(s: _Strip) -> None:
    hz = s.between(95, 125)
    for at_s in s.beats(2.2, 2.4):
        t = s.span(1.7)
        s.add(at_s, _swell(t, 0.2) * _buzz(hz, t, 8, 0.9))


MAKERS: Mapping[str, Callable[[_Strip], None]] = {
    "whistling": _whistling,
    "dripping": _dripping,
    "footsteps": _footsteps,
    "sawing": _sawing,
    "typing": _typing,
    "hammering": _hammering,
    "applause": _applause,
    "car horn": _car_horn,
    "wind": _wind,
    "crickets": _crickets,
    "frog": _frog,
    "owl": _owl,
    "dog": _dog,
    "glass": _glass,
    "sonar": _sonar,
    "bouncing ball": _bouncing,
    "vacuum cleaner": _vacuum,
    "pouring water": _pouring,
    "train horn": _train_horn,
    "steam": _steam,
    "fire": _fire,
    "helicopter": _helicopter,
    "foghorn": _foghorn,
}
"""What makes each sound."""


def _everyday(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    playable_frequency(_LOWEST_RATE_HZ / 2 - 1, rate_hz)
    sound = dict(parameters).get("sound", "")
    strip = _Strip(frames, rate_hz, "everyday", 1, sound, seed(parameters))
    if sound not in MAKERS:
        raise ValueError(f"there is no everyday sound {sound!r}")
    MAKERS[sound](strip)
    return signals.scaled_to_rms(strip.wave, level(parameters)).astype(np.float32)


def _arpeggio(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    mode = dict(parameters).get("mode", "")
    root_hz, beat_s = number(parameters, "root_hz"), 60 / number(parameters, "bpm")
    strip = _Strip(frames, rate_hz, "arpeggio", 1, seed(parameters))
    brightness = strip.between(0.8, 1.6)
    t = strip.span(min(2 * beat_s, strip.length_s))
    notes: dict[int, Wave] = {}
    for step, at_s in enumerate(np.arange(0, strip.length_s, beat_s / 2)):
        chord = _CHORDS[mode][step // 8 % 4]
        note = chord + _SCALES[mode][(0, 1, 2, 3, 2, 1, 2, 1)[step % 8]]
        if note not in notes:
            notes[note] = _buzz(root_hz * 2 ** (note / 12), t, 4, brightness) * np.exp(-t * 2.5 / beat_s)
        strip.add(float(at_s), notes[note])
        if step % 4 == 0:
            strip.add(float(at_s), _swell(t, 0.05) * np.sin(2 * np.pi * root_hz / 2 * 2 ** (chord / 12) * t), 0.8)
    return signals.scaled_to_rms(strip.wave, level(parameters)).astype(np.float32)


RENDERS: dict[tuple[str, int], Render] = {("everyday", 1): _everyday, ("arpeggio", 1): _arpeggio}
