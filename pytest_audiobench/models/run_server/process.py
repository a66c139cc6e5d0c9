"""A server that a run starts for its models: started once, watched by all, ended with the run.

The process that starts it keeps a :class:`ServerProcess`. Every process that asks it, a worker as well, sees it
as a :class:`Served`: its URL, and the file that reports its end.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_audiobench.errors import FatalError, InfrastructureError, TransientError, UsageError
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Model, Reply
from pytest_audiobench.models.run_server import guard as server_guard

PORT = "{port}"
_READY_S = 1800.0
"""Loading a large model takes its time; a server that dies is noticed at once, so only one that hangs takes this."""
_FIRST_LOOK_S, _LAST_LOOK_S = 0.05, 1.0
_PROBE_S = 5.0
_STATUS_LINE, _STATUS_BYTES = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)\b"), 1024
_END_S = server_guard.GRACE_S + 5.0
_NEWS_S = 2.0
"""How long after a lost connection the news of the server's end may take."""


def free_port() -> int:
    """An unused port of the loopback."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def check_command(command: str) -> None:
    """Raises UsageError for a command that does not say where the port goes."""
    if PORT not in command:
        raise UsageError(
            f"serve={command!r} has no {PORT}: it stands for the port the server must listen on (a command that holds "
            'a comma ends there, unless it is in quotes: serve="…")'
        )


class ServerProcess:
    """A running server, with a guard next to it that ends it should this process be killed."""

    def __init__(self, command: str, port: int, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / server_guard.STATUS).unlink(missing_ok=True)
        self._guard = subprocess.Popen(
            [sys.executable, server_guard.__file__, str(folder), command.replace(PORT, str(port))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self) -> None:
        """Ask the server to end, and end it."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        try:
            self._guard.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        (self._folder / server_guard.STATUS).unlink(missing_ok=True)


class Served(NamedTuple):
    """The run's server as its users see it. ``folder`` is where it reports its end and keeps its logs."""

    url: str
    folder: Path

    def check_alive(self) -> None:
        """Raises InfrastructureError, with the server's last words, once it has ended."""
        try:
            status = json.loads((self.folder / server_guard.STATUS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        raise InfrastructureError(_obituary(status, self.folder / "server.stderr.log"))

    def wait(self, ready_s: float = _READY_S) -> None:
        """Return once it answers ``/health``. Raises InfrastructureError when it ends, or is late."""
        deadline, pause_s = time.monotonic() + ready_s, _FIRST_LOOK_S
        while not self._answers(deadline):
            self.check_alive()
            if time.monotonic() >= deadline:
                raise InfrastructureError(
                    f"the run's server did not answer {self.url}/health within {ready_s:g} s; "
                    f"see what it says in {self.folder / 'server.stderr.log'}"
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_LOOK_S)
        # Where somebody else has the port, the run's server has ended by itself.
        self.check_alive()

    def mourn(self) -> None:
        """After a failure: as :meth:`check_alive`, once the news of its end has had time to come."""
        deadline = time.monotonic() + _NEWS_S
        while time.monotonic() < deadline and not self._answers(deadline):
            self.check_alive()
            time.sleep(_FIRST_LOOK_S)
        self.check_alive()

    def _answers(self, deadline: float) -> bool:
        """Whether somebody speaks HTTP there and is ready; a server without ``/health`` says 404.

        The first line of the answer tells it, within a time and a length: the server is not known yet.
        """
        deadline = min(deadline, time.monotonic() + _PROBE_S)
        place = urlsplit(self.url)
        ask = f"GET {place.path}/health HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n\r\n"
        received = b""
        try:
            with socket.create_connection((place.hostname or "", place.port or 80), _left_s(deadline)) as connection:
                connection.sendall(ask.encode())
                while b"\n" not in received and len(received) < _STATUS_BYTES:
                    connection.settimeout(_left_s(deadline))
                    if not (piece := connection.recv(_STATUS_BYTES)):
                        break
                    received += piece
        except OSError:
            return False
        status = _STATUS_LINE.match(received)
        return status is not None and int(status[1]) < 500


def _left_s(deadline: float) -> float:
    if (left_s := deadline - time.monotonic()) <= 0:
        raise TimeoutError
    return left_s


class ServedModel:
    """A model behind the run's server: waits for it at first need, and reports its end where asking fails."""

    def __init__(self, inner: Model, served: Served, spec: str) -> None:
        """``spec`` is what the user wrote: the inner model's may name a port, which is another in every run."""
        self._inner, self._served, self.spec = inner, served, spec
        self._ready = False
        if hasattr(inner, "check_alive"):
            inner.check_alive = served.check_alive

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fingerprint(self) -> Mapping[str, str]:
        self._wait()
        with _reporting_its_end(self._served):
            return self._inner.fingerprint()

    def load(self) -> None:
        self._wait()
        with _reporting_its_end(self._served):
            self._inner.load()

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        with _reporting_its_end(self._served):
            return self._inner.ask(batch)

    def begin(self, batch: Sequence[Ask]) -> Reply:
        inner: Any = self._inner
        with _reporting_its_end(self._served):
            return _ServedReply(inner.begin(batch), self._served)

    def close(self) -> None:
        self._inner.close()

    def _wait(self) -> None:
        if not self._ready:
            self._served.wait()
            self._ready = True


class _ServedReply:
    """The reply of a model behind the run's server."""

    def __init__(self, inner: Reply, served: Served) -> None:
        self._inner, self._served = inner, served
        self.add_done_callback, self.cancel = inner.add_done_callback, inner.cancel

    def result(self) -> list[Response]:
        with _reporting_its_end(self._served):
            return self._inner.result()


@contextmanager
def _reporting_its_end(served: Served) -> Iterator[None]:
    """Errors of a model whose server has ended become the one that says so."""
    try:
        yield
    except (FatalError, TransientError):
        served.mourn()
        raise


def _obituary(status: Mapping[str, Any], log: Path) -> str:
    code = int(status["code"])
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    if not (lines := [str(line) for line in status.get("said", [])]):
        return f"the run's server {how} and said nothing"
    output = "\n".join(f"    {line}" for line in lines)
    return (
        f"the run's server {how}; its last lines were:\n{output}\n"
        f"All that the run's server said until it {how} is in {log}"
    )
