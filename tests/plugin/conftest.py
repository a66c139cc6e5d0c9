"""A small suite of its own for every test: forty tones, a model that hears them, and whatever evals are added."""

import json
import os
from pathlib import Path

import pytest
import soxr  # noqa: F401 - for the same reason as LAB

from tests.models import stranger
from tests.plugin import lab as LAB

HERE = Path(__file__).parent
collect_ignore = ["extension"]


# The lab is imported before any test: pytester forgets what a test imports, and neither numpy nor soxr can be twice.
BOTH_WAYS = pytest.mark.parametrize("workers", ["-n0", "-n2"])
IN_THE_LONG_RUN = pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)])
"""In one process; on workers in the long run only, where they make no other way through the code."""
EVAL = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


class Suite:
    """A pytest suite in a temporary folder, run in its own process."""

    def __init__(self, pytester, forks):
        self.pytester = pytester
        self._forks = forks
        self.path = pytester.path
        (self.path / "conftest.py").write_text((HERE / "lab.py").read_text())
        (self.path / "pytest.ini").write_text("[pytest]\n")

    def tones(self, count=40):
        return LAB.make_tones(self.path / "data", count)

    def write(self, **files):
        for name, text in files.items():
            (self.path / f"{name}.py").write_text(text)

    def run(self, *args, model="tone:one", **options):
        habits = "".join(f",{key}={value}" for key, value in options.items())
        models = [f"--ab-model={model}{habits}"] if model else []
        quiet = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
        return self.pytest(*models, *quiet, *args)

    def pytest(self, *args):
        """``python -m pytest`` in the folder where the test stands, as pytester runs it in its own process."""
        folder = Path.cwd()
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path}
        if not self._forks.fits(environment):
            return self.pytester.runpytest_subprocess(*args)
        status, *streams = self._forks.run(args, folder, environment, self.path)
        print("ran:", *args, *streams, sep="\n")
        return pytest.RunResult(status, *(stream.splitlines() for stream in streams), 0.0)

    def audiobench(self, *args):
        """A verb of ``audiobench`` in the suite's folder: what ``subprocess.run`` gives of it."""
        return self._forks.audiobench([str(arg) for arg in args], self.path)

    def runs(self):
        return sorted((self.path / "reports").glob("*/run.json"))

    def last(self):
        """The last run's record, and its folder."""
        path = max(self.runs(), key=lambda found: found.stat().st_mtime_ns)
        return json.loads(path.read_text()), path.parent


@pytest.fixture
def server():
    """A predictions_v1 server that shares no code with this package."""
    server = stranger.Stranger().start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def suite(pytester, forks, monkeypatch):
    # So that a sentence stands on one line, where a test looks for it.
    monkeypatch.setenv("COLUMNS", "300")
    return Suite(pytester, forks)


@pytest.fixture
def suite_with_torch(pytester, forks_with_torch, monkeypatch):
    """A suite whose runs load checkpoints."""
    monkeypatch.setenv("COLUMNS", "300")
    return Suite(pytester, forks_with_torch)


@pytest.fixture
def tones(suite):
    """A suite with one eval over forty tones."""
    suite.tones()
    suite.write(test_tones=EVAL)
    return suite
