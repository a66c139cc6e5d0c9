"""The endpoint of a server of others, and what HTTP libraries do on their own, made safe."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.model import Model

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Endpoint(NamedTuple):
    """A server's base URL."""

    url: str
    host: str
    loopback: bool
    identity: str
    """What enters a fingerprint: host, port unless it is the usual one, and path.

    All names of this machine are one host; its port counts like any other, since two servers may run side by side.
    """

    @classmethod
    def of(cls, url: str) -> Endpoint:
        """Read a base URL such as ``http://127.0.0.1:8000/v1``.

        Raises UsageError, which never repeats the URL, for anything else than http or https with a host, and for
        one that carries credentials or a query.
        """
        try:
            parts = urlsplit(url.strip())
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            raise UsageError("base_url is not a URL; write it as http://127.0.0.1:8000/v1") from None
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                f"base_url holds credentials for {host}; leave them out, and name the variable that holds the key: "
                "key_env=NAME"
            )
        if parts.scheme not in _DEFAULT_PORTS or not host or any(c.isspace() for c in url.strip()):
            raise UsageError("base_url needs http:// or https:// and a host, as in http://127.0.0.1:8000/v1")
        if parts.query or parts.fragment:
            raise UsageError(f"base_url of {host} ends in a query or fragment; give the plain address, up to /v1")
        path = parts.path.rstrip("/")
        loopback = _is_loopback(host)
        at = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
        authority = f"[{host}]" if ":" in host else host
        name = "loopback" if loopback else authority
        return cls(f"{parts.scheme}://{authority}{at}{path}", host, loopback, name + at + path)


def check_apart(models: Mapping[str, Model]) -> None:
    """Raises UsageError when two models, by alias, would be given each other's answers and are asked in two places.

    A model tells its place by ``endpoint``; one without, or None, is asked nowhere that could be mistaken.
    """
    seen: dict[tuple[tuple[str, str], ...], tuple[str, Endpoint]] = {}
    for alias, model in models.items():
        here: Endpoint | None = getattr(model, "endpoint", None)
        if here is None:
            continue
        first, there = seen.setdefault(tuple(sorted(model.fingerprint().items())), (alias, here))
        if there.url != here.url:
            raise UsageError(
                f"{first} and {alias} are one model by name and server ({here.identity}) and would share their "
                f"answers, but are asked at {there.url} and {here.url}; write one address for both, or ask them "
                "in two runs with a --ab-store each"
            )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def hush(*libraries: str) -> None:
    """Leave out the debug lines of ``libraries``, which repeat the headers of replies: a server may repeat the key."""
    for name in libraries:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.INFO))


@contextmanager
def proxies_judged(used: bool) -> Iterator[None]:
    """Around the building of a client that takes its proxies from the environment, if they are ``used``.

    Raises FatalError, without the proxy's address, which may hold a password, when it cannot be used.
    """
    proxies = getproxies() if used else {}
    try:
        yield
    except Exception as error:
        if not proxies or isinstance(error, OSError):
            raise
        why = error if isinstance(error, ImportError) else "it is not a URL such as http://HOST:PORT"
        names = ", ".join(f"{name.upper()}_PROXY" for name in sorted(proxies))
        raise FatalError(f"the proxy in the environment cannot be used: {why} (see {names})") from None
