"""Launchers as processes of their own, started as ``--ab-serve-command`` starts them, and plain HTTP to ask them."""

import base64
import json
import urllib.request

import pytest

from pytest_audiobench.models.run_server.process import Served, ServerProcess, free_port


@pytest.fixture
def served(tmp_path):
    """Starts a launcher's command; the URL at which it answers."""
    running = []

    def start(command):
        port, folder = free_port(), tmp_path / f"server{len(running)}"
        running.append(ServerProcess(command, port, folder))
        launcher = Served(f"http://127.0.0.1:{port}", folder)
        launcher.wait()
        return launcher.url

    yield start
    for process in running:
        process.end()


@pytest.fixture
def ask():
    """GET of a URL, or a question about clips (files of WAV) to the server there: what came back."""

    def asked(url, question=None, *clips, **config):
        if question is None:
            with urllib.request.urlopen(url, timeout=300) as answer:
                return json.load(answer)
        audio = [base64.b64encode(clip.read_bytes()).decode() for clip in clips]
        item = {
            "sample_id": "q",
            "messages": [{"role": "user", "content": question}],
            "audio_inputs": [{"payload_type": "base64_wav", "data": data, "sample_rate": 16000} for data in audio],
            "generation_config": {"max_tokens": 32, "temperature": 0.0, **config},
        }
        body = json.dumps({"schema_version": "predictions_v1", "requests": [item]}).encode()
        request = urllib.request.Request(f"{url}/predict", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["responses"]

    return asked
