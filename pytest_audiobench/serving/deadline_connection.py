"""A connection to a server that nothing is known of, which ends at a given time whatever the server does."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def connected(connection: http.client.HTTPConnection, until: float) -> Iterator[None]:
    """``connection``, connected within and closed behind; cut at ``until``, on the monotonic clock.

    What was read is whole only if ``until`` has not come since. Raises OSError and ``http.client``'s errors.
    """
    # A server that drips a byte at a time never runs into the socket's own timeout.
    sockets: list[socket.socket] = []
    watch = threading.Timer(max(0.0, until - time.monotonic()), _hang_up, [sockets])
    watch.daemon = True
    try:
        watch.start()
        connection.timeout = max(0.001, until - time.monotonic())
        connection.connect()
        # Held here, since a connection forgets its socket where an answer has no length.
        sockets.append(connection.sock)
        if time.monotonic() >= until:  # the watch may have found nothing to hang up
            raise TimeoutError("no connection in time")
        yield
    finally:
        watch.cancel()
        connection.close()


def _hang_up(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
