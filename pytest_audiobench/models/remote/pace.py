"""How many requests may be on their way to a server: one more after a round of answers, half after a refusal."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_SLICE_S = 0.5


class Pace:
    """Lets requests of one event loop through, at most ``most`` at once, fewer while the server refuses."""

    def __init__(self, most: int) -> None:
        self._most, self._allowed, self._away = most, float(most), 0
        self._halved_at = self._closed_until = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def allowed(self) -> int:
        """How many may be on their way now."""
        return int(self._allowed)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Wait for a turn and hold it; gives the loop's time at which it began."""
        loop = asyncio.get_running_loop()
        while True:
            if (wait_s := self._closed_until - loop.time()) > 0:
                # In slices, so that a pause which is called off ends at once; and not all at the same moment.
                await asyncio.sleep(min(wait_s, _SLICE_S) * random.uniform(1.0, 1.2))
            elif self._away < self.allowed:
                break
            else:
                # Only who can have a turn is woken: of a long queue all others would look in vain after every answer.
                self._waiting.append(loop.create_future())
                try:
                    await self._waiting[-1]
                except asyncio.CancelledError:
                    self._wake()
                    raise
        self._away += 1
        try:
            yield loop.time()
        finally:
            self._away -= 1
            self._wake()

    def answered(self) -> None:
        """A request was answered: after a full round of these one more may be on its way."""
        self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        self._wake()

    def reopen(self) -> None:
        """End a pause: waiting requests continue."""
        self._closed_until = float("-inf")

    def _wake(self) -> None:
        free = self.allowed - self._away
        while self._waiting and free > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1

    def refused(self, began: float, wait_s: float = 0.0) -> None:
        """The request whose turn began at ``began`` was refused; nothing is sent for ``wait_s``.

        Many requests of one round are refused together, which halves the pace once.
        """
        now = asyncio.get_running_loop().time()
        if began >= self._halved_at:
            self._allowed = max(1.0, self._allowed / 2)
            self._halved_at = now
        self._closed_until = max(self._closed_until, now + wait_s)
