"""How high is a tone? One of each thing that a package can add, written with ``pytest_audiobench.ext`` alone."""

import math
import re
from itertools import pairwise

import numpy as np

from pytest_audiobench.ext import (
    Answer,
    AudioSlot,
    Clip,
    Dataset,
    Estimate,
    Extension,
    Limits,
    Message,
    MetricKind,
    Protocol,
    Response,
    Sample,
    Scorer,
    Settings,
    Stage,
    UsageError,
    letter_of,
    mean_interval,
    synthesis,
)


class Ear:
    """A model that hears tones: ``ear:NAME`` or, for one that is always too high, ``ear:NAME,sharp_hz=40``."""

    batching = "opaque"
    listens = True
    device = "cpu"
    limits = Limits(max_batch=8)

    def __init__(self, target, options):
        if unknown := options.keys() - {"sharp_hz"}:
            raise UsageError(f"ear: has no option {min(unknown)!r}; it has sharp_hz")
        self.spec = f"ear:{target}"
        self._sharp_hz = float(options.get("sharp_hz", 0))

    def fingerprint(self):
        return {"ear": "1", "sharp_hz": str(self._sharp_hz)}

    def load(self):
        pass

    def ask(self, batch):
        return [self._answer(request, audio[0]) for request, audio in batch]

    def close(self):
        pass

    def _answer(self, request, audio):
        spectrum = np.abs(np.fft.rfft(audio.samples))
        peak_hz = np.argmax(spectrum) * audio.rate_hz / len(audio.samples) + self._sharp_hz
        if not request.choices:
            return Response.of(f"About {peak_hz:.0f} Hz.")
        distances = [abs(float(choice.split()[0]) - peak_hz) for choice in request.choices]
        return Response.of(f"Answer: {'ABCD'[int(np.argmin(distances))]}")


def tones(count: int = 12) -> Dataset:
    """As many tones of half a second, from 300 Hz on in steps of 50."""

    def read(places):
        return [
            Sample(
                id=f"tone-{number}",
                clips=(Clip(synthesis.tone(300 + 50 * number, 0.5)),),
                question="How high is the tone?",
                reference=f"{300 + 50 * number} Hz",
            )
            for number in range(count)
        ]

    return Dataset("tones", read)


def tone_choices() -> Dataset:
    """The tones, each with the height of the next beside its own."""

    def read(places):
        samples = tones().read(places)
        return [
            Sample(sample.id, sample.clips, sample.question, (following.reference, sample.reference), sample.reference)
            for sample, following in pairwise(samples)
        ]

    return Dataset("tone-choices", read)


def pitch(*scorers: str, unit: str = "Hz") -> Protocol:
    """Ask how high a tone is, in ``unit``; the scorer ``nearest`` reads the first number of the answer."""

    def render(sample, earlier):
        return (Message("user", (AudioSlot(0), f"{sample.question} Give a number in {unit}.")),)

    stage = Stage("answer", render, settings=Settings(max_new_tokens=16))
    protocol = Protocol("pitch", (stage,), (NEAREST,), {NEAREST.name: NEAREST})
    return protocol.with_scorers(*scorers) if scorers else protocol


def read_number(sample, earlier):
    """The first number of the answer, in Hz."""
    number = re.search(r"\d+", earlier["answer"].text)
    return Answer("parsed", number.group()) if number else Answer("unparsed")


def score_number(sample, answer):
    if answer.value is None:
        return {"correct": 0.0}
    off_hz = abs(float(answer.value) - float(sample.reference.split()[0]))
    return {"correct": float(off_hz < 25), "off_hz": off_hz}


def estimate_off(statistics, clusters):
    values = [row["off_hz"] for row in statistics if "off_hz" in row]
    interval = mean_interval(values, None, bounds=(0.0, math.inf))
    return Estimate(float(np.mean(values)), interval.lower, interval.upper, len(values), interval.method)


def read_last_letter(sample, earlier):
    """The last character of the answer, where it is an option's letter."""
    letter = earlier["answer"].text[-1:]
    return Answer("parsed", letter) if letter in "AB" and letter else Answer("unparsed")


def score_letter(sample, answer):
    return {"correct": float(answer.value == letter_of(sample))}


NEAREST = Scorer("nearest", "pitch:nearest|v:1|within:25Hz", read_number, score_number, ("accuracy", "off_hz"))
LAST_LETTER = Scorer("last-letter", "mcq:last-letter|v:1", read_last_letter, score_letter, ("accuracy",))
OFF_HZ = MetricKind("off_hz", "lower", "Hz", estimate_off, about="How far answers are off, in Hz.")


def register(registration):
    registration.model("ear", Ear)
    registration.dataset("tones", tones)
    registration.dataset("tone-choices", tone_choices())
    registration.protocol(pitch, "How high a tone is, as a number")
    registration.scorer("multiple_choice", LAST_LETTER)
    registration.metric(OFF_HZ)


extension = Extension(contract=1, register=register)
