"""HTTP to one predictions_v1 server: whole replies of bounded size and time, tries repeated with patience.

An asynchronous client in one private thread: only there can a whole exchange, a body that drips included, be
given one deadline.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

from pytest_audiobench.errors import FatalError, InfrastructureError, install_command
from pytest_audiobench.models.predictions_v1 import reply
from pytest_audiobench.models.predictions_v1.reply import Breach, Garbled, Info
from pytest_audiobench.models.remote.api_keys import Key
from pytest_audiobench.models.remote.endpoint import Endpoint, hush, proxies_judged

T = TypeVar("T")

MOST_BODY_BYTES = 64 * 2**20
_MOST_WORDS_BYTES = 64 * 2**10
_CONNECT_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _JITTER = 0.5, 30.0, 0.25
_LOOK_S = 5.0
_GARBLED_TRIES = 3
_LOSSES = 2
_UPLOAD_BYTES = 2**18


class Patience(NamedTuple):
    """Seconds: for one exchange, for trying again what failed, and for a server that is still loading."""

    timeout_s: float = 120.0
    retry_s: float = 120.0
    wait_s: float = 900.0


class Reply(NamedTuple):
    """A whole reply. ``retry_after_s`` is what the server asked to be given, if it did."""

    status: int
    body: bytes
    retry_after_s: float | None = None


class Gone(InfrastructureError):
    """The server is lost to this run: to try it once more for every further eval would only take time."""


class TooLarge(Exception):
    """The server does not take a batch of this size."""


class Passing(Exception):
    """One try failed in a way that another may not; ``after_s`` is when the server wants to be asked again.

    ``lost`` when no answer came: the server may have gone.
    """

    def __init__(self, why: str, after_s: float | None = None, lost: bool = False) -> None:
        super().__init__(why)
        self.after_s, self.lost = after_s, lost


class Client:
    """Speaks to one server. All coroutines are to be run by :meth:`run`.

    ``check_alive`` is called before every further try; it raises FatalError once trying has no sense.
    """

    def __init__(
        self, url: str, patience: Patience, key: Key | None, connections: int, check_alive: Callable[[], None]
    ) -> None:
        """Raises FatalError when httpx is not installed, or the environment's proxy cannot be used."""
        try:
            import httpx
        except ImportError:
            raise FatalError(f"http: models need httpx: {install_command('http')}") from None
        self.url, self._patience, self._key, self._check_alive = url, patience, key, check_alive
        headers = {"accept-encoding": "identity", "user-agent": "pytest-audiobench"}
        if key is not None:
            headers["authorization"] = f"Bearer {key.reveal()}"
        hush("httpcore")
        elsewhere = not Endpoint.of(url).loopback
        with proxies_judged(used=elsewhere):
            self._http = httpx.AsyncClient(
                base_url=url,
                headers=headers,
                timeout=httpx.Timeout(None, connect=min(_CONNECT_S, patience.timeout_s)),
                limits=httpx.Limits(max_connections=connections + 1),
                trust_env=elsewhere,
                follow_redirects=False,
            )
        self._errors = (httpx.HTTPError, httpx.InvalidURL, OSError)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="audiobench-http", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, done in the private thread; cancelled when the caller is interrupted."""
        future = self.begin(work)
        try:
            return future.result()
        finally:
            future.cancel()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """``work``, being done in the private thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self.run(self._close_connections())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def greet(self, arrive_s: float) -> Info:
        """``/health`` and ``/info``, once the server is up (within ``arrive_s`` seconds) and has loaded its model.

        Raises InfrastructureError when it does not come, fails to load, or breaks the contract.
        """
        deadline, stage = time.monotonic() + self._patience.wait_s, ""
        while True:
            health = await self._retry(lambda: self._get("/health"), retry_s=arrive_s)
            if health.status == 200:
                info = await self.info()
                if info.state == "ready":
                    return info
                stage = self._clean(info.said or info.load_status)
                if info.state == "failed":
                    raise InfrastructureError(f"{self.url} could not load its model: {stage}")
            elif health.status == 503:
                stage = self._clean(reply.refusal(health.body))
            else:
                raise InfrastructureError(f"{self.refused('/health', health)}; is it a predictions_v1 server?")
            if time.monotonic() >= deadline:
                raise InfrastructureError(
                    f"{self.url} was still loading after {self._patience.wait_s:g} s ({stage}); "
                    "wait longer with wait_s="
                )
            self._check_alive()
            await asyncio.sleep(min(_LOOK_S, max(0.01, deadline - time.monotonic())))

    async def info(self) -> Info:
        """``/info`` as it is now. Raises InfrastructureError."""

        async def ask() -> Info:
            response = await self._get("/info")
            if response.status != 200:
                raise InfrastructureError(
                    f"{self.refused('/info', response)}; a predictions_v1 server says there what it is"
                )
            return reply.info(response.body)

        return await self._retry(ask)

    async def predict(
        self, body: bytes, read: Callable[[bytes], T], check_same: Callable[[], Awaitable[None]], divisible: bool
    ) -> T:
        """What ``read`` makes of the reply to one batch. ``check_same`` is awaited before a lost server is asked again.

        Raises TooLarge for a 413, and for a divisible batch on which a server breaks off twice that is there
        otherwise: some refuse a long body by hanging up. Raises InfrastructureError when patience ends, for any other
        refusal, and for a reply that breaks the contract.
        """
        losses, away = 0, False

        async def ask() -> T:
            nonlocal losses, away
            if away:
                await check_same()
            try:
                response = await self.exchange("POST", "/predict", body)
            except Passing as error:
                away = error.lost
                losses += error.lost
                if away and divisible and losses == _LOSSES:
                    # Before patience is looked at, which two timeouts may have used up.
                    await check_same()
                    raise TooLarge from None
                raise
            away = False
            if response.status == 413:
                raise TooLarge
            if response.status != 200:
                raise InfrastructureError(self.refused("/predict", response))
            return read(response.body)

        return await self._retry(ask)

    async def _retry(self, ask: Callable[[], Awaitable[T]], retry_s: float | None = None) -> T:
        retry_s = self._patience.retry_s if retry_s is None else retry_s
        deadline: float | None = None
        pause_s, tries, garbled = _FIRST_PAUSE_S, 0, 0
        while True:
            tries += 1
            try:
                return await ask()
            except Breach as error:
                raise InfrastructureError(
                    f"{self.url} breaks the predictions_v1 contract: {self._clean(str(error))}"
                ) from None
            except Garbled as error:
                garbled += 1
                failure = Passing(self._clean(str(error)))
                if garbled == _GARBLED_TRIES:
                    raise InfrastructureError(
                        f"{self.url} breaks the predictions_v1 contract: it gave {failure} ({garbled} times)"
                    ) from None
            except Passing as error:
                failure = error
            self._check_alive()
            now = time.monotonic()
            deadline = now + retry_s if deadline is None else deadline
            # Zero, or a date that is past, is no leave to ask without a pause.
            wait_s = max(failure.after_s or 0.0, pause_s * random.uniform(1 - _JITTER, 1 + _JITTER))
            if now + wait_s > deadline:
                times = "once" if tries == 1 else f"{tries} times"
                raise Gone(
                    f"{self.url} cannot be asked: {failure} (tried {times}); what it had answered is kept, "
                    "so fix the server or the URL and run again, or give it more time with retry_s="
                ) from None
            await self._sleep(wait_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _sleep(self, wait_s: float) -> None:
        deadline = time.monotonic() + wait_s
        while (left_s := deadline - time.monotonic()) > 0:
            await asyncio.sleep(min(1.0, left_s))
            self._check_alive()

    async def _get(self, path: str) -> Reply:
        return await self.exchange("GET", path, None, passing_503=path != "/health")

    async def exchange(self, method: str, path: str, body: bytes | None, passing_503: bool = True) -> Reply:
        """One try. Raises Passing for what may pass: a lost connection, no answer in time, 408, 429, 5xx.

        Any other status is for the caller to judge.
        """
        try:
            async with asyncio.timeout(self._patience.timeout_s):
                response = await self._send(method, path, body)
        except TimeoutError:
            raise Passing(f"{path} gave no whole answer within {self._patience.timeout_s:g} s", lost=True) from None
        except self._errors as error:
            why = self._clean(reply.words(error, 200)) or type(error).__name__
            raise Passing(f"{path} could not be reached or broke off ({why})", lost=True) from None
        if response.status in (408, 429) or (response.status >= 500 and (passing_503 or response.status != 503)):
            later = "" if response.retry_after_s is None else f" (to be asked again in {response.retry_after_s:.0f} s)"
            raise Passing(self.refused(path, response) + later, response.retry_after_s)
        return response

    async def _send(self, method: str, path: str, body: bytes | None) -> Reply:
        headers = {} if body is None else {"content-type": "application/json", "content-length": str(len(body))}
        content = None if body is None else _in_pieces(body)
        async with self._http.stream(method, path, content=content, headers=headers) as response:
            most = MOST_BODY_BYTES if response.status_code == 200 else _MOST_WORDS_BYTES
            received = bytearray()
            async for piece in response.aiter_raw():
                received += piece
                if len(received) > most:
                    if response.status_code != 200:
                        break
                    raise Breach(f"the reply to {path} is larger than {most // 2**20} MiB")
            content = bytes(received)
            if self._key is not None:
                answered = response.status_code == 200
                content = reply.changed(content, self._key.scrubbed_answer if answered else self._key.scrubbed)
            return Reply(response.status_code, content, _seconds(response.headers.get("retry-after")))

    def refused(self, path: str, response: Reply) -> str:
        """What the server said with a status other than 200, for people."""
        why = self._clean(reply.refusal(response.body)) or "no reason given"
        return f"{self.url}{path} gave HTTP {response.status}: {why}"

    def _clean(self, text: str) -> str:
        """``text`` for people, without the token, which a server may say back to us."""
        return self._key.scrubbed(text) if self._key else text

    async def _close_connections(self) -> None:
        await self._http.aclose()
        await self._loop.shutdown_default_executor()


async def _in_pieces(body: bytes) -> Any:
    """The body in pieces, so that a socket's buffer is not given megabytes to copy at once."""
    view = memoryview(body)
    for start in range(0, len(view), _UPLOAD_BYTES):
        yield bytes(view[start : start + _UPLOAD_BYTES])


def _seconds(text: str | None) -> float | None:
    """Retry-After, which is a number of seconds or a date, in seconds from now; None for anything else."""
    if text is None or len(text) > 40:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
