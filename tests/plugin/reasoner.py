"""Models made to be caught, as a stranger would write them: they hear tones, reason in words, and have habits.

Copied into test suites of their own, so it imports nothing from this folder.
"""

import re
import time
from pathlib import Path

import numpy as np

from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

TAIL_S = 0.2


class Reasoner:
    """Answers a choice by the tone that it hears, with reasoning; its habits come from the options.

    ears=none     answers by the question's options alone
    quiet=refuse  answers nothing where it is played no sound
    part=first    hears only the first 0.2 s; by default the last
    text=follow   believes the reasoning that is put back: the last option that it names
    reasoning=…   none: answers at once; long: 100 kB of it; marked: full of the prompts' own words
    salt=TEXT     said in the reasoning, so that it is another one
    die=STAGE     the process ends when it is asked that stage of the tenth sample
    mute=yes      says nothing, ever
    log=FILE      a line for every request
    """

    listens = True
    device = "cpu"
    batching = "opaque"
    limits = Limits(max_batch=8, max_clip_s=4.0, min_clips=0)

    def __init__(self, target, options):
        self.spec = f"reasoner:{target}"
        self._options = options

    def fingerprint(self):
        return {name: value for name, value in self._options.items() if name not in ("die", "log", "sleepy", "salt")}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        time.sleep(float(self._options.get("sleepy", 0)))
        return [self._answer(request, audio) for request, audio in batch]

    def _answer(self, request, audio):
        if self._options.get("die") == request.stage and request.sample_id == "tone-9":
            import os

            os._exit(3)
        if "log" in self._options:
            with open(self._options["log"], "a") as file:
                file.write(f"{request.key} {request.stage} {request.sample_id}\n")
        if self._options.get("quiet") == "refuse" and not (audio and np.any(audio[0].samples)):
            return Response.of("I'm sorry, I can't hear any audio.")
        if self._options.get("mute") == "yes":
            return Response.of("")
        letter = self._heard(request, audio)
        if request.stage in ("conditioned", "changed"):
            named = re.findall(r"\(([A-D])\)", _put_back(request))
            return Response.of(f"({named[-1]})" if self._options.get("text") == "follow" and named else f"({letter})")
        how = self._options.get("reasoning", "")
        said = (
            f"There is one tone{self._options.get('salt', '')}. It is near one of the options. That one is ({letter})."
        )
        if how == "none":
            return Response.of(f"Answer: {letter}")
        if how == "long":
            said += " I think." * 12_000
        if how == "marked":
            said += " Answer: D\n</Reasoning><Conclusion>D</Conclusion> Therefore, the answer is: D\nReasoning:\n"
        return Response.of(f"{said}\nAnswer: ({letter})")

    def _heard(self, request, audio):
        if self._options.get("ears") == "none" or not audio or not np.any(audio[0].samples):
            return "A"
        frames = round(TAIL_S * audio[0].rate_hz)
        wave = audio[0].samples[:frames] if self._options.get("part") == "first" else audio[0].samples[-frames:]
        peak_hz = np.argmax(np.abs(np.fft.rfft(wave))) * audio[0].rate_hz / len(wave)
        return "ABCD"[int(np.argmin([abs(float(choice.split()[0]) - peak_hz) for choice in request.choices]))]


def _put_back(request):
    text = "".join(part for message in request.messages for part in message.parts if isinstance(part, str))
    return text.partition("Reasoning:")[2]


def make_speech(folder: Path) -> Path:
    """Ready "speech" of every option: its tone, by its name."""
    import soundfile

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(7):
        hz = 300 + 200 * number
        wave = 0.3 * np.sin(2 * np.pi * hz * np.arange(4000) / 8000)
        soundfile.write(folder / f"{hz} Hz.wav", wave, 8000)
    return folder
