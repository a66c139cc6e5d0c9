"""A misbehaving server on loopback, a model that asks it, and clips that can be told apart by their lengths."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.models.openai.model import OpenAIModel


def _peer_module():
    spec = importlib.util.spec_from_file_location("openai_peer", Path(__file__).parent / "peer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PEER = _peer_module()


@pytest.fixture(scope="session")
def talk():
    """The server's vocabulary: ``Peer``, ``Reply``, ``completion``, ``events``."""
    return PEER


@pytest.fixture
def peer():
    pytest.importorskip("httpx", reason="needs httpx (pip install 'pytest-audiobench[openai]')")
    server = PEER.Peer()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _no_keys_of_the_user(monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def model_at():
    """Makes a model behind a server; closed at the end. Impatient, since tests provoke what patience is for."""
    made = []

    def make(server, target="tiny", **options):
        given = {"base_url": server.url, "timeout_s": "60", "patience_s": "2", "probe": "no"}
        made.append(OpenAIModel(target, {**given, **options}))
        return made[-1]

    yield make
    for model in made:
        model.close()


@pytest.fixture
def asks(ask_about, heard):
    """Makes ``count`` questions, number n about a clip of 1000 + n samples."""

    def make(count, **settings):
        clips = [heard(np.full(1000 + number, 0.1)) for number in range(count)]
        return [ask_about("How many?", clip, **settings) for clip in clips]

    return make
