"""What is sent to an OpenAI-compatible server and how its replies are read. Pure: nothing is sent from here.

Replies are hostile until read: every type is checked, and what does not fit is an error of that one sample.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_audiobench.audio.clip import PlayedAudio
from pytest_audiobench.audio.wav import Pcm, sent_wav, wav_of_pcm16
from pytest_audiobench.errors import SampleError
from pytest_audiobench.identity import seed
from pytest_audiobench.models.messages import Ask, AudioSlot, Finish, Message, Output, Part, Response

Format: TypeAlias = Literal["wav", "wav-float32"]
Body: TypeAlias = dict[str, Any]

FORMATS: Final = ("wav", "wav-float32")
LONGEST_TEXT: Final = 1_000_000
"""Characters of one answer; a longer one is an error of its sample."""

SPEECH_FORMATS: Final = ("wav", "flac", "mp3", "opus", "pcm16")
"""How a server may be asked to encode its speech: those of the published API that can be read here."""
PCM16_HZ: Final = 24_000
"""The rate of "pcm16", which has no header to say it."""

_PCM: Mapping[Format, Pcm] = {"wav": "int16", "wav-float32": "float32"}
_FINISHES: Mapping[object, Finish] = {"stop": "stop", "length": "length", "content_filter": "refusal"}
_LARGEST_COUNT = 2**53
_SHOWN = 300
_SAYING = ("error", "message", "detail")


class Speech(NamedTuple):
    """How an answer is to be spoken."""

    voice: str
    """One of the server's voices, or the identifier ``voice_…`` of one of the user's."""
    format: str
    """One of ``SPEECH_FORMATS``."""


def wav(heard: PlayedAudio, encoding: Format) -> memoryview:
    """A WAV file of what is played. "wav" rounds to 16 bits, and is exact for clips that came from 16 bits.

    Samples beyond full scale are clipped by "wav" and kept by "wav-float32". Raises AudioError for more than is sent.
    """
    return sent_wav(heard.samples, heard.rate_hz, _PCM[encoding])


def chat_body(ask: Ask, model: str, encoding: Format, *, stream: bool, speech: Speech | None = None) -> Body:
    """The body of a chat completion: text and ``input_audio`` parts in the messages' order.

    ``speech`` says how to speak where that is requested.
    Raises SampleError for audio outside a user's turn, and for texts that cannot be written as UTF-8.
    """
    settings = ask.request.settings
    try:
        for message in ask.request.messages:
            "".join(part for part in message.parts if isinstance(part, str)).encode()
    except UnicodeEncodeError:
        raise SampleError(f"the question of {ask.request.sample_id} holds characters that are none") from None
    body: Body = {
        "model": model,
        "messages": [_turn(message, ask, encoding) for message in ask.request.messages],
        "max_tokens": settings.max_new_tokens,
        "temperature": float(settings.temperature),
        "top_p": float(settings.top_p),
    }
    if settings.temperature != "0":
        body["seed"] = seed("sampling", ask.request.key) % 2**31
    if settings.speech and speech is not None:
        voice: object = {"id": speech.voice} if speech.voice.startswith("voice_") else speech.voice
        body |= {"modalities": ["text", "audio"], "audio": {"voice": voice, "format": speech.format}}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def transcription_body(ask: Ask, model: str, encoding: Format) -> Body:
    """The body of a transcription: one clip, and no prompt. Raises SampleError for more clips or none."""
    if len(ask.audio) != 1:
        raise SampleError(
            f"{ask.request.sample_id} plays {len(ask.audio)} clips, and a transcription endpoint takes one"
        )
    return {
        "model": model,
        "file": ("clip.wav", bytes(wav(ask.audio[0], encoding)), "audio/wav"),
        "response_format": "json",
        "temperature": float(ask.request.settings.temperature),
    }


def chat_response(reply: object, spoken: bool = False) -> Response:
    """The answer in a chat completion, with its audio where it was to be ``spoken``.

    Raises SampleError for a reply without a readable one.
    """
    if not (choices := _field(reply, "choices", list, "the reply")):
        raise SampleError("the server's reply holds no choices")
    message = _field(choices[0], "message", dict, "the choice")
    content, audio = message.get("content"), None
    if spoken:
        content, audio = _without_audio(content)
        # Servers of several models give what each of them said as its own choice.
        audio = next(filter(None, (_audio_of(choice) for choice in choices)), audio)
    text, refused = _text(content)
    reason = choices[0].get("finish_reason")
    finish = _FINISHES.get(reason, "unknown") if isinstance(reason, str) else "unknown"
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        text, refused = text or refusal, True
    if isinstance(audio, dict):
        said = audio.get("transcript")
        text = text if text.strip() or not isinstance(said, str) else said
        text = _response(text, finish, {}).text
        response = Response.spoken(text, _audio_bytes(audio.get("data")), "refusal" if refused else finish)
        return replace(response, usage=usage(reply))
    return _response(text, "refusal" if refused else finish, usage(reply))


def transcription_response(reply: object) -> Response:
    """The transcript in a reply. Raises SampleError where there is none."""
    return _response(_field(reply, "text", str, "the reply"), "stop", usage(reply))


def joined_stream(chunks: Iterable[object]) -> Body:
    """A whole completion from the chunks of a stream. Raises SampleError for an error within it."""
    pieces: dict[str, list[str]] = {"content": [], "refusal": []}
    finish, usage, chosen = None, None, False
    audio: list[bytes] = []
    said: list[str] = []
    for chunk in chunks:
        if not isinstance(chunk, dict):
            raise SampleError("the server's stream holds something other than objects")
        if chunk.get("error"):
            raise SampleError(f"the server broke off its stream: {error_text(chunk)}")
        usage = chunk.get("usage") or usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            continue
        chosen = True
        finish = choices[0].get("finish_reason") or finish
        delta = choices[0].get("delta")
        heard = delta.get("audio") if isinstance(delta, dict) else None
        if isinstance(heard, dict):
            if heard.get("data"):
                audio.append(_audio_bytes(heard["data"], whole=False))
            if isinstance(heard.get("transcript"), str):
                said.append(heard["transcript"])
        for name, texts in pieces.items():
            piece = delta.get(name) if isinstance(delta, dict) else None
            if isinstance(piece, str):
                texts.append(piece)
            elif piece is not None:
                raise SampleError(f"the server's stream holds a {name} that is not text")
    message: Body = {name: "".join(texts) or None for name, texts in pieces.items()}
    if audio:
        message["audio"] = {"data": base64.b64encode(b"".join(audio)).decode(), "transcript": "".join(said)}
    return {"choices": [{"message": message, "finish_reason": finish}] if chosen else [], "usage": usage}


def begins(chunk: object) -> bool:
    """Whether a chunk of a stream holds the first of an answer's text."""
    try:
        delta = chunk["choices"][0]["delta"]  # type: ignore[index]
        return bool(delta.get("content") or (delta.get("audio") or {}).get("transcript"))
    except (TypeError, KeyError, IndexError, AttributeError):
        return False


def begins_audio(chunk: object) -> bool:
    """Whether a chunk of a stream holds audio of the answer."""
    try:
        return bool(chunk["choices"][0]["delta"]["audio"]["data"])  # type: ignore[index]
    except (TypeError, KeyError, IndexError):
        return False


def parsed(text: str) -> object:
    """JSON as it is defined: NaN and infinities are none. Raises SampleError."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise SampleError("the server's reply is not JSON") from None


def usage(reply: object) -> dict[str, int]:
    """Tokens as the reply gives them: prompt_, completion_, total_ and audio_tokens; what is no count is left out."""
    counts = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(counts, dict):
        return {}
    tokens = {
        "prompt_tokens": counts.get("prompt_tokens", counts.get("input_tokens")),
        "completion_tokens": counts.get("completion_tokens", counts.get("output_tokens")),
        "total_tokens": counts.get("total_tokens"),
    }
    details = counts.get("prompt_tokens_details", counts.get("input_token_details"))
    if isinstance(details, dict):
        tokens["audio_tokens"] = details.get("audio_tokens")
    return {name: n for name, n in tokens.items() if type(n) is int and 0 <= n < _LARGEST_COUNT}


def error_text(reply: object, clean: Callable[[str], str] = str) -> str:
    """What an error's body says, in one short line. ``clean`` sees the text before it is cut."""
    content = reply
    while isinstance(content, dict) and any(name in content for name in _SAYING):
        content = next(content[name] for name in _SAYING if name in content)
    text = clean(content if isinstance(content, str) else json.dumps(content, default=str) if content else "")
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _SHOWN]).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _turn(message: Message, ask: Ask, encoding: Format) -> Body:
    if not any(isinstance(part, AudioSlot) for part in message.parts):
        return {"role": message.role, "content": "".join(str(part) for part in message.parts)}
    if message.role != "user":
        raise SampleError(f"{ask.request.sample_id} plays audio in a {message.role} turn, which no such server takes")
    return {"role": "user", "content": [_part(part, ask, encoding) for part in message.parts]}


def _part(part: str | AudioSlot, ask: Ask, encoding: Format) -> Body:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = base64.b64encode(wav(ask.audio[part.clip], encoding)).decode("ascii")
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def _audio_of(choice: object) -> Mapping[str, Any] | None:
    message = choice.get("message") if isinstance(choice, dict) else None
    audio = message.get("audio") if isinstance(message, dict) else None
    return audio if isinstance(audio, dict) and audio.get("data") else None


def _without_audio(content: object) -> tuple[object, Mapping[str, Any] | None]:
    """The parts of a message that are not audio, and the one that is, with its data and what it says of its words."""
    if not isinstance(content, list):
        return content, None
    kinds = [part.get("type") if isinstance(part, dict) else None for part in content]
    audio = [part[kind] for part, kind in zip(content, kinds, strict=True) if kind in _AUDIO and kind in part]
    if len(audio) > 1:
        raise SampleError(f"the server's answer holds {len(audio)} parts of audio, and one is heard")
    rest = [part for part, kind in zip(content, kinds, strict=True) if kind not in _AUDIO]
    if not audio or not isinstance(audio[0], dict):
        return rest, None
    url = audio[0].get("url")
    if isinstance(url, str) and url.startswith("data:audio/"):
        return rest, {"data": url.partition("base64,")[2]}
    return rest, audio[0]


_AUDIO = ("audio", "output_audio", "audio_url")
"""The types of parts that hold audio, each under its type's name."""


def _audio_bytes(data: object, whole: bool = True) -> bytes:
    """The bytes that base64 text stands for; a ``whole`` file, samples without a header as a WAV file."""
    try:
        audio = binascii.a2b_base64(data, strict_mode=True) if isinstance(data, str) else b""
    except ValueError as error:
        raise SampleError(f"the audio of the server's answer is not base64 ({error})") from None
    if not audio:
        raise SampleError("the server's answer holds audio without any data")
    is_file = not whole or audio[:4] in _FILES or audio[:3] == b"ID3" or audio[:2] in _MPEG
    return audio if is_file else wav_of_pcm16(audio, PCM16_HZ)


_FILES = (b"RIFF", b"fLaC", b"OggS")
_MPEG = (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")


def _text(content: object) -> tuple[str, bool]:
    if content is None:
        return "", False
    if isinstance(content, str):
        return content, False
    if not isinstance(content, list):
        raise SampleError(f"the server's answer is a {type(content).__name__}, not a text")
    texts, refused = [], False
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        piece = part.get(kind) if kind in ("text", "refusal") else None
        if not isinstance(piece, str):
            raise SampleError(f"the server's answer holds a part of type {str(kind)[:40]!r}, not a text")
        texts.append(piece)
        refused = refused or kind == "refusal"
    return "".join(texts), refused


def _response(text: str, finish: Finish, usage: Mapping[str, int]) -> Response:
    if len(text) > LONGEST_TEXT:
        raise SampleError(f"the server's answer has {len(text)} characters, over the {LONGEST_TEXT} that are read")
    return Response((Output((Part("text", text),), finish),), usage)


def _field(holder: object, name: str, kind: type, what: str) -> Any:
    value = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(value, kind):
        raise SampleError(
            f"{what} of the server holds no {name} of type {kind.__name__}"
            + (f": {error_text(holder)}" if isinstance(holder, dict) and holder.get("error") else "")
        )
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")
