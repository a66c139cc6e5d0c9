"""Tests that need a CUDA device. Where torch has none the folder is skipped as a whole, in one line of the report."""

import importlib.util
import sys
from pathlib import Path

import pytest

from pytest_audiobench.models.hf.options import has_cuda

ROOT = Path(__file__).parents[2]


def _module(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_of_models = _module("conftest_of_models", ROOT / "tests" / "models" / "conftest.py")
_of_plugin = _module("conftest_of_plugin", ROOT / "tests" / "plugin" / "conftest.py")
heard, ask_about, recordings, built = (
    _of_models.heard,
    _of_models.ask_about,
    _of_models.recordings,
    _of_models.built,
)
suite = _of_plugin.suite


def pytest_collect_file(file_path, parent):
    # Raised while the folder is collected, not when one of its files is: the folder is what is skipped.
    if _no_device():
        pytest.skip("no CUDA device that torch can use", allow_module_level=True)


def _no_device():
    if not has_cuda():
        return True
    import torch

    return not torch.cuda.is_available()


@pytest.fixture(scope="session")
def device():
    """Where the tests run their models."""
    return "cuda"


@pytest.fixture(scope="session")
def checkpoints():
    """The folder of the trained tiny checkpoints."""
    return ROOT / "fixtures" / "checkpoints"


@pytest.fixture(scope="session")
def shapes():
    """``benchmarks/hf_batches.py``, which builds Qwen2-Audio checkpoints of random weights in any shape."""
    benchmarks = ROOT / "benchmarks"
    if not benchmarks.is_dir():
        pytest.skip("the folder benchmarks is not beside the tests, as in a source distribution")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(benchmarks), *sys.path])
        return _module("hf_batches", benchmarks / "hf_batches.py")
