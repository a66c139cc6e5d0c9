"""One HTTP exchange with a server that nothing is known of: bounded in time and in size, by the standard library."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_audiobench.errors import UsageError
from pytest_audiobench.serving.deadline_connection import connected

_MOST_BYTES = 8 << 20


class Exchange(NamedTuple):
    """What came back: a status and a body; or, in ``failure``, why nothing did."""

    status: int
    body: bytes
    failure: str | None = None

    @property
    def json(self) -> Any:
        """The body as JSON in the strict sense. Raises ValueError for anything else."""
        try:
            return json.loads(self.body, parse_constant=refuse_constant)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


class Probe:
    """Asks the server at ``url``. Raises UsageError for a URL or token that is none.

    ``timeout_s`` bounds a whole exchange, however slowly the server drips.
    """

    def __init__(self, url: str, token: str | None, timeout_s: float) -> None:
        try:
            parts = urlsplit(url if "//" in url else f"//{url}", "http")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        # None of these repeats the URL, which may hold a password or a key.
        if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url:
            raise UsageError("this is not a URL of a server; write http://HOST:PORT")
        if parts.username is not None or parts.query or parts.fragment:
            raise UsageError(
                f"the URL of {host} holds a name, a password or a query; leave it out, and give a token apart"
            )
        if token is not None and not (token.isascii() and token.isprintable()):
            raise UsageError("the token holds characters that no header can; was it copied whole?")
        self._secure, self._host, self._port = parts.scheme == "https", host, port
        self._base = parts.path.rstrip("/").removesuffix("/predict")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.timeout_s = timeout_s

    def get(self, path: str) -> Exchange:
        return self._exchange("GET", path, None)

    def post(self, path: str, body: bytes) -> Exchange:
        return self._exchange("POST", path, body)

    def _exchange(self, method: str, path: str, body: bytes | None) -> Exchange:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port)
        until = time.monotonic() + self.timeout_s
        try:
            with connected(connection, until):
                answer = self._send(connection, method, path, body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            answer = Exchange(0, b"", f"no answer ({type(error).__name__}: {str(error)[:80]})")
        if time.monotonic() >= until:
            return Exchange(0, b"", f"no whole answer within {self.timeout_s:g} s")
        return answer

    def _send(self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None) -> Exchange:
        kind = {"Content-Type": "application/json"} if body is not None else {}
        with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before the body was sent
            connection.request(method, self._base + path, body, {**self._headers, **kind})
        answer = connection.getresponse()
        read = answer.read(_MOST_BYTES + 1)
        if len(read) > _MOST_BYTES:
            return Exchange(answer.status, b"", f"an answer of more than {_MOST_BYTES >> 20} MiB")
        if answer.length:
            return Exchange(answer.status, b"", "an answer that ends before its Content-Length")
        return Exchange(answer.status, read)


def refuse_constant(word: str) -> Any:
    """NaN and infinities, which JSON has not. Raises ValueError."""
    raise ValueError(f"{word} is not a JSON number")
