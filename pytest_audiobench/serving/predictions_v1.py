"""The predictions_v1 contract: from a body to questions, and from responses to a body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_audiobench.errors import SampleError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.models.predictions_v1.request import PLACEHOLDER, SCHEMA
from pytest_audiobench.serving.admission import Refused
from pytest_audiobench.serving.audio_in import payload_types
from pytest_audiobench.serving.options import ServeOptions
from pytest_audiobench.serving.questions import Question, Sound, Tasks, kind, question, text
from pytest_audiobench.serving.served_model import Answered, ServedModel

_ENVELOPE = {"schema_version", "requests"}
_ITEM = {"sample_id", "messages", "audio_inputs", "generation_config"}
_MESSAGE = {"role", "content"}
_AUDIO = {"payload_type", "data", "sample_rate"}
_ROLES = ("system", "user", "assistant")
_LIMITS = ("max_batch_s", "rate_hz", "max_clip_s", "min_clips", "max_clips", "tasks", "chunked_tasks")


class Item(NamedTuple):
    """One request of a call: its question, or why it is none."""

    sample_id: str
    question: Question | None
    error: str | None = None


def items(body: Any, lifted: Mapping[str, bytes], limits: Limits, options: ServeOptions) -> list[Item]:
    """The call's items in order. A bad item is its own error; raises Refused where the call as a whole is bad.

    ``lifted`` holds the bytes of base64 values that the body names by a short text.
    """
    if not isinstance(body, dict):
        raise Refused(400, f"the body is {kind(body)}, not an object")
    if body.get("schema_version") != SCHEMA:
        raise Refused(400, f"schema_version is {str(body.get('schema_version'))[:40]!r}; this server speaks {SCHEMA}")
    if unknown := body.keys() - _ENVELOPE:
        raise Refused(400, f"{sorted(unknown)[0][:40]!r} is not a key of {SCHEMA}")
    requests = body.get("requests")
    if not isinstance(requests, list):
        raise Refused(400, f"requests is {kind(requests)}, not a list")
    if len(requests) > limits.max_batch:
        raise Refused(413, f"{len(requests)} requests in one call; max_batch_size is {limits.max_batch}")
    ids = [_sample_id(position, request) for position, request in enumerate(requests)]
    if len(set(ids)) < len(ids):
        repeated = next(sample_id for sample_id in ids if ids.count(sample_id) > 1)
        raise Refused(400, f"sample_id {repeated[:80]!r} stands twice in one call")
    pairs = zip(ids, requests, strict=True)
    return [_item(sample_id, request, lifted, options, limits.tasks) for sample_id, request in pairs]


def response(sample_id: str, model_response: Response, took_s: float) -> dict[str, Any]:
    """One item of the answer. ``took_s`` stands for latency where the model does not report its own."""
    usage: dict[str, int] = dict(model_response.usage)
    if model_response.truncated_s:
        usage["audio_truncated_ms"] = round(1000 * sum(model_response.truncated_s))
    return {
        "sample_id": sample_id,
        "predictions": [output.text for output in model_response.outputs],
        "finish_reason": None if model_response.finish == "unknown" else model_response.finish,
        "usage": usage or None,
        "latency_sec": round(took_s if model_response.latency_s is None else model_response.latency_s, 6),
        "error": model_response.error,
    }


def envelope(responses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer to a call."""
    return {"schema_version": SCHEMA, "responses": responses}


def info(served: ServedModel, options: ServeOptions, name: str) -> dict[str, Any]:
    """What /info says; beyond the contract's keys: fingerprint, is_mere_name, limits, batching and hearing."""
    limits, model = served.limits, served.model
    hearing = getattr(model, "hearing", None)
    return {
        "name": name,
        "model": model.spec,
        "model_revision": served.revision,
        "audio_payload_types": list(payload_types(options)),
        "max_batch_size": limits.max_batch,
        "supports_batching": limits.max_batch > 1,
        "schema_versions": [SCHEMA],
        "load_status": served.load_status,
        "loading_stage": "weights" if served.load_status == "loading" else "",
        "loading_elapsed_sec": round(served.loading_elapsed_s, 3),
        "last_error": served.last_error,
        "fingerprint": served.fingerprint,
        "is_mere_name": bool(getattr(model, "is_mere_name", False)),
        "batching": model.batching,
        "limits": {name: getattr(limits, name) for name in _LIMITS},
        "hearing": None if hearing is None else {"status": hearing.status, "evidence": hearing.evidence},
    }


def merged(items: Sequence[Item], answered: Answered, refused: Mapping[str, str]) -> list[dict[str, Any]]:
    """Responses in the items' order: the model's, and the errors of those it was not asked."""
    replies = iter(answered.responses)
    rows = []
    for item in items:
        error = item.error or refused.get(item.sample_id)
        reply = next(replies) if error is None else Response(error=error)
        rows.append(response(item.sample_id, reply, answered.took_s))
    return rows


def _sample_id(position: int, request: Any) -> str:
    if not isinstance(request, dict):
        raise Refused(400, f"requests[{position}] is {kind(request)}, not an object")
    try:
        sample_id = text(request.get("sample_id"), "sample_id")
    except SampleError as error:
        raise Refused(400, f"requests[{position}]: {error}") from None
    if not sample_id.strip():
        raise Refused(400, f"requests[{position}] has an empty sample_id")
    return sample_id


def _item(
    sample_id: str, request: dict[str, Any], lifted: Mapping[str, bytes], options: ServeOptions, tasks: Tasks
) -> Item:
    try:
        _only(request, _ITEM, "a request")
        sounds = [_sound(i, audio, lifted, options) for i, audio in enumerate(_list(request, "audio_inputs"))]
        messages = [_read_message(i, message) for i, message in enumerate(_list(request, "messages"))]
        if not messages:
            raise SampleError("messages is empty; there is nothing to answer")
        config = request.get("generation_config")
        if not isinstance(config, dict):
            raise SampleError(f"generation_config is {kind(config)}, not an object")
        return Item(sample_id, question(sample_id, placed(messages, len(sounds)), sounds, config, tasks))
    except SampleError as error:
        return Item(sample_id, None, str(error))


def placed(messages: Sequence[tuple[str, str]], clips: int) -> list[Message]:
    """Messages with a slot for every clip: where the placeholders stand, else before the first user's text.

    A space behind placeholders that open a message only sets them apart: the text begins behind it, as in process.
    Raises SampleError when there are placeholders, but not one for each clip.
    """
    if (placeholders := sum(content.count(PLACEHOLDER) for _, content in messages)) not in (0, clips):
        raise SampleError(f"{placeholders} audio placeholders in the messages and {clips} audio_inputs")
    slots = iter(range(clips))
    turns: list[Message] = []
    for role, content in messages:
        parts: list[str | AudioSlot] = []
        if not placeholders and role == "user":
            parts.extend(AudioSlot(slot) for slot in slots)
        first, *others = content.split(PLACEHOLDER)
        parts.append(first)
        for other in others:
            opening = not any(isinstance(part, str) and part.strip() for part in parts)
            parts += [AudioSlot(next(slots)), other.removeprefix(" ") if opening else other]
        turns.append(Message(role, tuple(part for part in parts if part != "")))  # type: ignore[arg-type]
    if next(slots, None) is not None:
        raise SampleError("no message of a user that the audio could belong to")
    return turns


def _read_message(position: int, message: Any) -> tuple[str, str]:
    if not isinstance(message, dict):
        raise SampleError(f"messages[{position}] is {kind(message)}, not an object")
    _only(message, _MESSAGE, "a message")
    if (role := message.get("role")) not in _ROLES:
        raise SampleError(f"messages[{position}].role is {str(role)[:40]!r}; it may be {', '.join(_ROLES)}")
    return role, text(message.get("content"), f"messages[{position}].content")


def _sound(position: int, audio: Any, lifted: Mapping[str, bytes], options: ServeOptions) -> Sound:
    name = f"audio_inputs[{position}]"
    if not isinstance(audio, dict):
        raise SampleError(f"{name} is {kind(audio)}, not an object")
    _only(audio, _AUDIO, "an audio input")
    taken = payload_types(options)
    payload = next((kind for kind in taken if kind == audio.get("payload_type")), None)
    if payload is None:
        name_of_type = str(audio.get("payload_type"))[:40]
        raise SampleError(f"{name}.payload_type is {name_of_type!r}; this server takes {', '.join(taken)}")
    rate = audio.get("sample_rate")
    if not isinstance(rate, int) or isinstance(rate, bool) or rate < 1:
        raise SampleError(f"{name}.sample_rate is {str(rate)[:40]!r}; it is a whole number from 1 up")
    data = text(audio.get("data"), f"{name}.data")
    return Sound(payload, lifted.get(data, data) if payload == "base64_wav" else data)


def _list(request: Mapping[str, Any], key: str) -> list[Any]:
    value = request.get(key)
    if not isinstance(value, list):
        raise SampleError(f"{key} is {kind(value)}, not a list")
    return value


def _only(fields: Mapping[str, Any], known: set[str], what: str) -> None:
    for key in fields:
        if key not in known:
            raise SampleError(f"{key[:40]!r} is not a key of {what} in {SCHEMA}; it has {', '.join(sorted(known))}")
