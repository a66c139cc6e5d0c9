"""The OpenAI shape of a question and of its answer: chat completions and transcriptions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_audiobench.errors import SampleError
from pytest_audiobench.models.messages import AudioSlot, Finish, Message, Response
from pytest_audiobench.serving.audio_in import unpacked
from pytest_audiobench.serving.questions import Question, Sound, Tasks, kind, question, text

INSTRUCTION = "Transcribe the speech."
"""What a language model is told when it is sent a clip to transcribe; the words of our own transcription evals."""

FORMATS = ("wav", "mp3", "flac")

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
    "modalities": (["text"],),
    "audio": (),
}
"""Parameters that would change the answer, with the values at which they do not."""


def chat_question(body: Any, call: str, tasks: Tasks) -> Question:
    """The question of a chat completion. Raises SampleError for what cannot be asked as it stands."""
    if not isinstance(body, dict):
        raise SampleError(f"the body is {kind(body)}, not an object")
    for name, idle in _IDLE.items():
        if body.get(name) is not None and body[name] not in idle:
            raise SampleError(f"{name} is not supported; leave it out")
    turns = body.get("messages")
    if not isinstance(turns, list) or not turns:
        raise SampleError("messages is no list, or empty")
    sounds: list[Sound] = []
    messages = [_turn(i, turn, sounds) for i, turn in enumerate(turns)]
    tokens = body.get("max_completion_tokens")
    config = {**body, "max_tokens": body.get("max_tokens") if tokens is None else tokens, "max_length_seconds": None}
    return question(call, messages, sounds, config, tasks)


def transcription_question(file: bytes, form: Mapping[str, str], call: str, tasks: Tasks) -> Question:
    """The question of a transcription. Raises SampleError for settings that are none."""
    try:
        temperature = float(form.get("temperature") or 0)
    except ValueError:
        raise SampleError(f"temperature is {form['temperature'][:40]!r}, not a number") from None
    words = (AudioSlot(0), text(form.get("prompt") or INSTRUCTION, "prompt"))
    config = {"task": "transcription", "temperature": temperature}
    return question(call, [Message("user", words)], [Sound("bytes", file)], config, tasks)


def completion(response: Response, model: str, call: str) -> dict[str, Any]:
    """The answer to a chat completion."""
    message = {"role": "assistant", "content": response.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[response.finish]}
    return {**_head("chat.completion", response, model, call), "choices": [choice], "usage": usage(response)}


def chunks(response: Response, model: str, call: str, with_usage: bool) -> Iterator[str]:
    """The same as server-sent events: the whole answer in one, its end in another."""
    head = _head("chat.completion.chunk", response, model, call)
    for delta, finish in [({"role": "assistant", "content": response.text}, None), ({}, _FINISH[response.finish])]:
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
