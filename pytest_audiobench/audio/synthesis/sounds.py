"""Everyday sounds and plain music, computed: what scenes are made of, in addition to the bundled recordings.

Pitch, pace and timbre of each are drawn by its seed. They are plausible, not real: who recognises them has heard what
makes the sound, and nothing is known of recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource, decimal, number
from pytest_audiobench.audio.signals import Wave
from pytest_audiobench.audio.synthesis.recipe import Render, level, playable_frequency, recipe, seed
from pytest_audiobench.audio.synthesis.strip import Strip, buzz, swell, tone
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


def _whistling(s: Strip) -> None:
    tune_hz = s.between(900, 1200) * 2 ** (s.draw.choice([0, 2, 4, 5, 7, 9], 40) / 12)
    for at_s, hz in zip(s.beats(0.25, 0.4), tune_hz, strict=False):
        t = s.span(0.24)
        s.add(at_s, swell(t, 0.04) * tone(hz * (1 + 0.008 * np.sin(2 * np.pi * 6 * t)), t))
    s.wave += 0.01 * s.noise(1500, 4000)


def _dripping(s: Strip) -> None:
    for at_s in s.beats(0.35, 0.7):
        t, low_hz = s.span(0.12), s.between(700, 1000)
        s.add(at_s, tone(low_hz + 7000 * t, t) * np.exp(-t * 35), s.between(0.6, 1))


def _footsteps(s: Strip) -> None:
    pace_s, body_hz = s.between(0.48, 0.6), s.between(70, 110)
    for at_s in s.beats(pace_s - 0.02, pace_s + 0.02):
        t = s.span(0.16)
        s.add(at_s, np.sin(2 * np.pi * body_hz * t) * np.exp(-t * 40))
        s.add(at_s + 0.03, s.noise(400, 2500, 0.12) * np.exp(-s.span(0.12) * 35), 0.25)


def _sawing(s: Strip) -> None:
    strokes = (s.time_s * s.between(1.4, 2.2)) % 1.0
    rasp = s.noise(800, 5000) * (1 + 0.8 * np.sign(np.sin(2 * np.pi * s.between(70, 100) * s.time_s)))
    s.wave += rasp * np.where(strokes < 0.55, np.sin(np.pi * strokes / 0.55), 0.35 * np.sin(np.pi * (1 - strokes)))


def _typing(s: Strip) -> None:
    for at_s in s.beats(0.07, 0.22):
        t = s.span(0.03)
        s.add(at_s, s.noise(1800, 5500, 0.03) * np.exp(-t * 250), s.between(0.5, 1))
        s.add(at_s + 0.045, s.noise(900, 2500, 0.03) * np.exp(-t * 200), 0.4)


def _hammering(s: Strip) -> None:
    pace_s, hz = s.between(0.4, 0.6), s.between(900, 1300)
    for at_s in s.beats(pace_s - 0.03, pace_s + 0.03):
        t = s.span(0.3)
        ring = sum((np.sin(2 * np.pi * hz * r * t) * np.exp(-t * 12 * r) for r in (1, 2.3, 3.9)), np.zeros(len(t)))
        s.add(at_s, ring + 2 * s.noise(300, 3000, 0.3) * np.exp(-t * 90))


def _applause(s: Strip) -> None:
    for _ in range(round(90 * s.length_s)):
        low_hz = s.between(700, 1300)
        s.add(
            s.between(0, s.length_s), s.noise(low_hz, 2 * low_hz, 0.02) * np.exp(-s.span(0.02) * 180), s.between(0.3, 1)
        )


def _car_horn(s: Strip) -> None:
    low_hz = s.between(340, 420)
    for at_s in s.beats(0.75, 1.0):
        t = s.span(s.between(0.35, 0.6))
        s.add(at_s, swell(t) * (buzz(low_hz, t, 9, 0.7) + buzz(low_hz * 1.26, t, 8, 0.7)))


def _wind(s: Strip) -> None:
    gusts = 0.55 + 0.45 * np.sin(2 * np.pi * s.between(0.3, 0.6) * s.time_s + s.between(0, 6))
    s.wave += gusts * (s.noise(0, 350) + 0.5 * gusts * s.noise(450, 650))


def _crickets(s: Strip) -> None:
    hz, trill_hz = s.between(4200, 5200), s.between(28, 36)
    for at_s in s.beats(0.45, 0.55):
        t = s.span(0.25)
        s.add(at_s, swell(t) * np.sin(2 * np.pi * hz * t) * np.sin(np.pi * trill_hz * t) ** 2)


def _frog(s: Strip) -> None:
    pulse_hz, hz = s.between(32, 45), s.between(500, 750)
    for at_s in s.beats(0.6, 0.9):
        t = s.span(0.38)
        since = (t * pulse_hz) % 1.0 / pulse_hz
        s.add(at_s, swell(t, 0.08) * np.exp(-since * 130) * buzz(hz, since, 3, 0.8))


def _owl(s: Strip) -> None:
    hz = s.between(320, 420)
    for at_s in s.beats(1.3, 1.6):
        for later_s, lasts_s in ((0.0, 0.5), (0.62, 0.14), (0.8, 0.4)):
            t = s.span(lasts_s)
            s.add(at_s + later_s, swell(t, 0.06) * tone(hz * (1 + 0.06 * np.sin(np.pi * t / lasts_s)), t))


def _dog(s: Strip) -> None:
    hz = s.between(380, 560)
    for at_s in s.beats(0.4, 0.8):
        t = s.span(0.2)
        fall = hz * (1.15 - 2.2 * t)
        voice = sum((tone(n * fall, t) / n**0.6 for n in range(1, 7)), np.zeros(len(t)))
        s.add(at_s, np.sin(np.pi * t / 0.2) * (voice + 0.7 * s.noise(500, 2200, 0.2)))


def _glass(s: Strip) -> None:
    t = s.span(0.15)
    s.add(0.02, 3 * s.noise(2500, 7000, 0.15) * np.exp(-t * 40))
    for _ in range(26):
        ring_s, hz = s.span(0.3), s.between(2500, 7200)
        place_s = 0.03 + 0.7 * s.between(0, 1) ** 2
        s.add(place_s, np.sin(2 * np.pi * hz * ring_s) * np.exp(-ring_s * s.between(14, 40)), s.between(0.2, 0.8))


def _sonar(s: Strip) -> None:
    hz = s.between(1200, 1700)
    for at_s in s.beats(1.2, 1.3):
        t = s.span(1.0)
        s.add(at_s, np.clip(t / 0.01, 0, 1) * np.exp(-t * 5) * np.sin(2 * np.pi * hz * t))


def _bouncing(s: Strip) -> None:
    at_s, gap_s, hz = 0.02, s.between(0.5, 0.65), s.between(140, 220)
    while gap_s > 0.03 and at_s < s.length_s - 0.05:
        t = s.span(0.12)
        s.add(at_s, (np.sin(2 * np.pi * hz * t) + 0.5 * np.sin(2 * np.pi * 2.7 * hz * t)) * np.exp(-t * 50), gap_s)
        at_s, gap_s = at_s + gap_s, gap_s * 0.78


def _vacuum(s: Strip) -> None:
    hz = s.between(110, 140)
    s.wave += (
        0.5 * buzz(hz, s.time_s, 24, 0.5) + 1.2 * s.noise(500, 5000) + 0.8 * np.sin(2 * np.pi * 15 * hz * s.time_s)
    )


def _pouring(s: Strip) -> None:
    rise_hz = s.between(450, 600) + s.between(350, 500) * s.time_s / s.length_s
    flutter = 0.6 + 0.4 * s.noise(0, 14)
    s.wave += flutter * tone(rise_hz * (1 + 0.04 * s.noise(0, 40)), s.time_s) + 0.25 * s.noise(1500, 5000)


def _train_horn(s: Strip) -> None:
    hz = s.between(270, 320)
    for at_s in s.beats(1.5, 1.7):
        t = s.span(1.3)
        s.add(at_s, swell(t, 0.12) * sum((buzz(hz * r, t, 6, 1.1) for r in (1, 1.2, 1.5)), np.zeros(len(t))))


def _steam(s: Strip) -> None:
    since = s.time_s % s.between(0.9, 1.3)
    s.wave += s.noise(3500, 7500) * np.clip(since / 0.03, 0, 1) * np.exp(-since * 2.5)


def _fire(s: Strip) -> None:
    s.wave += 0.3 * s.noise(0, 200)
    for at_s in s.beats(0.01, 0.12):
        s.add(at_s, s.noise(1000, 6000, 0.012) * np.exp(-s.span(0.012) * 400), s.between(0.3, 3))


def _helicopter(s: Strip) -> None:
    blades = (s.time_s * s.between(11, 15)) % 1.0
    s.wave += np.exp(-blades * 6) * (s.noise(0, 300) + 0.3 * s.noise(300, 1200)) + 0.15 * s.noise(2000, 4000)


def _foghorn(s: Strip) -> None:
    hz = s.between(95, 125)
    for at_s in s.beats(2.2, 2.4):
        t = s.span(1.7)
        s.add(at_s, swell(t, 0.2) * buzz(hz, t, 8, 0.9))


MAKERS: Mapping[str, Callable[[Strip], None]] = {
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
    strip = Strip(frames, rate_hz, "everyday", 1, sound, seed(parameters))
    if sound not in MAKERS:
        raise ValueError(f"there is no everyday sound {sound!r}")
    MAKERS[sound](strip)
    return signals.scaled_to_rms(strip.wave, level(parameters)).astype(np.float32)


def _arpeggio(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    mode = dict(parameters).get("mode", "")
    root_hz, beat_s = number(parameters, "root_hz"), 60 / number(parameters, "bpm")
    strip = Strip(frames, rate_hz, "arpeggio", 1, seed(parameters))
    brightness = strip.between(0.8, 1.6)
    t = strip.span(min(2 * beat_s, strip.length_s))
    notes: dict[int, Wave] = {}
    for step, at_s in enumerate(np.arange(0, strip.length_s, beat_s / 2)):
        chord = _CHORDS[mode][step // 8 % 4]
        note = chord + _SCALES[mode][(0, 1, 2, 3, 2, 1, 2, 1)[step % 8]]
        if note not in notes:
            notes[note] = buzz(root_hz * 2 ** (note / 12), t, 4, brightness) * np.exp(-t * 2.5 / beat_s)
        strip.add(float(at_s), notes[note])
        if step % 4 == 0:
            strip.add(float(at_s), swell(t, 0.05) * np.sin(2 * np.pi * root_hz / 2 * 2 ** (chord / 12) * t), 0.8)
    return signals.scaled_to_rms(strip.wave, level(parameters)).astype(np.float32)


RENDERS: dict[tuple[str, int], Render] = {("everyday", 1): _everyday, ("arpeggio", 1): _arpeggio}
