"""Asking a model for what is not known yet: claims, decoding ahead, retries, one transaction a batch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.errors import AudioError, FatalError, FileUnreachable, SampleError, TransientError
from pytest_audiobench.evaluation import batching
from pytest_audiobench.evaluation.batch_locks import BatchLocks
from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.store import Store
from pytest_audiobench.evaluation.text_repair import message
from pytest_audiobench.evaluation.time_spent import Time
from pytest_audiobench.models.messages import Ask, PlayedAudio, Request, Response

_DECODERS = 4
_AHEAD = 2
"""Batches decoded ahead of the one being asked: enough to hide decoding, little enough to hold in memory."""
_TRIES = 4
_FIRST_WAIT_S = 0.5
_FAILED_BATCHES = 3
"""Batches in a row that may fail before the model is taken to be broken."""

Progress = Callable[[int, int], None]
_Played: TypeAlias = "tuple[PlayedAudio, ...] | AudioError"


@dataclass
class Counts:
    """How asking went. ``noise`` counts answers that differed when asked again."""

    asked: int = 0
    known: int = 0
    noise: int = 0
    repaired: int = 0
    oom_splits: int = 0


@dataclass(frozen=True)
class _Batch:
    """Requests to be asked together; ``keys`` are their answers' keys, ``claim`` those that one asker holds."""

    requests: tuple[Request, ...]
    keys: tuple[bytes, ...]
    claims: tuple[bytes, ...]


class BatchExecutor:
    """Asks one ask set after another, sharing its work with every process that uses the same store."""

    def __init__(self, handle: ModelHandle, store: Store, claims: BatchLocks, progress: Progress) -> None:
        self.handle, self._store, self._claims, self._progress = handle, store, claims, progress
        self.counts = Counts()
        self.time = Time()
        self._failed_in_a_row = 0

    def responses(
        self,
        requests: Sequence[Request],
        planned: Sequence[batching.Planned],
        batches: Sequence[Sequence[int]] | None = None,
    ) -> dict[str, Response]:
        """The response to every request, by request key; those that could not be asked carry an error.

        ``batches`` (positions in ``requests``, each in one of them) takes the place of the plan.
        """
        keys = [item.key for item in planned]
        cut = [] if batches is None else [list(batch) for batch in batches]
        if self.handle.planned:
            cut = cut or batching.batches(planned, self.handle.limits)
            for batch in cut:
                self.time.add_batch([planned[i].duration_s for i in batch], self.handle.limits)
                whole = batching.batch_key([planned[i].key for i in batch])
                for i in batch:
                    keys[i] = batching.answer_key(planned[i].key, whole)
        held: dict[bytes, Response] = self._known(keys)
        if self.handle.planned:
            # A batch is known whole or asked whole: what it would be asked again for is not known, nor counted so.
            whole_batches = [batch for batch in cut if all(keys[i] in held for i in batch)]
            held = {keys[i]: held[keys[i]] for batch in whole_batches for i in batch}
        self.counts.known += len(held)
        missing = [keys[i] for i in range(len(keys)) if keys[i] not in held]
        self._progress(len(held), len(keys))
        if missing:
            started, loading_s = time.perf_counter(), self.time.loading_s
            if not self.handle.planned:
                cut = batching.filled([i for i in range(len(keys)) if keys[i] not in held], planned, self.handle.limits)
            held |= self._ask_missing([self._batch(requests, keys, batch) for batch in cut], held, len(keys))
            self.time.asking_s += time.perf_counter() - started - (self.time.loading_s - loading_s)
        return {request.key: held[key] for request, key in zip(requests, keys, strict=True)}

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Response]:
        held = self._store.get_many(keys)
        if len(held) < len(keys):
            missing = [key for key in keys if key not in held]
            held |= {key: Response(error=text) for key, text in self._store.failures(missing).items()}
        return held

    def _batch(self, requests: Sequence[Request], keys: Sequence[bytes], positions: Sequence[int]) -> _Batch:
        own = tuple(keys[i] for i in positions)
        # A planned batch is known or asked whole, so its first answer's key stands for all of it.
        return _Batch(tuple(requests[i] for i in positions), own, own[:1] if self.handle.planned else own)

    def _ask_missing(
        self, batches: Sequence[_Batch], known: Mapping[bytes, Response], total: int
    ) -> dict[bytes, Response]:
        todo = [batch for batch in batches if any(key not in known for key in batch.keys)]
        answered: dict[bytes, Response] = {}
        waiting: list[_Batch] = []
        with self._decoded_ahead(todo, eager=True) as stream:
            for batch, audio in stream:
                with self._claimed(batch, wait=False) as ours:
                    if ours:
                        answered |= self._settle(batch, audio)
                    else:
                        waiting.append(batch)
                self._progress(len(known) + len(answered), total)
        # Whoever holds these batches will most likely answer them: decode only if it does not.
        with self._decoded_ahead(waiting, eager=False) as stream:
            for batch, audio in stream:
                with self._claimed(batch, wait=True):
                    answered |= self._settle(batch, audio)
                self._progress(len(known) + len(answered), total)
        return answered

    @contextmanager
    def _claimed(self, batch: _Batch, wait: bool) -> Iterator[bool]:
        # BatchLocks are taken in one order everywhere, so that two waiting askers cannot hold what the other wants.
        taken: list[bytes] = []
        for key in sorted(batch.claims):
            if not self._claims.take(key, wait):
                break
            taken.append(key)
        try:
            yield len(taken) == len(batch.claims)
        finally:
            for key in taken:
                self._claims.free(key)

    def _settle(self, batch: _Batch, audio: _Decoding) -> dict[bytes, Response]:
        """The batch's responses: from the store when another asker was quicker, else asked now."""
        held = self._known(batch.keys)
        if len(held) == len(batch.keys):
            self.counts.known += len(held)
            return held
        if not self.handle.planned and held:
            self.counts.known += len(held)
            batch = _without(batch, held)
        heard = audio.results(batch.requests)
        fit = [i for i, played in enumerate(heard) if not isinstance(played, AudioError)]
        failures = {
            batch.keys[i]: (message(played), not isinstance(played, FileUnreachable))
            for i, played in enumerate(heard)
            if isinstance(played, AudioError)
        }
        asks = [Ask(batch.requests[i], heard[i]) for i in fit]  # type: ignore[arg-type]
        answers = {}
        responses, share_s = self._asked(asks)
        for i, (ask, response) in enumerate(zip(asks, responses, strict=True)):
            key = batch.keys[fit[i]]
            if response.error is not None:
                failures[key] = (message(response.error), False)
            else:
                cut = tuple(played.truncated_s for played in ask.audio)
                own_s = share_s if response.share_s is None else response.share_s
                response = replace(response, truncated_s=cut if any(cut) else (), share_s=own_s)
                answers[key] = (response, {"audio": [_trace(played) for played in ask.audio]})
        written = self._store.put_batch(answers, failures)
        self.counts.asked += len(answers)
        self.counts.noise += written.noise
        self.counts.repaired += written.repaired
        # A planned batch was asked whole: the answers that it had stand, whatever became of them now.
        return {key: Response(error=text) for key, (text, _) in failures.items()} | held | written.held

    def _asked(self, asks: Sequence[Ask]) -> tuple[list[Response], float]:
        """The model's responses, and each one's share of the seconds that the model took for them."""
        if not asks:
            return [], 0.0
        started = time.perf_counter()
        model = self.handle.ready()
        self.time.loading_s += time.perf_counter() - started
        splits = self.handle.oom_splits
        for attempt in range(_TRIES):
            started = time.perf_counter()
            try:
                responses = model.ask(asks)
                break
            except TransientError as error:
                if attempt == _TRIES - 1:
                    return self._failed(asks, error, f"{error} (asked {_TRIES} times)"), 0.0
                time.sleep(_FIRST_WAIT_S * 2**attempt)
            except FatalError:
                raise
            except SampleError as error:
                return [Response(error=str(error))] * len(asks), 0.0
            except Exception as error:
                return self._failed(asks, error, f"{type(error).__name__}: {error}"), 0.0
        took_s = time.perf_counter() - started
        # A model that workers share tells each answer's share: the clock counts waiting for other workers' batches too.
        told_s = [response.share_s for response in responses if response.share_s is not None]
        self.time.model_s += sum(told_s) if len(told_s) == len(asks) else took_s
        self.counts.oom_splits += self.handle.oom_splits - splits
        self._failed_in_a_row = 0
        if len(responses) != len(asks):
            raise FatalError(f"{self.handle.spec} gave {len(responses)} answers to {len(asks)} requests")
        return responses, took_s / len(asks)

    def _failed(self, asks: Sequence[Ask], error: Exception, why: str) -> list[Response]:
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= _FAILED_BATCHES:
            many = f"{_FAILED_BATCHES} batches in a row"
            raise FatalError(f"{self.handle.spec} failed {many} ({why}); what it had answered is kept") from error
        return [Response(error=why)] * len(asks)

    @contextmanager
    def _decoded_ahead(self, batches: Sequence[_Batch], eager: bool) -> Iterator[Iterator[tuple[_Batch, _Decoding]]]:
        pool = ThreadPoolExecutor(_DECODERS, thread_name_prefix="audiobench-decode")
        try:
            yield self._stream(batches, pool, eager)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _stream(
        self, batches: Sequence[_Batch], pool: ThreadPoolExecutor, eager: bool
    ) -> Iterator[tuple[_Batch, _Decoding]]:
        ahead: deque[tuple[_Batch, _Decoding]] = deque()
        for batch in batches:
            ahead.append((batch, _Decoding(batch.requests, self.handle, pool)))
            if eager:
                ahead[-1][1].start()
            if len(ahead) > _AHEAD:
                yield ahead.popleft()
        yield from ahead


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
            self._portions = [self._pool.submit(_decoded, part, self._handle) for part in portions if part]

    def results(self, requests: Sequence[Request]) -> list[_Played]:
        self.start()
        for portion in self._portions:
            self._played |= portion.result()
        return [self._played.get(request.key, ()) for request in requests]


def _decoded(requests: Sequence[Request], handle: ModelHandle) -> dict[str, _Played]:
    limits = handle.limits
    played: dict[str, _Played] = {}
    for request in requests:
        try:
            window_s = limits.window_s(request.task)
            played[request.key] = tuple(decode(clip, limits.rate_hz, window_s) for clip in request.clips)
        except AudioError as error:
            played[request.key] = error
    return played


def _without(batch: _Batch, known: Mapping[bytes, Response]) -> _Batch:
    left = [i for i, key in enumerate(batch.keys) if key not in known]
    keys = tuple(batch.keys[i] for i in left)
    return _Batch(tuple(batch.requests[i] for i in left), keys, keys)


def _trace(heard: PlayedAudio) -> dict[str, object]:
    return {
        "pcm": heard.pcm_digest,
        "frames": heard.frames,
        "rate_hz": heard.source_rate_hz,
        "decoder": heard.decoder,
    }
