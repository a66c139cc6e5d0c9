"""The batch API of OpenAI-compatible servers: requests are left with the provider as a job, at half the price.

A job is noted in the run's store before it is sent and found again by the token in its metadata, so that whatever ends
a run, no request is paid for twice: a later run with the same store collects what the provider has answered by then.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from pytest_audiobench.errors import FatalError, InfrastructureError, SampleError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.openai.client import Broken, Busy, Client, NotThere, Rejected, Reply
from pytest_audiobench.models.openai.dialogue import DISCOUNT, Dialogue
from pytest_audiobench.models.openai.requests_loop import Spending
from pytest_audiobench.models.openai.wire import error_text

_NOTE = "batch-job"
_ID = 32
"""Characters of a request's key that stand for it in a job."""
_FINAL = ("completed", "failed", "expired", "cancelled")
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 30.0
_SILENCE = np.float32(0.0)

T = TypeVar("T")


class JobNotes(Protocol):
    """Where jobs are noted: a run's store."""

    def find(self, keys: Sequence[bytes], fresh: bool = False) -> Mapping[bytes, object]: ...

    def times(self, keys: Sequence[bytes]) -> Mapping[bytes, float]: ...

    def notes(self, prefix: str) -> list[tuple[str, str]]: ...

    def keep_note(self, name: str, text: str) -> None: ...


@dataclass
class Job:
    """Requests that were left with a provider."""

    token: str
    keys: Sequence[str]
    id: str = ""
    at: float = 0.0
    """When it was left, in seconds of the epoch; 0 where its note does not say."""
    status: str = "unsent"
    done: int = 0
    why: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    """By key, once it has ended: a line of the provider's output."""
    handed_over: dict[str, str] = field(default_factory=dict)
    """The whole keys of what was answered, "" of an error."""
    reserved_usd: dict[str, float] = field(default_factory=dict)
    """What this run has set aside for its requests."""

    @property
    def is_final(self) -> bool:
        return self.status in _FINAL

    def awaits(self, key: str) -> bool:
        """Whether an answer to it is here or may still come."""
        return key in self.keys and (not self.is_final or key in self.answers)

    def note(self) -> str:
        return json.dumps({"id": self.id, "at": self.at, "keys": list(self.keys), "collected": not self.keys})


class BatchJobs:
    """Leaves requests with a server as jobs and collects them, for ``patience_s`` after the last that was started.

    ``gone``: what was waited for in vain is not waited for again in this run; what has ended is still collected.
    """

    def __init__(
        self,
        client: Client,
        dialogue: Dialogue,
        *,
        owner: Sequence[str],
        notes: JobNotes,
        patience_s: float,
        spending: Spending | None,
        fresh: Callable[[], bool] = bool,
    ) -> None:
        """``owner``: the names of server and model, whose jobs alone are looked at; ``fresh``: whether answers of
        earlier runs do not count.
        """
        self._client, self._dialogue, self._notes, self._spending = client, dialogue, notes, spending
        self._prefix = f"{_NOTE}:{digest(list(owner))[:16]}:"
        self._patience_s = patience_s
        self._fresh = fresh
        self._jobs: list[Job] | None = None
        self._earlier: Sequence[Job] = ()
        self._deadline = 0.0
        self.gone = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="audiobench-batches", daemon=True)
        self._thread.start()

    def begin(self, batch: Sequence[Ask]) -> Future[list[Response]]:
        """Leave what no job holds with the server; the responses come when all jobs that hold some have ended.

        Raises InfrastructureError where the server takes no jobs, FatalError where they would cost too much.
        """
        if self._jobs is None:
            self._jobs = self._noted_jobs()
            self._earlier = tuple(self._jobs)
        jobs = self._jobs
        self._drop_collected(batch)
        new = [ask for ask in batch if not any(job.awaits(_id(ask)) for job in jobs)]
        if new:
            jobs.append(self._submitted(new))
        self._deadline = self._loop.time() + (0.0 if self.gone else self._patience_s)
        return asyncio.run_coroutine_threadsafe(self._collected([_light(ask) for ask in batch]), self._loop)

    def _drop_collected(self, batch: Sequence[Ask]) -> None:
        """Of jobs of earlier runs, what they have answered and the store holds: a run that was killed noted it no more.

        Who asks for that asks once more: a line of such a job would be the earlier answer once more.
        """
        held = [(job, ask) for job in self._earlier for ask in batch if _id(ask) in job.keys]
        keys = [bytes.fromhex(ask.request.key) for _, ask in held]
        if not keys:
            return
        known, times = self._notes.find(keys, self._fresh()), self._notes.times(keys)
        for (job, ask), key in zip(held, keys, strict=True):
            if key in known or times.get(key, -math.inf) >= job.at:
                job.keys = [each for each in job.keys if each != _id(ask)]
                job.answers.pop(_id(ask), None)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Note what is still to be collected, wait for ``last``, then end the thread."""
        noted = dict(self._notes.notes(self._prefix))
        for job in self._jobs or ():
            if job.is_final:
                # What was handed over when the run was interrupted may not have been written.
                handed_over = [bytes.fromhex(key) for key in job.handed_over.values() if key]
                stored = self._notes.find(handed_over, self._fresh())
                done = {key for key, whole in job.handed_over.items() if not whole or bytes.fromhex(whole) in stored}
                # Another worker may have collected some since.
                left = json.loads(noted.get(self._prefix + job.token, job.note()))["keys"]
                job.keys = [key for key in left if key in job.answers and key not in done]
                self._notes.keep_note(self._prefix + job.token, job.note())
        self._wait(last())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, doing: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    def _noted_jobs(self) -> list[Job]:
        """The jobs of earlier runs that were not collected, and how they stand."""
        jobs = []
        for name, text in self._notes.notes(self._prefix):
            note = json.loads(text)
            if not note["collected"]:
                jobs.append(Job(name.removeprefix(self._prefix), note["keys"], note["id"], note.get("at", 0.0)))
        if any(not job.id for job in jobs):
            # A run ended between the two notes of a job: whether it was sent, its token tells.
            ids = self._wait(self._ids_by_token())
            for job in jobs:
                job.id = job.id or ids.get(job.token, "")
        jobs = [job for job in jobs if job.id]
        for job in jobs:
            self._wait(self._look(job))
        return jobs

    async def _ids_by_token(self) -> dict[str, str]:
        """The ids of all jobs of ours that the server has, by the token in their metadata."""
        jobs = await self._patiently(self._client.jobs)
        return {str((job.get("metadata") or {}).get("audiobench", "")): str(job.get("id", "")) for job in jobs}

    def _submitted(self, asks: Sequence[Ask]) -> Job:
        lines = []
        for ask in asks:
            self._dialogue.name_limit(body := self._dialogue.body(ask))
            lines.append({"custom_id": _id(ask), "method": "POST", "url": "/v1/chat/completions", "body": body})
        job = Job(secrets.token_hex(8), [_id(ask) for ask in asks], at=time.time())
        self._reserve(job, asks)
        self._notes.keep_note(self._prefix + job.token, job.note())
        content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

        async def send() -> str:
            file = await self._patiently(lambda: self._client.upload(f"{job.token}.jsonl", content))
            try:
                return await self._client.create_job(file, {"audiobench": job.token})
            except Broken:
                # The job may have been made all the same, and must not be sent a second time.
                with suppress(InfrastructureError):
                    if made := (await self._ids_by_token()).get(job.token):
                        return made
                raise

        try:
            job.id = self._wait(send())
        except InfrastructureError:
            self._release(job)
            raise
        except (Busy, Broken, Rejected, SampleError) as error:
            if isinstance(error, Busy | Rejected):
                self._release(job)
            raise InfrastructureError(f"{error}; does it have the batch API? Ask without price=batch if not") from None
        self._notes.keep_note(self._prefix + job.token, job.note())
        job.status = "sent"
        return job

    def _reserve(self, job: Job, asks: Sequence[Ask]) -> None:
        """Set aside what its requests may cost: all of them or none. Raises FatalError where that is too much."""
        if self._spending is None:
            return
        budget, costs = self._spending.budget, [self._spending.worst_usd(ask) * DISCOUNT for ask in asks]
        try:
            for ask, worst_usd in zip(asks, costs, strict=True):
                if not budget.reserve(worst_usd):
                    raise budget.refusal(worst_usd)
                job.reserved_usd[_id(ask)] = worst_usd
        except FatalError as error:
            self._release(job)
            cap = str(error).partition(" is reached")[0]
            whole = f"a batch job of {len(asks)} requests, for {sum(costs):.6g} USD at most"
            raise FatalError(f"{cap} leaves no room for {whole}: it was not sent; raise the cap") from None

    def _release(self, job: Job) -> None:
        """Set nothing aside for what was not sent."""
        for worst_usd in job.reserved_usd.values():
            assert self._spending is not None
            self._spending.budget.settle(worst_usd, 0.0, sent=False)

    async def _collected(self, batch: Sequence[Ask]) -> list[Response]:
        keys = [_id(ask) for ask in batch]
        jobs = [job for job in self._jobs or () if any(job.awaits(key) for key in keys)]
        wait_s = _FIRST_WAIT_S
        for job in jobs:
            while not job.is_final:
                await self._look(job)
                if not job.is_final:
                    if self._loop.time() + wait_s > self._deadline:
                        self.gone = True
                        raise InfrastructureError(self._pending_text())
                    await asyncio.sleep(wait_s)
                    wait_s = min(_LONGEST_WAIT_S, 1.5 * wait_s)
        failed = next((job for job in jobs if job.is_final and not job.answers), None)
        responses = [self._response(ask, key, jobs) for ask, key in zip(batch, keys, strict=True)]
        if failed is not None and all(response.error is not None for response in responses):
            raise InfrastructureError(f"the batch job {failed.id} {failed.status}{failed.why}: run again to ask again")
        return responses

    def _pending_text(self) -> str:
        waiting = [job for job in self._jobs or () if not job.is_final]
        requests = sum(len(job.keys) for job in waiting)
        worst_usd = sum(sum(job.reserved_usd.values()) for job in waiting)
        jobs = f"{len(waiting)} batch job{'s' * (len(waiting) != 1)} ({waiting[0].id}: {waiting[0].status})"
        cost = f", for {worst_usd:.4f} USD at most" if worst_usd else ""
        return (
            f"{requests} requests are with the server in {jobs}, {sum(job.done for job in waiting)} of them "
            f"answered{cost}: run the same command again to collect them, within a day as a rule (patience_s=S waits)"
        )

    async def _look(self, job: Job) -> None:
        """Ask how the job stands; fetch what it has, once it has ended."""
        try:
            found = await self._patiently(lambda: self._client.job(job.id))
        except NotThere:
            raise InfrastructureError(
                f"the server knows no batch job {job.id}, which was submitted there: ask with the key that "
                "submitted it, or with another --ab-store, which pays for its requests again"
            ) from None
        counts = found.get("request_counts")
        job.done = int(counts.get("completed") or 0) if isinstance(counts, Mapping) else 0
        status = error_text(found.get("status"))
        if status in _FINAL:
            wanted = set(job.keys)
            for name in ("error_file_id", "output_file_id"):
                if isinstance(file := found.get(name), str) and file:
                    with suppress(NotThere):  # providers keep output for some weeks
                        for line in await self._patiently(lambda file=file: self._client.lines(file)):  # type: ignore[misc]
                            if isinstance(line, dict) and line.get("custom_id") in wanted:
                                job.answers[line["custom_id"]] = line
            job.why = f" ({why})" if (why := _first_error(found)) else ""
        job.status = status

    def _response(self, ask: Ask, key: str, jobs: Sequence[Job]) -> Response:
        job = next((job for job in jobs if key in job.answers), None)
        if job is None:
            holder = next(job for job in jobs if key in job.keys)
            return Response(error=f"the batch job {holder.id} {holder.status} before this was answered{holder.why}")
        line = job.answers[key]
        reply = line.get("response")
        body = reply.get("body") if isinstance(reply, dict) else None
        try:
            if not isinstance(reply, dict) or reply.get("status_code") != 200:
                why = error_text(line if line.get("error") else body)
                raise SampleError(
                    f"the server says {reply.get('status_code') if isinstance(reply, dict) else ''}: {why}"
                )
            response = self._dialogue.read(Reply(body, None, None), ask)
        except SampleError as error:
            response = Response(error=str(error))
        if key not in job.handed_over and self._spending is not None:
            cost_usd = self._spending.cost_usd(ask, response.usage) * DISCOUNT if response.error is None else 0.0
            self._spending.budget.settle(job.reserved_usd.get(key, 0.0), cost_usd)
        job.handed_over[key] = ask.request.key if response.error is None else ""
        return response

    async def _patiently(self, exchange: Callable[[], Awaitable[T]]) -> T:
        """``exchange``, tried again while the server is away or breaks it, for ``patience_s``. Raises FatalError."""
        end, wait_s = self._loop.time() + self._patience_s, _FIRST_WAIT_S
        while True:
            try:
                return await exchange()
            except Rejected as error:
                raise InfrastructureError(
                    f"{error}; does it have the batch API? Ask without price=batch if not"
                ) from None
            except SampleError as error:
                raise InfrastructureError(f"{error}; what was left with the server is kept there") from None
            except (Busy, Broken) as error:
                if self._loop.time() + wait_s > end:
                    raise InfrastructureError(f"{error}; what was left with the server is kept there") from None
            await asyncio.sleep(wait_s)
            wait_s = min(_LONGEST_WAIT_S, 2 * wait_s)


def _id(ask: Ask) -> str:
    return ask.request.key[:_ID]


def _light(ask: Ask) -> Ask:
    """The same with silence of the same length, which takes no memory: the request is with the provider."""
    audio = (replace(played, samples=np.broadcast_to(_SILENCE, len(played.samples))) for played in ask.audio)
    return ask._replace(audio=tuple(audio))


def _first_error(job: Mapping[str, Any]) -> str:
    errors = job.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    return error_text(data[0]) if isinstance(data, list) and data else ""
