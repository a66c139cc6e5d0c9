"""The routes of a served model."""

from __future__ import annotations

import asyncio
import hmac
import importlib.util
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, UploadFile
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pytest_audiobench.errors import SampleError, install_command
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.serving import body, chat, predictions_v1
from pytest_audiobench.serving.admission import Refused, TurnedAway, Turns
from pytest_audiobench.serving.audio_in import AudioIn
from pytest_audiobench.serving.body import discard
from pytest_audiobench.serving.chat import failure
from pytest_audiobench.serving.options import ServeOptions
from pytest_audiobench.serving.questions import Question
from pytest_audiobench.serving.served_model import Answered, ServedModel

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PORT = re.compile(r":[0-9]*$")
_READING = ("GET", "HEAD", "OPTIONS")


def make_app(served: ServedModel, options: ServeOptions, turns: Turns) -> FastAPI:
    """The application around a model; the caller starts the model's loading."""
    app = FastAPI(title="pytest-audiobench", docs_url=None, redoc_url=None, openapi_url=None)
    routes = _Routes(served, options, turns)
    # Plain routes: pydantic would validate, and copy, megabytes of base64.
    app.add_route("/health", routes.health, methods=["GET"])
    app.add_route("/info", routes.info, methods=["GET"])
    app.add_route("/predict", routes.predict, methods=["POST"])
    app.add_route("/v1/models", routes.models, methods=["GET"])
    app.add_route("/v1/chat/completions", routes.chat, methods=["POST"])
    app.add_route("/v1/audio/transcriptions", routes.transcribe, methods=["POST"])
    app.add_exception_handler(TurnedAway, routes.turned_away)
    app.add_exception_handler(Refused, _refusal_response)
    app.add_exception_handler(ClientDisconnect, _gone_response)
    app.add_middleware(Guard, options=options)
    return app


class _Routes:
    def __init__(self, served: ServedModel, options: ServeOptions, turns: Turns) -> None:
        self._served, self._options, self._turns = served, options, turns
        self._decoders = ThreadPoolExecutor(2, thread_name_prefix="decode")
        self._name = f"pytest-audiobench {metadata.version('pytest-audiobench')}"
        self._names = list(dict.fromkeys((served.alias, served.model.spec)))

    async def health(self, request: HttpRequest) -> HttpResponse:
        if self._turns.is_stopping:
            raise Refused(503, "the server is stopping")
        return JSONResponse({"status": "ok"})

    async def info(self, request: HttpRequest) -> HttpResponse:
        return JSONResponse(predictions_v1.info(self._served, self._options, self._name))

    async def predict(self, request: HttpRequest) -> HttpResponse:
        async with self._turns.place() as until:
            received = await body.read(request, self._options.max_body_bytes)
            async with self._turns.turn():
                items, asks, errors = await self._decoding(self._items_and_asks, received, until)
                answers = await self._answer(request, asks)
        return JSONResponse(predictions_v1.envelope(predictions_v1.merged(items, answers, errors)))

    async def models(self, request: HttpRequest) -> HttpResponse:
        return JSONResponse(chat.models(self._names))

    async def chat(self, request: HttpRequest) -> HttpResponse:
        call = f"chatcmpl-{uuid.uuid4().hex}"
        async with self._turns.place() as until:
            sent = await self._decoding(body.parse, await body.read(request, self._options.max_body_bytes))
            model = self._known_model(sent.get("model") if isinstance(sent, dict) else None)
            response = await self._single(
                request,
                lambda: chat.chat_question(sent, "chat", self._served.limits.tasks, self._served.limits.speaks),
                until,
            )
            encoding = chat.speech_format(sent)
            audio = await self._decoding(self._spoken, response, encoding) if encoding else None
        if not sent.get("stream"):
            return JSONResponse(chat.completion(response, model, call, audio))
        wishes = sent.get("stream_options")
        with_usage = isinstance(wishes, dict) and wishes.get("include_usage") is True
        answer = chat.chunks(response, model, call, with_usage, audio)
        return StreamingResponse(answer, media_type="text/event-stream")

    def _spoken(self, response: Response, encoding: str) -> bytes | None:
        try:
            return chat.spoken(response, encoding)
        except SampleError as error:
            raise Refused(400, str(error)) from None

    async def transcribe(self, request: HttpRequest) -> HttpResponse:
        async with self._turns.place() as until:
            file, form = await self._form(request)
            self._known_model(form.get("model"))
            if (shape := form.get("response_format") or "json") not in ("json", "text"):
                raise Refused(400, f"response_format is {shape[:40]!r}; this server gives json and text")
            tasks = self._served.limits.tasks
            response = await self._single(
                request, lambda: chat.transcription_question(file, form, "transcription", tasks), until
            )
        return PlainTextResponse(response.text) if shape == "text" else JSONResponse({"text": response.text})

    async def turned_away(self, request: HttpRequest, error: Exception) -> HttpResponse:
        await body.discard(request, self._options.max_body_bytes)
        return await _refusal_response(request, error)

    async def _single(self, request: HttpRequest, question: Callable[[], Question], until: float) -> Response:
        """The response to a single question. Raises Refused (400) with the error that it met."""
        async with self._turns.turn():
            ask = await self._decoding(self._ask, question, until)
            (response,) = (await self._answer(request, [ask])).responses
        if response.error is not None:
            raise Refused(400, response.error)
        return response

    async def _answer(self, request: HttpRequest, asks: Sequence[Ask]) -> Answered:
        if not asks:
            return Answered([], 0.0)
        if await request.is_disconnected():
            raise ClientDisconnect
        return await asyncio.wrap_future(self._served.ask(asks))

    async def _decoding(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._decoders, work, *arguments)

    def _items_and_asks(
        self, received: bytearray, until: float
    ) -> tuple[list[predictions_v1.Item], list[Ask], Mapping[str, str]]:
        items = predictions_v1.items(*body.parse_with_audio(received), self._served.limits, self._options)
        audio = AudioIn(self._served.limits, self._options, until)
        asks: list[Ask] = []
        errors: dict[str, str] = {}
        for item in items:
            if item.question is not None:
                try:
                    asks.append(self._audible(item.question, audio))
                except SampleError as error:
                    errors[item.sample_id] = str(error)
        return items, asks, errors

    def _ask(self, question: Callable[[], Question], until: float) -> Ask:
        try:
            return self._audible(question(), AudioIn(self._served.limits, self._options, until))
        except SampleError as error:
            raise Refused(400, str(error)) from None

    def _audible(self, question: Question, audio: AudioIn) -> Ask:
        # A model that does not listen is played nothing, here as in a run.
        return question.ask(audio.play(question) if self._served.model.listens else ())

    def _known_model(self, name: Any) -> str:
        if name not in self._names:
            raise Refused(404, f"there is no model {str(name)[:80]!r} here; there is {' or '.join(self._names)}")
        return str(name)

    async def _form(self, request: HttpRequest) -> tuple[bytes, Mapping[str, str]]:
        if importlib.util.find_spec("python_multipart") is None:
            raise Refused(501, f"forms need python-multipart on the server: {install_command('serve')}")
        bounded = HttpRequest(request.scope, _Bounded(request, self._options.max_body_bytes).receive)
        async with bounded.form(max_files=1, max_fields=20) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise Refused(400, "the form has no file")
            return await file.read(), {name: value for name, value in form.items() if isinstance(value, str)}


class _Bounded:
    def __init__(self, request: HttpRequest, most_bytes: int) -> None:
        self._request, self._most, self._left = request, most_bytes, most_bytes

    async def receive(self) -> Any:
        message = await self._request.receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise Refused(413, f"the body is longer than {self._most} bytes; send a shorter clip")
        return message


async def _refusal_response(request: HttpRequest, error: Exception) -> HttpResponse:
    assert isinstance(error, Refused)
    is_openai = request.scope["path"].startswith("/v1/")
    content = chat.failure(error.message, error.status) if is_openai else {"detail": error.message}
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    return JSONResponse(content, error.status, headers)


async def _gone_response(request: HttpRequest, error: Exception) -> HttpResponse:
    return HttpResponse(status_code=499)  # it is not read


class Guard:
    """Refuses what a web page of another origin sends (403), calls without the token (401; /health needs none), and, on
    a server without one, calls under a name that is not this machine's (421): a web page could otherwise reach a
    loopback server by its own domain.
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
        # The path that is routed: an address would be put together from the Host header, which a caller can end with
        # "/health?".
        path = scope["path"]
        status, why = self._objection(path, request.headers) or _foreign_origin(request.method, request.headers)
        if not status:
            await self._app(scope, receive, send)
            return
        await discard(request, self._most_bytes)
        content = failure(why, status) if path.startswith("/v1/") else {"detail": why}
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        await JSONResponse(content, status, headers)(scope, receive, send)

    def _objection(self, path: str, headers: Headers) -> tuple[int, str] | None:
        if self._token is None:
            name = _PORT.sub("", headers.get("host", "").lower())
            return None if name in self._hosts else (421, "this server is asked by another name than its own")
        arguments = headers.get("authorization", "").encode("latin-1")
        if path == "/health" or hmac.compare_digest(arguments, self._token):
            return None
        return 401, "a token is needed: send the header Authorization: Bearer …"


def _foreign_origin(method: str, headers: Headers) -> tuple[int, str]:
    """The refusal of a call by which a page of another origin would have the model asked; (0, "") for any other.

    Browsers say of each call where it comes from, and scripts cannot change that. Who sends neither header is no
    browser. The origin's own host is compared where the browser is too old to say it, or the address no secure one.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if method in _READING or site in ("same-origin", "none") or (site is None and origin is None):
        return 0, ""
    if site is None and origin is not None and origin.lower().partition("://")[2] == headers.get("host", "").lower():
        return 0, ""
    return 403, "this call comes from a web page of another origin, which this server does not answer"
