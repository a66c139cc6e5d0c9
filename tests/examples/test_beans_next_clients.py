"""BEANS-Next's own checker and judges' clients against the proxy, the judge and BirdNET; needs a clone of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "examples" / "servers"
JUDGES = """
import json, sys
from beans_next.api.types import DatasetExample
from beans_next.judges import JudgeScorer, PredictV1Extractor, PredictV1Judge

url, rows = sys.argv[1], [DatasetExample(sample_id=str(n), labels="wren", metadata={}) for n in range(40)]
texts = [f"I hear {'a wren' if n % 2 else 'an owl'}." for n in range(40)]
print(json.dumps([
    [row.score for row in PredictV1Judge(url + "/predict").score_batch(rows, texts)],
    PredictV1Extractor(url + "/predict", task_type="classification").extract_batch(rows, texts),
    [row.score for row in JudgeScorer(url + "/judge").score_batch(rows, texts)],
]))
"""


@pytest.fixture(scope="module")
def peer():
    """Runs a Python of the clone's, with arguments; what it printed."""
    folder = os.environ.get("BEANS_NEXT")
    if folder is None:
        pytest.skip("the environment variable BEANS_NEXT names no clone of BEANS-Next")
    own = Path(folder, ".venv", "bin", "python")
    python = os.environ.get("BEANS_NEXT_PYTHON", str(own) if own.exists() else sys.executable)

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [python, *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def chat(talk, monkeypatch):
    """A chat server on the loopback, named by the environment, that judges by the word wren."""

    def behave(call):
        text = call.body["messages"][-1]["content"]
        if not isinstance(text, str):
            return None
        right = "a wren" in text
        points = json.dumps({"score": float(right), "rationale": "by its word"})
        reply = points if "JSON object" in text else "wren" if "most likely label" in text else "YES" if right else "NO"
        return talk.Reply(talk.completion(reply))

    server = talk.Peer(behave)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_MODEL", "tiny")
    yield server
    server.stop()


@pytest.mark.parametrize("options", ["openai_proxy", "openai_proxy --stub", "judge", "judge --stub", "birdnet --stub"])
def test_its_checker_passes(peer, chat, served, options):
    folder, _, stub = options.partition(" ")
    url = served(f"{sys.executable} {SERVERS / folder / 'serve.py'} --port {{port}} {stub}")
    assert "checks passed" in peer("-m", "scripts.check_launcher", url)


def test_its_three_judges_are_served_at_one_address(peer, chat, served):
    url = served(f"{sys.executable} {SERVERS / 'judge' / 'serve.py'} --port {{port}}")
    yes_no, labels, points = json.loads(peer("-c", JUDGES, url))
    assert yes_no == points == [0.0, 1.0] * 20
    assert labels == ["wren"] * 40
