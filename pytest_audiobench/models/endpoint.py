"""Where a server of others is reached, and what of its address tells it from another."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple
from urllib.parse import urlsplit

from pytest_audiobench.errors import UsageError


class Endpoint(NamedTuple):
    """A server's base URL. ``identity`` is what enters a fingerprint: host and path, and the port unless on loopback.

    A server on this machine gets another port with every start, and stays the same server.
    """

    url: str
    host: str
    loopback: bool
    identity: str

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
            raise UsageError("base_url is no URL; write it as http://127.0.0.1:8000/v1") from None
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                f"base_url holds credentials for {host}; leave them out, and name the variable that holds the key: "
                "key_env=NAME"
            )
        if parts.scheme not in ("http", "https") or not host or any(c.isspace() for c in url.strip()):
            raise UsageError("base_url needs http:// or https:// and a host, as in http://127.0.0.1:8000/v1")
        if parts.query or parts.fragment:
            raise UsageError(f"base_url of {host} ends in a query or fragment; give the plain address, up to /v1")
        path = parts.path.rstrip("/")
        loopback = _is_loopback(host)
        named = "loopback" if loopback else host if port is None else f"{host}:{port}"
        return cls(f"{parts.scheme}://{parts.netloc}{path}", host, loopback, named + path)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
