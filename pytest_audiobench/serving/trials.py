"""Trials of a server that speaks predictions_v1: requests by the standard library alone, and checks of its replies."""

from __future__ import annotations

import base64
import io
import math
import wave
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeGuard

from pytest_audiobench.models.predictions_v1.request import SCHEMA
from pytest_audiobench.serving.probe import Exchange

_SHOWN = 100
_TONE_HZ = 440
_DURATION_S = 0.2


class Broken(Exception):
    """A rule is broken; the message says how."""


def expect(answer: Exchange, status: int) -> None:
    """Raises Broken for another status."""
    if answer.status != status:
        raise Broken(f"expected {status}, got {answer.status} ({quoted(answer.body[:200].decode(errors='replace'))})")


def json_object(answer: Exchange) -> dict[str, Any]:
    """The body. Raises Broken when it is no JSON object."""
    try:
        value = answer.json
    except ValueError as error:
        raise Broken(f"the answer is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Broken(f"the answer is {quoted(value)}, not an object")
    return value


def must_be_answered(row: Mapping[str, Any]) -> None:
    """Raises Broken unless a response has predictions and no error."""
    error, predictions = row.get("error"), row.get("predictions")
    if error is not None and not isinstance(error, str):
        raise Broken(f"error is {quoted(error)}, neither a text nor null")
    if error is not None and error.strip():
        raise Broken(f"a good request came back with the error {quoted(error)}")
    if not are_texts(predictions) or not predictions:
        raise Broken(f"predictions is {quoted(predictions)}, not a list of texts with something in it")


def are_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def call(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The body of a call."""
    return {"schema_version": SCHEMA, "requests": requests}


def item(sample_id: str, rate_hz: int = 16_000) -> dict[str, Any]:
    """A request with a short tone in it."""
    content = "<Audio><AudioHere></Audio>\nWhat is heard? Answer briefly."
    return {
        "sample_id": sample_id,
        "messages": [{"role": "user", "content": content}],
        "audio_inputs": [{"payload_type": "base64_wav", "data": _tone(rate_hz), "sample_rate": rate_hz}],
        "generation_config": {"max_tokens": 8, "temperature": 0.0},
    }


@cache
def _tone(rate_hz: int) -> str:
    turn = 2 * math.pi * _TONE_HZ / rate_hz
    samples = array("h", (round(8000 * math.sin(turn * i)) for i in range(round(_DURATION_S * rate_hz))))
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, rate_hz, 0, "NONE", ""))
        sound.writeframes(samples.tobytes())
    return base64.b64encode(file.getvalue()).decode()
