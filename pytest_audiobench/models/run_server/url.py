"""Where a server is: the one URL a user gave, or the one that a batch system writes into a file later."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pytest_audiobench.errors import InfrastructureError, UsageError

SERVE = "serve"
"""The key of a spec that gives the command of a server which a run starts for the model."""

_FAILED = "failed:"
"""How the text of a job begins that will write no URL."""
_LONGEST = 2048
_FIRST_LOOK_S, _LAST_LOOK_S = 0.05, 2.0


def is_url(text: str) -> bool:
    """Whether ``text`` is meant as a URL."""
    return text.lower().startswith(("http://", "https://"))


def checked_url(text: str, where: str) -> str:
    """An http(s) URL without a slash at its end, and without ``/predict``, which other clients want there.

    Raises UsageError, naming ``where`` it stood, for anything that is not a plain URL, and for one that holds a
    password or a query: URLs go into reports. What is refused is not repeated, but for the host.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, 0
    if not is_url(text) or not host or port == 0 or len(text) > _LONGEST or any(c.isspace() for c in text):
        raise UsageError(f"{where} holds no plain URL; write one such as http://127.0.0.1:8000")
    if "@" in text:
        raise UsageError(
            f"{where} holds a URL with a user or password in it, which would end in reports; leave it out, "
            "and name the variable that holds a token: token_env=NAME"
        )
    if parts.query or parts.fragment:
        raise UsageError(f"{where} holds a URL of {host[:100]} with a query or fragment; give the plain address")
    return text.rstrip("/").removesuffix("/predict").rstrip("/")


def check_address(kind: str, target: str, options: Mapping[str, str]) -> None:
    """Raise UsageError where a spec says in two ways where its server is, and for ``serve`` where no run starts one."""
    ways = [f"{key}=…" for key in ("base_url", "url_file", SERVE) if key in options]
    if is_url(target):
        ways.insert(0, "the URL")
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} of an {kind} model both say where its server is; give one")
    if ways == [f"{SERVE}=…"]:
        raise UsageError(f"{SERVE}=… of an {kind} model is for runs of pytest, which start the server and end it")


def url_from(file: Path, wait_s: float) -> str:
    """The URL in ``file``, waited for at most ``wait_s`` seconds while it is missing or empty.

    Raises InfrastructureError when it never appears, and with the reason where the job that should write it wrote
    ``failed: REASON``; UsageError when it holds anything else but one URL.
    """
    deadline, pause_s = time.monotonic() + wait_s, _FIRST_LOOK_S
    while not (text := _text_of(file)):
        if time.monotonic() >= deadline:
            raise InfrastructureError(
                f"{file} did not get a URL within {wait_s:g} s: is the job that writes it running? "
                "Start it, correct url_file=, or wait longer with wait_s="
            )
        time.sleep(min(pause_s, max(0.0, deadline - time.monotonic())))
        pause_s = min(2 * pause_s, _LAST_LOOK_S)
    if text.startswith(_FAILED):
        reason = "".join(sign for sign in text.removeprefix(_FAILED).strip() if sign.isprintable())
        raise InfrastructureError(f"{file} has no URL: {reason}")
    return checked_url(text, str(file))


def _text_of(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(2 * _LONGEST).strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read ({error.strerror}); name the file that holds the server's URL"
        ) from None
