"""What stands before every route: who may ask, and under which name."""

from __future__ import annotations

import hmac

from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pytest_audiobench.serving.body import discard
from pytest_audiobench.serving.chat import failure
from pytest_audiobench.serving.options import ServeOptions

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """Refuses calls without the token (401; /health needs none), and, on a server without one, calls under a name that
    is not this machine's (421): a web page could otherwise reach a loopback server by a domain of its own.
    """

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        self._app, self._most_bytes = app, options.max_body_bytes
        self._token = None if options.token is None else f"Bearer {options.token}".encode()
        self._hosts = frozenset((*_LOOPBACK, options.host, f"[{options.host}]"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HttpRequest(scope, receive)
        status, why = self._objection(request)
        if not status:
            await self._app(scope, receive, send)
            return
        await discard(request, self._most_bytes)
        shown = failure(why, status) if scope["path"].startswith("/v1/") else {"detail": why}
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        await JSONResponse(shown, status, headers)(scope, receive, send)

    def _objection(self, request: HttpRequest) -> tuple[int, str]:
        if self._token is None:
            host = request.headers.get("host", "").lower()
            name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
            return (0, "") if name in self._hosts else (421, "this server is asked by another name than its own")
        given = request.headers.get("authorization", "").encode("latin-1")
        if request.url.path == "/health" or hmac.compare_digest(given, self._token):
            return 0, ""
        return 401, "a token is needed: send the header Authorization: Bearer …"
