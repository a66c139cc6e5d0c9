"""The OpenAI shape of a question and of its answer: chat completions and transcriptions."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_audiobench.audio.decode import decode_bytes
from pytest_audiobench.audio.wav import WAV_HEADER_BYTES, encoding_of, wav_bytes
from pytest_audiobench.errors import SampleError
from pytest_audiobench.models.messages import AudioSlot, Finish, Message, Response
from pytest_audiobench.models.openai.wire import PCM16_HZ, SPEECH_FORMATS
from pytest_audiobench.serving.audio_in import unpacked
from pytest_audiobench.serving.questions import Question, Sound, Tasks, kind, question, text

INSTRUCTION = "Transcribe the speech."
"""What a language model gets when it is sent a clip to transcribe; the words of our own transcription evals."""

FORMATS = ("wav", "mp3", "flac")

_PIECE_BYTES = 48_000
_MOST_VALUES = 2 * 48_000 * 1800

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_FINISH: Mapping[Finish, str] = {"stop": "stop", "length": "length", "refusal": "content_filter", "unknown": "stop"}
_IDLE: Mapping[str, Sequence[Any]] = {
    "n": (1,),
    "stop": ([],),
    "tools": ([],),
    "functions": ([],),
    "logprobs": (False,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
    "modalities": (["text"], ["text", "audio"], ["audio", "text"], ["audio"]),
}
"""Parameters that would change the answer, with the values at which they do not."""


def chat_question(body: Any, call: str, tasks: Tasks, speaks: bool = False) -> Question:
    """The question of a chat completion, of a model that ``speaks`` maybe. Raises SampleError for what cannot be asked
    as it stands.
    """
    if not isinstance(body, dict):
        raise SampleError(f"the body is {kind(body)}, not an object")
    for name, idle in _IDLE.items():
        if body.get(name) is not None and body[name] not in idle:
            raise SampleError(f"{name} is not supported; leave it out")
    turns = body.get("messages")
    if not isinstance(turns, list) or not turns:
        raise SampleError("messages is not a list, or empty")
    sounds: list[Sound] = []
    messages = [_turn(i, turn, sounds) for i, turn in enumerate(turns)]
    tokens = body.get("max_completion_tokens")
    config = {**body, "max_tokens": body.get("max_tokens") if tokens is None else tokens, "max_length_seconds": None}
    asked = question(call, messages, sounds, config, tasks)
    if not speech_format(body):
        return asked
    if not speaks:
        raise SampleError("modalities has audio, and the model answers in text alone; leave it out")
    return replace(asked, settings=replace(asked.settings, speech=True))


def speech_format(body: Any) -> str:
    """How the answer's speech is to be encoded; "" where none is requested. Raises SampleError for unknown ones.

    The model has the voice that it has, whatever the name of the one that is asked for.
    """
    if "audio" not in (body.get("modalities") or ()):
        return ""
    audio = body.get("audio")
    if not isinstance(audio, dict) or audio.get("format") not in SPEECH_FORMATS or not audio.get("voice"):
        raise SampleError(f"audio has a voice and a format among {', '.join(SPEECH_FORMATS)}")
    if body.get("stream") and audio["format"] != "pcm16":
        raise SampleError("audio.format of a stream is pcm16")
    return str(audio["format"])


def spoken(response: Response, encoding: str) -> bytes | None:
    """The audio of an answer in that encoding, the model's own bytes where it is theirs; None where it has none.

    Raises SampleError for an encoding that it cannot be given in, and for audio that cannot be read.
    """
    if (sound := response.sound) is None:
        return None
    own = {"ogg": "opus"}.get(encoding_of(sound.data), encoding_of(sound.data))
    if own == encoding:
        return sound.data
    if encoding not in ("wav", "pcm16"):
        raise SampleError(f"the model's audio is {own}: ask for that, for wav or for pcm16")
    played = decode_bytes("the answer's audio", sound.data, PCM16_HZ, None, _MOST_VALUES)
    file = bytes(wav_bytes(played.samples, PCM16_HZ))
    return file if encoding == "wav" else file[WAV_HEADER_BYTES:]


def transcription_question(file: bytes, form: Mapping[str, str], call: str, tasks: Tasks) -> Question:
    """The question of a transcription. Raises SampleError for settings that are none."""
    try:
        temperature = float(form.get("temperature") or 0)
    except ValueError:
        raise SampleError(f"temperature is {form['temperature'][:40]!r}, not a number") from None
    words = (AudioSlot(0), text(form.get("prompt") or INSTRUCTION, "prompt"))
    config = {"task": "transcription", "temperature": temperature}
    return question(call, [Message("user", words)], [Sound("bytes", file)], config, tasks)


def completion(response: Response, model: str, call: str, audio: bytes | None = None) -> dict[str, Any]:
    """The answer to a chat completion, with its ``audio`` where that was requested."""
    message: dict[str, Any] = {"role": "assistant", "content": response.text, "refusal": None}
    if audio is not None:
        data = base64.b64encode(audio).decode()
        message |= {"content": None, "audio": {**_audio_head(call), "data": data, "transcript": response.text}}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[response.finish]}
    return {**_head("chat.completion", response, model, call), "choices": [choice], "usage": usage(response)}


def chunks(response: Response, model: str, call: str, with_usage: bool, audio: bytes | None = None) -> Iterator[str]:
    """The same as server-sent events: the whole answer in one, its end in another."""
    head = _head("chat.completion.chunk", response, model, call)
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": response.text}, None)]
    if audio is not None:
        about = _audio_head(call)
        said = {"id": about["id"], "transcript": response.text}
        pieces = (audio[start : start + _PIECE_BYTES] for start in range(0, len(audio), _PIECE_BYTES))
        heard = [{"id": about["id"], "data": base64.b64encode(piece).decode()} for piece in pieces]
        deltas = [({"role": "assistant", "audio": said}, None), *(({"audio": each}, None) for each in heard)]
        deltas.append(({"audio": {"expires_at": about["expires_at"]}}, None))
    for delta, finish in [*deltas, ({}, _FINISH[response.finish])]:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})
    if with_usage:
        yield _event({**head, "choices": [], "usage": usage(response)})
    yield "data: [DONE]\n\n"


def usage(response: Response) -> dict[str, int] | None:
    """Tokens as the model counts them; None where it does not count both: OpenAI's shape knows no unknown count."""
    prompt, completion = (response.usage.get(key) for key in ("prompt_tokens", "completion_tokens"))
    return None if prompt is None or completion is None else {**response.usage, "total_tokens": prompt + completion}


def models(names: Sequence[str]) -> dict[str, Any]:
    """What /v1/models lists."""
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": "pytest-audiobench"} for name in names]
    return {"object": "list", "data": rows}


def failure(message: str, status: int) -> dict[str, Any]:
    """An error in the shape that OpenAI's clients read."""
    kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    what = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": what, "param": None, "code": status}}


def _audio_head(call: str) -> dict[str, Any]:
    # Nothing of an answer is kept here: its audio cannot be named in a later turn.
    return {"id": f"audio_{call.removeprefix('chatcmpl-')}", "expires_at": int(time.time())}


def _head(what: str, response: Response, model: str, call: str) -> dict[str, Any]:
    cut = {"audio_truncated_ms": round(1000 * sum(response.truncated_s))} if response.truncated_s else {}
    return {"id": call, "object": what, "created": int(time.time()), "model": model, **cut}


def _turn(position: int, turn: Any, sounds: list[Sound]) -> Message:
    name = f"messages[{position}]"
    if not isinstance(turn, dict):
        raise SampleError(f"{name} is {kind(turn)}, not an object")
    if (role := _ROLES.get(str(turn.get("role")))) is None:
        raise SampleError(f"{name}.role is {str(turn.get('role'))[:40]!r}; it may be {', '.join(_ROLES)}")
    content = turn.get("content")
    pieces = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(pieces, list):
        raise SampleError(f"{name}.content is {kind(content)}, neither a text nor a list of parts")
    parts = tuple(_part(f"{name}.content[{i}]", piece, sounds) for i, piece in enumerate(pieces))
    return Message(role, tuple(part for part in parts if part != ""))  # type: ignore[arg-type]


def _part(name: str, piece: Any, sounds: list[Sound]) -> str | AudioSlot:
    sort = piece.get("type") if isinstance(piece, dict) else None
    if sort == "text":
        return text(piece.get("text"), f"{name}.text")
    if sort != "input_audio":
        raise SampleError(f"{name} is neither text nor input_audio")
    audio = piece.get("input_audio")
    if not isinstance(audio, dict) or audio.get("format") not in FORMATS:
        raise SampleError(f"{name}.input_audio has data (base64) and a format among {', '.join(FORMATS)}")
    sounds.append(Sound("bytes", unpacked(name, text(audio.get("data"), f"{name}.input_audio.data"))))
    return AudioSlot(len(sounds) - 1)


def _event(payload: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(payload)}\n\n"
