"""Runs of ``python -m pytest`` and of ``audiobench``, each in its own process that need not import all again."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SERVER = Path(__file__).with_name("fork_server.py")


class Forks:
    """A server of such runs, which imports the modules ``preloaded`` beside the package."""

    def __init__(self, *preloaded):
        # Threads do not survive a fork.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._started_with = _read_at_start(environment)
        self._server = subprocess.Popen(
            [sys.executable, SERVER, *preloaded],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout.readline() == "1\n", "the server of runs has threads, or did not start"

    def fits(self, environment):
        """Whether a run in ``environment`` needs no interpreter of its own."""
        return _read_at_start(environment) == self._started_with

    def run(self, args, folder, environment, output, limit_s=0, module="pytest"):
        """The exit status, and what was written to standard output and standard error; no limit where it is 0."""
        streams = [output / "stdout", output / "stderr"]
        request = {
            "module": module,
            "args": [os.fspath(arg) for arg in args],
            "folder": os.fspath(folder),
            "environment": environment,
            "streams": [os.fspath(stream) for stream in streams],
            "limit_s": limit_s,
        }
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        return status, *(stream.read_text("utf-8") for stream in streams)

    def pytest(self, args, folder=".", environment=None):
        """``python -m pytest`` in ``folder``: what ``subprocess.run`` gives of it."""
        return self._done("pytest", args, Path(folder).resolve(), environment)

    def audiobench(self, args, folder=".", environment=None):
        """A verb of ``audiobench`` in ``folder``: what ``subprocess.run`` gives of it."""
        return self._done("pytest_audiobench.cli", args, Path(folder).resolve(), environment)

    def _done(self, module, args, folder, environment):
        environment = dict(os.environ if environment is None else environment)
        if not self.fits(environment):
            command = [sys.executable, "-m", module, *args]
            return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        with tempfile.TemporaryDirectory() as output:
            run = self.run(args, folder, environment, Path(output), module=module)
            return subprocess.CompletedProcess(args, *run)

    def close(self):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()


def _read_at_start(environment):
    """What only a start of Python reads; a folder of the tests' own on the path is for any run."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON") and name != "PYTHONPATH"}
