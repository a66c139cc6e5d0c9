"""The execution of batches that the store does not hold: locks, decoding ahead, one transaction a batch.

All of it is done by one thread: locks belong to the process, the store to a thread. Only models work elsewhere, on as
many batches at once as they say (``batches_in_flight.py``); each is written as soon as it is answered.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.errors import (
    AudioError,
    FileUnreachable,
    InfrastructureError,
    SampleError,
    disk_errors,
)
from pytest_audiobench.evaluation.answer_sounds import SoundFiles
from pytest_audiobench.evaluation.answer_store import Store, message
from pytest_audiobench.evaluation.batch_plan import (
    Digests,
    PlannedRequest,
    answer_key,
    batch_key,
    fill,
    full_batches,
    planned_batches,
)
from pytest_audiobench.evaluation.batches_in_flight import BatchesInFlight, Time
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Ask, PlayedAudio, Request, Response

_DECODERS = 4
_AHEAD = 2
"""Batches decoded ahead of the one being asked: enough to hide decoding, little enough to hold in memory."""
_LOOKED_UP = 5_000
"""Keys that the store is asked for at once."""

Progress = Callable[[int, int], None]
_Played: TypeAlias = "tuple[PlayedAudio, ...] | AudioError"
_Answers: TypeAlias = "dict[bytes, tuple[Response, dict[str, object]]]"
_Failures: TypeAlias = "dict[bytes, tuple[str, bool]]"
"""Messages, and whether asking again would fail again."""
_Write: TypeAlias = Callable[[_Answers, _Failures, "dict[bytes, Response]"], None]


CANARIES = 60
"""Answers of earlier runs that are asked again of one model in a run, drawn by hash."""


@dataclass
class Reuse:
    """What a run makes of earlier answers of a model whose identity is a mere name."""

    fresh: bool = False
    """Whether none of them counts."""
    canaries: Mapping[str, int] = field(default_factory=dict)
    """How many of them are asked again, by test."""
    _spent: Counter[tuple[str, str]] = field(default_factory=Counter)

    def draw(self, test: str, alias: str) -> int:
        """How many of a test's may still be asked again."""
        return max(0, self.canaries.get(test, 0) - self._spent[test, alias])

    def spend(self, test: str, alias: str, count: int) -> None:
        self._spent[test, alias] += count


class MissingAnswers(InfrastructureError):
    """A merged store lacks answers, for which no model may be asked."""

    def __init__(self, windows: Sequence[int], total: int) -> None:
        """``windows`` are those of the missing answers, of ``total`` that are needed."""
        super().__init__(f"{len(windows)} of {total} answers are in no shard's store")
        self.windows, self.total = windows, total


class SampleFailure(NamedTuple):
    """A sample that could not be asked again, and why."""

    sample_id: str
    message: str


@dataclass
class Counts:
    """How asking went, so far: the fields of :class:`AskingRecord`, which says what each is."""

    asked: int = 0
    known: int = 0
    reused: int = 0
    oldest: str | None = None
    newest: str | None = None
    canaries: int = 0
    differing: int = 0
    failed_again: int = 0
    noise: int = 0
    damaged: int = 0
    repaired: int = 0
    oom_splits: int = 0

    def add_reused(self, times: Sequence[float]) -> None:
        """Count answers of earlier runs, by when they were asked for."""
        days = [_day(time_s) for time_s in (min(times), max(times))] if times else []
        self.reused += len(times)
        self.oldest = min([*days, *filter(None, [self.oldest])], default=None)
        self.newest = max([*days, *filter(None, [self.newest])], default=None)


def _day(time_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(min(max(time_s, 0.0), _LAST_DAY)))


_LAST_DAY = 253_402_300_799.0
"""The end of the year 9999: a clock may have been anything."""


@dataclass(frozen=True)
class _Batch:
    """Requests to be asked together, with their answers' keys."""

    requests: tuple[Request, ...]
    keys: tuple[bytes, ...]
    lock_keys: tuple[bytes, ...]


class BatchExecutor:
    """The model's batches of one stage after another, shared with every process that uses the same store."""

    def __init__(
        self,
        handle: ModelHandle,
        store: Store,
        locks: BatchLocks,
        progress: Progress,
        fresh: bool = False,
        canaries: int = 0,
    ) -> None:
        """``fresh`` and ``canaries``: as :class:`Reuse` says, for a model whose identity is a mere name."""
        self.handle, self._store, self._locks, self._progress = handle, store, locks, progress
        self._fresh_if_named, self._canaries_if_named = fresh, canaries
        self.counts = Counts()
        self.failed_canaries: list[SampleFailure] = []
        self.time = Time()
        self.asked: set[str] | None = None
        """The keys of the requests that the model has answered, where they are requested."""
        self._flights = BatchesInFlight(handle, self.time)

    def execute(
        self,
        requests: Sequence[Request],
        planned: Sequence[PlannedRequest],
        batches: Sequence[Sequence[int]] | None = None,
    ) -> dict[str, Response]:
        """The response (or error) to every request, by key; ``batches`` of positions replace the plan."""
        positions = [] if batches is None else [array("I", batch) for batch in batches]
        if self.handle.planned:
            positions = positions or planned_batches(planned, self.handle.limits)
        keys = Digests(request.key for request in planned)
        if self.handle.planned:
            for batch in positions:
                together = [planned[i] for i in batch]
                self.time.add_batch([each.duration_s for each in together], self.handle.limits)
                self.time.planned_batches += 1
                self.time.full_batches += fill(together, self.handle.limits)
                whole = batch_key([each.key for each in together])
                for i, each in zip(batch, together, strict=True):
                    keys[i] = answer_key(each.key, whole)
        responses, earlier = self._stored_responses(keys)
        self.counts.damaged += len(self._store.damaged.intersection(keys))
        if self.handle.planned:
            # A batch is known whole or asked whole: what it would be asked again for is not known, nor counted so.
            complete = [batch for batch in positions if all(keys[i] in responses for i in batch)]
            responses = {keys[i]: responses[keys[i]] for batch in complete for i in batch}
        self.counts.known += len(responses)
        self._count_reused(responses, earlier)
        self._ask_canaries(requests, planned, keys, {key: responses[key] for key in earlier if key in responses})
        missing = array("I", (i for i, key in enumerate(keys) if key not in responses))
        self._progress(len(responses), len(keys))
        if missing and self._store.merged:
            raise MissingAnswers([planned[i].window for i in missing], len(keys))
        if missing:
            started, loading_s = time.perf_counter(), self.time.loading_s
            if not self.handle.planned:
                positions = full_batches(missing, planned, self.handle.limits)
            incomplete = (batch for batch in positions if any(keys[i] not in responses for i in batch))
            todo = (self._batch(requests, keys, batch) for batch in incomplete)
            responses |= self._execute_missing(todo, len(responses), len(keys))
            self.counts.oom_splits += self._flights.taken_splits()
            self.time.asking_s += time.perf_counter() - started - (self.time.loading_s - loading_s)
        return {request.key: responses[key] for request, key in zip(requests, keys, strict=True)}

    @property
    def sounds(self) -> SoundFiles:
        """The audio of the answers that the store holds."""
        return self._store.sounds

    @property
    def _fresh(self) -> bool:
        return self._fresh_if_named and self.handle.is_mere_name

    def _stored_responses(self, keys: Sequence[bytes]) -> tuple[dict[bytes, Response], dict[bytes, float]]:
        """What the store holds of these (answers, and failures that would only repeat), and when other runs asked."""
        responses: dict[bytes, Response] = {}
        earlier: dict[bytes, float] = {}
        for start in range(0, len(keys), _LOOKED_UP):
            portion = keys[start : start + _LOOKED_UP]
            for key, answer in self._store.find(portion, self._fresh).items():
                responses[key] = answer.response
                if answer.earlier is not None:
                    earlier[key] = answer.earlier
            missing = [key for key in portion if key not in responses]
            failures = self._store.failures(missing, self._fresh)
            responses |= {key: Response(error=text, lasting=True) for key, text in failures.items()}
            passed = self._store.passed_failures([key for key in missing if key not in failures], self._fresh)
            responses |= {key: Response(error=text) for key, text in passed.items()}
        return responses, earlier

    def _count_reused(self, responses: Mapping[bytes, Response], earlier: Mapping[bytes, float]) -> None:
        self.counts.add_reused([time_s for key, time_s in earlier.items() if key in responses])

    def _ask_canaries(
        self,
        requests: Sequence[Request],
        planned: Sequence[PlannedRequest],
        keys: Sequence[bytes],
        reused: Mapping[bytes, Response],
    ) -> None:
        """Ask some of what the store answers again, drawn by hash, other ones in every run: the texts are compared."""
        left = self._canaries_if_named - self.counts.canaries - self.counts.failed_again
        if left <= 0 or not reused or not self.handle.is_mere_name:
            return
        salt = self._store.run.encode()
        places = [i for i, key in enumerate(keys) if key in reused]
        drawn = sorted(places, key=lambda i: hashlib.sha256(salt + keys[i]).digest())[:left]
        batches = full_batches(array("I", sorted(drawn)), planned, self.handle.limits)
        todo = (self._batch(requests, keys, batch) for batch in batches)
        ids = {keys[i]: requests[i].sample_id for i in drawn}

        def write(answers: _Answers, failures: _Failures, failed: dict[bytes, Response]) -> None:
            self.counts.noise += self._store.put_batch(answers, {}).noise
            self.counts.canaries += len(answers)
            self.counts.differing += sum(
                _texts(response) != _texts(reused[key]) for key, (response, _) in answers.items()
            )
            self.counts.failed_again += len(failures)
            self.failed_canaries += [
                SampleFailure(ids[key], f"asked again: {text}") for key, (text, _) in failures.items()
            ]

        with self._flights, closing(self._decoded_ahead(todo, eager=True)) as stream:
            for batch, audio in stream:
                self._flights.make_room()
                self._ask(batch, audio, write)

    def _batch(self, requests: Sequence[Request], keys: Sequence[bytes], positions: Sequence[int]) -> _Batch:
        batch_keys = tuple(keys[i] for i in positions)
        # A planned batch is known or asked whole, so its first answer's key identifies all of it.
        lock_keys = batch_keys[:1] if self.handle.planned else batch_keys
        return _Batch(tuple(requests[i] for i in positions), batch_keys, lock_keys)

    def _execute_missing(self, batches: Iterable[_Batch], stored: int, total: int) -> dict[bytes, Response]:
        responses: dict[bytes, Response] = {}
        waiting: list[_Batch] = []

        def done(more: Mapping[bytes, Response]) -> None:
            responses.update(more)
            self._progress(stored + len(responses), total)

        with self._flights:
            with closing(self._decoded_ahead(batches, eager=True)) as stream:
                for batch, audio in stream:
                    self._flights.make_room()
                    if (locks := self._locked(batch, wait=False)) is not None:
                        self._execute_batch(batch, audio, locks, done)
                    else:
                        waiting.append(batch)
                        done({})
            # The process that holds these batches will most likely answer them: decode only if it does not.
            with closing(self._decoded_ahead(waiting, eager=False)) as stream:
                for batch, audio in stream:
                    self._flights.make_room()
                    if (locks := self._locked(batch, wait=False)) is None:
                        # Who waits holds nothing, or two processes could wait for one another.
                        self._flights.land_all()
                        locks = self._locked(batch, wait=True)
                    assert locks is not None
                    self._execute_batch(batch, audio, locks, done)
        return responses

    def _locked(self, batch: _Batch, wait: bool) -> ExitStack | None:
        """The batch's locks, to be closed; None where not all of them is available."""
        with ExitStack() as locks:
            # In one order everywhere, so that two waiting processes cannot hold what the other wants.
            for key in sorted(batch.lock_keys):
                if not self._locks.acquire(key, wait):
                    return None
                locks.callback(self._locks.release, key)
            return locks.pop_all()

    def _execute_batch(
        self, batch: _Batch, audio: _Decoding, locks: ExitStack, done: Callable[[Mapping[bytes, Response]], None]
    ) -> None:
        """Call ``done`` with the batch's responses: from the store when another process was quicker, else from the
        model, once it has answered and its answers are written. The locks are released then, or by an error.
        """
        with locks:
            stored, earlier = self._stored_responses(batch.keys)
            if len(stored) == len(batch.keys) or (stored and not self.handle.planned):
                self.counts.known += len(stored)
                self._count_reused(stored, earlier)
            if len(stored) == len(batch.keys):
                done(stored)
                return
            if not self.handle.planned and stored:
                left = [i for i, key in enumerate(batch.keys) if key not in stored]
                batch = self._batch(batch.requests, batch.keys, left)

            def write(answers: _Answers, failures: _Failures, failed: dict[bytes, Response]) -> None:
                written = self._store.put_batch(answers, failures, self._fresh)
                self.counts.asked += len(answers)
                if self.asked is not None:
                    self.asked.update(
                        r.key for r, key in zip(batch.requests, batch.keys, strict=True) if key in answers
                    )
                self.counts.noise += written.noise
                self.counts.repaired += written.repaired
                # A planned batch was asked whole: the answers that it had stand, whatever became of them now.
                done(failed | stored | written.responses)

            self._ask(batch, audio, write, locks)

    def _ask(self, batch: _Batch, audio: _Decoding, write: _Write, locks: ExitStack | None = None) -> None:
        """Begin to ask the model. ``write`` is called with what it answered and traces of what it was played, and with
        what failed, for the store and as it is; ``locks`` are closed after that.
        """
        failures: _Failures = {}
        failed: dict[bytes, Response] = {}
        playable: list[tuple[bytes, Ask]] = []
        started = time.perf_counter()
        results = audio.results(batch.requests)
        self.time.decode_wait_s += time.perf_counter() - started
        for key, request, played in zip(batch.keys, batch.requests, results, strict=True):
            if isinstance(played, AudioError):
                failures[key] = (message(played), not isinstance(played, FileUnreachable))
                failed[key] = Response(error=failures[key][0], lasting=True)
            else:
                playable.append((key, Ask(request, played)))

        # Not the audio itself: a model may let it go long before it answers.
        played_of = [(key, _traces(ask.audio)) for key, ask in playable]

        def land(responses: Sequence[Response]) -> None:
            answers: _Answers = {}
            for (key, (truncated_s, traces)), answered in zip(played_of, responses, strict=True):
                response = self._measured(answered)
                if response.error is not None:
                    failures[key] = (message(response.error) or "the model gave no reason", False)
                    failed[key] = Response(error=failures[key][0], lasting=response.lasting)
                    continue
                whole = replace(response, truncated_s=truncated_s if any(truncated_s) else ())
                answers[key] = (whole, {"audio": traces})
            started = time.perf_counter()
            write(answers, failures, failed)
            self.time.commit_s += time.perf_counter() - started

        self._flights.begin([ask for _, ask in playable], land, locks)

    def _measured(self, response: Response) -> Response:
        """With what is measured of its audio; an error where that cannot be read."""
        try:
            return response if response.error is not None else self.sounds.measured(response)
        except SampleError as error:
            return Response(error=str(error))

    def _decoded_ahead(self, batches: Iterable[_Batch], eager: bool) -> Generator[tuple[_Batch, _Decoding], None, None]:
        pool = ThreadPoolExecutor(_DECODERS, thread_name_prefix="audiobench-decode")
        ahead: deque[tuple[_Batch, _Decoding]] = deque()
        try:
            for batch in batches:
                ahead.append((batch, _Decoding(batch.requests, self.handle, pool)))
                if eager:
                    ahead[-1][1].start()
                if len(ahead) > _AHEAD:
                    yield ahead.popleft()
            yield from ahead
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


class _Decoding:
    """A batch's audio, being decoded on threads. A model that does not listen is played nothing."""

    def __init__(self, requests: Sequence[Request], handle: ModelHandle, pool: ThreadPoolExecutor) -> None:
        self._requests, self._handle, self._pool = requests, handle, pool
        self._portions: list[Future[dict[str, _Played]]] = []
        self._played: dict[str, _Played] = {}

    def start(self) -> None:
        if self._handle.listens and not self._portions:
            # A portion for each thread: handing over every clip by itself costs more than a short clip's decoding.
            portions = [self._requests[start::_DECODERS] for start in range(_DECODERS)]
            self._portions = [self._pool.submit(_decode_requests, part, self._handle) for part in portions if part]

    def results(self, requests: Sequence[Request]) -> list[_Played]:
        self.start()
        for portion in self._portions:
            self._played |= portion.result()
        return [self._played.get(request.key, ()) for request in requests]


def _traces(audio: Sequence[PlayedAudio]) -> tuple[tuple[float, ...], list[dict[str, object]]]:
    """What was cut off each clip's end, and what is stored of it."""
    traces: list[dict[str, object]] = [
        {"pcm": p.pcm_digest, "frames": p.frames, "rate_hz": p.source_rate_hz, "decoder": p.decoder} for p in audio
    ]
    return tuple(p.truncated_s for p in audio), traces


def _texts(response: Response) -> list[str]:
    return [output.text for output in response.outputs]


def _decode_requests(requests: Sequence[Request], handle: ModelHandle) -> dict[str, _Played]:
    limits = handle.limits
    played: dict[str, _Played] = {}
    for request in requests:
        try:
            window_s = limits.window_s(request.task)
            played[request.key] = tuple(decode(clip, limits.rate_hz, window_s) for clip in request.clips)
        except AudioError as error:
            played[request.key] = error
    handle.prepare_audio([one for each in played.values() if not isinstance(each, AudioError) for one in each])
    return played


class BatchLocks(AbstractContextManager["BatchLocks"]):
    """The locks of this process on batches, which the operating system frees when it dies.

    A lock is a byte range of one file next to the store, at an offset derived from the key: nothing is left to clean.
    Keys that share one (62 bits) would only wait for one another. Not for several threads (POSIX locks belong to a
    process).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def acquire(self, key: bytes, wait: bool = False) -> bool:
        """Whether the key is ours now; with ``wait``, blocks until it is."""
        with disk_errors(self._path):
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, _offset(key))
            except (BlockingIOError, PermissionError):
                return False
        return True

    def release(self, key: bytes) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _offset(key))

    def close(self) -> None:
        os.close(self._descriptor)

    def __exit__(self, *_: object) -> None:
        self.close()


def _offset(key: bytes) -> int:
    return int.from_bytes(key[:8], "big") >> 2
