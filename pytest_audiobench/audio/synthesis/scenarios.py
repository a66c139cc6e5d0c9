"""The sounds of a car, a street and a body, computed, for packs of labels that no bundled recording has.

As those of ``sounds.py`` they are plausible, not real: a model that knows them is not shown to know recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource
from pytest_audiobench.audio.signals import Wave
from pytest_audiobench.audio.synthesis.recipe import level, playable_frequency, recipe, seed
from pytest_audiobench.audio.synthesis.strip import Strip, buzz, swell, tone
from pytest_audiobench.errors import UsageError

_HIGHEST_HZ = 7_500


def scenario(sound: str, duration_s: float, seed: int | str, level_db: float = -26.0) -> SynthesisSource:
    """One of :data:`SCENARIO_MAKERS`. Raises UsageError for another one."""
    if sound not in SCENARIO_MAKERS:
        raise UsageError(f"there is no sound {sound!r} of a scenario; there are {', '.join(SCENARIO_MAKERS)}")
    return recipe("scenario", duration_s, level_db, ("sound", sound), ("seed", str(seed)))


def _traffic(s: Strip) -> None:
    s.wave += s.noise(0, 220)
    for at_s in s.beats(0.5, 0.9, s.between(0, 0.4)):
        passing = np.exp(-(((s.time_s - at_s) / s.between(0.2, 0.45)) ** 2))
        s.wave += s.between(0.6, 1.4) * passing * s.noise(350, 2600)


def _baby_cry(s: Strip) -> None:
    hz = s.between(380, 500)
    for at_s in s.beats(0.85, 1.05):
        t = s.span(s.between(0.55, 0.75))
        contour = hz * (0.88 + 0.28 * np.sin(np.pi * t / t[-1])) * (1 + 0.012 * np.sin(2 * np.pi * 7 * t))
        voice = sum((tone(n * contour, t) / n**0.55 for n in range(1, 11)), np.zeros(len(t)))
        s.add(at_s, swell(t, 0.08) * (voice + 0.25 * s.noise(1000, 5000, t[-1] + 1 / s.rate_hz)[: len(t)]))


def _drilling(s: Strip) -> None:
    hz = s.between(150, 210)
    start = np.clip(s.time_s / 0.25, 0.3, 1.0)
    motor = sum((tone(n * hz * start, s.time_s) / n**0.4 for n in range(1, 18)), np.zeros(s.frames))
    s.wave += start * (motor + (1 + 0.5 * np.sin(2 * np.pi * 3 * hz / 10 * s.time_s)) * s.noise(1500, 6500))


def _jackhammer(s: Strip) -> None:
    pace_s, body_hz = 1 / s.between(13, 18), s.between(160, 240)
    for at_s in s.beats(pace_s - 0.003, pace_s + 0.003):
        t = s.span(0.06)
        s.add(at_s, np.sin(2 * np.pi * body_hz * t) * np.exp(-t * 70))
        s.add(at_s, s.noise(600, 5000, 0.06) * np.exp(-t * 90), s.between(0.8, 1.1))


def _gun_shot(s: Strip) -> None:
    body_hz = s.between(70, 110)
    for at_s in s.beats(0.55, 0.95, s.between(0.02, 0.2)):
        t = s.span(0.5)
        s.add(at_s, s.noise(200, 7000, 0.5) * np.exp(-t * 55), 2.0)
        s.add(at_s, np.sin(2 * np.pi * body_hz * t) * np.exp(-t * 16) + 0.4 * s.noise(0, 900, 0.5) * np.exp(-t * 9))


def _coughing(s: Strip) -> None:
    hz = s.between(120, 210)
    for at_s in s.beats(0.42, 0.7):
        t, tail_s = s.span(0.1), s.span(0.22)
        s.add(at_s, s.noise(450, 4500, 0.1) * np.exp(-t * 32), 1.6)
        s.add(at_s + 0.07, swell(tail_s, 0.05) * (0.35 * buzz(hz, tail_s, 9, 0.8) + 0.5 * s.noise(300, 1900, 0.22)))


def _sneezing(s: Strip) -> None:
    for at_s in s.beats(1.2, 1.5):
        breath_s, burst_s = s.span(0.4), s.span(0.35)
        s.add(at_s, 0.25 * s.noise(700, 3000, 0.4) * (breath_s / 0.4) ** 2)
        s.add(at_s + 0.45, s.noise(1300, 7000, 0.35) * np.clip(burst_s / 0.01, 0, 1) * np.exp(-burst_s * 14), 2.0)
        s.add(at_s + 0.45, buzz(s.between(240, 340), burst_s, 8, 0.7) * np.exp(-burst_s * 22), 0.6)


def _breaths(s: Strip) -> tuple[Wave, Wave]:
    """How strongly it breathes in and out at each moment."""
    cycle = (s.time_s / s.between(1.2, 1.6) + s.between(0, 0.2)) % 1.0
    inward = np.where(cycle < 0.4, np.sin(np.pi * cycle / 0.4) ** 2, 0.0)
    outward = np.where((cycle > 0.45) & (cycle < 0.95), np.sin(np.pi * (cycle - 0.45) / 0.5) ** 2, 0.0)
    return inward, outward


def _breathing(s: Strip) -> None:
    inward, outward = _breaths(s)
    s.wave += inward * s.noise(700, 3200) + 0.7 * outward * s.noise(250, 1500) + 0.01 * s.noise(0, 2000)


def _snoring(s: Strip) -> None:
    inward, outward = _breaths(s)
    flutter_hz = s.between(28, 42)
    flutter = np.exp(-(s.time_s * flutter_hz % 1.0) * 4)
    rattle = flutter * (s.noise(60, 450) + buzz(flutter_hz * 2, s.time_s, 12, 0.7))
    s.wave += inward * rattle + 0.15 * outward * s.noise(300, 1800) + 0.005 * s.noise(0, 2000)


SCENARIO_MAKERS: Mapping[str, Callable[[Strip], None]] = {
    "traffic": _traffic,
    "baby_cry": _baby_cry,
    "drilling": _drilling,
    "jackhammer": _jackhammer,
    "gun_shot": _gun_shot,
    "coughing": _coughing,
    "sneezing": _sneezing,
    "breathing": _breathing,
    "snoring": _snoring,
}
"""What makes each sound, by the label that it has in packs."""


def render_scenario(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    """The sound. Raises ValueError for one that there is not, and for a rate that is too low."""
    playable_frequency(_HIGHEST_HZ, rate_hz)
    sound = dict(parameters).get("sound", "")
    if sound not in SCENARIO_MAKERS:
        raise ValueError(f"there is no sound {sound!r} of a scenario")
    strip = Strip(frames, rate_hz, "scenario", 1, sound, seed(parameters))
    SCENARIO_MAKERS[sound](strip)
    return signals.scaled_to_rms(strip.wave, level(parameters)).astype(np.float32)
