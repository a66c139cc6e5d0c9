"""A call's body: bounded, then JSON in the strict sense.

json.loads looks at every character of a text; for a call with megabytes of audio that is a third of all that a server
does. Long base64 values are therefore taken out first: between two quotes there is nothing to look at in base64, and
the decoder checks its alphabet anyway.
"""

from __future__ import annotations

import asyncio
import binascii
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from starlette.requests import Request as HttpRequest

from pytest_audiobench.serving.admission import Refused
from pytest_audiobench.serving.probe import refuse_constant

_PATIENCE_S = 10
"""How long a client that was refused may continue sending."""

_KEY = b'"data"'
_SHORTEST = 1024
_MARK = secrets.token_hex(16)
"""No client knows it, so that none can send a text that stands for another's audio."""


async def read(request: HttpRequest, most_bytes: int) -> bytearray:
    """The body. Raises Refused (413) for a longer one."""
    body = bytearray()
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) <= most_bytes:
        async for block in request.stream():
            body += block
            if len(body) > most_bytes:
                break
        else:
            return body
    await discard(request, most_bytes)
    raise Refused(413, f"the body is longer than {most_bytes} bytes; send fewer or shorter clips in one call")


async def discard(request: HttpRequest, most_bytes: int) -> None:
    """Read a body of about the allowed length to its end.

    A client that is still sending would find its connection reset, and never see why it was refused.
    """
    left = 2 * most_bytes
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            async for block in request.stream():
                left -= len(block)
                if left < 0:
                    return


def parse(body: bytes | bytearray) -> Any:
    """The JSON value. Raises Refused (422) for anything else, NaN and Infinity among it."""
    try:
        return json.loads(body, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(422, f"the body is not JSON: {str(error)[:200]}") from None


def parse_with_audio(body: bytearray) -> tuple[Any, Mapping[str, bytes]]:
    """The JSON value, with short texts for long base64 ones, and the bytes that these stand for."""
    short, audio = lifted(body)
    return parse(short), audio


def lifted(body: bytearray) -> tuple[bytes, Mapping[str, bytes]]:
    """The body with every long base64 value of a key "data" replaced by a short text, and the bytes by that text.

    Correct for any valid JSON: a quote without a backslash before it opens or closes a text, and base64 holds neither.
    What is not a valid JSON stays invalid.
    """
    pieces: list[memoryview | bytes] = []
    data_by_name: dict[str, bytes] = {}
    view, copied, position = memoryview(body), 0, 0
    while (key := body.find(_KEY, position)) >= 0:
        position = key + len(_KEY)
        start = _value(body, position) if key == 0 or body[key - 1 : key] != b"\\" else -1
        end = body.find(b'"', start) if start >= 0 else -1
        if end - start < _SHORTEST:
            continue
        try:
            data = binascii.a2b_base64(view[start:end], strict_mode=True)
        except ValueError:
            continue  # the reader of the value refuses it, by name
        name = f"{_MARK}{len(data_by_name)}"
        data_by_name[name] = data
        pieces += (view[copied:start], name.encode())
        copied = position = end
    return b"".join([*pieces, view[copied:]]), data_by_name


def _value(body: bytearray, position: int) -> int:
    position = _beyond_space(body, position)
    if body[position : position + 1] != b":":
        return -1
    position = _beyond_space(body, position + 1)
    return position + 1 if body[position : position + 1] == b'"' else -1


def _beyond_space(body: bytearray, position: int) -> int:
    while body[position : position + 1].isspace():
        position += 1
    return position
