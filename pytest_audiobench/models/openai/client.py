"""One exchange with an OpenAI-compatible server, by the openai client library: bounded, unretried, without secrets.

What can become of it: a :class:`Reply`, one of the exceptions below, a SampleError or an InfrastructureError. Which of
them are tried again is decided elsewhere (``requests_loop``).
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.errors import InfrastructureError, SampleError
from pytest_audiobench.models.openai import wire
from pytest_audiobench.models.remote.api_keys import Key
from pytest_audiobench.models.remote.endpoint import Endpoint, hush, proxies_judged

LARGEST_REPLY_BYTES = 16_000_000
_LARGEST_ERROR_BYTES = 65_536
_NOT_CONNECTED = ("ConnectError", "ConnectTimeout", "ProxyError")
_NETWORK = ("openai", "httpx", "httpx2", "httpcore", "httpcore2", "anyio")
_NO_KEY = "none"
"""What a server without a key is sent: the library insists on one."""


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


class Reply(NamedTuple):
    """A server's whole reply as JSON; seconds from the sending to its end, in a stream to its first text and audio."""

    content: object
    latency_s: float
    first_token_s: float | None
    first_audio_s: float | None = None


class _Refusal(Exception):
    """An HTTP status that is no success, read within bounds by the hook, before the library would without any."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        super().__init__(f"status {status}")
        self.status, self.headers, self.text = status, headers, text


class Client:
    """A server, asked for one model. For use within one event loop."""

    def __init__(self, endpoint: Endpoint, key: Key | None, model: str, timeout_s: float) -> None:
        """Raises ImportError without the openai library, FatalError for a proxy of the environment that is no use."""
        import openai

        self._endpoint, self._key, self._model, self._timeout_s = endpoint, key, model, timeout_s
        hush("openai", "httpcore", "httpcore2")
        # A proxy from the environment is no way to this machine itself.
        with proxies_judged(not endpoint.loopback):
            network = openai.DefaultAsyncHttpxClient(
                trust_env=not endpoint.loopback,
                follow_redirects=False,
                event_hooks={"response": [_stop_at_refusals]},
                timeout=timeout_s,
            )
        self._openai = openai.AsyncOpenAI(
            api_key=key.reveal() if key else _NO_KEY,
            base_url=endpoint.url,
            max_retries=0,
            http_client=network,
            # A reply is bounded by the bytes that come; compressed ones could grow without bound. And a reply names no
            # request: on a connection that is used again, a server that replies twice would answer the next one.
            default_headers={"Accept-Encoding": "identity", "Connection": "close"},
        )
        if not f".{endpoint.host}".endswith(".openai.com"):
            # From the environment, and meant for OpenAI alone.
            self._openai.organization = self._openai.project = None

    async def chat(self, body: wire.Body) -> Reply:
        """One chat completion.

        Raises Busy, Broken, Rejected, InfrastructureError, and SampleError for an unreadable reply.
        """
        # The library looks through every message by its types, which changes nothing and takes a third of its time.
        whole = {"messages": body["messages"]}
        return await self._exchange(self._openai.chat.completions, {**body, "messages": [], "extra_body": whole})

    async def transcription(self, body: wire.Body) -> Reply:
        """One transcription. Raises as :meth:`chat`."""
        return await self._exchange(self._openai.audio.transcriptions, body)

    async def close(self) -> None:
        await self._openai.close()

    async def _exchange(self, resource: Any, body: wire.Body) -> Reply:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout_s):
                async with resource.with_streaming_response.create(**body) as response:
                    if response.headers.get("content-encoding", "identity") != "identity":
                        raise SampleError("the server's reply is compressed, which was not asked for")
                    pieces = _pieces_within_limit(response)
                    if body.get("stream"):
                        return await _reply_from_stream(_lines(pieces), self._content, began)
                    whole = b"".join([piece async for piece in pieces])
            return Reply(self._content(whole), time.monotonic() - began, None)
        except TimeoutError:
            raise self._slow() from None
        except SampleError as error:
            raise SampleError(self._clean(str(error))) from None
        except Exception as error:
            raise self._error_for(error) from None

    def _error_for(self, error: Exception) -> Exception:
        # The library wraps what the network raises, and in older versions what a hook raises, too.
        cause = error.__cause__ or error
        name = type(cause).__name__
        if isinstance(cause, _Refusal):
            return self._refusal_error(cause)
        if name in _NOT_CONNECTED:
            why = self._clean(" ".join(str(cause).split()) or name)
            return Busy(f"{self._endpoint.url} cannot be reached ({why})", sent=False)
        if "Timeout" in name:
            return self._slow()
        if isinstance(cause, OSError) or type(cause).__module__.partition(".")[0] in _NETWORK:
            return Broken(f"the reply of {self._endpoint.url} was cut off ({name})", paid=True)
        return RuntimeError(self._clean(f"{name}: {cause}"))

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
            return InfrastructureError(
                f"{says}; is {self._model!r} a model there, and does base_url end as its server wants (/v1)?"
            )
        if 300 <= status < 400:
            return InfrastructureError(f"{says}: it redirects elsewhere; give the final address as base_url")
        return Broken(says, paid=False) if status == 408 or status >= 500 else Rejected(says)

    def _content(self, reply: bytes) -> object:
        # Bytes that are no UTF-8 come through as lone surrogates, to be repaired and counted where answers are stored.
        content = wire.parsed(reply.decode("utf-8", errors="surrogateescape"))
        if self._key is None:
            return content
        # Written again, so that no escape hides the key.
        text = json.dumps(content, ensure_ascii=False)
        clean = self._key.scrubbed_answer(text)
        return content if clean == text else wire.parsed(clean)

    def _clean(self, text: str) -> str:
        return self._key.scrubbed(text) if self._key else text


async def _stop_at_refusals(response: Any) -> None:
    if response.status_code < 300:
        return
    received = bytearray()
    try:
        async for piece in response.aiter_raw():
            received += piece
            if len(received) > _LARGEST_ERROR_BYTES:
                break
    except Exception:  # a body that breaks off: the status is what counts
        pass
    raise _Refusal(response.status_code, response.headers, received[:_LARGEST_ERROR_BYTES].decode(errors="replace"))


async def _pieces_within_limit(response: Any) -> AsyncIterator[bytes]:
    length = 0
    async for piece in response.iter_bytes():
        length += len(piece)
        if length > LARGEST_REPLY_BYTES:
            raise SampleError(f"the server's reply is over the {LARGEST_REPLY_BYTES} bytes that are read")
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
