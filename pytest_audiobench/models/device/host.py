"""The process that holds a device's models for all workers: it loads one at a time and asks it batch by batch."""

from __future__ import annotations

import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from typing import Any

from pytest_audiobench import errors
from pytest_audiobench.models.messages import Ask
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.spec import ModelSpec

_BACKLOG = 64
_STAYS_S = 0.5


class Host:
    """Serves the workers of one run on a listening socket. ``make`` turns a spec into a model that is not loaded."""

    def __init__(self, make: Callable[[ModelSpec], Model]) -> None:
        self._make = make
        self._model: Model | None = None
        self._spec: ModelSpec | None = None
        self._turn = threading.Condition()
        self._busy = False
        self._waiting: Counter[ModelSpec] = Counter()
        self._last_used = 0.0
        self._stays_s = 0.0

    def serve(self, socket: str, key: bytes, ready: Callable[[], None]) -> None:
        """Accept workers for ever, each on its own thread; ``ready`` is called once they may come."""
        with Listener(socket, family="AF_UNIX", backlog=_BACKLOG, authkey=key) as listener:
            ready()
            while True:
                try:
                    connection = listener.accept()
                except (AuthenticationError, EOFError, ConnectionError):
                    continue
                threading.Thread(target=self._serve_one, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Close the model that is loaded, unless a batch is in progress; nothing is answered from then on."""
        with self._turn:
            if self._busy:
                return
            self._busy = True
        if self._model is not None:
            self._model.close()

    def _serve_one(self, connection: Connection[Any, Any]) -> None:
        with connection:
            while True:
                try:
                    connection.send_bytes(self.answer(connection.recv()))
                except (EOFError, OSError):
                    return

    def answer(self, message: Mapping[str, Any]) -> bytes:
        """The reply to a message, pickled: to "load" the model's hearing, to "identify" its fingerprint too, to "ask"
        the responses; or an error.
        """
        number = {"number": message["number"]}
        try:
            with self._model_for(message["spec"]) as model:
                is_asked = message["do"] == "ask"
                reply = _ask(model, message["batch"]) if is_asked else _loaded(model, message)
            return pickle.dumps({**reply, **number})
        except Exception as error:
            return pickle.dumps({"error": _known_error(error), **number})

    @contextmanager
    def _model_for(self, spec: ModelSpec) -> Iterator[Model]:
        """The model of ``spec``, to be used by one thread.

        Who wants the one that is loaded goes first, and it stays for as long as loading it took after its last batch:
        two workers with two models would else have them loaded again for every batch.
        """
        with self._turn:
            self._waiting[spec] += 1
            while self._busy or not self._may_go(spec):
                self._turn.wait(None if self._busy else self._stays_s / 4)
            self._waiting[spec] -= 1
            self._busy = True
        try:
            if self._model is None or self._spec != spec:
                if self._model is not None:
                    self._model.close()
                self._model, self._spec = None, None
                started = time.monotonic()
                model = self._make(spec)
                model.load()
                self._model, self._spec = model, spec
                self._stays_s = max(_STAYS_S, time.monotonic() - started)
            yield self._model
        finally:
            with self._turn:
                self._busy, self._last_used = False, time.monotonic()
                self._turn.notify_all()

    def _may_go(self, spec: ModelSpec) -> bool:
        if self._spec is None or self._spec == spec:
            return True
        return not self._waiting[self._spec] and time.monotonic() - self._last_used >= self._stays_s


def _known_error(error: Exception) -> Exception:
    """An error as the nearest of its bases that every process knows; a RuntimeError for unknown ones."""
    kinds = (base for base in type(error).__mro__ if base.__module__ == errors.__name__)
    if (kind := next(kinds, None)) is None:
        return RuntimeError(f"{type(error).__name__}: {error}")
    known: Exception = kind(str(error))
    return known


def _loaded(model: Model, message: Mapping[str, Any]) -> dict[str, Any]:
    hearing = {"hearing": getattr(model, "hearing", None)}
    return {**hearing, "fingerprint": dict(model.fingerprint())} if message["do"] == "identify" else hearing


def _ask(model: Model, batch: Sequence[Ask]) -> dict[str, Any]:
    splits, spent = getattr(model, "oom_splits", 0), dict(getattr(model, "seconds", {}))
    started = time.perf_counter()
    responses = model.ask(batch)
    share_s = (time.perf_counter() - started) / max(1, len(responses))
    return {
        # Waiting for other workers' batches is not part of this one's time.
        "responses": [replace(response, share_s=share_s) for response in responses],
        "oom_splits": getattr(model, "oom_splits", 0) - splits,
        "peak_memory_bytes": getattr(model, "peak_memory_bytes", None),
        "seconds": {name: s - spent.get(name, 0.0) for name, s in getattr(model, "seconds", {}).items()},
    }
