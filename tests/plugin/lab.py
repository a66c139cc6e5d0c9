"""A laboratory's conftest.py, as a stranger would write it: a model that listens for tones, and its data.

Copied into test suites of their own, so it imports nothing from this folder.
"""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits


class ToneModel:
    """Names the option whose frequency is nearest to the loudest one, or without options that frequency itself; its
    habits come from the options.

    log=FILE      a line for every sample that it is asked about; pids=yes: with the process that was asked
    batching=…    planned or opaque
    die=ID        the process ends when it is asked about that sample: exit, kill or hang
    sleepy=S      seconds that it takes for a batch
    deaf=yes      always answers A
    moody=N       answers A in batches of more than N
    halved=N      says of answers in batches of more than N that their batch was halved
    shared=yes    is loaded once for each device
    choosy=ID     fails about that sample, except in a batch of four
    unheard=ID    fails about that sample
    """

    listens = True
    device = "cpu"

    def __init__(self, target, options):
        self.spec = f"tone:{target}"
        self._target, self._options = target, options
        self.batching = options.get("batching", "planned")
        self.limits = Limits(max_batch=4, max_clip_s=2.0)
        self.in_process = options.get("shared") == "yes"

    def fingerprint(self):
        return {
            "tone": "1",
            "target": self._target,
            "deaf": self._options.get("deaf", "no"),
            "moody": self._options.get("moody", ""),
        }

    def load(self):
        self._log("load")

    def close(self):
        pass

    def ask(self, batch):
        time.sleep(float(self._options.get("sleepy", 0)))
        self._size = len(batch)
        if len(batch) > int(self._options.get("moody", 1000)):
            return [Response.of("A") for _ in batch]
        answers = [self._answer(request, audio) for request, audio in batch]
        if len(batch) > int(self._options.get("halved", 1000)):
            answers = [replace(answer, usage={"oom_splits": 1}) for answer in answers]
        return answers

    def _answer(self, request, audio):
        if request.sample_id == self._options.get("die"):
            print("this is too much for me", file=sys.stderr, flush=True)
            {
                "exit": lambda: os._exit(3),
                "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
                "hang": lambda: time.sleep(600),
            }[self._options["how"]]()
        self._log(request.sample_id)
        if request.sample_id == self._options.get("choosy") and self._size != 4:
            return Response(error="not in this company")
        if request.sample_id == self._options.get("unheard"):
            return Response(error="no answer came")
        if self._options.get("deaf") == "yes" or not audio:
            return Response.of("A")
        heard = audio[0]
        spectrum = np.abs(np.fft.rfft(heard.samples))
        peak_hz = np.argmax(spectrum) * heard.rate_hz / len(heard.samples)
        if not request.choices:
            return Response.of(f"{100 * round(peak_hz / 100)} Hz")
        distances = [abs(float(choice.split()[0]) - peak_hz) for choice in request.choices]
        return Response.of("ABCDEFGH"[int(np.argmin(distances))])

    def _log(self, text):
        if "log" in self._options:
            with open(self._options["log"], "a") as file:
                file.write(f"{text}@{os.getpid()}\n" if self._options.get("pids") else text + "\n")


def pytest_audiobench_register(registration):
    registration.model("tone", ToneModel)


def make_tones(folder: Path, count: int) -> Path:
    """A manifest of ``count`` tones with four options each, in ``folder``."""
    import soundfile

    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(count):
        choices = [f"{300 + 200 * ((number + k) % 7)} Hz" for k in range(4)]
        answer = choices[number % 4]
        hz = float(answer.split()[0])
        seconds = 0.2 + 0.01 * (number % 10)
        wave = 0.3 * np.sin(2 * np.pi * hz * np.arange(int(8000 * seconds)) / 8000)
        soundfile.write(folder / f"tone{number}.wav", wave, 8000)
        lines.append(
            json.dumps(
                {
                    "id": f"tone-{number}",
                    "audio": f"tone{number}.wav",
                    "question": "What frequency is heard?",
                    "choices": choices,
                    "answer": answer,
                    "metadata": {"parity": "odd" if number % 2 else "even"},
                }
            )
        )
    (folder / "tones.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "tones.jsonl"
