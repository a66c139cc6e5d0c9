"""What models leave on a device, and what happens where a batch does not fit."""

import pytest

from pytest_audiobench.models.hf.model import HfModel

pytestmark = pytest.mark.gpu


def test_a_closed_model_leaves_its_memory_to_the_next(shapes, recordings, ask_about, tmp_path, device):
    import torch

    shape = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 8}
    shapes.build(tmp_path, shapes.ARCHITECTURES["tiny"][0], shape, device, "float32")
    weights = (tmp_path / "model.safetensors").stat().st_size
    asks = [ask_about("Which?", clip, max_new_tokens=4) for clip in recordings()[:4]]

    def used_and_left():
        model = HfModel(str(tmp_path), {"device": device, "dtype": "float32"})
        assert all(response.error is None for response in model.ask(asks))
        used = torch.cuda.memory_allocated()
        model.close()
        return used, torch.cuda.memory_allocated()

    # What libraries keep for themselves (cuBLAS's workspaces) is taken with the first model, and is not a model's.
    _, start = used_and_left()
    for used, left in (used_and_left(), used_and_left()):
        assert used - start >= weights * 0.9
        assert left - start < weights / 100


CONFTEST = """
import os
import torch

def pytest_configure(config):
    torch.backends.cudnn.allow_tf32 = False
    if limit := int(os.environ["LIMIT_BYTES"]):
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(limit / total)
"""
EVAL = """
from pytest_audiobench import multiple_choice
from pytest_audiobench.datasets.bundled import bundled

def test_digits(evaluate):
    evaluate(bundled("digits"), multiple_choice(max_new_tokens=8))
"""


def test_batches_that_are_halved_for_want_of_memory_change_no_hash(suite, shapes, tmp_path, device, monkeypatch):
    """What a batch is computed in is the most of its memory, the weights next to nothing."""
    folder = tmp_path / "checkpoint"
    shapes.build(folder, *shapes.ARCHITECTURES["tiny"], device, "float32")
    suite.write(conftest=CONFTEST, test_digits=EVAL)

    def item(store, limit_bytes):
        monkeypatch.setenv("LIMIT_BYTES", str(limit_bytes))
        options = {"device": device, "dtype": "float32", "batch": 64, "batch_s": 10_000}
        suite.run(f"--ab-store={store}.sqlite", model=f"one=hf:{folder}", **options).assert_outcomes(passed=1)
        record, _ = suite.last()
        return record["items"][0], {figure["name"]: figure["value"] for figure in record["models"][0]["speed"]}

    whole, speed = item("whole", 0)
    peak = int(speed["peak_memory_mb"] * 1e6)
    halved, _ = item("halved", int(0.7 * peak))
    assert whole["asking"]["oom_splits"] == 0
    assert halved["asking"]["oom_splits"] > 0
    assert halved["asking"]["asked"] == whole["asking"]["asked"] == halved["n"]
    assert halved["hashes"]["answers"] == whole["hashes"]["answers"]
    assert halved["hashes"] == whole["hashes"]
