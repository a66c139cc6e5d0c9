"""What a whole run may spend, counted across its workers and models in one small file of the run's folder.

A request is reserved before it is sent, at the highest cost possible, and settled when its real cost is known.
Requests are counted exactly, those tried again included. A request is not sent while what is spent, what is on
its way at its worst, and its own worst together exceed the cap. So a cap is passed only where a server charges
more for the requests on their way than was estimated.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.errors import FatalError

FILE = "budget.json"

_WIDTH = 192
_GO_ON = "answers so far are kept, and the next run continues from there with its own budget"


class Ledger(NamedTuple):
    """What was sent and spent so far."""

    requests: int = 0
    spent_usd: float = 0.0
    held_usd: float = 0.0
    """The worst that requests on their way may cost."""


class Budget:
    """The budget of a run, the same in every process that is given the same ``folder``.

    ``max_cost_usd`` and ``max_requests`` are the caps, None for none; ``prepare`` makes the folder, and is called
    before the first reservation.
    """

    def __init__(
        self,
        folder: Path,
        max_cost_usd: float | None = None,
        max_requests: int | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self.max_cost_usd, self.max_requests = max_cost_usd, max_requests
        self._file, self._prepare = folder / FILE, prepare
        self._descriptor: int | None = None

    def reserve(self, worst_usd: float) -> bool:
        """Whether one request that costs ``worst_usd`` at most may be sent now; False: once others are settled.

        Raises FatalError when it may not be sent at all.
        """
        with self._ledger_lock() as descriptor:
            ledger = _read(descriptor)
            if self.max_requests is not None and ledger.requests >= self.max_requests:
                raise FatalError(
                    f"--ab-max-requests={self.max_requests} is reached: {_spending_text(ledger)}; {_GO_ON}"
                )
            if self.max_cost_usd is not None:
                if ledger.spent_usd + worst_usd > self.max_cost_usd:
                    raise self._too_dear(ledger, worst_usd)
                if ledger.spent_usd + ledger.held_usd + worst_usd > self.max_cost_usd:
                    return False
            _write(descriptor, ledger._replace(requests=ledger.requests + 1, held_usd=ledger.held_usd + worst_usd))
        return True

    def settle(self, worst_usd: float, cost_usd: float, sent: bool = True) -> None:
        """A request that was reserved at ``worst_usd`` has cost ``cost_usd``; not ``sent``, it does not count."""
        with self._ledger_lock() as descriptor:
            ledger = _read(descriptor)
            requests = ledger.requests - (not sent)
            _write(descriptor, Ledger(requests, ledger.spent_usd + cost_usd, max(0.0, ledger.held_usd - worst_usd)))

    def refusal(self, worst_usd: float) -> FatalError:
        """The error for a request that waited in vain for others to be settled."""
        with self._ledger_lock() as descriptor:
            return self._too_dear(_read(descriptor), worst_usd)

    def _too_dear(self, ledger: Ledger, worst_usd: float) -> FatalError:
        return FatalError(
            f"--ab-max-cost={self.max_cost_usd:g} is reached: {_spending_text(ledger)}, and the next request may cost "
            f"up to {worst_usd + ledger.held_usd:.6f} USD with those on their way; {_GO_ON}"
        )

    @contextmanager
    def _ledger_lock(self) -> Iterator[int]:
        if self._descriptor is None:
            self._prepare()
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield self._descriptor
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def spent_note(folder: Path) -> list[str]:
    """One line for a run's notes: what it sent and spent; none where nothing was sent."""
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        ledger = _read(descriptor)
        return [_spending_text(ledger)] if ledger.requests or ledger.spent_usd else []
    finally:
        os.close(descriptor)


def _spending_text(ledger: Ledger) -> str:
    sent = "1 request was" if ledger.requests == 1 else f"{ledger.requests} requests were"
    return f"{sent} sent to servers" + (f" for {ledger.spent_usd:.6f} USD" if ledger.spent_usd else "")


def _read(descriptor: int) -> Ledger:
    written = os.pread(descriptor, _WIDTH, 0)
    try:
        return Ledger(**json.loads(written)) if written else Ledger()
    except (ValueError, TypeError):
        raise FatalError(f"the run's {FILE} is damaged, so what was spent is not known: begin another run") from None


def _write(descriptor: int, ledger: Ledger) -> None:
    # Always of one length, in one write: a process that dies leaves the old ledger or the new one.
    os.pwrite(descriptor, json.dumps(ledger._asdict()).ljust(_WIDTH).encode(), 0)
