"""BEANS-Next itself, the other side of predictions_v1: its client and checker ask our server, ours ask its launchers.

``AUDIOBENCH_BEANS_NEXT=FOLDER`` names a checkout of it; ``AUDIOBENCH_BEANS_NEXT_PYTHON`` a Python in which it, fastapi,
uvicorn and httpx are installed, else ``FOLDER/.venv/bin/python`` or ``FOLDER/../venv/bin/python``.
"""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_audiobench.models.predictions_v1.model import PredictionsModel
from pytest_audiobench.serving.conformance import Checker
from pytest_audiobench.serving.probe import Probe

CLIENT = """
import base64, json, sys
from beans_next.api.types import AudioInput, ChatMessage, ModelRequest
from beans_next.models.http import HttpClient, PredictionsV1Request
from beans_next.runner.runner import model_request_to_wire_item

def request(number, clips):
    text = "<Audio><AudioHere></Audio> " * clips + "What is heard?"
    audio = [AudioInput(payload_type="file_path", data=sys.argv[2], sample_rate=16000)] * clips
    message = [ChatMessage(role="user", content=text)]
    return model_request_to_wire_item(ModelRequest(sample_id=f"{number}", messages=message, audio_inputs=audio))

client = HttpClient(sys.argv[1] + "/predict")
client.health()
reply = client.generate(PredictionsV1Request(requests=[request(number, 1 + number % 2) for number in range(4)]))
print(json.dumps([[row.sample_id, row.predictions, row.error] for row in reply.responses]))
"""
LAUNCHERS = {
    "dummy": {},
    "hf_transformers": {"HF_TRANSFORMERS_STUB": "1"},
    "naturelm-v1.0": {"NATURELM_V1_0_STUB": "1"},
    "naturelm-v1.1": {"NATURELM_STUB_MODE": "1", "NATURELM_GCS_CHECKPOINT_URI": "gs://bucket/step-2000"},
    "openai_compatible_proxy": {"OPENAI_PROXY_STUB": "1"},
    "vllm": {"VLLM_ADAPTER_STUB": "1"},
    "af3": {"AF3_STUB": "1"},
}
"""Its launchers by folder, with what makes each a stub."""


class Peer(NamedTuple):
    folder: Path
    python: Path

    def run(self, *arguments):
        """One of its scripts, or ``-c`` and code: what it prints."""
        done = subprocess.run(
            [self.python, *arguments], cwd=self.folder, env=os.environ | {"PYTHONPATH": str(self.folder)},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def peer():
    if not (named := os.environ.get("AUDIOBENCH_BEANS_NEXT")):
        pytest.skip("AUDIOBENCH_BEANS_NEXT names no checkout of BEANS-Next")
    folder = Path(named).absolute()
    places = [folder / ".venv" / "bin" / "python", folder.parent / "venv" / "bin" / "python"]
    python = os.environ.get("AUDIOBENCH_BEANS_NEXT_PYTHON") or next(filter(Path.exists, places), None)
    if python is None:
        pytest.skip(f"no Python has BEANS-Next (looked for {' and '.join(map(str, places))})")
    return Peer(folder, Path(python))


@pytest.fixture
def launcher(peer, request):
    """The URL of one of its launchers."""
    name = request.param
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    folder = peer.folder / "examples" / "servers" / name
    app = "serve:app" if (folder / "serve.py").exists() else "adapter:app"
    command = [peer.python, "-m", "uvicorn", app, "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(command, cwd=folder, env=os.environ | LAUNCHERS[name]) as process:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            try:
                urllib.request.urlopen(f"{url}/health", timeout=10).close()
                break
            except (OSError, urllib.error.URLError):
                time.sleep(0.1)
        yield url
        process.terminate()


@pytest.mark.parametrize("spec", ["baseline:chance", "baseline:listener"])
def test_its_checker_finds_no_fault_with_our_server(peer, start, spec):
    assert "PASS" in peer.run("-m", "scripts.check_launcher", start("serve", spec).url).upper()


def test_its_client_is_answered_clip_by_clip_by_our_server(peer, start, wav, tmp_path):
    file = tmp_path / "tone.wav"
    file.write_bytes(wav())
    chance = json.loads(peer.run("-c", CLIENT, start("serve", "baseline:chance").url, file))
    assert [(sample, bool(texts), error) for sample, texts, error in chance] == [(str(i), True, None) for i in range(4)]
    listener = json.loads(peer.run("-c", CLIENT, start("serve", "baseline:listener").url, file))
    refused = "2 clips, and the model takes 1 at most"
    assert [error for _, _, error in listener] == [None, refused, None, refused]


@pytest.mark.parametrize("launcher", LAUNCHERS, indirect=True)
def test_its_launchers_keep_the_contract_and_are_asked_on_though_they_count_nothing(launcher):
    verdicts = {verdict.rule: verdict for verdict in Checker(Probe(launcher, None, 60.0)).verdicts()}
    assert [verdict for verdict in verdicts.values() if verdict.is_kept is False] == []
    assert verdicts["hearing"].why.startswith("unproven: ")
    model = PredictionsModel(launcher, {})
    model.load()
    assert model.hearing.status == "unproven"
    model.close()
