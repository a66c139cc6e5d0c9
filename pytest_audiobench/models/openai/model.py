"""Models behind OpenAI-compatible servers: chat completions with ``input_audio``, and transcriptions.

httpx is imported by :meth:`OpenAIModel.load` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar, cast, get_args

from pytest_audiobench.errors import FatalError, InfrastructureError, UsageError, install_command
from pytest_audiobench.models.messages import TASKS, Ask, Response
from pytest_audiobench.models.model import Hearing, Limits, Reply, awaited, missing_library
from pytest_audiobench.models.openai.dialogue import DISCOUNT, Api, Dialogue, Prices
from pytest_audiobench.models.openai.wire import FORMATS, SPEECH_FORMATS, Format, Speech
from pytest_audiobench.models.predictions_v1.audio_check import find_hearing
from pytest_audiobench.models.remote.api_keys import find_key, refusal
from pytest_audiobench.models.remote.budget import Budget
from pytest_audiobench.models.remote.endpoint import Endpoint
from pytest_audiobench.models.run_server.url import check_address
from pytest_audiobench.models.spec import check_options, number, one_of, pinned_revision, written

if TYPE_CHECKING:
    from pytest_audiobench.models.openai.batch_jobs import BatchJobs, JobNotes
    from pytest_audiobench.models.openai.client import Client
    from pytest_audiobench.models.openai.requests_loop import Questioner, Spending

ADAPTER = "openai/1"
OPENAI = "https://api.openai.com/v1"
PRICES = ("price_in", "price_audio", "price_out")
OPTIONS = (
    *("api", "base_url", "concurrency", "format", "key_env", "patience_s", "price", *PRICES),
    *("probe", "rate", "revision", "serve", "stream", "timeout_s", "voice", "voice_format"),
)

_BATCHES = 8
"""Batches that are asked at once, each of as many requests as may be on their way: the next ones take the turns that
the last requests of a batch leave, also where a few of them take long.
"""
_JOBS_IN_FLIGHT = 100_000
"""All are left with the provider before the first is waited for."""
_JOB_REQUESTS, _JOB_S = 1_500, 900.0
"""What one job holds: its file stays far below the 200 MB that the published API takes."""
_TYPICAL_S = 30.0
_MOST_CLIPS = 64
_YES_NO = ("yes", "no")

C = TypeVar("C", bound=str)


class OpenAIModel:
    """``openai:MODEL``, a model by the name that its server knows it by.

    Options: ``base_url`` (default OpenAI's) or ``serve`` (the command by which the run starts the server), ``api``
    (chat or transcriptions), ``concurrency`` (most requests at once, 16), ``timeout_s`` (for one request, 120),
    ``patience_s`` (with a server that refuses or is away, 60), ``rate`` (of the audio in Hz, 16000), ``format`` (wav
    with 16 bits, or wav-float32), ``stream=yes`` (to measure the time to the first token), ``key_env`` (the variable
    that holds the key), ``price_in``, ``price_audio``, ``price_out`` (USD per million tokens), ``probe=no`` (no proof
    of hearing at load), ``price=batch`` (by the server's batch API at half of those prices: a later run collects),
    ``revision`` (what its user calls the weights behind the name), ``voice`` (in which it speaks where speech is
    wanted), ``voice_format`` (of that speech: wav, and pcm16 in a stream).
    """

    batching: Literal["planned", "opaque"] = "opaque"
    listens = True
    device = "server"

    def __init__(self, target: str, options: Mapping[str, str] | None = None) -> None:
        """Raises UsageError for an unknown option, or a value that none can have."""
        options = dict(options or {})
        check_options("openai", options, OPTIONS)
        check_address("openai", "", options)
        self._endpoint = Endpoint.of(options.get("base_url", OPENAI))
        self.spec = written("openai", target, options)
        self._target, self._key_env = target, options.get("key_env")
        self._api: Api = _one_of(options, "api", cast(tuple[Api, ...], get_args(Api)))
        self._format: Format = _one_of(options, "format", FORMATS)
        self._stream = _one_of(options, "stream", ("no", "yes")) == "yes"
        self._probe = _one_of(options, "probe", _YES_NO) == "yes"
        if self._stream and self._api == "transcriptions":
            raise UsageError("stream=yes is for api=chat; a transcription comes as a whole")
        self._is_batch = _one_of(options, "price", ("request", "batch")) == "batch"
        if self._is_batch and (self._stream or self._api == "transcriptions"):
            raise UsageError("price=batch is for api=chat without stream=yes: nothing else goes by the batch API")
        self._speech = _speech(options, self._api, self._stream)
        self._concurrency = int(number("openai", options, "concurrency", 16, least=1, whole=True))
        self._timeout_s = number("openai", options, "timeout_s", 120.0, least=0.1)
        self._patience_s = number("openai", options, "patience_s", 60.0, least=0.0)
        self._rate_hz = int(number("openai", options, "rate", 16_000, least=1_000, whole=True))
        self._prices = _prices(options)
        self._revision = pinned_revision("openai", options)
        self.is_mere_name = self._revision is None
        self._budget: Budget | None = None
        self._client: Client | None = None
        self._questioner: Questioner | BatchJobs | None = None
        self.part_store: Callable[[], JobNotes] | None = None
        self.asked_anew: Callable[[], bool] = bool
        self._gone = False
        self.hearing: Hearing | None = None
        self.served_by: str | None = None
        """The digest of the command by which the run starts the server, None for a server of others."""

    def cost_usd(self, usage: Mapping[str, int]) -> float | None:
        """What a request of that usage cost; None without prices, and where it says too little."""
        told_usd = self._prices.told_usd(usage) if self._prices else None
        return told_usd * DISCOUNT if told_usd is not None and self._is_batch else told_usd

    @property
    def in_flight(self) -> int:
        return _JOBS_IN_FLIGHT if self._is_batch else _BATCHES

    @property
    def hands_over(self) -> bool:
        """Whether nothing of a batch is needed here once it was started."""
        return self._is_batch

    @property
    def limits(self) -> Limits:
        batch = self._concurrency
        typed = self._api == "transcriptions"
        return Limits(
            max_batch=_JOB_REQUESTS if self._is_batch else batch,
            max_batch_s=_JOB_S if self._is_batch else batch * _TYPICAL_S,
            rate_hz=self._rate_hz,
            min_clips=1 if typed else 0,
            max_clips=1 if typed else _MOST_CLIPS,
            tasks=("transcription",) if typed else TASKS,
            speaks=self._speech is not None,
        )

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the server is, None for the run's own."""
        return self._endpoint if self.served_by is None else None

    @property
    def budget(self) -> Budget | None:
        """What may be spent, None for no bounds. Raises UsageError when costs are capped and prices unknown."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget | None) -> None:
        if budget is not None and budget.max_cost_usd is not None and self._prices is None:
            raise UsageError(
                f"--ab-max-cost needs the prices of openai:{self._target}: add ,price_in=…,price_audio=…,price_out=… "
                "to the model, in USD per million tokens (0 for your own server)"
            )
        self._budget = budget

    def fingerprint(self) -> Mapping[str, str]:
        """The model's and its server's names, and what is done to the audio; not how it is asked in time.

        A server that the run starts is named by its command, since its port is another in every run.
        """
        return {
            "adapter": ADAPTER,
            "model": self._target,
            "endpoint": self._endpoint.identity if self.served_by is None else f"served by {self.served_by}",
            "api": self._api,
            "encoding": "WAV, 16-bit PCM" if self._format == "wav" else "WAV, 32-bit float",
            **({} if self._revision is None else {"revision": self._revision}),
            **({} if self._speech is None else {"speech": ", ".join(self._speech)}),
        }

    def missing_parts(self) -> str:
        """What asking lacks, with the remedy: a library, or the key; "" for nothing."""
        return missing_library({"httpx": "openai"}) or refusal(partial(find_key, self._endpoint, self._key_env))

    def load(self) -> None:
        """Find the key, and prove that audio arrives where the server reports usage.

        Raises UsageError for a key that is absent or open to others, FatalError when httpx is absent,
        the environment's proxy is of no use, the server refuses, or its prompts do not grow with audio.
        """
        if self._questioner is not None:
            return
        key = find_key(self._endpoint, self._key_env)
        try:
            import httpx  # noqa: F401
        except ImportError as error:
            raise FatalError(f"{self.spec} needs {error.name}: {install_command('openai')}") from None
        from pytest_audiobench.models.openai.client import Client
        from pytest_audiobench.models.openai.requests_loop import Questioner, Spending

        client = Client(self._endpoint, key, self._target, self._timeout_s)
        dialogue = Dialogue(
            client,
            key,
            model=self._target,
            api=self._api,
            encoding=self._format,
            stream=self._stream,
            speech=self._speech,
        )
        self._client = client
        spending = Spending(self._budget, self._prices) if self._budget else None
        if self._is_batch:
            self._questioner = self._batch_jobs(client, dialogue, spending)
        else:
            self._questioner = Questioner(
                dialogue,
                concurrency=self._concurrency,
                timeout_s=self._timeout_s,
                patience_s=self._patience_s,
                spending=spending,
            )
        self._questioner.gone = self._gone
        try:
            self.hearing = self.hearing or self._probe_hearing(self._questioner.begin)
        except BaseException:
            self.close()
            raise

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One response for each element; what was answered before a server failed is always handed over."""
        return awaited(self.begin(batch))

    def begin(self, batch: Sequence[Ask]) -> Reply:
        """As :meth:`ask`; of all batches together ``concurrency`` requests are on their way."""
        if self._api == "transcriptions":
            other = next((ask.request for ask in batch if ask.request.task != "transcription"), None)
            if other is not None:
                raise FatalError(
                    f"{self.spec} only transcribes, and {other.dataset} asks for another thing "
                    f"({other.task}); select transcription evals, or ask a chat model"
                )
        self.load()
        if self._is_batch and self._is_openai and any(ask.audio for ask in batch):
            raise FatalError(
                f"{self.spec} cannot be played audio with price=batch: OpenAI documents its audio models as not "
                "supported by v1/batch. Ask it without price=batch; judges, which read text, may have it"
            )
        assert self._questioner is not None
        return self._questioner.begin(batch)

    def close(self) -> None:
        if self._questioner is not None and self._client is not None:
            self._gone = self._questioner.gone
            self._questioner.close(self._client.close)
        self._questioner = self._client = None

    def _batch_jobs(self, client: Client, dialogue: Dialogue, spending: Spending | None) -> BatchJobs:
        from pytest_audiobench.models.openai.batch_jobs import BatchJobs

        if self.part_store is None:
            raise FatalError(f"{self.spec} needs a run with a store, where its batch jobs are noted")
        if self._is_openai:
            dialogue.limits_by_new_name()
        return BatchJobs(
            client,
            dialogue,
            owner=(self._endpoint.identity, self._target),
            notes=self.part_store(),
            patience_s=self._patience_s,
            spending=spending,
            fresh=self.asked_anew,
        )

    @property
    def _is_openai(self) -> bool:
        return f".{self._endpoint.host}".endswith(".openai.com")

    def _probe_hearing(self, begin: Callable[[Sequence[Ask]], Reply]) -> Hearing:
        if self._is_batch:
            return Hearing("unproven", "price=batch: a proof would wait as long as the answers")
        if self._api == "transcriptions":
            return Hearing("unproven", "a transcription endpoint cannot be asked without audio")
        if not self._probe:
            return Hearing("unproven", "probe=no")
        counted = 0

        def answer(probe: Ask) -> Response:
            nonlocal counted
            if counted:
                return Response(error="not asked: enough is known")
            response = awaited(begin([probe]))[0]
            if probe.audio and response.error is not None:
                raise InfrastructureError(f"{self.spec} cannot be asked about a few seconds of sound: {response.error}")
            counted = response.usage.get("audio_tokens", 0) if probe.audio else 0
            return response

        hearing = find_hearing(self.spec, answer, self._rate_hz, placeholder="", counts=True)
        if counted:
            return Hearing("proven", f"the server counts {counted} audio tokens for a few seconds of sound")
        return hearing


def _prices(options: Mapping[str, str]) -> Prices | None:
    given = [name for name in PRICES if name in options]
    if given and len(given) < len(PRICES):
        missing = next(name for name in PRICES if name not in options)
        raise UsageError(f"{given[0]} is given and {missing} is not; give {', '.join(PRICES)} together")
    if not given:
        return None
    text, audio, output = (number("openai", options, name, 0.0, least=0.0) for name in PRICES)
    return Prices(text, audio, output)


def _speech(options: Mapping[str, str], api: Api, stream: bool) -> Speech | None:
    voice, formats = options.get("voice", ""), ("pcm16",) if stream else SPEECH_FORMATS
    if not voice:
        if "voice" in options or "voice_format" in options:
            raise UsageError("voice_format=… needs a voice that speaks: add voice=NAME")
        return None
    if api == "transcriptions":
        raise UsageError("voice=… is for api=chat; a transcription is not speech")
    return Speech(voice, _one_of(options, "voice_format", formats))


def _one_of(options: Mapping[str, str], key: str, values: Sequence[C]) -> C:
    return cast(C, one_of("openai", options, key, values) or values[0])
