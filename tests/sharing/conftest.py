"""Finished runs of scripted models, two people's keys, a list of who may sign, and a hub on loopback."""

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.identity import canonical

HERE = Path(__file__).parent


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


runs = load(HERE.parent / "comparison" / "conftest.py", "sharing_runs")
hub_server = load(HERE / "hub_server.py", "sharing_hub_server")


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """The folder of ada's and bob's private keys, each with its public half beside it, and of ``signers``: ada."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen to make keys with")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ada", "bob"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True)
    public = (folder / "ada.pub").read_text()
    (folder / "signers").write_text(f'ada@example.org namespaces="pytest-audiobench" {public}')
    return folder


@pytest.fixture(scope="session")
def signed_file(keys):
    """Makes the file of a payload, whatever its JSON values are, digested and signed as by a signer who lies."""
    pytest.importorskip("cryptography")
    from pytest_audiobench.sharing.private_keys import load_key
    from pytest_audiobench.sharing.sshsig import sign

    def encoded(payload, key="ada"):
        content = canonical(payload)
        signature = sign(content, load_key(keys / key))
        members = {"payload_sha256": hashlib.sha256(content).hexdigest(), "signature": signature, "payload": payload}
        return json.dumps({"schema": "audiobench.submission/2", **members}).encode()

    return encoded


by_encoder = runs.by_encoder


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Makes runs under ``reports`` of the working folder."""
    monkeypatch.chdir(tmp_path)
    return runs.Lab(tmp_path)


@pytest.fixture
def audiobench(capsys):
    """Runs a verb; returns its exit code and what it printed to stdout and stderr."""

    def call(*arguments):
        capsys.readouterr()
        code = main([str(one) for one in arguments])
        return (code, *capsys.readouterr())

    return call


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub that huggingface_hub is set up for, with the token of ada."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="pushing needs huggingface_hub")
    from huggingface_hub.utils import _http

    from pytest_audiobench.sharing import upload

    monkeypatch.setattr(_http, "_GLOBAL_CLIENT_FACTORY", _http._GLOBAL_CLIENT_FACTORY)
    monkeypatch.setattr(_http, "_GLOBAL_CLIENT", None)
    with hub_server.running() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setenv("HF_TOKEN", hub_server.TOKEN)
        monkeypatch.setattr(upload, "_FIRST_WAIT_S", 0.0)
        yield server
