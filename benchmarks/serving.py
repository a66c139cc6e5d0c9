"""How many samples a second `audiobench serve` takes in: 5-second 16 kHz clips as base64 WAVs, in batches of 32.

    python benchmarks/serving.py [--listens] [--calls 100] [--connections 3]

The server is a process of its own with a model that answers at once: it hears every clip (``--listens``), or is played
none, as baseline:chance. The client is the standard library's, bodies are made and serialised for every call, and both
share this machine's cores. Prints samples a second, and the processor time that each side took for a sample.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import io
import json
import os
import resource
import subprocess
import sys
import threading
import time
import wave
from pathlib import Path

import numpy as np

BATCH, RATE_HZ, DURATION_S = 32, 16_000, 5


def clips() -> list[bytes]:
    """Noise: it neither compresses nor repeats."""
    made = []
    for seed in range(BATCH):
        samples = (np.random.default_rng(seed).standard_normal(RATE_HZ * DURATION_S) * 3000).astype("<i2")
        file = io.BytesIO()
        with wave.open(file, "wb") as sound:
            sound.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
            sound.writeframes(samples.tobytes())
        made.append(file.getvalue())
    return made


def body(files: list[bytes], call: int) -> bytes:
    """A call's body, made from the files' bytes as a client has to. Base64 needs no escaping: it is put in as it is."""
    requests = [
        {
            "sample_id": f"{call}-{i}",
            "messages": [{"role": "user", "content": "What is heard?"}],
            "audio_inputs": [{"payload_type": "base64_wav", "data": "@", "sample_rate": RATE_HZ}],
            "generation_config": {"max_tokens": 8, "temperature": 0.0, "choices": ["rain", "a dog"]},
        }
        for i in range(len(files))
    ]
    around = json.dumps({"schema_version": "predictions_v1", "requests": requests}).encode().split(b"@")
    pieces = [piece for text, file in zip(around, files, strict=False) for piece in (text, base64.b64encode(file))]
    return b"".join([*pieces, around[-1]])


class Instant:
    """Hears every clip and answers at once."""

    spec, batching, listens, device = "instant:listening", "opaque", True, "cpu"

    def __init__(self) -> None:
        from pytest_audiobench.models.model import Limits

        self.limits = Limits(max_batch=64, max_clip_s=30.0)

    def fingerprint(self) -> dict[str, str]:
        return {"instant": "1"}

    def load(self) -> None: ...

    def close(self) -> None: ...

    def ask(self, batch):  # type: ignore[no-untyped-def]
        from pytest_audiobench.models.messages import Response

        return [Response.of(str(len(ask.audio[0].samples))) for ask in batch]


def serve(listens: bool) -> None:
    """The server's process; says at its end how much processor time it took."""
    import pytest_audiobench.serving.app  # noqa: F401  its import is no part of serving
    from pytest_audiobench.models.registry import make
    from pytest_audiobench.models.spec import parse_spec
    from pytest_audiobench.serving.options import ServeOptions
    from pytest_audiobench.serving.server import serve as run

    model = Instant() if listens else make(parse_spec("baseline:chance"))
    before_s = processor_s()
    run(model, ServeOptions(port=0), "bench")  # type: ignore[arg-type]
    print(f"{processor_s() - before_s:.3f}", flush=True)


def processor_s() -> float:
    """Processor time that this process has taken so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listens", action="store_true")
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--connections", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.listens)
        return
    command = [sys.executable, __file__, "--serve", *(["--listens"] if args.listens else [])]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    host, _, port = server.stdout.readline().rpartition("//")[2].strip().partition(":")
    files = clips()
    left = iter(range(args.calls))
    lock = threading.Lock()

    def work() -> None:
        connection = http.client.HTTPConnection(host, int(port))
        while True:
            with lock:
                call = next(left, None)
            if call is None:
                return
            connection.request("POST", "/predict", body(files, call), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            rows = json.loads(answer.read())["responses"]
            assert len(rows) == BATCH
            assert not any(row["error"] for row in rows)

    threads = [threading.Thread(target=work) for _ in range(args.connections)]
    before, started = time.process_time(), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s, client_s = time.perf_counter() - started, time.process_time() - before
    server.terminate()
    served_s = float(server.stdout.readline())
    samples = args.calls * BATCH
    print(f"{samples / took_s:.0f} samples/s over {took_s:.2f} s, {args.connections} connections")
    print(
        f"processor time a sample: client {1000 * client_s / samples:.3f} ms, server {1000 * served_s / samples:.3f} ms"
    )


if __name__ == "__main__":
    main()
