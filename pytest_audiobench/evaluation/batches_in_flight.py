"""The batches that a model is asked at once: begun one by one, landed as they are answered, tried again.

A model that says nothing of it is asked one after the other, in the thread that asks. One that has ``begin``
works elsewhere, on ``in_flight`` batches at most; what is done with its answers is done here anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from pytest_audiobench.errors import FatalError, InfrastructureError, SampleError, TransientError
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Limits, Reply

_TRIES = 4
_FIRST_WAIT_S = 0.5
_FAILED_BATCHES = 3
"""Batches in a row that may fail before the model is taken to be broken."""


@dataclass
class Time:
    """Seconds of wall time."""

    loading_s: float = 0.0
    """Within ``Model.load``."""
    model_s: float = 0.0
    """While the model had a batch, without waiting for other workers where they share it."""
    asking_s: float = 0.0
    """From the first to the last missing answer, without the loading."""
    planned_s: float = 0.0
    """The clips of all planned batches, added up."""
    filled_s: float = 0.0
    """What the front end makes of them."""
    decode_wait_s: float = 0.0
    """Of the asking: waiting for clips to be decoded."""
    commit_s: float = 0.0
    """Of the asking: writing answers."""
    planned_batches: float = 0.0
    """How many batches were planned."""
    full_batches: float = 0.0
    """How many they would be if each took up all the seconds that it may."""
    features_s: float = 0.0
    """Within ``Model.ask``, making tensors of prompts and clips, where the model reports it."""
    generate_s: float = 0.0
    """Within ``Model.ask``, generating tokens, where the model reports it."""

    def add_batch(self, durations_s: Sequence[float], limits: Limits) -> None:
        """Count a planned batch: every clip is filled up to the longest, or to the front end's own length."""
        window_s = limits.max_clip_s or float("inf")
        played = [min(duration_s, window_s) for duration_s in durations_s]
        self.planned_s += sum(played)
        self.filled_s += len(played) * max(limits.pads_to_s or 0.0, max(played, default=0.0))


@dataclass(eq=False)
class _Flight:
    """A batch that the model is being asked."""

    asks: Sequence[Ask]
    land: Callable[[Sequence[Response]], None]
    locks: ExitStack = field(default_factory=ExitStack)
    tries: int = 0
    begun_s: float = 0.0
    ended_s: float = 0.0
    reply: Reply = field(init=False)


class BatchesInFlight:
    """The batches that one model is being asked. To be used by one thread, as a context.

    At the end of the block all of them have landed, also where it ends by an error: they are paid for. An interruption
    calls them off.
    """

    def __init__(self, handle: ModelHandle, time_: Time) -> None:
        self._handle, self._time = handle, time_
        self._flights: set[_Flight] = set()
        self._ended: SimpleQueue[_Flight] = SimpleQueue()
        self._failed_in_a_row = 0
        self._last_ended_s = 0.0
        self._ending = False
        self._splits = 0
        self._spent: Mapping[str, float] | None = None

    def __enter__(self) -> None:
        self._ending, self._splits, self._spent = False, self._handle.oom_splits, None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.land_all()
        except BaseException as error:
            kind = type(error)
            raise
        finally:
            self._ending = True
            while self._flights and kind is not None and issubclass(kind, Exception):
                # The error that came first is the one that is reported.
                with suppress(Exception):
                    self._land_next()
            for flight in self._flights:
                flight.reply.cancel()
                flight.locks.close()
            self._flights.clear()
            self._ended = SimpleQueue()
            if self._spent is not None:
                for name, seconds in self._handle.seconds.items():
                    spent_s = getattr(self._time, name) + seconds - self._spent.get(name, 0.0)
                    setattr(self._time, name, spent_s)

    def taken_splits(self) -> int:
        """How many batches the model has halved for lack of memory since the block began or this was last asked."""
        before, self._splits = self._splits, self._handle.oom_splits
        return self._splits - before

    def begin(
        self, asks: Sequence[Ask], land: Callable[[Sequence[Response]], None], locks: ExitStack | None = None
    ) -> None:
        """Ask the model; ``land`` is called with its responses, now or within a later call. ``locks`` are closed then.

        Raises FatalError when the model cannot be loaded, and what landing raises.
        """
        with ExitStack() as held:
            if locks is not None:
                held.push(locks.pop_all())
            if not asks:
                land([])
                return
            started = time.perf_counter()
            self._handle.ready()
            self._time.loading_s += time.perf_counter() - started
            if self._spent is None:
                self._spent = self._handle.seconds
            flight = _Flight(asks, land)
            self._start(flight)
            if self._handle.hands_over:
                flight.asks = [ask._replace(audio=()) for ask in asks]
            flight.locks = held.pop_all()
            self._flights.add(flight)
        while not self._ended.empty():
            self._land_next()

    def make_room(self) -> None:
        """Wait until another batch may be begun. Raises what landing raises: FatalError for a model that is broken."""
        while len(self._flights) >= self._handle.in_flight:
            self._land_next()

    def land_all(self) -> None:
        """Wait until nothing is in flight. Raises as :meth:`make_room`."""
        while self._flights:
            self._land_next()

    def _start(self, flight: _Flight) -> None:
        queue = self._ended
        flight.tries += 1
        flight.begun_s = time.perf_counter()
        flight.reply = self._handle.begin(flight.asks)

        def ended(_: object) -> None:
            flight.ended_s = time.perf_counter()
            queue.put(flight)

        flight.reply.add_done_callback(ended)

    def _land_next(self) -> None:
        flight = self._ended.get()
        self._flights.discard(flight)
        responses: Sequence[Response]
        with flight.locks as locks:
            try:
                responses = flight.reply.result()
            except TransientError as error:
                if flight.tries < _TRIES and not self._ending:
                    # All wait, since they have one model.
                    time.sleep(_FIRST_WAIT_S * 2 ** (flight.tries - 1))
                    self._start(flight)
                    flight.locks = locks.pop_all()
                    self._flights.add(flight)
                    return
                responses = self._failed(flight, error, f"{error} (asked {flight.tries} times)")
            except FatalError:
                raise
            except SampleError as error:
                responses = [Response(error=str(error))] * len(flight.asks)
            except Exception as error:
                responses = self._failed(flight, error, f"{type(error).__name__}: {error}")
            else:
                responses = self._counted(flight, responses)
            flight.land(responses)

    def _counted(self, flight: _Flight, responses: Sequence[Response]) -> Sequence[Response]:
        """The responses, each with its share of the seconds that the model took for them. Raises FatalError for what is
        no list of them, one for each request.
        """
        given = responses if isinstance(responses, Sequence) else [responses]
        if strange := [type(each).__name__ for each in given if not isinstance(each, Response)]:
            raise FatalError(f"{self._handle.spec} gave {strange[0]}: ask must return a list of Response")
        # Of batches that it has at once each gets the time since the one before it ended: together the wall time.
        wall_s = max(0.0, flight.ended_s - max(flight.begun_s, self._last_ended_s))
        # Threads may hand in their batches in another order than they ended in.
        self._last_ended_s = max(self._last_ended_s, flight.ended_s)
        self._failed_in_a_row = 0
        count = len(flight.asks)
        if len(responses) != count:
            self._time.model_s += wall_s
            raise FatalError(f"{self._handle.spec} gave {len(responses)} answers to {count} requests")
        # A model that workers share gives each answer's share: the clock counts waiting for other workers' batches too.
        shares_s = [response.share_s for response in responses if response.share_s is not None]
        told_s = sum(shares_s) if len(shares_s) == count else wall_s
        at_once = min(1.0, wall_s / told_s) if self._handle.in_flight > 1 and told_s else 1.0
        self._time.model_s += told_s * at_once
        return [
            replace(response, share_s=wall_s / count if response.share_s is None else response.share_s * at_once)
            for response in responses
        ]

    def _failed(self, flight: _Flight, error: Exception, why: str) -> Sequence[Response]:
        # What passes is of the way to the model, all else of its code, which its author has to fix.
        passes = isinstance(error, TransientError)
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= _FAILED_BATCHES:
            batches = f"{_FAILED_BATCHES} batches in a row"
            kind = InfrastructureError if passes else FatalError
            raise kind(f"{self._handle.spec} failed {batches} ({why}); what it had answered is kept") from error
        return [Response(error=why, lasting=not passes)] * len(flight.asks)
