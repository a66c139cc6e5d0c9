"""How a model is served."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from pytest_audiobench.errors import UsageError

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where a server listens, whom it answers and how much it takes in.

    ``port`` 0 takes a free one. ``max_queue`` calls may wait beyond the two in work; ``deadline_s`` is the longest
    that a call may take from its first byte to its answer. ``files`` is the folder that file_path may name files
    in, ``url_hosts`` the hosts that file_url may name; without them such audio is refused.
    """

    host: str = "127.0.0.1"
    """The address to listen on; other machines reach it only with a token."""
    port: int = 8000
    token: str | None = None
    """What callers must send as a bearer token."""
    max_body_bytes: int = 64 * _MIB
    """The most bytes of one call."""
    max_queue: int = 16
    deadline_s: float = 600.0
    files: Path | None = None
    url_hosts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raises UsageError for values that no server can have, and for other machines without a token."""
        token = self.token
        if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token != ""):
            raise UsageError("the token is empty, or has spaces around it or characters that no header can hold")
        if not self.is_loopback and self.token is None:
            raise UsageError(
                f"{self.host} can be reached from other machines, so the server needs a token: "
                "set AUDIOBENCH_SERVE_TOKEN, or leave --host out"
            )
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port {self.port} is not a port; give one from 0 (any free one) to 65535")
        if self.max_body_bytes < _MIB or self.max_queue < 0 or not 0 < self.deadline_s < float("inf"):
            raise UsageError("--max-body-mb starts at 1, --max-queue at 0, and --deadline-s is above 0")
        if self.files is not None and not self.files.is_dir():
            raise UsageError(f"--allow-files {self.files} is not a folder")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
