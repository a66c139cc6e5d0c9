"""How one request is sent to an OpenAI-compatible server, how its reply is read, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.models.messages import Ask, Output, Part, Response
from pytest_audiobench.models.openai import wire
from pytest_audiobench.models.openai.client import Client, Reply
from pytest_audiobench.models.remote.api_keys import Key

Api: TypeAlias = Literal["chat", "transcriptions"]

DISCOUNT = 0.5
"""What OpenAI and Groq say that a request of a batch job costs, of its price otherwise."""
AUDIO_TOKENS_PER_S = 50
"""The most tokens that a second of audio is taken to cost before it is known: 10 to 50 are published."""
_TOKENS_PER_PART = 64
"""A template's own tokens around a message or a clip, also before it is known."""
_OLD_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"


class Prices(NamedTuple):
    """USD per million tokens: of text in the prompt, of audio in the prompt, of output."""

    text_usd: float
    audio_usd: float
    output_usd: float

    def worst_usd(self, ask: Ask) -> float:
        """The most that one request may cost: a token for each byte of text, all new tokens that are allowed."""
        texts = [part for message in ask.request.messages for part in message.parts if isinstance(part, str)]
        text = sum(len(text.encode(errors="replace")) for text in texts)
        text += _TOKENS_PER_PART * len(ask.request.messages)
        audio = sum(_TOKENS_PER_PART + AUDIO_TOKENS_PER_S * clip.duration_s for clip in ask.audio)
        output = ask.request.settings.max_new_tokens
        return (text * self.text_usd + audio * self.audio_usd + output * self.output_usd) / 1e6

    def told_usd(self, usage: Mapping[str, int]) -> float | None:
        """What a request with audio cost by its usage; None where that says too little."""
        prompt, output = _tokens(usage)
        return self._usd(prompt, usage.get("audio_tokens", 0), output) if prompt and output else None

    def cost_usd(self, ask: Ask, usage: Mapping[str, int]) -> float:
        """What a request cost by its usage; the worst where that says too little.

        Where nothing tells the output, it is all that was allowed.
        """
        prompt, output = _tokens(usage)
        output = output or ask.request.settings.max_new_tokens
        if not prompt:
            return self.worst_usd(ask)
        if not ask.audio:
            return (prompt * self.text_usd + output * self.output_usd) / 1e6
        return self._usd(prompt, usage.get("audio_tokens", 0), output)

    def _usd(self, prompt: int, audio: int, output: int) -> float:
        """Prompt tokens of unknown kind (``audio`` of 0) are taken to be of the dearer kind."""
        audio_usd = self.audio_usd if audio else max(self.audio_usd, self.text_usd)
        audio = min(prompt, audio or prompt)
        return (audio * audio_usd + (prompt - audio) * self.text_usd + output * self.output_usd) / 1e6


def _tokens(usage: Mapping[str, int]) -> tuple[int, int]:
    """Tokens of prompt and output; 0 says nothing: servers that do not count write it.

    Tokens that are only in the total (a model's thoughts) are output.
    """
    prompt = usage.get("prompt_tokens", 0)
    told = usage.get("total_tokens", 0) - prompt if prompt else 0
    return prompt, max(usage.get("completion_tokens", 0), told, 0)


class Dialogue:
    """One model behind one endpoint of a server."""

    def __init__(
        self,
        client: Client,
        key: Key | None,
        *,
        model: str,
        api: Api,
        encoding: wire.Format,
        stream: bool,
        speech: wire.Speech | None = None,
    ) -> None:
        self._client, self._key, self._speech = client, key, speech
        self._model, self._api, self._encoding, self._stream = model, api, encoding, stream
        self._limit_name = _OLD_LIMIT

    def body(self, ask: Ask) -> wire.Body:
        """What is sent. Raises SampleError for what this endpoint cannot be asked."""
        if self._api == "transcriptions":
            return wire.transcription_body(ask, self._model, self._encoding)
        return wire.chat_body(ask, self._model, self._encoding, stream=self._stream, speech=self._speech)

    async def exchange(self, body: wire.Body) -> Reply:
        """Send it once. Raises as :meth:`Client.chat`."""
        self.name_limit(body)
        return await (self._client.chat(body) if self._api == "chat" else self._client.transcription(body))

    def read(self, reply: Reply, ask: Ask) -> Response:
        """The answer to ``ask``. Raises SampleError for a reply that holds none."""
        if self._api == "chat":
            response = wire.chat_response(
                reply.content, spoken=ask.request.settings.speech and self._speech is not None
            )
        else:
            response = wire.transcription_response(reply.content)
        if self._key and self._key.scrubbed_answer(response.text) != response.text:
            text = Part("text", self._key.scrubbed_answer(response.text))
            audio = (part for part in response.outputs[0].parts if part.kind == "audio")
            response = replace(response, outputs=(Output((text, *audio), response.finish),))
        return replace(
            response,
            latency_s=reply.latency_s,
            first_token_s=reply.first_token_s,
            first_audio_s=reply.first_audio_s,
        )

    def name_limit(self, body: wire.Body) -> None:
        """Call the limit of tokens in ``body`` what the server wants it called, as far as is known."""
        if self._limit_name != _OLD_LIMIT and _OLD_LIMIT in body:
            body[self._limit_name] = body.pop(_OLD_LIMIT)

    def limits_by_new_name(self) -> None:
        """Call the limit of tokens what newer models want it called, where no try can show which."""
        self._limit_name = _NEW_LIMIT

    def adapts(self, rejection: str, body: wire.Body) -> bool:
        """Whether a rejected request is worth one more try: newer models want another name for the limit of tokens."""
        if _OLD_LIMIT not in body or _NEW_LIMIT not in rejection:
            return False
        self._limit_name = _NEW_LIMIT
        return True
