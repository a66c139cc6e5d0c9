"""The conftest.py of the suites here: models whose every answer follows from the tone, the text or the sample's id.

Nothing is shared with the other tests' models, since whatever these say is in the recorded hashes. Tones lie 200 Hz
apart, so that no rounding of another processor moves an answer.
"""

import re

import numpy as np

from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits


class Model:
    """What all models here share; ``options`` are its habits and its fingerprint."""

    listens = True
    device = "cpu"
    batching = "opaque"
    limits = Limits(max_batch=4, max_clip_s=4.0, min_clips=0)

    def __init__(self, target, options):
        self.spec = f"{type(self).__name__.lower()}:{target}"
        self.options = options
        self.name = target
        self.batching = options.get("batching", self.batching)

    def fingerprint(self):
        return {"kind": type(self).__name__.lower(), "name": self.name, **self.options}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [self.answer(request, audio) for request, audio in batch]


class Tone(Model):
    """Names the option whose frequency it is played.

    slips=N   says A about every Nth sample; in the second epoch about every (N + 1)th
    mixed=yes refuses, or names no option, about some samples
    fails=ID  cannot be asked about that sample
    """

    def answer(self, request, audio):
        if not request.choices:
            return Response.of("No speech detected.")
        number = int(request.sample_id.rpartition("-")[2])
        if request.sample_id == self.options.get("fails"):
            return Response(error="not about this one")
        if self.options.get("mixed") == "yes" and number % 9 < 2:
            return Response.of(["I'm sorry, I cannot hear any audio.", "(Z)"][number % 9])
        slips = int(self.options.get("slips", 0))
        if slips and number % (slips + request.epoch) == 0:
            return Response.of("A")
        return Response.of(f"({nearest(request.choices, audio)})")


class Reasoner(Model):
    """Reasons about the end of what it is played, and believes reasoning that is put back."""

    def answer(self, request, audio):
        text = "".join(part for message in request.messages for part in message.parts if isinstance(part, str))
        named = re.findall(r"\(([A-D])\)", text.partition("Reasoning:")[2])
        if request.stage in ("conditioned", "changed") and named:
            return Response.of(f"({named[-1]})")
        letter = nearest(request.choices, audio, tail=True)
        return Response.of(f"There is one tone. It is near an option. That one is ({letter}).\nAnswer: ({letter})")


class Judge(Model):
    """Says YES where the letter stands for the reference.

    against=HZ  says the opposite where the reference is that
    mumbles=HZ  says what is no verdict there
    """

    def answer(self, request, audio):
        text = "".join(part for message in request.messages for part in message.parts)
        reference = re.search(r"^Reference: (.+)$", text, re.MULTILINE)[1]
        options = dict(re.findall(r"^\((\w)\) (.+)$", text, re.MULTILINE))
        answer = re.search(r"<answer-(\w{8})>\n(.*)\n</answer-\1>", text, re.DOTALL)[2].strip("()")
        if reference == self.options.get("mumbles"):
            return Response.of("Yesterday")
        right = (options.get(answer) == reference) != (reference == self.options.get("against"))
        return Response.of("YES" if right else "NO")


class Listener(Model):
    """Says yes where it is loud; in some wordings it follows the sample's number, in others it does not know."""

    def answer(self, request, audio):
        text = request.messages[0].parts[-1]
        loud = float(np.sqrt(np.mean(audio[0].samples ** 2))) > 0.1
        if text.startswith("Can you"):
            return Response.of("I cannot tell.")
        if text.startswith("Is there"):
            return Response.of("Yes, there is." if request.sample_id.endswith(("0", "1")) == loud else "No.")
        return Response.of("Yes." if loud else "No.")


class Phantom(Model):
    """Makes words up where nearly all that it is played lies below 300 Hz."""

    def answer(self, request, audio):
        power = np.abs(np.fft.rfft(audio[0].samples)) ** 2
        low = power[: 300 * len(audio[0].samples) // audio[0].rate_hz].sum() / power.sum()
        if low > 0.8:
            return Response.of("Thank you for watching and more")
        return Response.of("[noise]" if low > 0.3 else "No speech detected.")


def nearest(choices, audio, tail=False):
    """The letter of the option nearest to the loudest frequency; A where there is no sound."""
    if not audio or not np.any(audio[0].samples):
        return "A"
    samples, rate_hz = audio[0].samples, audio[0].rate_hz
    samples = samples[-round(0.2 * rate_hz) :] if tail else samples
    peak_hz = np.argmax(np.abs(np.fft.rfft(samples))) * rate_hz / len(samples)
    return "ABCD"[int(np.argmin([abs(float(choice.split()[0]) - peak_hz) for choice in choices]))]


def pytest_audiobench_register(registration):
    for kind in (Tone, Reasoner, Judge, Listener, Phantom):
        registration.model(kind.__name__.lower(), kind)
