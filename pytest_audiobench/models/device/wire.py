"""Requests, what is heard and responses as bytes, without loss: between processes of one run, which trust one another.

A batch is one JSON text and, behind it, the float32 samples of all its clips. Clips' sources stay behind: an
adapter is asked with what is heard.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from pytest_audiobench import errors
from pytest_audiobench.models.messages import (
    Ask,
    AudioSlot,
    Message,
    Output,
    Part,
    PlayedAudio,
    Request,
    Response,
    Settings,
)

_FLOAT = np.dtype("<f4")
_KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.AudiobenchError)
}


def batch_to_bytes(batch: Sequence[Ask]) -> tuple[dict[str, Any], bytes]:
    """A batch as a JSON-ready mapping and the samples of its clips, one after the other."""
    waves = [clip.samples for ask in batch for clip in ask.audio]
    asks = [{"request": _request(ask.request), "audio": [_clip_to_json(clip) for clip in ask.audio]} for ask in batch]
    samples = np.concatenate(waves).astype(_FLOAT, copy=False) if waves else np.zeros(0, _FLOAT)
    return {"asks": asks}, samples.tobytes()


def batch_from_bytes(content: Mapping[str, Any], samples: bytes) -> list[Ask]:
    """What :func:`batch_to_bytes` wrote."""
    wave, start, batch = np.frombuffer(samples, _FLOAT), 0, []
    for ask in content["asks"]:
        audio = []
        for clip in ask["audio"]:
            end = start + clip.pop("length")
            audio.append(PlayedAudio(samples=wave[start:end].astype(np.float32), **clip))
            start = end
        batch.append(Ask(_request_from(ask["request"]), tuple(audio)))
    return batch


def response_to_json(response: Response) -> dict[str, Any]:
    """A response as JSON holds it, whatever kind of number (numpy's too) the model gave."""
    outputs = [
        {
            "parts": [[part.kind, str(part.value)] for part in output.parts],
            "finish": output.finish,
            "score": _float(output.score),
        }
        for output in response.outputs
    ]
    return {
        "outputs": outputs,
        "usage": {str(name): int(count) for name, count in response.usage.items()},
        "latency_s": _float(response.latency_s),
        "truncated_s": [float(seconds) for seconds in response.truncated_s],
        "error": None if response.error is None else str(response.error),
        "first_token_s": _float(response.first_token_s),
        "share_s": _float(response.share_s),
        "lasting": bool(response.lasting),
    }


def response_from_json(content: Mapping[str, Any]) -> Response:
    """What :func:`response_to_json` wrote."""
    outputs = tuple(
        Output(tuple(Part(*part) for part in output["parts"]), output["finish"], output["score"])
        for output in content["outputs"]
    )
    return Response(**{**content, "outputs": outputs, "truncated_s": tuple(content["truncated_s"])})


def error_to_json(error: Exception) -> dict[str, str]:
    """An error as JSON holds it: its own kind, else the nearest of its bases that every process knows."""
    for base in type(error).__mro__:
        if _KINDS.get(base.__name__) is base:
            return {"error": str(error), "kind": base.__name__}
    return {"error": f"{type(error).__name__}: {error}", "kind": ""}


def error_from_json(content: Mapping[str, Any]) -> Exception:
    """What :func:`error_to_json` wrote; a RuntimeError for one that is none of this package's."""
    return _KINDS.get(content["kind"], RuntimeError)(content["error"])


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _clip_to_json(clip: PlayedAudio) -> dict[str, Any]:
    names = (field.name for field in fields(clip) if field.name != "samples")
    return {"length": len(clip.samples), **{name: getattr(clip, name) for name in names}}


def _request(request: Request) -> dict[str, Any]:
    messages = [
        [role, [{"clip": part.clip} if isinstance(part, AudioSlot) else part for part in parts]]
        for role, parts in request.messages
    ]
    values = {field.name: getattr(request, field.name) for field in fields(request) if field.name != "clips"}
    return {**values, "messages": messages, "settings": asdict(request.settings)}


def _request_from(content: Mapping[str, Any]) -> Request:
    messages = tuple(
        Message(role, tuple(part if isinstance(part, str) else AudioSlot(part["clip"]) for part in parts))
        for role, parts in content["messages"]
    )
    settings = Settings(**content["settings"])
    choices = tuple(content["choices"])
    return Request(**{**content, "messages": messages, "settings": settings, "choices": choices, "clips": ()})


def encoded(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()
