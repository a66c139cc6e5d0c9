"""``http:``, a model behind a server that follows the predictions_v1 contract of BEANS-Next.

Asking, checking and waiting are those of :mod:`predictions_client`; what is sent that of :mod:`predictions_request`;
what is believed that of :mod:`predictions_reply`. Options are read without asking anybody.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_audiobench.errors import FatalError, SampleError, UsageError
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Hearing, Limits, Reply, awaited, missing_library
from pytest_audiobench.models.predictions_v1 import reply
from pytest_audiobench.models.predictions_v1.audio_check import find_hearing
from pytest_audiobench.models.predictions_v1.client import Client, Gone, Patience, TooLarge
from pytest_audiobench.models.predictions_v1.reply import MOST_BATCH, Info
from pytest_audiobench.models.predictions_v1.request import PAYLOADS, PLACEHOLDER, Form, Item, Payload, body, item
from pytest_audiobench.models.remote.api_keys import Key, named_key, refusal
from pytest_audiobench.models.remote.endpoint import Endpoint
from pytest_audiobench.models.run_server.url import check_address, checked_url, is_url, url_from
from pytest_audiobench.models.spec import check_options, one_of, pinned_revision, written

KNOWN = (
    *("batch", "concurrency", "folder", "generation", "hints", "max_s", "payload", "pcm", "placeholder", "probe"),
    *("rate", "retry_s", "revision", "serve", "timeout_s", "token_env", "url_file", "wait_s"),
)


class Settled(NamedTuple):
    """What a user wrote, with its defaults. ``payload`` and ``hints`` are None where the server decides."""

    form: Form
    payload: Payload | None
    hints: bool | None
    patience: Patience
    rate_hz: int
    batch: int
    concurrency: int
    probe: bool
    token_env: str | None

    def token(self) -> Key | None:
        """The bearer token, if there is to be one. Raises UsageError when its variable leads to none."""
        return None if self.token_env is None else named_key("token_env", self.token_env)


def _read_options(options: Mapping[str, str]) -> Settled:
    """Raises UsageError for an option that is unknown, and for a value that none can have."""
    check_options("http", options, KNOWN)
    payload = one_of("http", options, "payload", PAYLOADS)
    hints = {"yes": True, "no": False}.get(one_of("http", options, "hints", ("yes", "no")) or "")
    form = Form(
        payload=payload or "base64_wav",
        pcm=one_of("http", options, "pcm", ("int16", "float32")) or "int16",
        placeholder=options.get("placeholder", PLACEHOLDER),
        folder=Path(options["folder"]).expanduser() if options.get("folder") else None,
        max_s=_seconds(options, "max_s") if "max_s" in options else None,
        hints=bool(hints),
        generation=_generation(options.get("generation", "")),
    )
    return Settled(
        form,
        payload,
        hints,
        Patience(*(_seconds(options, name) for name in Patience._fields)),
        rate_hz=_whole(options, "rate", 16_000),
        batch=_whole(options, "batch", MOST_BATCH),
        concurrency=_whole(options, "concurrency", 1),
        probe=one_of("http", options, "probe", ("yes", "no")) != "no",
        token_env=options.get("token_env"),
    )


_SENT_ANYWAY = ("max_tokens", "temperature", "top_p", "max_length_seconds", "task", "choices")


def _generation(text: str) -> tuple[tuple[str, str], ...]:
    """``lora_scale:0;encoder_off:beats`` by key, in the order of the keys; a value that is not a number is a text."""
    pairs: dict[str, str] = {}
    for part in text.split(";") if text else ():
        name, _, value = part.partition(":")
        if not (name.isidentifier() and value) or name in pairs or name in _SENT_ANYWAY:
            raise UsageError(
                f"generation={text} of an http model cannot be read at {part!r}: write KEY:VALUE;KEY:VALUE, each key "
                f"once and none of {', '.join(_SENT_ANYWAY)}"
            )
        pairs[name] = value if _NUMBER.fullmatch(value) else json.dumps(value)
    return tuple(sorted(pairs.items()))


def _seconds(options: Mapping[str, str], name: str) -> float:
    text = options.get(name, str(Patience._field_defaults.get(name, "")))
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1e6:
        raise UsageError(f"{name}={text} of an http model is not a number of seconds above 0")
    return value


def _whole(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 10**6):
        raise UsageError(f"{name}={text} of an http model is not a whole number from 1 up")
    return int(text)


ADAPTER = "http/1"
_OURS = "pytest-audiobench"
"""What a server of ``audiobench serve`` calls itself: behind it may be a listener that reads no messages."""
_BATCH = 64
"""Requests handed over at once, to be cut by what the server takes: a kill loses at most these."""
_BATCH_S = 1200.0
_MOST_CLIPS = 64
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9})?")
_NAME = re.compile(r"[\w.-]{1,100}")
"""What may be repeated to the user: not a URL without its beginning, which may hold a password."""
_ARRIVE_S = 30.0
"""How long a server at a URL that a user wrote may take to appear at all: a mistyped one should not cost minutes."""


class Replaced(Gone):
    """Another model answers where the one was that the run asks."""


class _Asking:
    """A batch that is being asked: what came of it so far, and what keeps the rest of it from being asked."""

    def __init__(self, batch: Sequence[Ask]) -> None:
        self.batch = batch
        self.answers: list[Response | None] = [None] * len(batch)
        self.broken: FatalError | None = None


class _Turns:
    """What the batches that are asked at once share, within one event loop."""

    def __init__(self, concurrency: int) -> None:
        # One more than may be in flight: the next call is encoded while the server works on this one.
        self.encoded, self.sending = asyncio.Semaphore(concurrency + 1), asyncio.Semaphore(concurrency)
        self.encoding = asyncio.Lock()  # two at once would only keep the first from being sent
        self.open = 0
        """How many batches are being asked."""
        self._checking = asyncio.Lock()
        self._arrivals = self._checked_since = 0

    async def checked(self, check: Callable[[], Awaitable[None]]) -> None:
        """Wait for a ``check`` that began after this call, which all calls that came before it began share: a server
        that is asked who it is after every batch, and quick, would have as much to do with that as with the batches.
        """
        self._arrivals += 1
        arrival = self._arrivals
        async with self._checking:
            if self._checked_since < arrival:
                since = self._arrivals
                await check()
                self._checked_since = since


class PredictionsModel:
    """``http:URL``, or ``http:NAME`` where ``url_file`` holds the URL or the run starts the server by ``serve``.

    Options: ``batch`` (most requests in a call, where that shall be fewer than the server takes), ``concurrency``
    (calls in flight, 1), ``timeout_s`` (one exchange, 120), ``retry_s`` (trying again what failed in passing, 120),
    ``wait_s`` (a server that is loading, or a URL that is not written yet, 900), ``payload`` (base64_wav, file_path or
    file_url; default what the server takes), ``pcm`` (int16 or float32), ``rate`` (16000 Hz), ``max_s`` (longer clips
    are cut, and the cut counted), ``placeholder`` (what stands for a clip in a message; empty for nothing), ``folder``
    (for files that file payloads have to write), ``revision`` (what its user calls the weights behind the server's
    names), ``generation`` (further keys of generation_config for this model, ``lora_scale:0;encoder_off:beats``),
    ``hints`` (yes or no: tell task and choices in generation_config, which the contract lets grow; default for
    servers of ours alone), ``probe=no`` (no proof of hearing at load), ``token_env`` (the environment variable that
    holds a bearer token).
    """

    batching: Literal["planned", "opaque"] = "opaque"
    listens = True
    device = "server"

    def __init__(self, target: str, options: Mapping[str, str] | None = None) -> None:
        """Raises UsageError for an unknown option, a value that none can have, and a target that leads to no URL."""
        given = dict(options or {})
        self._settled = _read_options(given)
        check_address("http", target, given)
        # Where a server lies is not part of what it is, and a path on this machine no business of a report's readers.
        self._url_file = given.pop("url_file", None)
        self.spec = written("http", target, given)
        if not is_url(target) and not self._url_file:
            named = f"http:{target}" if _NAME.fullmatch(target) else "an http: model"
            raise UsageError(
                f"{named} names no server: write http:http://HOST:PORT, or say where it is with "
                ",url_file=FILE, or have it started with ,serve=COMMAND"
            )
        self._url = checked_url(target, "an http: model") if is_url(target) else None
        self._concurrency = self._settled.concurrency
        self._revision = pinned_revision("http", given)
        self.limits = Limits(_BATCH, _BATCH_S, self._settled.rate_hz, self._settled.form.max_s, _MOST_CLIPS)
        self.hearing: Hearing | None = None
        self.check_alive: Callable[[], None] = lambda: None
        self._client: Client | None = None
        self._most = 0
        self._gone: Gone | None = None

    def fingerprint(self) -> Mapping[str, str]:
        """What the server says it is, and how it is asked. The server must be up.

        Raises FatalError when it cannot be reached or does not say who it is.
        """
        rate_hz, form = self.limits.rate_hz, self._audio_form
        return {
            "adapter": ADAPTER,
            **self._info.identity,
            "audio": f"{form.payload} {form.pcm} {rate_hz} Hz",
            "placeholder": form.placeholder,
            **({"hints": "task, choices"} if form.hints else {}),
            **({"generation": "; ".join(map(": ".join, form.generation))} if form.generation else {}),
            "window": "none" if form.max_s is None else f"{form.max_s:g} s",
            **({} if self._revision is None else {"revision": self._revision}),
        }

    def missing_parts(self) -> str:
        """What asking lacks, with the remedy: a library, or the token; "" for nothing."""
        return missing_library({"httpx": "http"}) or refusal(self._settled.token)

    @property
    def is_mere_name(self) -> bool:
        """Whether only names tell it from other weights: neither its server nor its user says more."""
        return self._revision is None and (self._info.passes_on or not self._info.proof)

    def load(self) -> None:
        """Find out whether the server hears. Raises FatalError for one that is known not to."""
        if self.hearing is not None:
            # Closed and used again: the URL may lead somewhere else by now.
            self._connection.run(self._check_same())
        elif not self._settled.probe:
            _ = self._info
            self.hearing = Hearing("unproven", "probe=no")
        else:
            mark = self._settled.form.placeholder
            hearing = find_hearing(self._info.name, lambda probe: self.ask([probe])[0], self.limits.rate_hz, mark)
            # What is not a language model has no prompt to count. Its own server asks it otherwise, once it has loaded.
            if hearing.status == "unproven" and (told := self._connection.run(self._connection.info()).hears):
                hearing = Hearing("proven", f"the server says: {told}")
            self.hearing = hearing

    @property
    def in_flight(self) -> int:
        """Batches that are asked at once: as many as ``concurrency`` calls are cut of, and one to come."""
        calls = -(-_BATCH // self._most) if self._most else 1
        return 1 - (-(self._concurrency + 1) // calls)

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One response for each. What was answered is returned even when the server then fails, with the others' error.

        Raises FatalError when nothing was answered because patience with the server ended or it broke the contract,
        and when another model is found in its place before the answers are returned. A server that is gone for good
        is not asked again: the same error is raised.
        """
        return awaited(self.begin(batch))

    def begin(self, batch: Sequence[Ask]) -> Reply:
        """As :meth:`ask`; of all batches together ``concurrency`` calls are in flight."""
        if self._gone is not None:
            raise self._gone
        _ = self._audio_form
        return self._connection.begin(self._responses(_Asking(batch)))

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    async def _responses(self, asking: _Asking) -> list[Response]:
        turns = self._turns
        # Between other batches the server is the one that they find.
        first = self._keep_error(asking, self._check_same) if not turns.open else asyncio.sleep(0)
        ready = asyncio.ensure_future(first)
        turns.open += 1
        try:
            # The first requests are encoded meanwhile.
            await self._fill(asking, ready)
            # One that is lost cannot be asked; it answered as the one it was.
            if not isinstance(asking.broken, Gone):
                await self._keep_error(asking, partial(turns.checked, self._check_same))
        finally:
            turns.open -= 1
        # Who came back as another: it is unknown which of the answers are the other's.
        if asking.broken is not None and (isinstance(asking.broken, Replaced) or not any(asking.answers)):
            raise asking.broken
        return [answer or Response(error=str(asking.broken)) for answer in asking.answers]

    async def _keep_error(self, asking: _Asking, work: Callable[[], Awaitable[None]]) -> None:
        """``work``, whose error is kept for the end; that of a replaced server before any other."""
        try:
            await work()
        except FatalError as error:
            if not isinstance(asking.broken, Replaced):
                asking.broken = error
            if isinstance(error, Gone) and not isinstance(self._gone, Replaced):
                self._gone = error

    async def _fill(self, asking: _Asking, ready: Awaitable[None]) -> None:
        """Ask about the whole batch, once ``ready`` was awaited."""
        turns = self._turns

        async def put(positions: Sequence[int]) -> None:
            async with turns.encoded:
                if self._is_over(asking):
                    return
                async with turns.encoding:
                    items, errors = await asyncio.to_thread(self._items, asking.batch, positions)
                await ready
                if self._is_over(asking):
                    return
                for position, error in errors.items():
                    asking.answers[position] = Response(error=error)
                if items:
                    async with turns.sending:
                        await self._ask_items(items, asking)

        count = len(asking.batch)
        parts = [range(start, min(start + self._most, count)) for start in range(0, count, self._most)]
        await asyncio.gather(ready, *(put(part) for part in parts))

    def _is_over(self, asking: _Asking) -> bool:
        """Whether no more of a batch is sent: by an error of its own, or since another batch found the server gone."""
        if asking.broken is None:
            asking.broken = self._gone
        return asking.broken is not None

    def _items(self, batch: Sequence[Ask], positions: Sequence[int]) -> tuple[dict[int, Item], dict[int, str]]:
        """The requests at ``positions``, and why the others of them are none."""
        wire_ids = _wire_ids(batch)
        items: dict[int, Item] = {}
        errors: dict[int, str] = {}
        for position in positions:
            try:
                items[position] = item(wire_ids[position], batch[position], self._audio_form)
            except SampleError as error:
                errors[position] = str(error)
        return items, errors

    async def _ask_items(self, items: Mapping[int, Item], asking: _Asking) -> None:
        """Ask about ``items``, in halves when the server finds them too many; what breaks is kept for the end."""
        if self._is_over(asking):
            return
        if len(items) > self._most:
            await self._put_smaller(items, asking)
            return
        wire_ids = [item.wire_id for item in items.values()]
        sent = await asyncio.to_thread(body, list(items.values()))
        read = partial(reply.responses, wire_ids=wire_ids)

        async def answered() -> None:
            responses = await self._connection.predict(sent, read, self._check_same, divisible=len(items) > 1)
            for position, response in zip(items, responses, strict=True):
                asking.answers[position] = response

        try:
            await self._keep_error(asking, answered)
        except TooLarge:
            await self._put_smaller(items, asking)

    async def _put_smaller(self, items: Mapping[int, Item], asking: _Asking) -> None:
        positions = list(items)
        if len(positions) == 1:
            why = f"{self._connection.url} finds this request alone too large (HTTP 413)"
            asking.answers[positions[0]] = Response(error=why)
            return
        half = (len(positions) + 1) // 2
        self._most = min(self._most, half)
        for part in (positions[:half], positions[half:]):
            await self._ask_items({position: items[position] for position in part}, asking)

    async def _check_same(self) -> None:
        """Raises Replaced when another model answers by now, after waiting for one that is loading."""
        now = await self._connection.info()
        if now.state != "ready":
            now = await self._connection.greet(self._settled.patience.retry_s)
        if now.identity != self._info.identity:
            raise Replaced(
                f"{self._connection.url} came back as another model ({now.names}, before {self._info.names}); "
                "what the first had answered is kept: run again to ask this one"
            )

    @cached_property
    def _info(self) -> Info:
        patience = self._settled.patience
        arrive_s = patience.wait_s if self._url_file else min(_ARRIVE_S, patience.retry_s)
        info = self._connection.run(self._connection.greet(arrive_s))
        self._most = min(info.max_batch, self._settled.batch)
        return info

    @cached_property
    def _audio_form(self) -> Form:
        """How audio is sent to this server. Raises FatalError when it takes none of the ways that are allowed."""
        info, url, form = self._info, self._connection.url, self._settled.form
        if info.name.startswith(_OURS) and self._settled.hints is None:
            form = form._replace(hints=True)
        if (wanted := self._settled.payload) is not None:
            if wanted not in info.payloads:
                raise FatalError(
                    f"{url} takes {', '.join(info.payloads)} and not payload={wanted}; leave the option out"
                )
            return form
        if "base64_wav" in info.payloads:
            return form
        if not Endpoint.of(url).loopback:
            raise FatalError(
                f"{url} takes {', '.join(info.payloads)} only, which would send it paths on this machine; "
                f"where it shares this machine's files, say so with payload={info.payloads[0]}"
            )
        return form._replace(payload=info.payloads[0])

    @property
    def _connection(self) -> Client:
        if self._client is None:
            patience = self._settled.patience
            url = self._url or url_from(Path(str(self._url_file)).expanduser(), patience.wait_s)
            self._client = Client(url, patience, self._settled.token(), self._concurrency, lambda: self.check_alive())
            self._turns = _Turns(self._concurrency)
        return self._client


def _wire_ids(batch: Sequence[Ask]) -> list[str]:
    """The beginning of each request's key, which tells epochs and stages apart, is the same in every run (a server may
    seed its sampling by it), and unlike a sample's id says nothing about the answer.
    """
    seen: dict[str, int] = {}
    wire_ids = []
    for ask in batch:
        name = ask.request.key[:32]
        seen[name] = seen.get(name, 0) + 1
        wire_ids.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return wire_ids
