"""The process of a served model: listen, announce, stop in order."""

from __future__ import annotations

import os
import signal
import socket
import sys
from types import FrameType
from typing import Any

from pytest_audiobench.errors import FatalError, UsageError, install_command
from pytest_audiobench.models.model import Model
from pytest_audiobench.serving.options import ServeOptions
from pytest_audiobench.serving.served_model import ServedModel

_CONNECTIONS = 512
_BACKLOG = 128
_IDLE_S = 30
_STOP_S = 5
"""How long connections may take to close once all calls are answered."""


def serve(model: Model, options: ServeOptions, alias: str = "model") -> None:
    """Serve ``model`` until SIGTERM or SIGINT; then the calls in progress are answered, and new ones refused with 503.

    One line on standard output says where, once calls are accepted. Raises UsageError when the model cannot be what
    its spec says, the port is taken or the extra is missing, FatalError when the model cannot be loaded.
    """
    try:
        import uvicorn

        from pytest_audiobench.serving.admission import Turns
        from pytest_audiobench.serving.app import make_app
    except ImportError as error:
        raise UsageError(f"serving needs {error.name}: {install_command('serve')}") from None
    served = ServedModel(model, alias)
    turns = Turns(options.max_queue, options.deadline_s)
    listener = _listening(options)
    config = uvicorn.Config(
        make_app(served, options, turns),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_STOP_S,
    )

    class Server(uvicorn.Server):
        """Stops when the calls in progress are answered; a second signal stops at once."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print(f"serving {model.spec} at {_address(listener)}", flush=True)
            served.start(on_failure=self.stop)

        def stop(self) -> None:
            turns.is_stopping = True

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if turns.is_stopping:
                self.should_exit = True
                self.force_exit = sig == signal.SIGINT
            self.stop()

        async def on_tick(self, counter: int) -> bool:
            is_over: bool = await super().on_tick(counter)
            return is_over or (turns.is_stopping and not turns.in_hand)

    Server(config).run(sockets=[listener])
    _end(served)


def _end(served: ServedModel) -> None:
    if served.is_busy:
        # The model's thread cannot be stopped, and unloading libraries beneath it would crash.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1 if served.load_status == "failed" else 0)
    if served.load_status == "failed":
        raise FatalError(f"the model could not be loaded: {served.last_error}")
    served.close().result()


def _listening(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # Named as TCP, or asyncio would leave Nagle's algorithm on: 40 ms between an answer's head and its body.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
        listener.listen(_BACKLOG)
        return listener
    except OSError as error:
        listener.close()
        raise UsageError(
            f"{options.host}:{options.port} cannot be listened on ({error.strerror}); "
            "give another --port, or 0 for any free one"
        ) from None


def _address(listener: socket.socket) -> str:
    where: Any = listener.getsockname()
    return f"http://[{where[0]}]:{where[1]}" if ":" in where[0] else f"http://{where[0]}:{where[1]}"
