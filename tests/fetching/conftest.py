"""Places to fetch from, all on loopback: the hub of the sharing tests, a git daemon, a server of files."""

import hashlib
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.fetching import download

HERE = Path(__file__).parent


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


hub_server = load(HERE.parent / "sharing" / "hub_server.py", "fetching_hub_server")

DECLARATION = """
protocol = "transcription"

[source]
title = "Ten words"
licence = "CC BY 4.0"
{source}

{fetch}

[parameters]
split = {splits}

[data]
rows = "{{split}}.csv"

[sample]
id = "{{id}}"
audio = "audio/{{id}}.wav"
answer = "{{text}}"
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An own working folder and cache, and no pause between tries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("AUDIOBENCH_DATA", raising=False)
    monkeypatch.delenv("AUDIOBENCH_DATA_ROOT", raising=False)
    monkeypatch.setattr(download, "_FIRST_WAIT_S", 0.0)


@pytest.fixture
def root(tmp_path):
    """The data root in the user's cache."""
    return tmp_path / "cache" / "audiobench" / "data"


@pytest.fixture
def declare(tmp_path):
    """Writes ``words.audiobench.toml`` with these ``[[fetch]]``; returns its name."""

    def write(*fetches, splits='["test"]', source=""):
        tables = "\n".join(f"[[fetch]]\n{fetch}" for fetch in fetches)
        text = DECLARATION.format(fetch=tables, splits=splits, source=source)
        (tmp_path / "words.audiobench.toml").write_text(text)
        return "words.audiobench.toml"

    return write


@pytest.fixture
def audiobench(capsys):
    """Runs a verb; returns its exit code and what it printed to stdout and stderr."""

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return call


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub that huggingface_hub is set up for, with the token of ada."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="the Hub is asked by huggingface_hub")
    from huggingface_hub.utils import _http

    monkeypatch.setattr(_http, "_GLOBAL_CLIENT_FACTORY", _http._GLOBAL_CLIENT_FACTORY)
    monkeypatch.setattr(_http, "_GLOBAL_CLIENT", None)
    with hub_server.running() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("HF_TOKEN", hub_server.TOKEN)
        yield server


class FileServer:
    """Files by path, with entity tags and ranges. ``cut`` ends the next replies of a path after so many bytes,
    ``status`` is replied instead; ``careless`` takes up a file that changed meanwhile;
    ``asked`` has each method, path and range, ``tokens`` what was sent to be admitted.
    """

    def __init__(self):
        self.files, self.cut, self.status, self.asked, self.tokens = {}, {}, {}, [], []
        self.careless = False
        self._server = hub_server.QuietServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                path, wanted = self.path, self.headers.get("Range")
                served.asked.append((self.command, path, wanted))
                served.tokens.append(self.headers.get("Authorization"))
                if path in served.status or path not in served.files:
                    self.send_response(served.status.get(path, 404))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                content = served.files[path]
                tag = f'"{hashlib.sha256(content).hexdigest()[:12]}"'
                start = 0
                if wanted and (served.careless or self.headers.get("If-Range") == tag):
                    start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
                self.send_header("ETag", tag)
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                if self.command == "HEAD":
                    return
                cuts = served.cut.get(path)
                if cuts:
                    self.wfile.write(content[start : start + cuts.pop(0)])
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.wfile.write(content[start:])

            do_HEAD = do_GET

        return Handler


@pytest.fixture
def files():
    """A server of files."""
    with closing(FileServer()) as server:
        yield server


@pytest.fixture(scope="session")
def git_root(tmp_path_factory):
    """The folder of a git daemon's repositories, and its address."""
    if shutil.which("git") is None:
        pytest.skip("there is no git to serve with")
    folder = tmp_path_factory.mktemp("git")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["git", "daemon", "--reuseaddr", "--export-all", f"--base-path={folder}", "--listen=127.0.0.1"]
    daemon = subprocess.Popen([*command, f"--port={port}", str(folder)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            pytest.skip("git serves no repositories here")
        yield folder, f"git://127.0.0.1:{port}"
    finally:
        daemon.terminate()
        daemon.wait()


@pytest.fixture
def repository(git_root, tmp_path):
    """Makes commits of a repository that the daemon serves: a function of files, with ``url`` and ``commits``."""
    folder, url = git_root
    name = tmp_path.name
    return Repository(folder / name, f"{url}/{name}")


class Repository:
    def __init__(self, folder, url):
        self.folder, self.url, self.commits = folder, url, []
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "uploadpack.allowFilter", "true")
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    def git(self, *arguments):
        person = {
            f"GIT_{role}_{what}": "ada@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        environment = {**os.environ, **person}
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, contents):
        for path, content in contents.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "files")
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]
