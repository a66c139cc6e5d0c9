"""Launchers as processes of their own, started as ``--ab-serve-command`` starts them, and plain HTTP to ask them."""

import base64
import importlib.util
import json
import shutil
import urllib.request
import wave
from pathlib import Path

import pytest

from pytest_audiobench.models.run_server.process import Served, ServerProcess, free_port

CHAT_SERVER = Path(__file__).parents[1] / "models" / "openai" / "peer.py"


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


@pytest.fixture(scope="session")
def talk():
    """The chat server of the ``openai:`` tests and its vocabulary; its answer to clips is how many samples each has."""
    spec = importlib.util.spec_from_file_location("chat_peer", CHAT_SERVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.fixture
def post():
    """POST of an object to a URL: the object that came back."""

    def posted(url, content):
        request = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)

    return posted


@pytest.fixture
def ask_all(post):
    """Several questions in one call, each a text and the clip that it is about; the responses in their order."""

    def asked(url, *questions):
        items = [
            {
                "sample_id": str(number),
                "messages": [{"role": "user", "content": text}],
                "audio_inputs": [{"payload_type": "base64_wav", "data": data, "sample_rate": 16000}],
                "generation_config": {"max_tokens": 32},
            }
            for number, (text, clip) in enumerate(questions)
            for data in [base64.b64encode(clip.read_bytes()).decode()]
        ]
        reply = post(f"{url}/predict", {"schema_version": "predictions_v1", "requests": items})
        return sorted(reply["responses"], key=lambda response: int(response["sample_id"]))

    return asked


@pytest.fixture
def clip(tmp_path):
    """Makes a WAV file of so many samples at 16 kHz."""

    def make(samples):
        file = tmp_path / f"{samples}.wav"
        with wave.open(str(file), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(16000)
            sound.writeframes(
                b"".join((17 * i % 4001 - 2000).to_bytes(2, "little", signed=True) for i in range(samples))
            )
        return file

    return make


@pytest.fixture
def run_evals(pytester, clip):
    """Runs one eval of four clips, with these options; pytest's result."""

    def run(*options, protocol="multiple_choice()"):
        rows = []
        for samples in (1000, 2000, 3000, 4000):
            file = shutil.copy(clip(samples), pytester.path)
            question = {"question": "How long?", "choices": ["short", "long"], "answer": "short"}
            rows.append({"id": str(samples), "audio": Path(file).name, **question})
        (pytester.path / "clips.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        code = f"def test_clips(evaluate):\n    evaluate(manifest('clips.jsonl'), {protocol})\n"
        pytester.makepyfile(f"from pytest_audiobench import *\n\n{code}")
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)

    return run
