"""Keys of servers: where they are found, and how they are kept out of everything that is printed or written."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.remote.endpoint import Endpoint

_LARGEST_FILE_BYTES = 65_536
_SHOWN_INSTEAD = "[key]"
_SURELY_SECRET = 8
"""Characters from which on a key is not found in an answer by chance."""
_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*[=:]\s*(?P<value>.*)")
_NAMES_A_KEY = re.compile(r"key|token|secret", re.IGNORECASE)


class _Provider(NamedTuple):
    """A provider's hosts (with all below them), its variable, and its file under the config home."""

    hosts: tuple[str, ...]
    variable: str
    file: str


_PROVIDERS = (
    _Provider(("openai.com",), "OPENAI_API_KEY", "openai/cfg"),
    _Provider(("generativelanguage.googleapis.com",), "GEMINI_API_KEY", "gemini/cfg"),
    # Not hf.space: what runs there is anyone's.
    _Provider(("huggingface.co", "hf.co", "huggingface.cloud"), "HF_TOKEN", "huggingface/hf_token"),
)


class Key:
    """A secret. Its text leaves only by :meth:`reveal`; ``str`` and ``repr`` say where it came from."""

    __slots__ = ("_secret", "source")

    def __init__(self, secret: str, source: str) -> None:
        self._secret, self.source = secret, source

    def __repr__(self) -> str:
        return f"Key(from {self.source})"

    def reveal(self) -> str:
        return self._secret

    def scrubbed(self, text: str) -> str:
        """``text``, which a server wrote for people, without the secret: it may repeat what it was sent."""
        return text.replace(self._secret, _SHOWN_INSTEAD)

    def scrubbed_answer(self, text: str) -> str:
        """As :meth:`scrubbed`, for what a model says, where a very short key may occur by chance."""
        return self.scrubbed(text) if len(self._secret) >= _SURELY_SECRET else text


def find_key(endpoint: Endpoint, variable: str | None, environ: Mapping[str, str] = os.environ) -> Key | None:
    """The key for a server, None where it is to be asked without one.

    ``variable`` names the environment variable to take it from, and then nothing else is looked at. Otherwise a
    known provider's own variable counts, then its file under ``$XDG_CONFIG_HOME`` (or ``~/.config``); any other
    server gets OPENAI_API_KEY where that is set, as OpenAI's own client does, over https or on this machine.

    Raises UsageError, never with the key in it, when a named or needed key is absent, no key can be read from the
    file, the file can be read by others, or a known provider would get its key unencrypted.
    """
    if variable:
        if not environ.get(variable):
            raise UsageError(f"key_env={variable}: the environment variable {variable} is not set or empty")
        return checked_key(environ[variable], variable)
    domains = f".{endpoint.host}"
    provider = next((p for p in _PROVIDERS if any(domains.endswith(f".{host}") for host in p.hosts)), None)
    name = provider.variable if provider else "OPENAI_API_KEY"
    readable_by_all = endpoint.url.startswith("http://") and not endpoint.loopback
    if readable_by_all and provider is not None:
        raise UsageError(f"{endpoint.host} would get its key unencrypted; write base_url with https://")
    if environ.get(name) and not readable_by_all:
        return checked_key(environ[name], name)
    if provider is None:
        return None
    home = Path(environ.get("XDG_CONFIG_HOME", ""))
    file = (home if home.is_absolute() else Path.home() / ".config") / provider.file
    if not file.exists():
        raise UsageError(f"{endpoint.host} needs a key: set {name}, or write it to {file} (mode 600)")
    return checked_key(_from_text(read_private(file), file), str(file))


def refusal(find: Callable[[], Key | None]) -> str:
    """Why ``find`` finds no key that is needed; "" where it finds one, or none is."""
    try:
        find()
    except UsageError as error:
        return str(error)
    return ""


def read_private(file: Path) -> str:
    """The text of a file that holds a secret. Raises UsageError where it cannot be read, or others can read it."""
    try:
        # Not to be stopped by a pipe; the mode is that of the file which is read, not of one that was there before.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise UsageError(f"the key file {file} cannot be read ({error.strerror})") from None
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"the key file {file} is no regular file")
        if status.st_mode & 0o077:
            raise UsageError(
                f"the key file {file} can be read by others (mode {stat.S_IMODE(status.st_mode):o}); "
                f"make it yours alone: chmod 600 {file}"
            )
        return opened.read(_LARGEST_FILE_BYTES).decode("utf-8", errors="replace")


def _from_text(text: str, file: Path) -> str:
    """A file that holds the bare key, or lines ``name = value`` of which one is named like a key."""
    lines = [line.strip() for line in text.lstrip("\ufeff").splitlines()]
    lines = [line for line in lines if line and line[0] not in "#;["]
    matches = [_LINE.fullmatch(line) for line in lines]
    named = [m["value"].strip().strip("'\"") for m in matches if m and _NAMES_A_KEY.search(m["name"])]
    if len(named) == 1:
        return named[0]
    if not named and len(lines) == 1:
        return lines[0].strip("'\"")
    raise UsageError(f"the key file {file} holds no single key; write the bare key, or one line api_key = …")


def checked_key(secret: str, source: str) -> Key:
    secret = secret.strip()
    # What cannot stand in a header would be refused later by an error that repeats it.
    if not secret or any(not "!" <= c <= "~" for c in secret):
        raise UsageError(f"the key from {source} is empty or holds spaces or characters that no key has")
    return Key(secret, source)
