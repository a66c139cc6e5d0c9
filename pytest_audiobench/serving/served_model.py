"""One model on its own thread: loaded there once, asked there one batch after another."""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_audiobench.errors import AudiobenchError, SampleError, TransientError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Limits, Model
from pytest_audiobench.serving.admission import Refused


class Answered(NamedTuple):
    """A batch's responses, and how long the model took for all of them."""

    responses: list[Response]
    took_s: float


class ServedModel:
    """Raises UsageError when it is made, if the model cannot be what its spec says. ``alias`` is its other name."""

    def __init__(self, model: Model, alias: str) -> None:
        self.model, self.alias = model, alias
        self.fingerprint = dict(model.fingerprint())
        self.revision = digest(self.fingerprint)[:16]
        self.limits: Limits = model.limits
        self.load_status = "loading"
        self.last_error: str | None = None
        self._started = time.monotonic()
        self._loading_s: float | None = None
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self.is_busy = False

    def start(self, on_failure: Callable[[], None]) -> None:
        """Begin to load; ``on_failure`` is called, on the model's thread, if that fails."""
        # A daemon: a model that never returns must not keep the process from ending.
        threading.Thread(target=self._work, name="model", daemon=True).start()
        self._submit(lambda: self._load(on_failure))

    @property
    def loading_elapsed_s(self) -> float:
        """How long loading took, or has taken so far."""
        return time.monotonic() - self._started if self._loading_s is None else self._loading_s

    def ask(self, asks: Sequence[Ask]) -> Future[Answered]:
        """Ask one batch, after those before it. The future raises Refused when no element of it could be asked."""
        return self._submit(lambda: self._ask(asks))

    def close(self) -> Future[None]:
        """Free the model, after what is in work."""
        return self._submit(self.model.close)

    def _submit(self, job: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._jobs.put((future, job))
        return future

    def _work(self) -> None:
        while True:
            future, job = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            self.is_busy = True
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)
            finally:
                self.is_busy = False

    def _load(self, on_failure: Callable[[], None]) -> None:
        try:
            self.model.load()
            self.load_status = "ready"
        except Exception as error:
            if not isinstance(error, AudiobenchError):
                traceback.print_exc()
            self.load_status, self.last_error = "failed", sentence(error)
            on_failure()
        finally:
            self._loading_s = time.monotonic() - self._started

    def _ask(self, asks: Sequence[Ask]) -> Answered:
        if self.load_status == "failed":
            raise Refused(503, f"the model could not be loaded: {self.last_error}")
        started = time.monotonic()
        responses = [response for part in in_limits(asks, self.limits) for response in self._ask_model(part)]
        return Answered(responses, time.monotonic() - started)

    def _ask_model(self, asks: Sequence[Ask]) -> list[Response]:
        try:
            responses = list(self.model.ask(asks))
            if len(responses) != len(asks):
                raise RuntimeError(f"{self.model.spec} gave {len(responses)} answers to {len(asks)} questions")
            for place, response in enumerate(responses):
                if response.error is not None or not response.outputs:  # no output is not an empty answer
                    why = "the model gave no answer" if response.error is None else response.error.strip()
                    responses[place] = replace(response, outputs=(), error=why or "unknown error")
            return responses
        except TransientError as error:
            self.last_error = sentence(error)
            raise Refused(503, self.last_error, retry_after_s=1) from error
        except Exception as error:
            if not isinstance(error, SampleError):
                self.last_error = sentence(error)
            if not isinstance(error, AudiobenchError):
                traceback.print_exc()
            return [Response(error=sentence(error))] * len(asks)


def sentence(error: BaseException) -> str:
    """An error as a client may read it: ours in their own words, others with their type and first line."""
    words = (str(error).strip() or type(error).__name__).splitlines()[0][:1000]
    return words if isinstance(error, AudiobenchError) else f"{type(error).__name__}: {words}"


def in_limits(asks: Sequence[Ask], limits: Limits) -> Iterator[Sequence[Ask]]:
    """The batch as it is; only one that holds more than the limits allow is cut, in order."""
    start, batch_s = 0, 0.0
    for position, ask in enumerate(asks):
        duration_s = sum(clip.duration_s for clip in ask.audio)
        if position > start and (position - start == limits.max_batch or batch_s + duration_s > limits.max_batch_s):
            yield asks[start:position]
            start, batch_s = position, 0.0
        batch_s += duration_s
    if start < len(asks):
        yield asks[start:]
