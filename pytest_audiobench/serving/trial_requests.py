"""Requests of the predictions_v1 contract to try a server with, by the standard library alone."""

from __future__ import annotations

import base64
import io
import math
import wave
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pytest_audiobench.models.predictions.request import SCHEMA

_TONE_HZ = 440
_DURATION_S = 0.2


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
