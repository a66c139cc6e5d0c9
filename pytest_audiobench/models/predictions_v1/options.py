"""The options of ``http:`` models, read and checked without asking anybody."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.predictions_v1.client import Patience
from pytest_audiobench.models.predictions_v1.reply import MOST_BATCH
from pytest_audiobench.models.predictions_v1.request import PAYLOADS, PLACEHOLDER, Form, Payload
from pytest_audiobench.models.remote.api_keys import Key, checked_key
from pytest_audiobench.models.spec import check_options, one_of

KNOWN = (
    *("batch", "concurrency", "folder", "hints", "max_s", "payload", "pcm", "placeholder"),
    *("rate", "retry_s", "serve", "timeout_s", "token_env", "url_file", "wait_s"),
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
    token_env: str | None

    def token(self) -> Key | None:
        """The bearer token, if there is to be one. Raises UsageError when its variable holds none."""
        if self.token_env is None:
            return None
        return checked_key(os.environ.get(self.token_env, ""), f"token_env={self.token_env}")


def read(options: Mapping[str, str]) -> Settled:
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
    )
    return Settled(
        form,
        payload,
        hints,
        Patience(*(_seconds(options, name) for name in Patience._fields)),
        rate_hz=_whole(options, "rate", 16_000),
        batch=_whole(options, "batch", MOST_BATCH),
        concurrency=_whole(options, "concurrency", 1),
        token_env=options.get("token_env"),
    )


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
