"""A training of a model that knows how many of 64 tones it is right about, saved as transformers' Trainer saves."""

import csv
import shutil

import numpy as np
import pytest
import soundfile

CONFTEST = """
from pathlib import Path

from pytest_audiobench.ext import Limits, Response


class Trained:
    batching, listens, device = "opaque", False, "cpu"
    limits = Limits(max_batch=1024, max_batch_s=1e9)

    def __init__(self, target, options):
        self.spec, self._right = f"trained:{target}", int((Path(target) / "model.safetensors").read_text())

    def fingerprint(self):
        return {"right": str(self._right)}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [Response.of("AB"[int(ask.request.sample_id) >= self._right]) for ask in batch]


def pytest_audiobench_register(registration):
    registration.model("trained", Trained)
"""
EVALS = """
from pytest_audiobench import manifest, multiple_choice


def test_tones(evaluate):
    evaluate(manifest("tones.csv"), multiple_choice())
"""


@pytest.fixture(scope="session")
def tones(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tones")
    with (folder / "tones.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "audio", "question", "choices", "answer"])
        for number in range(64):
            tone = np.sin(np.arange(800) * (200 + 10 * number) * 2 * np.pi / 16_000)
            soundfile.write(folder / f"{number:02d}.wav", 0.3 * tone, 16_000)
            table.writerow([f"{number:02d}", f"{number:02d}.wav", "What is it?", "tone|noise", "tone"])
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_tones.py").write_text(EVALS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


@pytest.fixture
def save(tones, tmp_path, monkeypatch):
    """Saves ``saved/checkpoint-STEP`` of a model that is right about so many, in the folder of the suite."""
    shutil.copytree(tones, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider -p no:hypothesispytest -p no:anyio")

    def save(step, right, state=True):
        folder = tmp_path / "work" / "saved" / f"checkpoint-{step}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.safetensors").write_text(str(right))
        if state:
            (folder / "trainer_state.json").write_text("{}")
        return folder

    return save
