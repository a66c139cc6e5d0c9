"""One exchange with an OpenAI-compatible server, by httpx: bounded, unretried, without secrets.

What can become of it: a :class:`Reply`, one of the exceptions below, a SampleError or an InfrastructureError. Which of
them are tried again is decided elsewhere (``requests_loop``).
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from pytest_audiobench.errors import InfrastructureError, SampleError
from pytest_audiobench.models.openai import wire
from pytest_audiobench.models.remote.api_keys import Key
from pytest_audiobench.models.remote.endpoint import Endpoint, hush, proxies_judged

LARGEST_REPLY_BYTES = 16_000_000
_LARGEST_ERROR_BYTES = 65_536
_LARGEST_OUTPUT_BYTES = 200_000_000
"""Of a batch job: what the published API takes in."""
_MOST_PAGES, _LONGEST_ID = 100, 256
_NOT_CONNECTED = ("ConnectError", "ConnectTimeout", "ProxyError")
_NETWORK = ("httpx", "httpcore", "anyio")
_NO_KEY = "none"
"""What a server without a key is sent, as OpenAI's own client does: some insist on one."""
_OPENAI_S_OWN = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers from the environment, meant for OpenAI alone."""


T = TypeVar("T")


class Busy(Exception):
    """The server refuses for now, or is not there to be ``sent`` anything; it asks to be left alone for ``wait_s``."""

    def __init__(self, why: str, wait_s: float = 0.0, sent: bool = True) -> None:
        super().__init__(why)
        self.wait_s, self.sent = wait_s, sent


class Broken(Exception):
    """The exchange broke: too slow, cut, or failed inside the server. It may have been charged when ``paid``."""

    def __init__(self, why: str, paid: bool, slow: bool = False) -> None:
        super().__init__(why)
        self.paid, self.slow = paid, slow


class Rejected(Exception):
    """The server will not answer this request, now or later."""


class NotThere(InfrastructureError):
    """The server has nothing at this address."""


class Reply(NamedTuple):
    """A server's whole reply as JSON; seconds from the sending to its end, in a stream to its first text and audio."""

    content: object
    latency_s: float | None
    first_token_s: float | None
    first_audio_s: float | None = None


class _Refusal(Exception):
    """An HTTP status that is not a success, with what was read of its body."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        super().__init__(f"status {status}")
        self.status, self.headers, self.text = status, headers, text


class Client:
    """A server, asked for one model. For use within one event loop."""

    def __init__(self, endpoint: Endpoint, key: Key | None, model: str, timeout_s: float) -> None:
        """Raises ImportError without httpx, FatalError for a proxy of the environment that is no use."""
        import httpx

        self._endpoint, self._key, self._model, self._timeout_s = endpoint, key, model, timeout_s
        hush("httpcore")
        headers = {
            "Authorization": f"Bearer {key.reveal() if key else _NO_KEY}",
            "User-Agent": "pytest-audiobench",
            # A reply is bounded by the bytes that come; compressed ones could grow without bound. And a reply names no
            # request: on a connection that is used again, a server that replies twice would answer the next one.
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        if f".{endpoint.host}".endswith(".openai.com"):
            headers |= {header: os.environ[name] for header, name in _OPENAI_S_OWN.items() if os.environ.get(name)}
        # A proxy from the environment is no way to this machine itself.
        with proxies_judged(not endpoint.loopback):
            self._http = httpx.AsyncClient(
                headers=headers,
                trust_env=not endpoint.loopback,
                follow_redirects=False,
                timeout=timeout_s,
                limits=httpx.Limits(max_keepalive_connections=0),
            )

    async def chat(self, body: wire.Body) -> Reply:
        """One chat completion.

        Raises Busy, Broken, Rejected, InfrastructureError, and SampleError for an unreadable reply.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        sent = {"content": content, "headers": {"Content-Type": "application/json"}}
        return await self._exchange("/chat/completions", bool(body.get("stream")), sent)

    async def transcription(self, body: wire.Body) -> Reply:
        """One transcription. Raises as :meth:`chat`."""
        fields = {name: value for name, value in body.items() if name != "file"}
        return await self._exchange("/audio/transcriptions", False, {"data": fields, "files": {"file": body["file"]}})

    async def upload(self, name: str, content: bytes) -> str:
        """The id of a file of a batch job's requests. Raises as :meth:`chat`."""
        sent = {"data": {"purpose": "batch"}, "files": {"file": (name, content, "application/jsonl")}}
        return _id_in(await self._object("POST", "/files", sent))

    async def create_job(self, file: str, metadata: Mapping[str, str]) -> str:
        """The id of a batch job of chat completions. Raises as :meth:`chat`."""
        wanted = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        return _id_in(await self._object("POST", "/batches", {"json": {**wanted, "metadata": dict(metadata)}}))

    async def job(self, id_: str) -> Mapping[str, Any]:
        """How a batch job stands. Raises as :meth:`chat`."""
        return await self._object("GET", f"/batches/{quote(id_, safe='')}", {})

    async def jobs(self) -> list[Mapping[str, Any]]:
        """The batch jobs, the youngest first, ten thousand at most. Raises as :meth:`chat`."""
        jobs: list[Mapping[str, Any]] = []
        for _ in range(_MOST_PAGES):
            after = {"after": _id_in(jobs[-1])} if jobs else {}
            page = await self._object("GET", "/batches", {"params": {"limit": 100, **after}})
            data = page.get("data")
            jobs += [job for job in data if isinstance(job, dict)] if isinstance(data, list) else []
            if not data or page.get("has_more") is not True:
                break
        return jobs

    async def lines(self, file: str) -> list[object]:
        """The lines of a batch job's output; None in place of a line that is no JSON. Raises as :meth:`chat`."""
        path = f"/files/{quote(file, safe='')}/content"
        whole = await self._received("GET", path, {}, _whole, _LARGEST_OUTPUT_BYTES)
        return [self._line(line) for line in whole.splitlines() if line.strip()]

    def _line(self, line: bytes) -> object:
        with suppress(SampleError):
            return self._content(line)
        return None

    async def close(self) -> None:
        await self._http.aclose()

    async def _object(self, verb: str, path: str, sent: Mapping[str, Any]) -> Mapping[str, Any]:
        content = self._content(await self._received(verb, path, sent, _whole))
        if not isinstance(content, dict):
            raise SampleError("the server's reply is not an object")
        return content

    async def _exchange(self, path: str, stream: bool, sent: Mapping[str, Any]) -> Reply:
        began = time.monotonic()

        async def read(pieces: AsyncIterator[bytes]) -> Reply:
            if stream:
                return await _reply_from_stream(_lines(pieces), self._content, began)
            return Reply(self._content(await _whole(pieces)), time.monotonic() - began, None)

        return await self._received("POST", path, sent, read)

    async def _received(
        self,
        verb: str,
        path: str,
        sent: Mapping[str, Any],
        read: Callable[[AsyncIterator[bytes]], Awaitable[T]],
        most: int = LARGEST_REPLY_BYTES,
    ) -> T:
        """What ``read`` makes of the reply's bytes, of which ``most`` are taken in."""
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._http.stream(verb, self._endpoint.url + path, **sent) as response,
            ):
                if response.status_code >= 300:
                    raise await _refusal(response)
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise SampleError("the server's reply is compressed, which was not asked for")
                return await read(_pieces_within_limit(response, most))
        except TimeoutError:
            raise self._slow() from None
        except SampleError as error:
            raise SampleError(self._clean(str(error))) from None
        except Exception as error:
            raise self._error_for(error) from None

    def _error_for(self, error: Exception) -> Exception:
        name = type(error).__name__
        if isinstance(error, _Refusal):
            return self._refusal_error(error)
        if name in _NOT_CONNECTED:
            why = self._clean(" ".join(str(error).split()) or name)
            return Busy(f"{self._endpoint.url} cannot be reached ({why})", sent=False)
        if "Timeout" in name:
            return self._slow()
        if isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _NETWORK:
            return Broken(f"the reply of {self._endpoint.url} was cut off ({name})", paid=True)
        return RuntimeError(self._clean(f"{name}: {error}"))

    def _slow(self) -> Broken:
        return Broken(f"{self._endpoint.url} gave no whole answer in {self._timeout_s:g} s", paid=True, slow=True)

    def _refusal_error(self, refusal: _Refusal) -> Exception:
        status, url = refusal.status, self._endpoint.url
        try:
            content = wire.parsed(refusal.text)
        except SampleError:
            content = refusal.text
        why = wire.error_text(content, self._clean)
        says = f"{url} says {status}" + (f": {why}" if why else "")
        if status == 429 and "insufficient_quota" in refusal.text:
            return InfrastructureError(f"{says}; the account has no quota left")
        if status in (429, 502, 503, 529):
            return Busy(says, _retry_after_s(refusal.headers))
        if status in (401, 403):
            source = f"the key from {self._key.source}" if self._key else "no key"
            return InfrastructureError(
                f"{says}; it was asked with {source}: is it the right one? (key_env=NAME chooses)"
            )
        if status == 402:
            return InfrastructureError(f"{says}; the account must be paid first")
        if status in (404, 405, 410):
            return NotThere(
                f"{says}; is {self._model!r} a model there, and does base_url end as its server wants (/v1)?"
            )
        if 300 <= status < 400:
            return InfrastructureError(f"{says}: it redirects elsewhere; give the final address as base_url")
        return Broken(says, paid=False) if status == 408 or status >= 500 else Rejected(says)

    def _content(self, reply: bytes) -> object:
        # Bytes that are not UTF-8 come through as lone surrogates, to be repaired and counted where answers are stored.
        content = wire.parsed(reply.decode("utf-8", errors="surrogateescape"))
        if self._key is None:
            return content
        # Written again, so that no escape hides the key.
        text = json.dumps(content, ensure_ascii=False)
        clean = self._key.scrubbed_answer(text)
        return content if clean == text else wire.parsed(clean)

    def _clean(self, text: str) -> str:
        return self._key.scrubbed(text) if self._key else text


async def _refusal(response: Any) -> _Refusal:
    received = bytearray()
    try:
        async for piece in response.aiter_raw():
            received += piece
            if len(received) > _LARGEST_ERROR_BYTES:
                break
    except Exception:  # a body that breaks off: the status is what counts
        pass
    return _Refusal(response.status_code, response.headers, received[:_LARGEST_ERROR_BYTES].decode(errors="replace"))


async def _whole(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def _pieces_within_limit(response: Any, most: int) -> AsyncIterator[bytes]:
    length = 0
    async for piece in response.aiter_raw():
        length += len(piece)
        if length > most:
            raise SampleError(f"the server's reply is over the {most} bytes that are read")
        yield piece


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.strip()


async def _reply_from_stream(lines: AsyncIterator[bytes], parsed: Callable[[bytes], object], began: float) -> Reply:
    """A stream of server-sent events, each ``data: {…}``, ended by ``data: [DONE]``."""
    chunks: list[object] = []
    first_token_s, first_audio_s, done = None, None, False
    async for line in lines:
        if done or not line.startswith(b"data:"):
            continue
        data = line.removeprefix(b"data:").strip()
        done = data == b"[DONE]"
        if not done:
            chunks.append(parsed(data))
            if first_token_s is None and wire.begins(chunks[-1]):
                first_token_s = time.monotonic() - began
            if first_audio_s is None and wire.begins_audio(chunks[-1]):
                first_audio_s = time.monotonic() - began
    content = wire.joined_stream(chunks)
    if not done and not (content["choices"] and content["choices"][0]["finish_reason"]):
        raise ConnectionError("the stream ended before the answer did")
    return Reply(content, time.monotonic() - began, first_token_s, first_audio_s)


def _id_in(reply: Mapping[str, Any]) -> str:
    if not isinstance(id_ := reply.get("id"), str) or not 0 < len(id_) <= _LONGEST_ID or not id_.isprintable():
        raise SampleError("the server's reply has no id that could be one")
    return id_


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """The seconds that a server asks to be left alone, 0 when it does not say: a number, or a date."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "")
        try:
            wait_s = float(text) * unit_s
        except ValueError:
            try:
                wait_s = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(wait_s) and wait_s > 0:
            return wait_s
    return 0.0
