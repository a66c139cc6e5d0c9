"""What predictions_v1 costs: clips as base64 WAV through our client, to a server that answers at once.

Run ``python benchmarks/predictions_v1.py [--samples N] [--batch N] [--rounds N] [--concurrency N] [--url URL]``.
Without ``--url`` a server of this script's own is started in a process beside the client, and both are held to the
same two cores. It does what a server must (parse the JSON, decode the base64, look at the WAV's header) and no
more. Each round asks about all samples once; the encoding of the requests is measured alone, too.

``--waiting MS`` measures something else: what a run keeps on its way to a server that needs so many milliseconds for
a request, however many it has. In turns a bare loop of httpx with ``--concurrency`` requests, and whole askings of an
``openai:`` and of an ``http:`` model (one request a call) with the same, each with a store of its own. The server says
how many requests it had, as a mean over the time from the first to the last of them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from measure import Spent, here, yardstick

from pytest_audiobench.audio.clip import PlayedAudio
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request
from pytest_audiobench.models.predictions_v1.model import PredictionsModel
from pytest_audiobench.models.predictions_v1.request import Form, body, item

RATE_HZ, CLIP_S = 16_000, 5.0
PEER_PER_S, FACTOR = 249, 4


def asks(count: int) -> list[Ask]:
    """Different clips of noise, each with a question."""
    generator = np.random.default_rng(0)
    found = []
    for number in range(count):
        samples = (0.1 * generator.standard_normal(int(RATE_HZ * CLIP_S))).astype(np.float32)
        heard = PlayedAudio(samples, RATE_HZ, f"{number:064x}", RATE_HZ, len(samples), "none")
        message = Message("user", (AudioSlot(0), "Which animal is heard? Answer with a letter."))
        request = Request(f"{number:064x}", "bench", str(number), "answer", "open", (message,), ())
        found.append(Ask(request, (heard,)))
    return found


class Dummy(BaseHTTPRequestHandler):
    """Follows the contract as far as a benchmark needs."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    most = 32

    def do_GET(self) -> None:
        names = {"name": "dummy", "model": "dummy", "model_revision": "1", "schema_versions": ["predictions_v1"]}
        takes = {"audio_payload_types": ["base64_wav"], "max_batch_size": self.most, "supports_batching": True}
        self.reply({**names, **takes} if self.path == "/info" else {"status": "ok"})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = []
        for one in asked["requests"]:
            sizes = [len(base64.b64decode(audio["data"])) for audio in one["audio_inputs"]]
            answers.append({"sample_id": one["sample_id"], "predictions": [f"{sum(sizes)} bytes"]})
        self.reply({"schema_version": "predictions_v1", "responses": answers})

    def reply(self, value: object) -> None:
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def dummy_server(batch: int) -> Iterator[str]:
    """A process of this script as the server; its URL."""
    command = [sys.executable, __file__, "--serve", "--batch", str(batch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def serve(batch: int) -> None:
    Dummy.most = batch
    server = ThreadingHTTPServer(("127.0.0.1", 0), Dummy)
    print(server.server_port, flush=True)
    server.serve_forever()


def measure(url: str, samples: int, rounds: int, concurrency: int, batch: int) -> None:
    todo = asks(samples)
    model = PredictionsModel(url, {"concurrency": str(concurrency), "batch": str(batch)})
    model.load()
    spent: list[Spent] = []
    for _ in range(rounds):
        spent.append(here(lambda: ask_all(model, todo)))
    model.close()
    encoding = [here(lambda: encode_all(todo, batch)) for _ in range(rounds)]
    print(f"{samples} clips of {CLIP_S:g} s at {RATE_HZ} Hz as base64_wav in batches of {batch}, {rounds} rounds,")
    print(f"concurrency {concurrency}, cores {sorted(os.sched_getaffinity(0))}")
    show("client and server", spent, samples)
    show("encoding alone, one thread", encoding, samples)
    print(f"yardstick: {yardstick().wall_s * 1e3:.0f} ms")
    rate = samples / statistics.median(one.wall_s for one in spent)
    print(f"{rate:.0f} samples/s are {rate / PEER_PER_S:.2f} times the peer's {PEER_PER_S}; the aim is {FACTOR} times")


def ask_all(model: PredictionsModel, todo: list[Ask]) -> None:
    most = model.limits.max_batch
    for start in range(0, len(todo), most):
        for response in model.ask(todo[start : start + most]):
            assert response.error is None, response.error


def encode_all(todo: list[Ask], batch: int) -> None:
    for start in range(0, len(todo), batch):
        part = todo[start : start + batch]
        body([item(f"{ask.request.key[:32]}.{number}", ask, Form()) for number, ask in enumerate(part)])


class Waiting:
    """A server of both kinds that answers after ``wait_s``, and keeps the sum of the seconds of its requests."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._spans: list[tuple[float, float]] = []

    async def serve(self) -> None:
        server = await asyncio.start_server(self._one, "127.0.0.1", 0, backlog=512, limit=2**24)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
                began, body_ = time.monotonic(), await reader.readexactly(length)
                path = head.split()[1]
                reply = json.dumps(await self._reply(path, body_)).encode()
                if path in ("/predict", "/v1/chat/completions"):
                    self._spans.append((began, time.monotonic()))
                closes = "connection: close" in head
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    + (b"Connection: close\r\n" if closes else b"")
                    + b"Content-Length: %d\r\n\r\n" % len(reply)
                    + reply
                )
                await writer.drain()
                if closes:
                    break
        writer.close()

    async def _reply(self, path: str, body_: bytes) -> object:
        if path == "/spans":
            spans, self._spans = self._spans, []
            whole = max(end for _, end in spans) - min(begin for begin, _ in spans) if spans else 1.0
            return {"requests": len(spans), "at_once": sum(end - begin for begin, end in spans) / whole, "whole": whole}
        if path == "/info":
            names = {"name": "dummy", "model": "dummy", "model_revision": "1", "schema_versions": ["predictions_v1"]}
            return {**names, "audio_payload_types": ["base64_wav"], "max_batch_size": 1, "supports_batching": False}
        if path == "/health":
            return {"status": "ok"}
        await asyncio.sleep(self._wait_s)
        if path == "/predict":
            ids = [one["sample_id"] for one in json.loads(body_)["requests"]]
            answers = [{"sample_id": one, "predictions": ["B"]} for one in ids]
            return {"schema_version": "predictions_v1", "responses": answers}
        message = {"message": {"role": "assistant", "content": "B"}, "finish_reason": "stop"}
        return {"choices": [message], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}


def bare_loop(url: str, todo: list[Ask], concurrency: int) -> None:
    """The same requests as plain as httpx sends them."""
    import httpx

    async def ask_all() -> None:
        turns = asyncio.Semaphore(concurrency)
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=concurrency)) as client:

            async def one(ask: Ask) -> None:
                async with turns:
                    reply = await client.post(f"{url}/predict", content=body([item(ask.request.key[:32], ask, Form())]))
                    reply.raise_for_status()
                    reply.json()

            await asyncio.gather(*map(one, todo))

    asyncio.run(ask_all())


def executed(model: object, todo: list[Ask]) -> None:
    """A whole asking: planned, locked, asked, written."""
    from pytest_audiobench.audio.clip import ArraySource, Clip
    from pytest_audiobench.evaluation.answer_store import Store
    from pytest_audiobench.evaluation.batch_executor import BatchExecutor, BatchLocks
    from pytest_audiobench.evaluation.batch_plan import PlannedRequest
    from pytest_audiobench.evaluation.model_handle import ModelHandle

    requests, planned = [], []
    for number, ask in enumerate(todo):
        clip = Clip(ArraySource.of(ask.audio[0].samples, RATE_HZ, str(number)))
        requests.append(replace(ask.request, clips=(clip,)))
        planned.append(PlannedRequest(bytes.fromhex(ask.request.key), 0, 0, 1.0, number.to_bytes(16, "big")))
    handle = ModelHandle("m", model)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Store(place / "store.sqlite", "run") as store, BatchLocks(place / "locks") as locks:
            answers = BatchExecutor(handle, store, locks, lambda done, total: None).execute(requests, planned)
    handle.close()
    assert all(answer.error is None for answer in answers.values())


def measure_waiting(samples: int, rounds: int, concurrency: int, wait_ms: float) -> None:
    from pytest_audiobench.models.openai.model import OpenAIModel

    todo = [
        ask._replace(audio=(replace(played, samples=played.samples[:RATE_HZ]),))
        for ask in asks(samples)
        for played in ask.audio
    ]
    options = {"concurrency": str(concurrency), "probe": "no"}
    command = [sys.executable, __file__, "--serve", "--waiting", str(wait_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        ways: dict[str, Callable[[], None]] = {
            "a bare loop of httpx": lambda: bare_loop(url, todo, concurrency),
            "openai:": lambda: executed(OpenAIModel("m", {**options, "base_url": f"{url}/v1"}), todo),
            "http:": lambda: executed(PredictionsModel(url, options), todo),
        }
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        for number in range(rounds):
            for name in sorted(ways, reverse=bool(number % 2)):
                spent = here(ways[name])
                with urllib.request.urlopen(f"{url}/spans", timeout=10) as reply:
                    said = json.loads(reply.read())
                found[name].append(
                    (samples / said["whole"], said["at_once"] / concurrency, 1e3 * spent.cpu_s / samples)
                )
        server.terminate()
    print(
        f"{samples} requests of 1 s of sound, {wait_ms:g} ms each, {concurrency} at once, load {os.getloadavg()[0]:.1f}"
    )
    plain = statistics.median(rate for rate, _, _ in found["a bare loop of httpx"])
    for name, each in found.items():
        rate, at_once, cpu_ms = (statistics.median(values) for values in zip(*each, strict=True))
        print(
            f"{name:22} {rate:6.0f} requests/s ({rate / plain:.2f} of the bare loop), {100 * at_once:.1f} % of those "
            f"allowed on their way, client's processor {cpu_ms:.2f} ms a request, n={rounds}"
        )


def show(what: str, spent: list[Spent], samples: int) -> None:
    rates = sorted(samples / one.wall_s for one in spent)
    cpu_ms = statistics.median(one.cpu_s for one in spent) * 1e3 / samples
    print(
        f"{what:28} {statistics.median(rates):7.0f} samples/s ({rates[0]:.0f} to {rates[-1]:.0f}), "
        f"client's processor {cpu_ms:.3f} ms a sample"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--url", help="ask this server instead of the script's own")
    parser.add_argument("--waiting", type=float, metavar="MS", help="a server that needs so long for a request")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    if given.waiting and given.serve:
        asyncio.run(Waiting(given.waiting / 1e3).serve())
    if given.waiting:
        measure_waiting(given.samples, given.rounds, given.concurrency, given.waiting)
        return
    if given.serve:
        serve(given.batch)
        return
    with contextlib.nullcontext(given.url) if given.url else dummy_server(given.batch) as url:
        with urllib.request.urlopen(f"{url}/health", timeout=10):
            time.sleep(0.1)
        measure(url, given.samples, given.rounds, given.concurrency, given.batch)


if __name__ == "__main__":
    main()
