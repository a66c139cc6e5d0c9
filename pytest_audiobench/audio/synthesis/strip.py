"""A strip of time that a maker of sounds fills with events, and the waves that these are made of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.signals import Wave, band_pass, low_pass


class Strip:
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
        """Times at intervals that are drawn again each."""
        at_s = first_s
        while at_s < self.length_s - 0.02:
            yield at_s
            at_s += self.between(least_s, most_s)


def tone(hz: Wave | float, time_s: Wave) -> Wave:
    """A sine whose frequency is given for each frame."""
    step = time_s[1] - time_s[0] if len(time_s) > 1 else 0.0
    wave: Wave = np.sin(2 * np.pi * np.cumsum(np.full(len(time_s), 1.0) * hz) * step)
    return wave


def buzz(hz: float, time_s: Wave, harmonics: int, fall: float) -> Wave:
    """Harmonics of a pitch, the n-th weaker by n to the power of ``fall``."""
    return sum((np.sin(2 * np.pi * n * hz * time_s) / n**fall for n in range(1, harmonics + 1)), np.zeros(len(time_s)))


def swell(time_s: Wave, ramp_s: float = 0.02) -> Wave:
    """1 except for ramps at both ends."""
    swell: Wave = np.clip(np.minimum(time_s, time_s[-1] - time_s) / ramp_s, 0.0, 1.0)
    return swell
