"""Real runs of the bundled models, made once, and runs made in this process of a scripted model that hears nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_audiobench import multiple_choice
from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.cli import main
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import BatchLocks
from pytest_audiobench.evaluation.evaluate import EvalSpec, RunContext, evaluate
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import ModelRecord, PooledHashes, RunRecord, RuntimeRecord
from pytest_audiobench.report.item_lines import lines_of
from pytest_audiobench.report.run_writer import PARTS, collect, finish, write_part

CHOICES = ("cat", "dog", "cow", "hen")


class Scripted:
    """Answers by a function of the sample's id: True is the right option, False a wrong one, a text itself."""

    batching = "opaque"
    limits = Limits(max_batch=1024, max_batch_s=1e9, max_clips=64)
    listens = False
    device = "cpu"

    def __init__(self, says: Callable[[str], bool | str | None], name: str) -> None:
        self.says, self.spec, self._name = says, f"scripted:{name}", name

    def fingerprint(self) -> Mapping[str, str]:
        return {"scripted": self._name}

    def load(self) -> None:
        pass

    def close(self) -> None:
        pass

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        return [self._answer(ask) for ask in batch]

    def _answer(self, ask: Ask) -> Response:
        said = self.says(ask.request.sample_id)
        if said is None:
            return Response(error="out of order")
        return Response.of(said if isinstance(said, str) else "A" if said else "B")


def samples(count: int, prefix: str = "s", **changes: Any) -> list[Sample]:
    """``count`` samples, each of its own clip; the right option is the first."""
    made = [
        Sample(
            id=f"{prefix}{number:03d}",
            clips=(Clip(ArraySource.of(np.full(160, number / 1000, dtype=np.float32), 16000)),),
            question="Which animal is heard?",
            choices=CHOICES,
            reference="cat",
            metadata={"hop": "multi" if number % 2 else "single", "recording": f"r{number}"},
        )
        for number in range(count)
    ]
    return [replace(one, **changes) for one in made]


@dataclass
class Lab:
    """Makes runs under ``reports``, and compares them as a user would."""

    folder: Path
    samples = staticmethod(samples)

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    def run(
        self,
        name: str,
        evals: Mapping[str, Sequence[Sample]] | None = None,
        says: Callable[[str], bool | str | None] = lambda sample_id: True,
        model: str = "",
        protocol: Protocol | None = None,
        started: str = "2026-11-20T09:00:00Z",
        command: Sequence[str] = ("pytest",),
        **bench: Any,
    ) -> Path:
        """The folder of a finished run of ``evals`` (suite/eval) by a model that ``says`` what it is told to."""
        folder = self.reports / name
        (folder / PARTS).mkdir(parents=True)
        scripted = Scripted(says, model or name)
        store, index = Store(folder / "store.sqlite", name), AudioIndex(None)
        locks = BatchLocks(folder / "claims")
        shared = RunContext(name, store, locks, index, **bench)
        for number, (eval_, own) in enumerate((evals or {"animals/all": samples(40)}).items()):
            suite = eval_.partition("/")[0]
            item = EvalSpec(number, f"test::{eval_}", eval_, suite, Places(folder, {}, []))
            dataset = Dataset(f"{eval_}-set", lambda places, own=own: own, cluster="recording", groups=("hop",))
            handle = ModelHandle(model or name, scripted)
            evaluation = evaluate(shared, handle, item, dataset, protocol or multiple_choice())
            write_part(folder / PARTS, evaluation.result.record, lines_of(evaluation))
        store.close()
        locks.close()
        heading = RunRecord(
            run=name,
            started=started,
            finished=started,
            command=command,
            exit_status=0,
            limit=bench.get("limit"),
            epochs=bench.get("epochs", 1),
            models=[
                ModelRecord(
                    alias=model or name,
                    spec=scripted.spec,
                    role="subject",
                    batching="opaque",
                    device="cpu",
                    **ModelHandle(model or name, scripted).identity,
                    hearing=None,
                    noise=None,
                )
            ],
            hashes=PooledHashes(None, None, None),
            runtime=RuntimeRecord("3.11", "cpython", "linux", {}),
            notes=[],
        )
        finish(folder, collect(folder, heading))
        return folder


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.chdir(tmp_path)
    return Lab(tmp_path)


@pytest.fixture
def audiobench(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a verb; returns its exit code and what it printed to stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(one) for one in arguments])
        return (code, *capsys.readouterr())

    return call


EVALS = """
from pytest_audiobench import multiple_choice, transcription
from pytest_audiobench.datasets.bundled import bundled

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
def made(tmp_path_factory, forks):
    folder = tmp_path_factory.mktemp("calls")
    (folder / "test_calls.py").write_text(EVALS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, options in RUNS.items():
        habits = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio", f"--ab-run={name}"]
        done = forks.pytest([*habits, *options], folder)
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


@pytest.fixture
def by_encoder() -> Callable[[str], Protocol]:
    """Makes a protocol whose scorer says by which text encoder its figures are."""

    def protocol(identity: str) -> Protocol:
        letters = multiple_choice().scorers[0]
        scorer = replace(letters, signature=f"{letters.signature}|encoder:{identity}")
        return replace(multiple_choice(), scorers=(scorer,))

    return protocol
