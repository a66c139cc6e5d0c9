"""Workers and the devices on which their models are loaded."""

import json

import pytest

pytestmark = pytest.mark.gpu

EVALS = """
import pytest
from pytest_audiobench import multiple_choice
from pytest_audiobench.datasets.bundled import bundled

@pytest.mark.parametrize("task", ["digits", "emotion", "sounds", "language"])
def test_clips(evaluate, task):
    evaluate(bundled(task), multiple_choice(max_new_tokens=8))
"""
CONFTEST = """
import json
import os
import sys
from pathlib import Path

from pytest_audiobench.models.hf.model import HfModel


class Witnessed(HfModel):
    "An hf model that writes down where it was loaded."

    def load(self):
        super().load()
        import torch

        card = str(torch.cuda.get_device_properties(0).uuid) if torch.cuda.is_available() else "cpu"
        told = {"card": card, "bytes": torch.cuda.memory_allocated(), "visible": torch.cuda.device_count()}
        told["worker"] = "PYTEST_XDIST_WORKER" in os.environ
        Path(f"loaded-{os.getpid()}.json").write_text(json.dumps(told))


def pytest_audiobench_register(registration):
    registration.model("witnessed", Witnessed)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        Path(f"worker-{os.getpid()}.json").write_text(json.dumps("torch" in sys.modules))
"""


@pytest.fixture
def evals(suite):
    suite.write(conftest=CONFTEST, test_clips=EVALS)
    return suite


def run(evals, checkpoints, *args, **options):
    """The run's record, and where each process that loaded the model did."""
    for file in evals.path.glob("*-*.json"):
        file.unlink()
    model = f"one=witnessed:{checkpoints / 'good'}"
    evals.run(*args, f"--ab-store={len(evals.runs())}.sqlite", model=model, **options).assert_outcomes(passed=4)
    record, _ = evals.last()
    return record, [json.loads(file.read_text()) for file in evals.path.glob("loaded-*.json")]


def workers_with_torch(evals):
    return [json.loads(file.read_text()) for file in evals.path.glob("worker-*.json")]


def test_every_visible_card_holds_the_model_once_and_no_worker_holds_it(evals, checkpoints):
    import torch

    cards = torch.cuda.device_count()
    _, loads = run(evals, checkpoints, f"-n{2 * cards}")
    # Four evals: with more cards than that, some have nothing to do.
    assert len(loads) == len({load["card"] for load in loads}) == min(cards, 4)
    assert [load["visible"] for load in loads] == [1] * len(loads)
    assert all(load["bytes"] > 0 and not load["worker"] for load in loads)
    assert workers_with_torch(evals) == [False] * 2 * cards


def test_workers_share_the_named_device_and_the_hashes_of_a_run_without_workers(evals, checkpoints, device):
    alone, _ = run(evals, checkpoints, device=device)
    shared, loads = run(evals, checkpoints, "-n3", "--ab-devices=0" if device == "cuda" else "--ab-devices=cpu")
    assert len(loads) == 1
    assert not loads[0]["worker"]
    assert workers_with_torch(evals) == [False] * 3
    assert shared["models"][0]["shared"] is True
    assert shared["models"][0]["device"] == alone["models"][0]["device"] == device
    assert shared["hashes"] == alone["hashes"]


def test_workers_that_share_a_copy_on_the_cpu_leave_the_card_alone(evals, checkpoints):
    record, (load,) = run(evals, checkpoints, "-n2", "--ab-devices=cpu", device="cpu")
    assert (load["card"], load["bytes"]) == ("cpu", 0)
    assert record["models"][0]["device"] == "cpu"


def test_a_second_card_is_used_where_it_is_named(evals, checkpoints):
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("one card only")
    _, (load,) = run(evals, checkpoints, "-n2", "--ab-devices=cuda:1")
    assert load["card"] == str(torch.cuda.get_device_properties(1).uuid)
