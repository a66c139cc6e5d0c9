"""What HTTP libraries do on their own, made safe: debug lines that repeat headers, and proxies of the environment."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import getproxies

from pytest_audiobench.errors import FatalError


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
        why = error if isinstance(error, ImportError) else "it is no URL such as http://HOST:PORT"
        names = ", ".join(f"{name.upper()}_PROXY" for name in sorted(proxies))
        raise FatalError(f"the proxy in the environment cannot be used: {why} (see {names})") from None
