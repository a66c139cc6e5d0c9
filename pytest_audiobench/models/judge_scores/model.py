"""``judge-scores:URL``, a judge behind a judge_scores_v1 server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import urlsplit

from pytest_audiobench.errors import FatalError, InfrastructureError, UsageError
from pytest_audiobench.models.judge_scores import wire
from pytest_audiobench.models.judge_scores.parts import JUDGING, parts_of
from pytest_audiobench.models.judge_scores.wire import Item
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Limits, missing_library
from pytest_audiobench.models.predictions_v1.client import Client, Passing, Patience
from pytest_audiobench.models.predictions_v1.reply import Breach, Garbled
from pytest_audiobench.models.remote.api_keys import Key, named_key, refusal
from pytest_audiobench.models.remote.endpoint import Endpoint
from pytest_audiobench.models.spec import check_options, number, pinned_revision, written

ADAPTER = "judge-scores/1"
OPTIONS = ("batch", "concurrency", "name", "revision", "timeout_s", "token_env")
_TRIES = 3
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _JITTER = 1.0, 30.0, 0.25
_BATCHES_AT_ONCE = 4


class JudgeScores:
    """A judge that scores answers from 0 to 1 by a rubric; its server is asked by ``POST`` to the very URL.

    Options: ``name`` (what judges there, since a server of this contract does not say: part of the verdicts' keys),
    ``revision`` (what its user calls the weights behind that name),
    ``batch`` (answers in a call, 16), ``concurrency`` (calls at once, 4), ``timeout_s`` (one call, 120), ``token_env``
    (the environment variable that holds a bearer token). A call that fails in passing is tried three times in all.
    """

    batching: Literal["planned", "opaque"] = "opaque"
    listens = True
    device = "server"
    judgings = (JUDGING,)

    def __init__(self, target: str, options: Mapping[str, str] | None = None) -> None:
        """Raises UsageError for an unknown option, a value that none can have, and anything but a plain URL."""
        given = dict(options or {})
        check_options("judge-scores", given, OPTIONS)
        if not target.lower().startswith(("http://", "https://")):
            raise UsageError("a judge-scores: judge needs its URL, as in judge-scores:http://127.0.0.1:8010/judge")
        self._endpoint = Endpoint.of(target)
        self.spec = written("judge-scores", self._endpoint.url, given)
        self._batch = int(number("judge-scores", given, "batch", 16, whole=True))
        self._concurrency = int(number("judge-scores", given, "concurrency", _BATCHES_AT_ONCE, whole=True))
        self._timeout_s = number("judge-scores", given, "timeout_s", 120.0, least=0.1)
        self._name, self._token_env = given.get("name", ""), given.get("token_env")
        self._revision = pinned_revision("judge-scores", given)
        self.is_mere_name = self._revision is None
        self._client: Client | None = None

    @property
    def limits(self) -> Limits:
        return Limits(max_batch=self._batch * self._concurrency, max_batch_s=1e9, max_clips=0, tasks=("open",))

    def fingerprint(self) -> Mapping[str, str]:
        """Where it is asked, and the name that its user gave it: nothing else is known of it."""
        revision = {} if self._revision is None else {"revision": self._revision}
        return {"adapter": ADAPTER, "endpoint": self._endpoint.identity, "name": self._name, **revision}

    def missing_parts(self) -> str:
        """What asking lacks, with the remedy: a library, or the token; "" for nothing."""
        return missing_library({"httpx": "http"}) or refusal(self._token)

    def _token(self) -> Key | None:
        """The bearer token, if there is to be one. Raises UsageError when its variable leads to none."""
        return named_key("token_env", self._token_env) if self._token_env else None

    def load(self) -> None:
        """Raises UsageError for a token that is absent, FatalError when httpx is not installed."""
        if self._client is not None:
            return
        key = self._token()
        place = urlsplit(self._endpoint.url)
        patience = Patience(timeout_s=self._timeout_s)
        self._client = Client(f"{place.scheme}://{place.netloc}", patience, key, self._concurrency, lambda: None)

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """A verdict for each: ``{"score": …, "rationale": …}``. What was scored is returned even when a call failed.

        Raises FatalError for a prompt that is not a rubric's, and when nothing was scored because calls failed three
        times or the server broke its contract.
        """
        self.load()
        assert self._client is not None
        verdicts, broken = self._client.run(self._verdicts([self._item(ask) for ask in batch]))
        if broken is not None and not any(verdicts):
            raise broken
        return [verdict or Response(error=str(broken)) for verdict in verdicts]

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _item(self, ask: Ask) -> Item:
        if (parts := parts_of(ask.request.messages)) is None:
            raise FatalError(
                f"{self.spec} scores answers by a rubric and can be asked nothing else: "
                f'name it with --ab-judge SPEC, for a protocol judged by "{JUDGING}"'
            )
        return Item(ask.request.key[:32], parts)

    async def _verdicts(self, items: Sequence[Item]) -> tuple[list[Response | None], FatalError | None]:
        verdicts: list[Response | None] = [None] * len(items)
        broken: list[FatalError] = []
        turn = asyncio.Semaphore(self._concurrency)

        async def put(start: int) -> None:
            async with turn:
                if broken:
                    return
                part = items[start : start + self._batch]
                try:
                    verdicts[start : start + len(part)] = await self._call(part)
                except FatalError as error:
                    broken.append(error)

        await asyncio.gather(*(put(start) for start in range(0, len(items), self._batch)))
        return verdicts, broken[0] if broken else None

    async def _call(self, items: Sequence[Item]) -> list[Response]:
        assert self._client is not None
        place, body = urlsplit(self._endpoint.url).path or "/", wire.body(items)
        pause_s = _FIRST_PAUSE_S
        for attempt in range(_TRIES):
            try:
                reply = await self._client.exchange("POST", place, body)
                if reply.status != 200:
                    raise InfrastructureError(self._client.refused(place, reply))
                return wire.responses(reply.body, [item.wire_id for item in items])
            except Breach as error:
                raise InfrastructureError(
                    f"{self._endpoint.url} breaks the judge_scores_v1 contract: {error}"
                ) from None
            except (Passing, Garbled) as error:
                if attempt == _TRIES - 1:
                    raise InfrastructureError(
                        f"{self._endpoint.url} cannot be asked: {error} (tried {_TRIES} times); what it had scored is "
                        "kept, so fix the server or the URL and run again"
                    ) from None
                wanted_s = getattr(error, "after_s", None) or 0.0
            pause = min(_LONGEST_PAUSE_S, max(wanted_s, pause_s * random.uniform(1.0, 1.0 + _JITTER)))
            await asyncio.sleep(pause)
            pause_s *= 2
        raise AssertionError("unreachable")
