"""The execution of batches that the store does not hold: locks, decoding ahead, retries, one transaction a batch."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.errors import (
    AudioError,
    FatalError,
    FileUnreachable,
    InfrastructureError,
    SampleError,
    TransientError,
    disk_errors,
)
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
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Ask, PlayedAudio, Request, Response
from pytest_audiobench.models.model import Limits

_DECODERS = 4
_AHEAD = 2
"""Batches decoded ahead of the one being asked: enough to hide decoding, little enough to hold in memory."""
_TRIES = 4
_FIRST_WAIT_S = 0.5
_LOOKED_UP = 5_000
"""Keys that the store is asked for at once."""
_FAILED_BATCHES = 3
"""Batches in a row that may fail before the model is taken to be broken."""

Progress = Callable[[int, int], None]
_Played: TypeAlias = "tuple[PlayedAudio, ...] | AudioError"
_Answers: TypeAlias = "dict[bytes, tuple[Response, dict[str, object]]]"


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


@dataclass
class Time:
    """Seconds by the clock."""

    loading_s: float = 0.0
    """Within ``Model.load``."""
    model_s: float = 0.0
    """Within ``Model.ask``, without waiting for other workers where they share it."""
    asking_s: float = 0.0
    """From the first to the last missing answer, without the loading."""
    planned_s: float = 0.0
    """The clips of all planned batches, added up."""
    filled_s: float = 0.0
    """What the front end makes of them."""
    planned_batches: float = 0.0
    """How many those are."""
    full_batches: float = 0.0
    """How many they would be if each took up all the seconds that it may."""
    features_s: float = 0.0
    """Within ``Model.ask``, making tensors of prompts and clips, where the model tells."""
    generate_s: float = 0.0
    """Within ``Model.ask``, generating tokens, where the model tells."""

    def add_batch(self, durations_s: Sequence[float], limits: Limits) -> None:
        """Count a planned batch: every clip is filled up to the longest, or to the front end's own length."""
        window_s = limits.max_clip_s or float("inf")
        played = [min(duration_s, window_s) for duration_s in durations_s]
        self.planned_s += sum(played)
        self.filled_s += len(played) * max(limits.pads_to_s or 0.0, max(played, default=0.0))


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
        self._failed_in_a_row = 0

    def execute(
        self,
        requests: Sequence[Request],
        planned: Sequence[PlannedRequest],
        batches: Sequence[Sequence[int]] | None = None,
    ) -> dict[str, Response]:
        """The response (or error) to every request, by key; ``batches`` of positions take the place of the plan."""
        positions = [] if batches is None else [array("I", batch) for batch in batches]
        if self.handle.planned:
            positions = positions or planned_batches(planned, self.handle.limits)
        keys = Digests(request.key for request in planned)
        if self.handle.planned:
            for batch in positions:
                self.time.add_batch([planned[i].duration_s for i in batch], self.handle.limits)
                self.time.planned_batches += 1
                self.time.full_batches += fill([planned[i] for i in batch], self.handle.limits)
                whole = batch_key([planned[i].key for i in batch])
                for i in batch:
                    keys[i] = answer_key(planned[i].key, whole)
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
        if missing:
            started, loading_s = time.perf_counter(), self.time.loading_s
            if not self.handle.planned:
                positions = full_batches(missing, planned, self.handle.limits)
            incomplete = (batch for batch in positions if any(keys[i] not in responses for i in batch))
            todo = (self._batch(requests, keys, batch) for batch in incomplete)
            responses |= self._execute_missing(todo, len(responses), len(keys))
            self.time.asking_s += time.perf_counter() - started - (self.time.loading_s - loading_s)
        return {request.key: responses[key] for request, key in zip(requests, keys, strict=True)}

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
        with closing(self._decoded_ahead(todo, eager=True)) as stream:
            for batch, audio in stream:
                answers, failures, _ = self._asked(batch, audio)
                written = self._store.put_batch(answers, {})
                self.counts.noise += written.noise
                self.counts.canaries += len(answers)
                self.counts.differing += sum(
                    _texts(response) != _texts(reused[key]) for key, (response, _) in answers.items()
                )
                self.counts.failed_again += len(failures)
                ids = dict(zip(batch.keys, (request.sample_id for request in batch.requests), strict=True))
                self.failed_canaries += [
                    SampleFailure(ids[key], f"asked again: {text}") for key, (text, _) in failures.items()
                ]

    def _batch(self, requests: Sequence[Request], keys: Sequence[bytes], positions: Sequence[int]) -> _Batch:
        batch_keys = tuple(keys[i] for i in positions)
        # A planned batch is known or asked whole, so its first answer's key stands for all of it.
        lock_keys = batch_keys[:1] if self.handle.planned else batch_keys
        return _Batch(tuple(requests[i] for i in positions), batch_keys, lock_keys)

    def _execute_missing(self, batches: Iterable[_Batch], stored: int, total: int) -> dict[bytes, Response]:
        responses: dict[bytes, Response] = {}
        waiting: list[_Batch] = []
        with closing(self._decoded_ahead(batches, eager=True)) as stream:
            for batch, audio in stream:
                with self._batch_lock(batch, wait=False) as is_ours:
                    if is_ours:
                        responses |= self._execute_batch(batch, audio)
                    else:
                        waiting.append(batch)
                self._progress(stored + len(responses), total)
        # Whoever holds these batches will most likely answer them: decode only if it does not.
        with closing(self._decoded_ahead(waiting, eager=False)) as stream:
            for batch, audio in stream:
                with self._batch_lock(batch, wait=True):
                    responses |= self._execute_batch(batch, audio)
                self._progress(stored + len(responses), total)
        return responses

    @contextmanager
    def _batch_lock(self, batch: _Batch, wait: bool) -> Iterator[bool]:
        """Holds the batch's locks within the block; yields whether all of them could be had."""
        # Locks are taken in one order everywhere, so that two waiting processes cannot hold what the other wants.
        acquired: list[bytes] = []
        for key in sorted(batch.lock_keys):
            if not self._locks.acquire(key, wait):
                break
            acquired.append(key)
        try:
            yield len(acquired) == len(batch.lock_keys)
        finally:
            for key in acquired:
                self._locks.release(key)

    def _execute_batch(self, batch: _Batch, audio: _Decoding) -> dict[bytes, Response]:
        """The batch's responses: from the store when another process was quicker, else from the model."""
        stored, earlier = self._stored_responses(batch.keys)
        if len(stored) == len(batch.keys) or (stored and not self.handle.planned):
            self.counts.known += len(stored)
            self._count_reused(stored, earlier)
        if len(stored) == len(batch.keys):
            return stored
        if not self.handle.planned and stored:
            left = [i for i, key in enumerate(batch.keys) if key not in stored]
            batch = self._batch(batch.requests, batch.keys, left)
        answers, failures, failed = self._asked(batch, audio)
        written = self._store.put_batch(answers, failures, self._fresh)
        self.counts.asked += len(answers)
        self.counts.noise += written.noise
        self.counts.repaired += written.repaired
        # A planned batch was asked whole: the answers that it had stand, whatever became of them now.
        return failed | stored | written.responses

    def _asked(
        self, batch: _Batch, audio: _Decoding
    ) -> tuple[_Answers, dict[bytes, tuple[str, bool]], dict[bytes, Response]]:
        """What the model answers now, with traces of what it was played; what failed, for the store and as it is."""
        failures: dict[bytes, tuple[str, bool]] = {}
        failed: dict[bytes, Response] = {}
        playable: list[tuple[bytes, Ask]] = []
        for key, request, played in zip(batch.keys, batch.requests, audio.results(batch.requests), strict=True):
            if isinstance(played, AudioError):
                failures[key] = (message(played), not isinstance(played, FileUnreachable))
                failed[key] = Response(error=failures[key][0], lasting=True)
            else:
                playable.append((key, Ask(request, played)))
        responses, share_s = self._model_responses([ask for _, ask in playable])
        answers: _Answers = {}
        for (key, ask), response in zip(playable, responses, strict=True):
            if response.error is not None:
                failures[key] = (message(response.error) or "the model gave no reason", False)
                failed[key] = Response(error=failures[key][0], lasting=response.lasting)
                continue
            truncated_s = tuple(played.truncated_s for played in ask.audio)
            response = replace(
                response,
                truncated_s=truncated_s if any(truncated_s) else (),
                share_s=share_s if response.share_s is None else response.share_s,
            )
            traces = [
                {"pcm": p.pcm_digest, "frames": p.frames, "rate_hz": p.source_rate_hz, "decoder": p.decoder}
                for p in ask.audio
            ]
            answers[key] = (response, {"audio": traces})
        return answers, failures, failed

    def _model_responses(self, asks: Sequence[Ask]) -> tuple[list[Response], float]:
        """The model's responses, and each one's share of the seconds that the model took for them."""
        if not asks:
            return [], 0.0
        started = time.perf_counter()
        model = self.handle.ready()
        self.time.loading_s += time.perf_counter() - started
        splits, spent = self.handle.oom_splits, self.handle.seconds
        for attempt in range(_TRIES):
            started = time.perf_counter()
            try:
                responses = model.ask(asks)
                break
            except TransientError as error:
                if attempt == _TRIES - 1:
                    return self._failed_responses(asks, error, f"{error} (asked {_TRIES} times)"), 0.0
                time.sleep(_FIRST_WAIT_S * 2**attempt)
            except FatalError:
                raise
            except SampleError as error:
                return [Response(error=str(error))] * len(asks), 0.0
            except Exception as error:
                return self._failed_responses(asks, error, f"{type(error).__name__}: {error}"), 0.0
        wall_s = time.perf_counter() - started
        given = responses if isinstance(responses, Sequence) else [responses]
        if strange := [type(each).__name__ for each in given if not isinstance(each, Response)]:
            raise FatalError(f"{self.handle.spec} gave {strange[0]}: ask must return a list of Response")
        # A model that workers share gives each answer's share: the clock counts waiting for other workers' batches too.
        shares_s = [response.share_s for response in responses if response.share_s is not None]
        self.time.model_s += sum(shares_s) if len(shares_s) == len(asks) else wall_s
        self.counts.oom_splits += self.handle.oom_splits - splits
        for name, seconds in self.handle.seconds.items():
            setattr(self.time, name, getattr(self.time, name) + seconds - spent.get(name, 0.0))
        self._failed_in_a_row = 0
        if len(responses) != len(asks):
            raise FatalError(f"{self.handle.spec} gave {len(responses)} answers to {len(asks)} requests")
        return responses, wall_s / len(asks)

    def _failed_responses(self, asks: Sequence[Ask], error: Exception, why: str) -> list[Response]:
        # What passes is of the way to the model, all else of its code, which its author has to mend.
        passes = isinstance(error, TransientError)
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= _FAILED_BATCHES:
            batches = f"{_FAILED_BATCHES} batches in a row"
            kind = InfrastructureError if passes else FatalError
            raise kind(f"{self.handle.spec} failed {batches} ({why}); what it had answered is kept") from error
        return [Response(error=why, lasting=not passes)] * len(asks)

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

    A lock is a byte range of one file beside the store, at an offset derived from the key: nothing is left to clean.
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
