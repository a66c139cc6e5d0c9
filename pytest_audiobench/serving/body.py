"""A call's body: bounded, then JSON in the strict sense."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from starlette.requests import Request as HttpRequest

from pytest_audiobench.serving.base64_values import lifted
from pytest_audiobench.serving.refusal import Refused

_PATIENCE_S = 10
"""How long a client that was refused may go on sending."""


async def read(request: HttpRequest, most_bytes: int) -> bytearray:
    """The body. Raises Refused (413) for a longer one."""
    body = bytearray()
    if _promised(request) <= most_bytes:
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
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(422, f"the body is not JSON: {str(error)[:200]}") from None


def parse_with_audio(body: bytearray) -> tuple[Any, Mapping[str, bytes]]:
    """The JSON value, with short texts for long base64 ones, and the bytes that these stand for."""
    short, audio = lifted(body)
    return parse(short), audio


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _promised(request: HttpRequest) -> int:
    length = request.headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() else 0
