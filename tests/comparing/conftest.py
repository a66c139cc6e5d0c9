"""Real runs of the bundled models, made once: a good one, a poor one, both together, and a limited one."""

import json
import shutil
import subprocess
import sys

import pytest

EVALS = """
from pytest_audiobench import bundled, multiple_choice, transcription

def test_digits(evaluate):
    evaluate(bundled("digits"), multiple_choice())

def test_words(evaluate):
    evaluate(bundled("transcription"), transcription())
"""
RUNS = {
    "good": ["--ab-model=baseline:listener"],
    "poor": ["--ab-model=baseline:chance"],
    "both": ["--ab-model=baseline:listener", "--ab-model=baseline:chance"],
    "short": ["--ab-model=baseline:listener", "--ab-limit=20"],
}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    (folder / "test_calls.py").write_text(EVALS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, options in RUNS.items():
        habits = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio", f"--ab-run={name}"]
        command = [sys.executable, "-m", "pytest", *habits, *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    return folder / "reports"


class Reports:
    """The folder of the runs, which a test may change."""

    def __init__(self, folder):
        self.folder = folder

    def record(self, name):
        return json.loads((self.folder / name / "run.json").read_text())

    def edit(self, name, change):
        """Change the record of a run, as whatever befell it would have."""
        record = self.record(name)
        change(record)
        (self.folder / name / "run.json").write_text(json.dumps(record, indent=1))

    def copy(self, name, to):
        shutil.copytree(self.folder / name, self.folder / to)
        self.edit(to, lambda record: record.update(run=to))


@pytest.fixture
def reports(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "reports")
    monkeypatch.chdir(tmp_path)
    return Reports(tmp_path / "reports")
