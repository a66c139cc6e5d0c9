"""A model whose weights live in other processes of this run: one for each device, shared by the workers.

It is asked like any other: one planned batch is one message and one ``ask`` over there, never merged with another one.
Which device answers it is chance. Its identity, limits and batches are those of the model itself, so that a run with
workers or devices shares answers and hashes with one without.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pytest_audiobench.errors import FatalError, InfrastructureError
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Hearing, Model, Reply, awaited
from pytest_audiobench.models.spec import ModelSpec

T = TypeVar("T")

_LOG_LINES = 8


class Address(NamedTuple):
    """Where a device's process listens: a socket's path, the key of this run in hex, the device, its log."""

    socket: str
    key: str
    device: str
    log: str


class SharedModel:
    """``model`` (never loaded here) as the processes at ``addresses`` hold it, who share its batches: each goes to the
    one that has the fewest in progress, the first of them where several have as few.
    """

    def __init__(
        self, model: Model, spec: ModelSpec, addresses: Sequence[Address], start: Callable[[], None] = lambda: None
    ) -> None:
        """``start`` is called before the first message, and starts processes that have not been started yet."""
        self._model, self._spec, self._start = model, spec, start
        self._devices = [_Device(address) for address in addresses]
        self._turn = threading.Lock()
        self.spec, self.batching, self.limits, self.listens = model.spec, model.batching, model.limits, model.listens
        # As the model itself tells it: a worker sees the device of its device's process and no other.
        self.device = model.device
        self.in_flight = 2 * len(addresses)
        """One that is computed on each device, and one that waits there."""
        self.hearing: Hearing | None = None
        self.oom_splits = 0
        self.peak_memory_bytes: int | None = None
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def fingerprint(self) -> Mapping[str, str]:
        return self._model.fingerprint()

    def load(self) -> None:
        """Have the model loaded on all devices at once. Raises what loading raises, InfrastructureError when a process
        died.
        """
        self._start()
        replies = [self._send(device, {"do": "load"}, _hearing) for device in self._devices]
        try:
            self.hearing, *_ = [reply.result() for reply in replies]
        except BaseException:
            for reply in replies:
                reply.cancel()
            raise

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One batch, one answer of a process. Raises InfrastructureError when it died."""
        return awaited(self.begin(batch))

    def begin(self, batch: Sequence[Ask]) -> Reply:
        """As :meth:`ask`."""
        # Clips' sources stay behind: an adapter is asked with what is heard.
        heard = [ask._replace(request=replace(ask.request, clips=())) for ask in batch]
        device = min(self._devices, key=lambda device: device.busy)
        return self._send(device, {"do": "ask", "batch": heard}, self._taken)

    def _taken(self, reply: Mapping[str, Any]) -> list[Response]:
        with self._turn:
            self.oom_splits += reply["oom_splits"]
            for name, seconds in reply["seconds"].items():
                self.seconds[name] += seconds
            peaks = [self.peak_memory_bytes, reply["peak_memory_bytes"]]
            self.peak_memory_bytes = max((peak for peak in peaks if peak is not None), default=None)
        responses: list[Response] = reply["responses"]
        return responses

    def close(self) -> None:
        for device in self._devices:
            while device.idle:
                device.idle.pop().close()

    def _send(self, device: _Device, message: Mapping[str, Any], read: Callable[[Mapping[str, Any]], T]) -> _Sent[T]:
        """Send a message on its own connection, and wait for the reply on a thread."""
        with self._turn:
            device.busy += 1
            line = device.idle.pop() if device.idle else _Line(self.spec, self._spec, device.address)
        sent: _Sent[T] = _Sent(line)

        def exchange() -> None:
            value, error = None, None
            try:
                value = read(line.call(message))
            except BaseException as caught:
                error = caught
            with self._turn:
                device.busy -= 1
                if not sent.cancelled():
                    device.idle.append(line)
            if sent.set_running_or_notify_cancel():
                sent.set_exception(error) if error is not None else sent.set_result(value)  # type: ignore[arg-type]

        threading.Thread(target=exchange, name="audiobench-device", daemon=True).start()
        return sent


class _Device:
    """A process, how many messages it has in progress from here, and unused connections to it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.busy = 0
        self.idle: list[_Line] = []


class _Sent(Future[T]):
    """A reply that is waited for. Called off, its connection ends: the reply that comes must answer nothing else."""

    def __init__(self, line: _Line) -> None:
        super().__init__()
        self._line = line

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._line.hang_up()
        return cancelled


class _Line:
    """A connection to a device's process, used by one thread at a time."""

    def __init__(self, name: str, spec: ModelSpec, address: Address) -> None:
        self._name, self._spec, self._address = name, spec, address
        self._connection: Connection[Any, Any] | None = None
        self._sent = 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def hang_up(self) -> None:
        """End the connection from another thread, which waits for a reply on it."""
        connection = self._connection
        # It may have ended by itself, or not have begun.
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno() if connection else -1)) as end:
            end.shutdown(socket.SHUT_RDWR)

    def call(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            reply = self._exchange(message)
        except BaseException as error:
            # A reply that is still to come must never be taken for that to the next message: begin again.
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
                f"the process that holds {self._name} on {self._address.device} answered another message "
                f"({reply.get('number')}, not {self._sent}): run again to continue"
            )
        return reply

    def _gone_error(self, error: BaseException) -> InfrastructureError:
        try:
            lines = Path(self._address.log).read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        except OSError:
            lines = []
        last = f"; it said last: {' / '.join(line.strip() for line in lines if line.strip())}" if lines else ""
        return InfrastructureError(
            f"the process that holds {self._name} on {self._address.device} is gone ({type(error).__name__}){last}; "
            f"what it had answered is kept: run again to continue (its log: {self._address.log})"
        )


def _hearing(reply: Mapping[str, Any]) -> Hearing | None:
    hearing: Hearing | None = reply["hearing"]
    return hearing
