"""A model whose weights live in another process of this run: one for each device, shared by the workers.

It is asked like any other: one planned batch is one message and one ``ask`` over there, never merged with another
worker's. Its identity, limits and batches are those of the model itself, so that a run with workers shares answers and
hashes with one without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import FatalError, InfrastructureError
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Hearing, Model
from pytest_audiobench.models.spec import ModelSpec

_LOG_LINES = 8


class Address(NamedTuple):
    """Where a device's process listens: a socket's path, the key of this run in hex, the device, its log."""

    socket: str
    key: str
    device: str
    log: str


class SharedModel:
    """``model`` (never loaded here) as the process at ``address`` holds it."""

    def __init__(self, model: Model, spec: ModelSpec, address: Address) -> None:
        self._model, self._spec, self._address = model, spec, address
        self.spec, self.batching, self.limits, self.listens = model.spec, model.batching, model.limits, model.listens
        # As the model itself tells it: a worker sees the device of its device's process and no other.
        self.device = model.device
        self._connection: Connection[Any, Any] | None = None
        self._sent = 0
        self.hearing: Hearing | None = None
        self.oom_splits = 0
        self.peak_memory_bytes: int | None = None

    def fingerprint(self) -> Mapping[str, str]:
        return self._model.fingerprint()

    def load(self) -> None:
        """Have the model loaded over there. Raises what loading raises, InfrastructureError when the process died."""
        self.hearing = self._call({"do": "load"})["hearing"]

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One batch, one answer of the process. Raises InfrastructureError when it died."""
        # Clips' sources stay behind: an adapter is asked with what is heard.
        heard = [ask._replace(request=replace(ask.request, clips=())) for ask in batch]
        reply = self._call({"do": "ask", "batch": heard})
        self.oom_splits += reply["oom_splits"]
        self.peak_memory_bytes = reply["peak_memory_bytes"]
        responses: list[Response] = reply["responses"]
        return responses

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            reply = self._exchange(message)
        except BaseException as error:
            # A reply that is still to come must never be taken for that to the next message: begin anew.
            self.close()
            if isinstance(error, (OSError, EOFError)):
                raise self._gone_error(error) from error
            raise
        if "error" in reply:
            raise reply["error"]
        return reply

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if self._connection is None:
            self._connection = Client(self._address.socket, authkey=bytes.fromhex(self._address.key))
        self._sent += 1
        self._connection.send({**message, "spec": self._spec, "number": self._sent})
        reply: dict[str, Any] = self._connection.recv()
        if reply.get("number") != self._sent:
            raise FatalError(
                f"the process that holds {self.spec} on {self._address.device} answered another message "
                f"({reply.get('number')}, not {self._sent}): run again to go on"
            )
        return reply

    def _gone_error(self, error: BaseException) -> InfrastructureError:
        try:
            lines = Path(self._address.log).read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        except OSError:
            lines = []
        last = f"; it said last: {' / '.join(line.strip() for line in lines if line.strip())}" if lines else ""
        return InfrastructureError(
            f"the process that holds {self.spec} on {self._address.device} is gone ({type(error).__name__}){last}; "
            f"what it had answered is kept: run again to go on (its log: {self._address.log})"
        )
