"""Published weights, where ``python fixtures/fetch_weights.py FOLDER`` has put them and AUDIOBENCH_WEIGHTS names it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_audiobench.records.reading import read_run
from tests.read_speech import read_speech

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def weights():
    """The folder of the weights of that name."""
    root = Path(os.environ.get("AUDIOBENCH_WEIGHTS", "weights")).resolve()

    def folder(name):
        if not (root / name).is_dir():
            pytest.skip(f"{root / name} is missing: python fixtures/fetch_weights.py {root} {name}")
        return root / name

    return folder


@pytest.fixture(scope="session")
def python_with():
    """The Python of AUDIOBENCH_PEERS, or else this one, that has those modules."""

    def found(*modules):
        python = os.environ.get("AUDIOBENCH_PEERS", sys.executable)
        code = f"import importlib.util as u; print(*(m for m in {modules} if u.find_spec(m) is None))"
        absent = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        if absent:
            pytest.skip(f"{python} lacks {', '.join(absent)}; AUDIOBENCH_PEERS names a Python that has them")
        return python

    return found


@pytest.fixture(scope="session")
def sentences(tmp_path_factory, shared):
    """A folder of fifteen read sentences in LibriSpeech's layout."""
    folder = tmp_path_factory.mktemp("sentences")
    read_speech(folder, shared)
    shutil.rmtree(folder / "LibriSpeech" / "test-clean" / "13")
    return folder


@pytest.fixture
def measured(tmp_path, forks_with_torch):
    """Runs a file of evals, or a text that holds some, with these options: what pytest said, and the run's record."""

    def run(evals, *options):
        file = tmp_path / "test_own.py"
        if isinstance(evals, Path):
            file = shutil.copy(evals, tmp_path)
            for beside in evals.parent.glob("conftest.py"):
                shutil.copy(beside, tmp_path)
        else:
            file.write_text(evals, "utf-8")
        arguments = ["-p", "no:cacheprovider", "--rootdir=.", "--ab-run=own", *options, Path(file).name]
        done = forks_with_torch.pytest(arguments, tmp_path)
        record = tmp_path / "reports" / "own" / "run.json"
        assert record.is_file(), done.stdout + done.stderr
        return done, read_run(record)

    return run


@pytest.fixture(scope="session")
def value():
    """A metric of an eval by a model, of its headline scorer and of no group."""

    def of(run, name, eval_="", model=""):
        return next(
            metric.value
            for item in run.items
            if eval_ in item.eval and model in item.model
            for metric in item.metrics
            if metric.name == name and metric.scorer == item.scorers[0].name and not metric.group
        )

    return of


@pytest.fixture(scope="session")
def serve_file():
    """The launcher of that name."""
    return lambda name: ROOT / "examples" / "servers" / name / "serve.py"
