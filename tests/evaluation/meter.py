"""A small model that listens, and questions to put to it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from subprocess import PIPE, Popen
from typing import NamedTuple

import numpy as np

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.batch_plan import PlannedRequest, sample_hash
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Response
from pytest_audiobench.models.model import Limits

RATE_HZ = 1000


def measurement(ask: Ask) -> Response:
    """The sample's id, and how many milliseconds of it were played."""
    played = [str(len(heard.samples)) for heard in ask.audio]
    return Response.of(" ".join([ask.request.sample_id, *played]))


class Meter:
    """Says how long the clips are that it is played.

    ``faults`` are raised instead, one for each call, None for none. ``says`` makes each response.
    """

    device = "cpu"

    def __init__(
        self,
        batching: str = "opaque",
        faults: Sequence[Exception | None] = (),
        says: Callable[[Ask], Response] = measurement,
        name: str = "meter",
        listens: bool = True,
        **limits: object,
    ) -> None:
        self.spec, self.batching, self.listens = f"test:{name}", batching, listens
        self.limits = Limits(**{"max_batch": 2, "rate_hz": RATE_HZ, **limits})  # type: ignore[arg-type]
        self.says, self.oom_splits, self.loads, self.closes = says, 0, 0, 0
        self.calls: list[list[str]] = []
        self.requests: list[Request] = []
        self._faults = list(faults)

    def fingerprint(self) -> dict[str, str]:
        return {"test": self.spec}

    def load(self) -> None:
        self.loads += 1

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        assert self.loads > self.closes, "asked before it was loaded"
        self.calls.append([ask.request.sample_id for ask in batch])
        self.requests += [ask.request for ask in batch]
        if fault := self._faults.pop(0) if self._faults else None:
            raise fault
        return [self.says(ask) for ask in batch]

    def close(self) -> None:
        self.closes += 1


class Question(NamedTuple):
    request: Request
    planned: PlannedRequest


def tone(seconds: float, pitch: int = 100) -> Clip:
    wave = np.sin(np.arange(round(seconds * RATE_HZ)) * 2 * np.pi * pitch / RATE_HZ)
    return Clip(ArraySource.of(wave, RATE_HZ, f"tone of {pitch} Hz"))


def question(sample_id: str, clip: Clip | None = None, seconds: float = 0.1, task: str = "open") -> Question:
    """One clip and what is asked about it; all samples lie in one window."""
    request = Request(
        key=hashlib.sha256(sample_id.encode()).hexdigest(),
        dataset="test",
        sample_id=sample_id,
        stage="answer",
        task=task,  # type: ignore[arg-type]
        messages=(Message("user", (AudioSlot(0), "How long?")),),
        clips=(tone(seconds) if clip is None else clip,),
    )
    own = PlannedRequest(bytes.fromhex(request.key), 0, seconds, seconds, sample_hash(sample_id))
    return Question(request, own)


def in_order(*sample_ids: str) -> list[str]:
    """Samples in the order in which they are asked."""
    return sorted(sample_ids, key=sample_hash)


def ask(executor: BatchExecutor, questions: Sequence[Question], **options: object) -> dict[str, str]:
    """What came of each question by sample: the text, or the error behind an exclamation mark."""
    requests, planned = [item.request for item in questions], [item.planned for item in questions]
    responses = executor.execute(requests, planned, **options)  # type: ignore[arg-type]
    return {
        request.sample_id: response.text if response.error is None else f"!{response.error}"
        for request in requests
        for response in [responses[request.key]]
    }


def texts(executor: BatchExecutor, *sample_ids: str) -> dict[str, str]:
    return ask(executor, [question(sample_id) for sample_id in sample_ids])


def other_process(script: str, *arguments: object) -> Popen[str]:
    """Another process of the same run, once it has said that it is ready."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    process = Popen(command, stdin=PIPE, stdout=PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def known_responses(store, keys):
    """The responses among ``keys`` that the store has."""
    return {key: answer.response for key, answer in store.find(keys).items()}
