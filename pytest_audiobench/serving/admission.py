"""Admission of calls: a bounded queue before the model, and the refusal of a call with its HTTP status."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_IN_WORK = 2
"""One call is asked while the next is decoded: enough to hide decoding, little enough to hold in memory."""


class Refused(Exception):
    """``status`` is the answer's; ``retry_after_s`` tells a client when to come back, where that may help."""

    def __init__(self, status: int, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after_s = status, message, retry_after_s


class TurnedAway(Refused):
    """Refused at the door, before the body was read."""


class Turns:
    """Counts the calls in progress. Of one event loop; nothing here is for other threads but ``is_stopping``."""

    def __init__(self, waiting: int, deadline_s: float) -> None:
        self.in_hand = 0
        self.is_stopping = False
        self._most = waiting + _IN_WORK
        self._deadline_s = deadline_s
        self._work = asyncio.Semaphore(_IN_WORK)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[float]:
        """Hold a place from a call's arrival to its answer; yields when it must be over, on the monotonic clock.

        Raises TurnedAway when the server is stopping (503) or too many wait (429), Refused (504) at the deadline.
        """
        if self.is_stopping:
            raise TurnedAway(503, "the server is stopping", retry_after_s=5)
        if self.in_hand >= self._most:
            raise TurnedAway(429, f"{self.in_hand} calls are waiting already; come back later", retry_after_s=1)
        self.in_hand += 1
        try:
            async with asyncio.timeout(self._deadline_s):
                yield time.monotonic() + self._deadline_s
        except TimeoutError:
            raise Refused(504, f"no answer within {self._deadline_s:g} s; send smaller batches", 1) from None
        finally:
            self.in_hand -= 1

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Be one of the two calls in work."""
        async with self._work:
            yield
