"""Servers as processes of their own, and plain HTTP to ask them."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Reply(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """A server's process: where it is, and how to ask it."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        line = self.process.stdout.readline()
        self.url = line.rpartition(" at ")[2].strip()

    def ask(self, path, body=None, headers=None, timeout=300):
        """GET, or POST of bytes or of an object as JSON."""
        data = body if body is None or isinstance(body, (bytes, bytearray)) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return Reply(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())

    def predict(self, *items, **options):
        return self.ask("/predict", {"schema_version": "predictions_v1", "requests": list(items)}, **options)

    def answer(self, *items):
        reply = self.predict(*items)
        assert reply.status == 200, reply
        return reply.json["responses"]

    def stop(self, sig=signal.SIGTERM):
        """Its exit code and what it wrote to standard error."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        _, said = self.process.communicate(timeout=300)
        return self.process.returncode, said


@pytest.fixture(scope="module")
def start():
    """Starts servers that end with the module: `start("serve", "baseline:listener", …)` or a script's path."""
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    started = []

    def make(*arguments, env=None):
        first = [sys.executable, "-m", "pytest_audiobench.cli"] if arguments[0] == "serve" else [sys.executable]
        port = ["--port", "0"] if "--port" not in arguments else []
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", **(env or {})}
        server = Server([*first, *map(str, arguments), *port], environment)
        started.append(server)
        return server

    yield make
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


@pytest.fixture(scope="session")
def item():
    """A request of predictions_v1; `audio` are files' bytes or finished audio inputs."""

    def make(sample_id, *audio, text="What is heard?", **config):
        inputs = [
            {"payload_type": "base64_wav", "data": base64.b64encode(a).decode(), "sample_rate": 16_000}
            if isinstance(a, bytes)
            else a
            for a in audio
        ]
        return {
            "sample_id": sample_id,
            "messages": [{"role": "user", "content": text}],
            "audio_inputs": inputs,
            "generation_config": config,
        }

    return make


@pytest.fixture(scope="session")
def wav():
    """The bytes of a WAV file with a tone."""
    import io

    import numpy as np
    import soundfile

    def make(hz=440, duration_s=0.3, rate_hz=16_000, subtype="PCM_16"):
        wave = 0.3 * np.sin(2 * np.pi * hz * np.arange(int(duration_s * rate_hz)) / rate_hz)
        file = io.BytesIO()
        soundfile.write(file, wave, rate_hz, format="WAV", subtype=subtype)
        return file.getvalue()

    return make


@pytest.fixture(scope="session")
def wait_for():
    """Waits until something is true; fails when it does not become so."""

    def wait(condition, within_s=300):
        until = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < until, "waited in vain"
            time.sleep(0.02)

    return wait
