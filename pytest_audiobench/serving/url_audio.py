"""Fetching audio from the hosts that a server was told it may fetch from, and from no others."""

from __future__ import annotations

import http.client
import time
from collections.abc import Collection
from urllib.parse import urlsplit

from pytest_audiobench.errors import AudioError
from pytest_audiobench.serving.deadline_connection import connected

_LONGEST_S = 30.0


def fetch(url: str, hosts: Collection[str], most_bytes: int, until: float) -> bytes:
    """The body behind an http or https URL, at most ``most_bytes`` long, before ``until`` (monotonic clock).

    ``hosts`` holds names, or names with ports. No redirect is followed, since it could lead to any host.
    Raises AudioError.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AudioError("the URL of the audio cannot be read") from None
    host = (parts.hostname or "").lower()
    is_allowed = host in hosts or f"{host}:{port}" in hosts
    if parts.scheme not in ("http", "https") or not is_allowed or parts.username is not None or not url.isprintable():
        raise AudioError(
            f"this server may not fetch from {host[:80]!r}; send base64_wav, or allow the host when it is started"
        )
    until = min(until, time.monotonic() + _LONGEST_S)
    secure = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = secure(host, port)
    try:
        with connected(connection, until):
            connection.request("GET", f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}")
            data = _body(connection.getresponse(), host, most_bytes)
    except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
        if time.monotonic() < until:
            raise AudioError(f"the audio cannot be fetched from {host}: {type(error).__name__}") from None
    if time.monotonic() >= until:  # what was cut off then looks like a whole answer
        raise AudioError(f"{host} sends its audio too slowly")
    return data


def _body(answer: http.client.HTTPResponse, host: str, most_bytes: int) -> bytes:
    if answer.status != 200:
        raise AudioError(f"{host} answers {answer.status} instead of the audio")
    data = answer.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise AudioError(f"{host} sends more than {most_bytes} bytes of audio")
    if answer.length:
        raise AudioError(f"{host} sends {answer.length} bytes less than it promises")
    return data
