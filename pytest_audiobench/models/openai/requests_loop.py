"""Asking many things of one server at once: turns, second tries, the budget, and what a server's silence means.

Runs in one private thread with an event loop of its own, so that the caller need not be asynchronous.

A failure is one of three. A server that is *busy* or not there is tried again while it still answers anyone, and for
``patience_s`` after. An exchange that *broke* is tried a few times and then is that sample's error. What the server
*rejects*, or answers unreadably, is that sample's error at once. When nothing more is available, nothing more is sent:
what was answered is handed over, and the reason is raised when there is nothing to hand over.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pytest_audiobench.errors import FatalError, InfrastructureError, SampleError
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.openai.client import Broken, Busy, Rejected
from pytest_audiobench.models.openai.dialogue import Dialogue, Prices
from pytest_audiobench.models.openai.wire import Body
from pytest_audiobench.models.remote.budget import Budget
from pytest_audiobench.models.remote.pace import Pace

_TRIES = 3
_TRIES_WHEN_SLOW = 2
_FIRST_WAIT_S = 0.25
_LONGEST_WAIT_S = 8.0
_HOPELESS = 8
"""Samples in a row whose exchanges broke for good, after which the server is taken to be broken."""
_POLL_S = 0.1
_KEPT = "what was answered is kept: run again to continue"


class Spending:
    """A budget, and what counts against it; without prices, requests alone."""

    def __init__(self, budget: Budget, prices: Prices | None) -> None:
        self.budget, self._prices = budget, prices
        self._above = 1.0

    def worst_usd(self, ask: Ask) -> float:
        """The estimate, raised as far as this server was ever above it: some fill every clip up to 30 s."""
        return self._prices.worst_usd(ask) * self._above if self._prices else 0.0

    def cost_usd(self, ask: Ask, usage: Mapping[str, int]) -> float:
        if self._prices is None:
            return 0.0
        cost_usd, estimate_usd = self._prices.cost_usd(ask, usage), self._prices.worst_usd(ask)
        if estimate_usd:
            self._above = max(self._above, cost_usd / estimate_usd)
        return cost_usd


class Adapted(Exception):
    """The server requires the request in another form, which is now known."""


class _Round:
    """The batches started before a server could not be asked further: what stopped them, and whether it was said."""

    stopped: FatalError | None = None
    told = False


class Questioner:
    """Asks a server, at most ``concurrency`` requests at a time of all batches. Close it when done.

    ``gone`` says that the server was waited for in vain: until it answers again it gets one try and no patience, so
    that a server which is down costs a run its patience once and not once for each eval.
    """

    def __init__(
        self, dialogue: Dialogue, *, concurrency: int, timeout_s: float, patience_s: float, spending: Spending | None
    ) -> None:
        self._dialogue, self._spending = dialogue, spending
        self._timeout_s, self._patience_s = timeout_s, patience_s
        self._pace = Pace(concurrency)
        self._ahead = asyncio.Semaphore(concurrency)
        self._round = _Round()
        self._open = 0
        self._broken_in_a_row = 0
        self._alive_at = 0.0
        self.gone = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="audiobench-openai", daemon=True)
        self._thread.start()

    def begin(self, batch: Sequence[Ask]) -> Future[list[Response]]:
        """One response for each element, in order; those that could not be asked carry an error.

        A FatalError when none could be answered for a reason that goes beyond them.
        """
        return asyncio.run_coroutine_threadsafe(self._all(batch), self._loop)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for ``last``, then end the thread."""
        ending = asyncio.run_coroutine_threadsafe(last(), self._loop)
        try:
            ending.result(timeout=self._timeout_s)
        except TimeoutError:
            ending.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _all(self, batch: Sequence[Ask]) -> list[Response]:
        if self._round.told and not self._open:
            # A later request is sent again.
            self._round = _Round()
        round_ = self._round
        _raise_stopped(round_)
        if not self._open:
            self._alive_at = self._loop.time()
        self._open += 1
        try:
            async with asyncio.TaskGroup() as group:
                answering = [group.create_task(self._answer(ask, round_)) for ask in batch]
        except BaseExceptionGroup as unforeseen:
            # A bug: the group has called off the batch's other requests, so that none is sent behind anyone's back.
            raise unforeseen.exceptions[0] from None
        finally:
            self._open -= 1
        responses = [task.result() for task in answering]
        if all(response.error is not None for response in responses):
            _raise_stopped(round_)
        return responses

    async def _answer(self, ask: Ask, round_: _Round) -> Response:
        broken, waits, busy_since = 0, 0, 0.0
        while True:
            async with self._turn(ask) as (began, body):
                if round_.stopped is not None:
                    return _unasked(round_.stopped, "not asked: ")
                try:
                    response = await self._once(ask, body)
                except FatalError as error:
                    return self._stop(round_, error, lasting=True)
                except SampleError as error:
                    self._is_alive()
                    return Response(error=str(error))
                except Adapted:
                    continue
                except Busy as error:
                    self._pace.refused(began, min(error.wait_s, self._patience_s))
                    busy_since = busy_since or self._loop.time()
                    silent_s = self._loop.time() - max(busy_since, self._alive_at)
                    if self.gone or silent_s + error.wait_s > self._patience_s:
                        asks = f" and asks to wait {error.wait_s:.0f} s" if error.wait_s else ""
                        silence = f"{error}{asks}: no answer within patience_s={self._patience_s:g}"
                        if self._alive_at > busy_since:
                            # It answered others meanwhile: this one request is what it will not have.
                            return self._given_up(round_, silence)
                        self.gone = True
                        away = InfrastructureError(f"{silence}; {_KEPT}, or be more patient")
                        return self._stop(round_, away, lasting=False)
                except Broken as error:
                    broken += 1
                    if error.slow:
                        self._pace.refused(began)
                    if broken >= (_TRIES_WHEN_SLOW if error.slow else _TRIES):
                        return self._given_up(round_, f"{error} (asked {broken} times)")
                else:
                    self._is_alive()
                    self._pace.answered()
                    return response
            await asyncio.sleep(min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**waits) * random.uniform(0.5, 1.0))
            waits += 1

    @asynccontextmanager
    async def _turn(self, ask: Ask) -> AsyncIterator[tuple[float, Body | SampleError]]:
        """When a turn began, and what to send, made ready while others were on their way: as much as these at most."""
        async with AsyncExitStack() as held:
            async with self._ahead:
                try:
                    body: Body | SampleError = self._dialogue.body(ask)
                except SampleError as error:
                    body = error
                began = await held.enter_async_context(self._pace.turn())
            yield began, body

    async def _once(self, ask: Ask, body: Body | SampleError) -> Response:
        if isinstance(body, SampleError):
            raise body
        try:
            if self._spending is None:
                return self._dialogue.read(await self._dialogue.exchange(body), ask)
            return await self._ask_within_budget(ask, body, self._spending)
        except Rejected as error:
            if self._dialogue.adapts(str(error), body):
                raise Adapted from None
            raise SampleError(str(error)) from None

    async def _ask_within_budget(self, ask: Ask, body: Body, spending: Spending) -> Response:
        worst_usd = cost_usd = spending.worst_usd(ask)
        sent = True
        await self._reserve(spending.budget, worst_usd)
        try:
            response = self._dialogue.read(await self._dialogue.exchange(body), ask)
            cost_usd = spending.cost_usd(ask, response.usage)
        except (Busy, Broken, Rejected, FatalError) as error:
            sent = getattr(error, "sent", True)
            cost_usd = worst_usd if getattr(error, "paid", False) else 0.0
            raise
        finally:
            # Whatever else happened, a cancellation or an unreadable answer, the worst is taken to be spent.
            spending.budget.settle(worst_usd, cost_usd, sent)
        return response

    async def _reserve(self, budget: Budget, worst_usd: float) -> None:
        give_up = self._loop.time() + self._timeout_s
        while not budget.reserve(worst_usd):
            if self._loop.time() > give_up:
                raise budget.refusal(worst_usd)
            await asyncio.sleep(_POLL_S)

    def _is_alive(self) -> None:
        self._alive_at, self.gone = self._loop.time(), False
        self._broken_in_a_row = 0

    def _given_up(self, round_: _Round, why: str) -> Response:
        self._broken_in_a_row += 1
        if self._broken_in_a_row >= _HOPELESS:
            hopeless = InfrastructureError(f"{_HOPELESS} requests in a row failed: {why}; {_KEPT}")
            return self._stop(round_, hopeless, lasting=False)
        return Response(error=why)

    def _stop(self, round_: _Round, error: FatalError, lasting: bool) -> Response:
        """Send nothing more of these batches, nor of the next if that is ``lasting``: a key, an address, a budget.

        What may have passed by then, a server that broke or was away, does not fail an eval that it has not been
        asked anything for; ``gone`` bounds what asking again costs.
        """
        if round_.stopped is None:
            round_.stopped = error
            self._broken_in_a_row = 0
            if not lasting:
                self._round = _Round()
        self._pace.reopen()
        return _unasked(error)


def _raise_stopped(round_: _Round) -> None:
    if round_.stopped is not None:
        round_.told = True
        raise round_.stopped


def _unasked(error: FatalError, before: str = "") -> Response:
    # A bound of the user's own, such as a budget, holds until the user moves it.
    return Response(error=f"{before}{error}", lasting=not isinstance(error, InfrastructureError))
