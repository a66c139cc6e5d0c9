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


# Not hf.space: what runs there is anyone's.
_HUB = _Provider(("huggingface.co", "hf.co", "huggingface.cloud"), "HF_TOKEN", "huggingface/hf_token")
_PROVIDERS = (
    _Provider(("openai.com",), "OPENAI_API_KEY", "openai/cfg"),
    _Provider(("generativelanguage.googleapis.com",), "GEMINI_API_KEY", "gemini/cfg"),
    _HUB,
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

    ``variable`` names the environment variable to take it from (:func:`named_key`), and then nothing else is looked
    at. Otherwise a known provider's own variable counts in the same way, then the Hub's login, then the provider's file
    under ``$XDG_CONFIG_HOME`` (or ``~/.config``); any other server gets OPENAI_API_KEY where that is set, as OpenAI's
    own client does, over https or on this machine.

    Raises UsageError, never with the key in it, when a named or needed key is absent, no key can be read from the
    file, the file can be read by others, or a known provider would get its key unencrypted.
    """
    if variable:
        return named_key("key_env", variable, environ)
    domains = f".{endpoint.host}"
    provider = next((p for p in _PROVIDERS if any(domains.endswith(f".{host}") for host in p.hosts)), None)
    name = provider.variable if provider else "OPENAI_API_KEY"
    readable_by_all = endpoint.url.startswith("http://") and not endpoint.loopback
    if readable_by_all and provider is not None:
        raise UsageError(f"{endpoint.host} would get its key unencrypted; write base_url with https://")
    if not readable_by_all and (key := _from_variable(name, environ)):
        return key
    if provider is None:
        return None
    file = _config_file(provider, environ)
    login = [_hub_login(environ)] if provider is _HUB else []
    if present := next((path for path in (*login, file) if path.exists()), None):
        return _file_key(present)
    raise UsageError(
        f"{endpoint.host} needs a key: set {name}, name its file in {name}_FILE, or write it to {file} (mode 600)"
    )


def named_key(option: str, variable: str, environ: Mapping[str, str] = os.environ) -> Key:
    """The key in the environment variable that a user named by ``option``, else in the file that ``variable`` with
    ``_FILE`` behind it names. Raises UsageError, never with the key in it, where neither leads to one.
    """
    if key := _from_variable(variable, environ):
        return key
    raise UsageError(
        f"{option}={variable}: the environment variable {variable} is not set or empty, "
        f"and {variable}_FILE names no file"
    )


def hub_token(environ: Mapping[str, str] = os.environ) -> str | None:
    """The token for huggingface_hub out of a file that it does not know; None where it is left to its own means.

    The order is that of :func:`find_key`. Raises UsageError as that does.
    """
    if environ.get(_HUB.variable):
        return None
    if key := _from_variable(_HUB.variable, environ):
        return key.reveal()
    file = _config_file(_HUB, environ)
    return None if _hub_login(environ).exists() or not file.exists() else _file_key(file).reveal()


def _from_variable(variable: str, environ: Mapping[str, str]) -> Key | None:
    if environ.get(variable):
        return checked_key(environ[variable], variable)
    file = environ.get(f"{variable}_FILE")
    return _file_key(Path(file).expanduser()) if file else None


def _config_file(provider: _Provider, environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("XDG_CONFIG_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".config") / provider.file


def _hub_login(environ: Mapping[str, str]) -> Path:
    """Where ``hf auth login`` writes its token."""
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = Path(environ.get("HF_HOME") or cache / "huggingface")
    return Path(environ.get("HF_TOKEN_PATH") or home / "token").expanduser()


def _file_key(file: Path) -> Key:
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
            raise UsageError(f"the key file {file} is not a regular file")
        if status.st_mode & 0o077:
            raise UsageError(
                f"the key file {file} can be read by others (mode {stat.S_IMODE(status.st_mode):o}); "
                f"make it yours alone: chmod 600 {file}"
            )
        if status.st_uid != os.geteuid():
            raise UsageError(
                f"the key file {file} belongs to another user (uid {status.st_uid}), who can change it: name a copy "
                "that is yours, with chmod 600"
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
    # What cannot are in a header would be refused later by an error that repeats it.
    if not secret or any(not "!" <= c <= "~" for c in secret):
        raise UsageError(f"the key from {source} is empty or holds spaces or characters that no key has")
    return Key(secret, source)
