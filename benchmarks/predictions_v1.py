"""What predictions_v1 costs: clips as base64 WAV through our client, to a server that answers at once.

Run ``python benchmarks/predictions_v1.py [--samples N] [--batch N] [--rounds N] [--concurrency N] [--url URL]``.
Without ``--url`` a server of this script's own is started in a process beside the client, and both are held to the
same two cores. It does what a server must (parse the JSON, decode the base64, look at the WAV's header) and no
more. Each round asks about all samples once; the encoding of the requests is measured alone, too.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    if given.serve:
        serve(given.batch)
        return
    with contextlib.nullcontext(given.url) if given.url else dummy_server(given.batch) as url:
        with urllib.request.urlopen(f"{url}/health", timeout=10):
            time.sleep(0.1)
        measure(url, given.samples, given.rounds, given.concurrency, given.batch)


if __name__ == "__main__":
    main()
